"""Simulated people on the real server: all of them counted, all answers stored, the effect found again."""

from collections import Counter
from dataclasses import replace

import pytest
from msgspec import structs
from small_study import small_design

from eqlab.cli.study_simulate import _show
from eqlab.core.results import Estimate
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.results.analysis import select_sample
from eqlab.study.served_study import ServedStudy
from eqlab.study.simulation.personas import PERSONAS, Truth
from eqlab.study.simulation.simulate import (
    Simulation,
    cast,
    coverage,
    recovered,
    rehearse,
    repeat,
    simulate,
    walk,
    without_an_interval,
)
from eqlab.study.simulation.walk import Address, WalkError
from eqlab.study.web.settings import ServerSettings


@pytest.fixture(scope="module")
def outcome():
    """Two of every persona, and honest people enough for the effect."""
    pytest.importorskip("uvicorn")
    design = small_design(batches=3, size=5, people=6, attention=2)
    mix = {**dict.fromkeys(PERSONAS, 2.0), "honest": 14.0}
    return simulate(design, "", Simulation(30, Truth(2.5), mix, 5, at_once=8), lambda _: None)


def test_every_acknowledged_answer_is_stored_and_everybody_counted(outcome):
    assert outcome.complaints == []
    assert outcome.stored == outcome.acknowledged > 150
    assert outcome.known == 30


def test_each_persona_ends_as_it_should(outcome):
    ends = Counter((walked.player.persona, walked.end) for walked in outcome.walked)
    assert ends == {
        **{(name, "done"): 2 for name in PERSONAS if name not in ("honest", "leaving", "declining")},
        ("honest", "done"): 14,
        ("leaving", "left"): 2,
        ("declining", "declined"): 2,
    }
    table = {row[0]: row[1] for row in outcome.analysis.people[0].rows}
    assert (table["arrived"], table["declined"], table["failed the comprehension check"]) == (30, 2, 2)
    left = table["left or stopped before the trials"] + table["assigned: still at it, or left"]
    assert (left, table["assigned: finished"]) == (2, 24)


def test_people_come_back_on_another_device_to_the_same_page(outcome):
    assert [walked.breaks for walked in outcome.walked if walked.player.persona == "returning"] == [1, 1]


def test_careless_people_are_found_out(outcome):
    excluded = outcome.analysis.sample.excluded
    assert 2 <= len(excluded) <= 4  # the careless, and whoever of the random failed
    fast = [person for person in outcome.analysis.sample.everybody if 2 * person.too_fast > person.timed]
    assert len(fast) == 2


def test_the_analysis_finds_the_effect_and_says_that_it_is_simulated(outcome):
    (one,) = outcome.recovered
    assert one.put_in == 2.5
    assert abs(one.found.value - 2.5) < 4 * one.found.se  # who comes first, and so who sees what, differs each time
    assert one.inside == (one.found.low <= 2.5 <= one.found.high)
    assert outcome.analysis.standing.label == "simulated"
    assert outcome.analysis.result.sentence.startswith("Simulated: ")


@pytest.mark.parametrize(("off", "told"), [(0.0, False), (99.0, True)])
def test_an_interval_that_misses_the_effect_is_no_riddle(outcome, capsys, off, told):
    (one,) = outcome.recovered
    found = Estimate("log-odds", 2.5 + off, 30, low=2.0 + off, high=3.0 + off)
    _show(
        small_design(),
        Simulation(30, Truth(2.5), {}, 5),
        replace(outcome, recovered=[replace(one, found=found)]),
        [],
        "",
    )
    assert ("One 95 % interval in twenty misses the truth" in capsys.readouterr().out) is told


def test_a_lost_answer_or_person_is_complained_of(outcome):
    assert "are stored" in replace(outcome, stored=outcome.stored - 1).complaints[0]
    assert "are known" in replace(outcome, known=29).complaints[0]
    states = {**outcome.states, "left": 1}
    assert replace(outcome, states=states).complaints == ["2 people have left, the store says 1."]


@pytest.mark.parametrize("times", [3, pytest.param(8, marks=pytest.mark.claims)])
def test_coverage_over_repetitions_has_its_own_interval(times):
    design = small_design(batches=3, size=5, people=6, attention=1)
    wanted = Simulation(30, Truth(1.0), {"honest": 1}, 0)
    repeats = [repeat(design, wanted, seed) for seed in range(times)]
    ((name, put_in, mean, share),) = coverage(repeats)
    assert (name, put_in, share.n) == ("log-odds, b − a", 1.0, times)
    assert mean == pytest.approx(1.0, abs=0.5)
    assert share.value >= 75
    assert share.low < share.value
    assert coverage([*repeats, ()])[0][3].n == times + 1  # a repetition without an estimate is a miss
    assert (without_an_interval([*repeats, ()]), without_an_interval([(), ()])) == (1, 2)
    bare = replace(repeats[0][0], found=structs.replace(repeats[0][0].found, low=None, high=None))
    assert without_an_interval([*repeats, (bare,)]) == 1  # "coverage 0.0" was told of four people without a word


def test_the_effect_is_found_in_who_finishes_as_a_locked_plan_has_it():
    design = small_design(batches=3, size=5, people=6, attention=1)
    everybody = rehearse(design, cast(design, Simulation(40, Truth(1.0), {"honest": 1, "leaving": 1}, 0), 0))
    sample = select_sample(everybody, ())
    finished = [person for person in sample.kept if person.state == "finished"]
    assert 0 < len(finished) < len(sample.kept)
    (one,) = recovered(design, Truth(1.0), sample)
    assert one.found.n == sum(page.kind == "trial" for person in finished for page in person.pages)


def test_a_server_that_takes_no_simulated_people_says_what_would(store):
    """A locked study, or one that is served without --rehearsal: the way out, not a number."""
    from eqlab.study.web.server import running

    design = small_design()
    create_study(store, design, "", "test", {})
    wanted = Simulation(2, Truth(1.0), {"honest": 1.0})
    with running([ServedStudy(Participation(store, design))], ServerSettings(b"s" * 32)) as base:
        address = Address(base, design.study.id, "PID", "simulated-")
        with pytest.raises(WalkError, match="takes no simulated people") as refused:
            walk(design, address, wanted, lambda _: None)
    assert "--rehearsal" in refused.value.hint

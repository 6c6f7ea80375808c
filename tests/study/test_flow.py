"""Everybody is counted once, and nobody is left out without a reason."""

import pytest
from small_study import answer_for, small_design, take

from eqlab.core.studied import Truth
from eqlab.store.study.records import erase_person
from eqlab.study.results import analysis
from eqlab.study.results.participants import read_participants, scored_of
from eqlab.study.simulation.personas import MIX, World, players
from eqlab.study.simulation.simulate import rehearse


def counts(table):
    return {row[0]: row[1] for row in table.rows}


def test_every_way_of_ending_is_counted_once(make_participation, clock):
    participation = make_participation(batches=2, size=2, lease=10)
    names = ["finishes", "declines", "leaves at the quiz", "fails", "stops", "leaves at a trial", "erased", "waits"]
    people = {name: participation.arrive(name, "en") for name in names}
    take(participation, people["finishes"])
    participation.consent(people["declines"], agreed=False)
    take(participation, people["leaves at the quiz"], until="quiz")
    view = take(participation, people["fails"], until="quiz")
    for attempt in (1, 2):
        participation.save(people["fails"], view.number, attempt, {"quiz1": 2})
    take(participation, people["stops"], until="trial")
    participation.stop(people["stops"])
    take(participation, people["leaves at a trial"], until="trial")
    take(participation, people["erased"])
    erase_person(participation, people["erased"], "person")
    clock.now += 3600  # the leaver's place is given away
    for name in ("new", "newer", "newest"):
        take(participation, participation.arrive(name, "en"))
    late = take(participation, people["leaves at a trial"])
    assert late.state == "extra"
    full = participation.arrive("late", "en")
    assert participation.look(full).state == "full"
    participants = read_participants(participation)
    table = counts(analysis.flow_table(participants))
    assert table.pop("arrived") == len(names) + 4 == sum(table.values())
    assert table == {
        "turned away: the study was full": 1,
        "turned away: took part in another study": 0,
        "left before consent": 1,
        "declined": 1,
        "left or stopped before the trials": 1,
        "failed the comprehension check": 1,
        "consented, but the study was full by then": 0,
        "assigned: still at it, or left": 0,
        "assigned: stopped": 1,
        "assigned: finished": 4,
        "assigned: finished late, kept as extra": 1,
        "returned to the panel, or released by the researcher": 0,
        "banned by the researcher": 0,
        "erased at their request": 1,
        "erased by the researcher": 0,
    }
    assert "because nothing was saved: 1" in analysis.flow_table(participants).note
    by_arm = analysis.arm_table(participation.design, participants, analysis.select_sample(participants, ()))
    assert sum(row[2] for row in by_arm.rows) == 6  # assigned
    left = analysis.leaving_table(participants)
    assert [row[1:] for row in left.rows] == [("consent", 1), ("quiz", 1), ("trial", 1)]


@pytest.mark.parametrize("seed", range(5))
def test_simulated_people_are_all_counted(seed):
    design = small_design(batches=4, size=3, people=2)
    world = World(design, Truth(0.5), seed)
    participants = rehearse(design, players(design, world, 40, MIX, seed))
    table = counts(analysis.flow_table(participants))
    assert table.pop("arrived") == 40 == sum(table.values())
    sample = analysis.select_sample(participants, ("incomplete", "failed_attention"))
    assert len(sample.kept) + len(sample.excluded) == len(sample.everybody)


def test_exclusions_are_counted_with_their_reasons(make_participation, clock):
    participation = make_participation(arms=("a",), batches=5, size=6, attention=1)

    def walk(name, values=lambda view, number: 1 + number % 3, check=None, seconds=9.0, stop_after=99):
        person = participation.arrive(name, "en")
        view = take(participation, person, until="trial")
        number = 0
        while (view := participation.look(person)).step is not None and number < stop_after:
            given = answer_for(view)
            if view.step.kind == "trial":
                given = {"rating": values(view, number)}
                number += 1
            elif view.step.kind == "attention" and check:
                given = {"rating": 1 + view.trial.key["right"]["rating"] % 3}
            clock.now += 9
            participation.save(person, view.number, view.attempt, given, shown_at=clock.now - seconds)
        return person

    good = walk("good")
    bad = {
        walk("inattentive", check="wrong"): ("failed_attention",),
        walk("fast", seconds=0.5): ("too_fast",),
        walk("straight and fast", lambda *_: 3, seconds=0.5): ("too_fast",),  # one scale a page: all may be good
        walk("leaves", stop_after=2): ("incomplete",),
    }
    participants = read_participants(participation)
    rules = ("failed_attention", "too_fast", "straight_lining", "incomplete")
    sample = analysis.select_sample(participants, rules)
    assert [person.person for person in sample.kept] == [good]
    assert sample.excluded == bad
    rows = [(row[0].split(":")[0], row[1], row[2]) for row in analysis.exclusion_table(sample, rules).rows]
    assert rows == [
        ("answered at least one trial", 5, 26),
        ("failed_attention", 1, 6),
        ("too_fast", 2, 12),
        ("straight_lining", 0, 0),
        ("incomplete", 1, 2),
        ("excluded in all", 4, 20),
        ("analysed", 1, 6),
    ]
    assert analysis.select_sample(participants, ()).excluded == {}
    checks = analysis.checks_table(sample, 2.0)
    assert [row[1] for row in checks.rows] == [1, 0, 0, 0, 2]
    met, _, *others = [row[2].n for row in checks.rows]
    assert met in (4, 5)  # who left may have done so before the check
    assert others == [5, 5, 5]
    assert not any("straight" in row[0] for row in checks.rows)  # one scale a page shows none


def test_scored_answers_of_the_roll_are_those_of_the_store(make_participation):
    participation = make_participation(batches=2)
    for name in "abc":
        take(participation, participation.arrive(name, "en"))
    participants = read_participants(participation)
    run = participation.design.run.id
    stored = list(participation.store.scored(run, "people", "rating"))

    assert _plain(scored_of(run, participants.people, "rating")) == _plain(stored)


def _plain(scored):
    return {(answer.subject, one.trial.id, str(answer)) for one in scored for answer in one.attempts}

"""EmoBench with people, by the contract of a kind of study: pages, simulated people, and what was put in is found."""

import random
import tomllib
from dataclasses import replace

import pytest

from eqlab.benchmarks.emobench.benchmark import EmoBench, expected_score
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.runs import BenchmarkConfig, RunConfig
from eqlab.core.studied import Analysed, Studied, Truth
from eqlab.core.study import Consent, Places, Study
from eqlab.data.items import read_sources

EB = EmoBench()
OPTIONS = EB.options("open", {})
STUDY = Study("s", "emobench", "T", "en", 1, Consent("1", "x", "y", "z"), "bye", places=Places(batch_size=10))


def made(study=STUDY, options=OPTIONS):
    kind = EB.study()
    pages = kind.pages(study, read_sources(EB.sources("open", options), None), options)
    run = RunConfig((), (BenchmarkConfig("emobench", 1, "open", "0", options),), "full", None, None, 1)
    return kind, Design(study, run, pages.batches, attention=pages.checks)


def simulated(kind, design, truth, people, seed):
    """People who answer one batch each, without a server."""
    crowd = kind.simulated(design, truth, seed)
    scored = []
    for number in range(people):
        draw = random.Random(f"{seed} {number}")
        person = crowd.person(draw)
        for trial in design.batches[number % len(design.batches)].trials:
            values = crowd.answer(person, trial, draw)
            answer = Answer("r", trial.id, f"person:{number}", 0, 1, "", "ok", values)
            scored.append(Scored(trial, 0, (answer,)))
    return kind.result(design, Analysed(tuple(scored)))


def test_it_is_a_kind_of_study():
    assert isinstance(EB, Studied)
    form = EB.study().form()
    assert form.kind == "emobench"
    filled = form.template
    for slot in ("id", "panel", "reward", "fee"):
        assert f"@{slot}@" in filled
    for slot, value in (("id", '"x"'), ("panel", ""), ("reward", "1.00"), ("fee", "0.333")):
        filled = filled.replace(f"@{slot}@", value)
    assert tomllib.loads(filled)["kind"] == "emobench"


def test_pages_hold_every_scenario_once_and_no_key_is_shown():
    _, design = made()
    trials = [trial for batch in design.batches for trial in batch.trials]
    assert len({trial.items[0] for trial in trials}) == len(trials) == 80
    assert {len(batch.trials) for batch in design.batches} == {10}
    assert all(trial.stimulus and trial.form.scales for trial in trials)
    tasks = [{trial.condition for trial in batch.trials} for batch in design.batches]
    assert all(own == {"understanding", "application"} for own in tasks)
    places = [trial.key["correct"][trial.form.keys[0]] for trial in trials]
    assert max(places.count(place) for place in set(places)) < 40
    assert all(check.key["right"] for check in design.attention)
    _, few = made(replace(STUDY, limit=7))
    assert sum(len(batch.trials) for batch in few.batches) == 7


def test_what_is_put_in_is_found_again():
    """Nearly all 95 % intervals hold the truth, whatever it is."""
    kind, design = made()
    for effect in (0.3, 0.8):
        truth = Truth(effect)
        inside = [
            kind.recovered(design, truth, simulated(kind, design, truth, 40, seed))[0].inside for seed in range(30)
        ]
        assert sum(inside) >= 26, (effect, sum(inside))
    assert expected_score(design, Truth(0.001, person_sd=0.0)) == pytest.approx(100 * (1 / 24 + 1 / 4) / 2, abs=0.2)
    assert kind.recovered(design, Truth(0.5), kind.result(design, Analysed(()))) == ()


def test_a_truth_that_is_no_share_is_refused():
    kind, design = made()
    with pytest.raises(UsageError, match="not a share"):
        kind.simulated(design, Truth(1.5), 0)


def test_from_the_first_file_to_what_simulated_people_answer(eqlab, tmp_path):
    """The whole way, by commands: a file is written, checked, and walked on a real server."""
    store = tmp_path / "s.db"
    assert eqlab("study", "init", "emobench", "--store", store).code == 0
    checked = eqlab("study", "check", "emobench.toml", "--store", store)
    assert "scenarios" in checked.out
    (tmp_path / "emobench.toml").write_text(
        (tmp_path / "emobench.toml").read_text().replace('items = "open"', 'items = "open"\nlimit = 8')
    )
    done = eqlab("study", "simulate", "emobench.toml", "--people", "8", "--mix", "honest=1", "--store", store)
    assert done.code == 0, done.err
    assert "right answers" in done.out
    assert "8 people came, 8 counted" in done.out

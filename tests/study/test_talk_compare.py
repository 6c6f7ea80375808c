"""People's talks of a study beside simulated ones of a run, from one store, by the command a user gives."""

import json

import pytest
from scripted import is_speaker, speak, talk
from talk_case import talk_design

import eqlab as api
from eqlab.core.studied import Truth
from eqlab.study.simulation.simulate import Simulation, cast, rehearse

MODELS = ("good-model-x1", "bad-model-x2")


def simulated(server, store, personas):
    """Every persona simulated, with both models that people talked with."""
    server.reply = lambda body, n: speak(body, lean=-4) if is_speaker(body) else talk(body, n)
    request = api.Request(
        MODELS, "dialogue", base_url=server.url, profile="full", limit=personas,
        options={"speaker": f"s@{server.url}"},
    )  # fmt: skip
    return api.run(api.prepare(request), store, concurrency=8).run


def with_people(tmp_path, store, personas, people):
    """A talk study as its store has it: people's turns and the models', under the people's names."""
    design = talk_design(tmp_path, "http://127.0.0.1:9/v1", talk='about = "personas"', top=f"limit = {personas}")
    held = rehearse(design, cast(design, Simulation(people, Truth(10.0), {"honest": 1.0}), 3))
    turns = [(person, turn) for person in held.people for turn in person.turns]
    answers = [answer for _, turn in turns for answer in turn.attempts]
    assert {answer.subject[:7] for answer in answers} == {"person:"}
    planned = [(turn.attempts[0].subject, "dialogue", turn.trial, turn.repeat) for _, turn in turns if turn.attempts]
    store.begin_run(design.run, planned, {})
    store.add_answers(answers)
    return design.run.id


def test_few_talks_of_people_join_many_simulated_ones(server, store, tmp_path, eqlab):
    run = simulated(server, store, 24)
    study = with_people(tmp_path, store, 8, 48)
    done = eqlab("compare", run, study, "--speakers", "people", "--store", str(tmp_path / "s.db"), "--json")
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)
    assert (found["speaker"], found["reference"]) == ("s", "people")
    assert {row["name"] for row in found["listeners"]} == set(MODELS)
    assert found["bias"]["n"] == 8
    for row in found["listeners"]:
        assert row["reference"]["low"] < row["reference"]["value"] < row["reference"]["high"]
        assert row["bias"]["value"] == pytest.approx(row["simulated"]["value"] - row["reference"]["value"], abs=1e-6)
        assert row["joined"]["value"] is not None, "16 personas were only simulated"
    assert len(found["differences"]) == 1
    done = eqlab("compare", run, study, "--speakers", "people", "--store", str(tmp_path / "s.db"))
    assert "s against people: the bias" in done.out
    assert "joined" in done.out
    assert "person:" not in done.out


def test_people_alone_have_nothing_to_be_compared_with(store, tmp_path, eqlab):
    study = with_people(tmp_path, store, 8, 16)
    done = eqlab("compare", study, "--speakers", "people", "--store", str(tmp_path / "s.db"))
    assert done.code == 2
    assert "All talks here were held with 'people'" in done.err


def test_arms_are_compared_over_people_however_many_talks_each_had(store, tmp_path, eqlab):
    """Paired over personas, a person's talks counted as so many people; and both arms' talks were each arm's."""
    study = with_people(tmp_path, store, 8, 16)
    done = eqlab("compare", study, "--store", str(tmp_path / "s.db"))
    assert "from their two intervals" in " ".join(done.out.split())
    assert "final emotion" in done.out
    assert "P(Good)" not in done.out
    assert "For other speakers too" not in done.out

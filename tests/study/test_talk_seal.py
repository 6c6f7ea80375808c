"""What is said in a talk is under the chain of events and under a seal, like an answer to a page."""

import time

import pytest
from sqlalchemy import func, update
from talk_case import talk_design, talked, talking

from eqlab.store.schema import answers, trials
from eqlab.store.store import Store
from eqlab.store.study.lock import lock_plan, standing
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.results.analysis import analysis_code, analysis_libraries
from eqlab.study.results.bundle import exported_breaks, exported_data
from eqlab.study.results.export import export_all
from eqlab.study.results.lock_file import check_seal, make_seal, stored_breaks, stored_data
from eqlab.study.results.participants import read_participants


@pytest.fixture
def participation(tmp_path, server):
    """A locked study of talks, and two people who have talked."""
    server.reply = lambda body, number: f"That sounds hard, {number} times."
    design = talk_design(tmp_path, f"http://127.0.0.1:{server.port}/v1")
    with Store(str(tmp_path / "talks.db")) as store:
        create_study(store, design, "", "test", {})
        lock_plan(Participation(store, design), *analysis_code(), "ada", analysis_libraries())
        time.sleep(0.01)
        talked(design, store, 2)
    with Store(str(tmp_path / "talks.db")) as store:
        yield Participation(store, design)


@pytest.mark.parametrize(
    ("whose", "values"),
    [
        (answers.c["values"].contains('"leaves": 1'), {"status": "refused"}),  # the feeling at the end counts no more
        (answers.c.model != "", {"text": "Something kinder."}),
        (answers.c.model != "", {"model": "another"}),
    ],
)
def test_a_turn_that_was_changed_is_found_out(participation, tmp_path, whose, values):
    seal = make_seal(participation, "ada")
    export_all(participation, tmp_path / "out", "ada")
    since = seal["sealed_at"]
    assert check_seal(seal, *stored_data(participation), stored_breaks(participation, since)).holds
    assert check_seal(seal, *exported_data(tmp_path / "out"), exported_breaks(tmp_path / "out", since)).holds
    assert standing(participation, *analysis_code(), analysis_libraries()).label == "interim"
    with participation.store.engine.begin() as connection:
        assert connection.execute(update(answers).where(whose).values(**values)).rowcount == 2
    found = standing(participation, *analysis_code(), analysis_libraries())
    assert (found.label, "the answers of 2 people" in found.reason) == ("exploratory", True)
    assert check_seal(seal, *stored_data(participation)).changed == 2


def test_what_a_turn_answers_cannot_be_changed_either(participation, tmp_path):
    """The words before it, whose turn it was and which: they are in no answer, and the result hangs on them."""
    assert stored_breaks(participation, 0.0) == []
    turn = trials.c.id.not_in(list(participation.design.trials)) & trials.c.body.contains("That sounds hard")
    with participation.store.engine.begin() as connection:
        body = func.replace(trials.c.body, "That sounds hard", "That sounds easy")
        changed = connection.execute(update(trials).where(turn).values(body=body)).rowcount
    said = f"{changed} turns of talks are not as then"
    found = standing(participation, *analysis_code(), analysis_libraries())
    assert (found.label, found.reason) == ("exploratory", said)
    export_all(participation, tmp_path / "out", "ada")
    assert exported_breaks(tmp_path / "out", 0.0) == [said]


@pytest.mark.parametrize("state", ["banned", "returned"])
def test_whoever_is_sent_away_in_the_middle_of_a_talk_had_answered(tmp_path, server, state):
    with talking(tmp_path, server) as site:
        lock_plan(site.participation, *analysis_code(), "ada", analysis_libraries())
        time.sleep(0.01)
        site.person("p-1").begin().say("A hard week.", 20).until_answered()
        (who,) = read_participants(site.participation).people
        site.participation.send_away(who.person, state, "ada")
        found = standing(site.participation, *analysis_code(), analysis_libraries())
    assert (found.label, "shut out or released 1 person who had answered" in found.reason) == (
        "exploratory",
        True,
    )

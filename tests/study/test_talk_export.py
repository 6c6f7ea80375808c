"""What leaves a talk study: export, the analysis done again by eqlab and by the script that knows nothing of eqlab,
public release, runs and boards of people."""

import csv
import io
import json
from dataclasses import replace

import pytest
from redo_case import without_eqlab
from sqlalchemy import select
from talk_case import taken_for_people, talk_design, talk_text
from web_case import SECRET, open_desks

from eqlab.core.studied import Truth
from eqlab.store.schema import talk_calls
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import export_person
from eqlab.store.study.studies import create_study
from eqlab.study.results import redo_script
from eqlab.study.results.bundle import redo
from eqlab.study.results.export import export_all
from eqlab.study.results.participants import read_participants
from eqlab.study.results.public import publish
from eqlab.study.simulation.personas import MIX
from eqlab.study.simulation.simulate import Simulation, at_once, scripted_models, walk
from eqlab.study.simulation.walk import Address

pytest.importorskip("fastapi")
HONEST = {"honest": 1.0}


def walked(folder, people, mix=HONEST, **more):
    """Simulated people who talked over HTTP with scripted models: their participation, and how each came out."""
    from eqlab.study.served_study import ServedStudy
    from eqlab.study.web.server import running
    from eqlab.study.web.settings import ServerSettings

    made = talk_design(folder, "http://127.0.0.1:9/v1", **more)
    quick = replace(made, study=at_once(made.study))
    store, _ = open_desks(folder, [])
    create_study(store, quick, talk_text(), "test", {})
    participation = Participation(store, quick)
    settings = ServerSettings(SECRET, rehearsal=True, arrival_burst=1e9, arrival_rate=1e9)
    with scripted_models(made) as models, running([ServedStudy(participation, models)], settings) as base:
        done = walk(quick, Address(base, "talk", "", "x"), Simulation(people, Truth(10.0), mix), lambda _: None)
    return participation, done


@pytest.fixture(scope="module")
def speakers(tmp_path_factory):
    participation, done = walked(tmp_path_factory.mktemp("speakers"), 8)
    yield participation, done
    participation.store.close()


@pytest.fixture(scope="module")
def listeners(tmp_path_factory):
    more = {"talk": 'person = "listener"\ntalks = 2', "top": "limit = 4", "arms": {"s": "speaker-m"}}
    participation, _ = walked(tmp_path_factory.mktemp("listeners"), 6, **more)
    taken_for_people(participation.store)
    yield participation
    participation.store.close()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Careless ones and leavers among them, two talks each."""
    more = {"talk": 'about = "personas"\ntalks = 2', "top": "limit = 6"}
    participation, _ = walked(tmp_path_factory.mktemp("mixed"), 14, MIX, **more)
    yield participation
    participation.store.close()


def test_export_has_the_transcripts_and_suffices_for_the_analysis(tmp_path, speakers):
    participation, done = speakers
    assert {one.end for one in done} == {"done"}
    export_all(participation, tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "talks.csv").read_text())))
    assert {(row["seat"], row["by"]) for row in rows} == {("speaker", "person"), ("listener", "model")}
    first = [row for row in rows if row["turn"] == "0"]
    assert len(first) == 8
    assert all(row["text"] and row["emotion"] for row in first)
    book = csv.DictReader(io.StringIO((tmp_path / "codebook.csv").read_text()))
    explained = {(row["table"], row["name"]) for row in book if row["part"] == "column" and row["meaning"]}
    for table in ("answers", "participants", "events", "questions", "talks"):
        (head,) = (tmp_path / f"{table}.csv").read_text().splitlines()[:1]
        assert {(table, name) for name in head.split(",")} <= explained
    assert "## talks" in (tmp_path / "codebook.md").read_text()
    again, differences = redo(tmp_path)
    assert differences == []
    assert again.result.headline.n == 8


def test_the_script_in_the_export_finds_the_numbers_again_without_eqlab(tmp_path, mixed):
    export_all(mixed, tmp_path)
    told = json.loads((tmp_path / "result.json").read_text())
    names = {one["name"] for one in (*told["estimates"], told["headline"]) if one["value"] is not None}
    names |= {one["estimate"]["name"] for one in told["contrasts"]}
    assert "final emotion, heron − kestrel" in names
    again = without_eqlab(tmp_path)
    assert again.wrong == []
    assert again.same >= {"people analysed", *names}


def test_it_does_so_where_listeners_quit_in_their_first_talk(tmp_path):
    """Their words are no answer: the script did not count them among those who talked."""
    more = {"talk": 'person = "listener"\ntalks = 2', "top": "limit = 4", "arms": {"s": "speaker-m"}}
    quitters, _ = walked(tmp_path, 12, {"honest": 0.3, "leaving": 0.7}, **more)
    export_all(quitters, tmp_path / "out")
    again = without_eqlab(tmp_path / "out")
    with (tmp_path / "out" / "participants.csv").open(newline="") as file:
        silent = [row for row in csv.DictReader(file) if row["trials_answered"] == "0"]
    quitters.store.close()
    assert silent
    assert again.wrong == []


def test_it_does_so_where_people_listen(tmp_path, listeners):
    export_all(listeners, tmp_path)
    again = without_eqlab(tmp_path)
    assert again.wrong == []
    assert again.same >= {"people analysed", "final emotion", "final emotion, s", "change of emotion", "failure"}


@pytest.mark.parametrize(
    ("column", "value", "changed"), [("emotion", "0", "final emotion"), ("leaves", "2", "failure")]
)
def test_it_says_where_a_talk_was_changed(tmp_path, mixed, capsys, column, value, changed):
    export_all(mixed, tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "talks.csv").read_text())))
    last = max(
        (row for row in rows if row["seat"] == "speaker" and row[column] not in ("", value) and row["leaves"] != "0"),
        key=lambda row: int(row["turn"]),
    )
    last[column] = value
    with (tmp_path / "talks.csv").open("w", newline="") as file:
        written = csv.DictWriter(file, list(last))
        written.writeheader()
        written.writerows(rows)
    assert redo_script.main(tmp_path) == 1
    assert f"DIFFERENT  {changed}: " in capsys.readouterr().out


END = [
    ({}, "turns"),
    ({"leaves": "1"}, "satisfied"),
    ({"leaves": "2"}, "hurt"),
    ({"emotion": "3"}, "hurt"),
    ({"emotion": "3", "leaves": "1"}, "hurt"),
    ({"emotion": "100", "leaves": "2"}, "satisfied"),
    ({"status": "refused"}, "lost"),
    ({"finish": "left"}, "left"),
    ({"finish": "down"}, "down"),
    ({"status": "error"}, ""),
]


@pytest.mark.parametrize(("last", "end"), END)
def test_the_script_ends_talks_of_simulated_speakers_as_the_product_does(last, end):
    from eqlab.benchmarks.dialogue.trials import end_of
    from eqlab.core.answers import Answer
    from eqlab.core.benchmark import Turn
    from eqlab.core.forms import Form
    from eqlab.core.trials import Trial

    row = {"seat": "speaker", "status": "ok", "finish": "", "emotion": "50", "leaves": "0", **last}
    rows = [{**row, "seat": "listener", "status": "ok", "finish": ""}, row]
    key = {"speaker": "m", "replies": 1, "character": {}}
    assert redo_script._end(rows, key, False) == end
    if row["status"] == "error":
        return  # such a turn is asked again
    values = {"emotion": int(row["emotion"]), "leaves": int(row["leaves"]), "says": "x"}
    turns = [
        Turn(trial, Answer("r", trial.id, "s", 0, 1, "x", status, values, finish=finish))
        for trial, status, finish in (
            (Trial("dialogue", ("a",), "m", "x", Form(), "x", key=key), "ok", None),
            (Trial("dialogue", ("a",), "m", "x", Form(), "x", seat="m"), row["status"], row["finish"]),
        )
    ]
    assert end_of(turns) == end


def test_the_public_release_has_no_word_of_anybody(tmp_path, speakers):
    publish(speakers[0], tmp_path)
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "something I want to tell" not in text
    assert "I hear you" not in text
    rows = list(csv.DictReader(io.StringIO((tmp_path / "talks.csv").read_text())))
    assert {row["seat"] for row in rows} == {"speaker", "listener"}
    assert all(int(row["words"]) % 10 == 0 for row in rows)
    assert "text" not in rows[0]


def test_a_person_can_have_all_that_is_known_of_them(speakers):
    participation, _ = speakers
    who = read_participants(participation).people[0].person
    told = json.dumps(export_person(participation, who), default=str)
    assert "something I want to tell" in told
    assert "I hear you" in told


def test_a_run_of_people_scores_and_reports_like_any_run(tmp_path, listeners):
    import eqlab.runs.score as scoring
    from eqlab.publish.report.write import write_results

    stored = listeners.store.read_run(listeners.design.run.id)
    (result,) = scoring.results(listeners.store, stored)
    assert (result.subject, result.benchmark, result.rules["people"]) == ("people", "dialogue", 6)
    assert result.headline.n == 6
    page = write_results([(stored, [result])], tmp_path / "report.html").read_text()
    assert "people" in page
    assert "final emotion" in page


def test_a_leaderboard_shows_no_word_of_people(listeners):
    from eqlab.publish.leaderboard.build import _shown
    from eqlab.publish.leaderboard.entries import run_entries, without_texts

    stored = listeners.store.read_run(listeners.design.run.id)
    (entry,) = run_entries(listeners.store, stored, {})
    shown = _shown(entry, True)
    assert not shown.texts
    assert "I am with you" not in str(without_texts(shown).result.items)


def test_what_was_asked_is_counted(speakers):
    participation, _ = speakers
    with participation.store.engine.connect() as connection:
        rows = connection.execute(select(talk_calls)).all()
    assert {row.state for row in rows} == {"done"}
    turns = sum(not turn.trial.seat for person in read_participants(participation).people for turn in person.turns)
    assert len(rows) == turns

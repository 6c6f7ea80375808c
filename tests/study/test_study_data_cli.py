"""A study's data on the command line: lock, walk, analyse, export, look at one person, erase them."""

import csv
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib import import_module
from io import StringIO
from random import Random

import polars as pl
import pytest
from filled_studies import filled
from small_study import take
from talk_case import talked

from eqlab.cli.study_data import _say_check
from eqlab.core.runs import config_from_json
from eqlab.runs.score import results
from eqlab.store.access import open_reader
from eqlab.store.kept_scores import KeptScores
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.researchers import read_audit
from eqlab.store.study.studies import create_study
from eqlab.study.build_design import open_study
from eqlab.study.panels import panel_hash
from eqlab.study.results.lock_file import SealCheck
from eqlab.study.results.people import people_rows
from eqlab.view.shelf import Shelf

SECRET = "b7d5a1c38e6f42908b7d5a1c38e6f429"


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("EQLAB_STORE", str(tmp_path / "store.db"))


@pytest.fixture
def study(eqlab, tmp_path):
    """An eqbench study of four dialogues, and a way to let people take it."""
    eqlab("study", "init", "eqbench", "-o", "study.toml")
    path = tmp_path / "study.toml"
    text = path.read_text().replace("# limit = 20", "limit = 4").replace("batch_size = 10", "batch_size = 2")
    path.write_text(text)

    def people(*ids):
        store = Store(str(tmp_path / "store.db"))
        participation = Participation(store, open_study(path, store)[1])
        found = []
        for one in ids:
            person = participation.arrive(panel_hash(SECRET.encode(), one), "en")
            take(participation, person)
            found.append(person)
        store.close()
        return found

    return people


def test_what_people_wrote_is_read_through_the_door_that_keeps_the_look(eqlab, tmp_path):
    """In a study of replies the texts are the outcome."""
    eqlab("study", "init", "reply", "-o", "study.toml")
    eqlab("study", "lock", "study.toml")
    with Store(str(tmp_path / "store.db")) as store:
        participation = Participation(store, open_study(tmp_path / "study.toml", store)[1])
        person = participation.arrive(None, "en")
        view = take(participation, person, until="trial")
        (field,) = view.trial.form.fields
        text = " ".join(f"word{number}" for number in range(60))
        assert participation.save(person, view.number, view.attempt, {field.key: text}).outcome == "saved"
    code, said, error = eqlab("study", "replies", "study.toml", "-o", "texts.csv")
    assert (code, "texts.csv (interim): replies: 1, with a mark: " in said) == (0, True), error
    done = [row["action"] for row in json.loads(eqlab("study", "audit", "study.toml", "--json")[1])]
    assert done == ["locked", "read"]
    code, said, error = eqlab("study", "people", "signals", "study.toml")  # how much people write is the outcome here
    assert (code, "is on record; results are interim." in said) == (0, True), error
    done = [row["action"] for row in json.loads(eqlab("study", "audit", "study.toml", "--json")[1])]
    assert done == ["locked", "read", "read"]


def written(participation):
    """Somebody who writes every reply."""
    person = participation.arrive(None, "en")
    while (view := take(participation, person, until="trial")).step is not None:
        values = {field.key: "One two three four five six seven eight nine ten." for field in view.trial.form.fields}
        assert participation.save(person, view.number, view.attempt, values).outcome == "saved"
    return person


@pytest.mark.parametrize(
    ("reading", "command"),
    [
        ("eqlab.study.results.people.replies_csv", ("replies", "study.toml")),
        ("eqlab.study.results.people.signals", ("people", "signals", "study.toml")),
        ("eqlab.store.study.records.export_person", ("person", "study.toml", "--person")),
    ],
)
def test_a_look_is_of_the_moment_that_was_read(eqlab, tmp_path, monkeypatch, reading, command):
    """The last place is filled after the rows were read, and before the look is written down."""
    eqlab("study", "init", "reply", "-o", "study.toml")
    path = tmp_path / "study.toml"
    text = path.read_text().replace("batch_size = 6", "batch_size = 8")
    text = text.replace("people_per_batch = 3", "people_per_batch = 2").replace("# limit = 40", "limit = 8")
    path.write_text(text)
    eqlab("study", "lock", "study.toml")
    with Store(str(tmp_path / "store.db")) as store:
        participation = Participation(store, open_study(path, store)[1])
        assert len(list(participation.design.places())) == 2
        person = written(participation)
        module, _, name = reading.rpartition(".")
        read = getattr(import_module(module), name)

        def and_then_the_last_place_is_filled(*given):
            found = read(*given)
            written(participation)
            return found

        monkeypatch.setattr(reading, and_then_the_last_place_is_filled)
        done = eqlab("study", *command, *([person] if command[0] == "person" else []))
        assert done.code == 0, done.err
        (look,) = [one for one in read_audit(store, "reply") if one.action == "read"]
        assert (look.detail["done"], look.detail["planned"]) == (1, 2)


@pytest.mark.claims
@pytest.mark.parametrize("kind", ["rating", "pairwise", "reply", "evoked", "eqbench", "talk"])
def test_from_init_to_publish_by_the_commands_of_the_documentation(eqlab, server, tmp_path, kind, monkeypatch):
    """Every kind in one go; its people come through the store, in the time after the lock. They are the same each time:
    of eight people some answer so that a model hardly fits, and two programs may then find two ends."""
    drawn = Random(1)
    monkeypatch.setattr("secrets.token_hex", lambda size=16: drawn.randbytes(size).hex())
    arms = ("--arm", "ours=author", "--arm", "again=author") if kind in ("rating", "pairwise") else ()
    if kind == "talk":
        models = f"http://127.0.0.1:{server.port}/v1"
        arms = ("--arm", f"ours=model-x1@{models}", "--arm", f"again=model-x2@{models}")
        server.reply = lambda body, number: f"That sounds hard, and I have heard it {number} times."

    def step(*words):
        done = eqlab("study", *words)
        assert done.code == 0, (words, done.out, done.err)
        return done.out

    step("init", kind, *arms)
    file = f"{kind}.toml"
    if kind == "talk":
        text = (tmp_path / file).read_text(encoding="utf-8").replace("least_wait = 2", "least_wait = 0")
        (tmp_path / file).write_text(text.replace('help = "CHANGE ME', 'help = "In distress'), encoding="utf-8")
    step("check", file)
    step("simulate", file, "--people", "4")
    assert "Results will be confirmatory" in step("lock", file)
    with Store(str(tmp_path / "store.db")) as store:
        design = open_study(tmp_path / file, store)[1]
        if kind == "talk":
            talked(design, store, 8)
            assert len(server.requests) == 8  # each reply was asked for once
        else:
            filled(design, store, 8, since=int(time.time()) + 60)
    step("status", file)
    assert "Interim" in step("analyze", file, "--report", "study.html")
    step("people", "signals", file, "-o", "signals.csv")
    if kind == "reply":
        step("replies", file, "-o", "replies.csv")
    step("seal", file, "-o", "seal.json")
    step("export", file, "-o", "out")
    step("seal", file, "-o", "later.json")
    said = step("verify", f"{kind}.lock.json", "seal.json", "later.json", "--export", "out")
    assert said.count("answers of 8 people as they were sealed.") == 2
    assert said.count("newer than out by 1 link of the chain of events: looks or seals, nothing else.") == 1
    assert "The same as in the export." in step("redo", "out")
    step("publish", file, "-o", "public")
    with (tmp_path / "public" / "people.csv").open(encoding="utf-8", newline="") as table:
        assert len(list(csv.DictReader(table))) == 8
    again = subprocess.run([sys.executable, "out/redo.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stdout + again.stderr


def test_who_is_erased_leaves_the_calibrations_too(eqlab, server, tmp_path):
    """A judge that was held against a study's people kept, in its questions, who had rated which reply how."""
    eqlab("study", "init", "rating", "--arm", "ours=author", "--arm", "again=author")
    with Store(str(tmp_path / "store.db")) as store:
        participation = filled(open_study(tmp_path / "rating.toml", store)[1], store, 3)
        run = participation.design.run.id
        one, two, _ = (f"person:{row.person}" for row in people_rows(participation))
    server.reply = lambda body, number: "Okay"
    done = eqlab("judge", "calibrate", "j", "--against", run, "--base-url", server.url)
    assert done.code == 0, done.err
    assert pairs_of_the_last(tmp_path / "store.db")
    assert trials_that_know(tmp_path / "store.db", "person:") == set()
    as_in_0_2(tmp_path / "store.db", one, two)
    before = pairs_of_the_last(tmp_path / "store.db")
    assert viewed_pairs(tmp_path / "store.db") == before
    done = eqlab("study", "people", "erase", "rating.toml", "--person", one.removeprefix("person:"), "--yes")
    assert "tables of replies" in done.out
    assert trials_that_know(tmp_path / "store.db", one) == set()
    assert trials_that_know(tmp_path / "store.db", two)
    assert one.encode() not in (tmp_path / "store.db").read_bytes()
    assert 2 * pairs_of_the_last(tmp_path / "store.db") == before > 0
    assert 2 * viewed_pairs(tmp_path / "store.db") == before  # nothing of them was kept beside the store
    assert eqlab("report", "last").code == 0


def pairs_of_the_last(store):
    with Store(str(store)) as opened:
        (result,) = results(opened, "last")
    return result.rules["calibration_pairs"]


def viewed_pairs(store):
    """The same by a view that is started anew."""
    shelf = Shelf(str(store))
    with closing(KeptScores(str(store))) as shelf._kept, open_reader(str(store)) as opened:
        shelf.read(opened)
    (result,) = shelf.snapshot.runs[0].results
    return result.rules["calibration_pairs"]


def as_in_0_2(store, *subjects):
    """Ratings stood in the questions, and the run did not name whose they are."""
    with closing(sqlite3.connect(store)) as connection, connection:
        ((run, config),) = connection.execute(
            "SELECT id, config FROM runs WHERE config LIKE '%calibration%'"
        ).fetchall()
        named = json.loads(config)
        del named["benchmarks"][0]["options"]["against"]
        before = config_from_json(json.dumps(named)).id
        connection.execute("UPDATE runs SET id = ?, config = ? WHERE id = ?", (before, json.dumps(named), run))
        for table in ("sessions", "planned", "answers", "progress"):
            connection.execute(f"UPDATE {table} SET run_id = ? WHERE run_id = ?", (before, run))
        query = "SELECT id, body FROM trials JOIN planned ON trial_id = id WHERE subject = 'judge:j'"
        for number, (trial, body) in enumerate(connection.execute(query).fetchall()):
            asked = json.loads(body)
            asked["key"]["human"] = [[subject, 1 + number % 3] for subject in subjects]
            connection.execute("UPDATE trials SET body = ? WHERE id = ?", (json.dumps(asked), trial))


def trials_that_know(store, subject):
    with closing(sqlite3.connect(store)) as connection:
        found = connection.execute("SELECT id, body FROM trials").fetchall()
    return {trial for trial, body in found if subject in body}


def assert_the_label_is_held_against_what_it_says(eqlab, folder):
    file = folder / "study.json"
    whole = file.read_text(encoding="utf-8")
    edited = json.loads(whole)
    edited["standing"]["label"] = "confirmatory"
    file.write_text(json.dumps(edited))
    code, said, err = eqlab("study", "verify", "eqbench.lock.json", "--export", "out")
    assert (code, "confirmatory" in said) == (1, False)
    assert "calls its results confirmatory, and tells that they are interim" in err
    edited = json.loads(whole)
    del edited["standing"]["lock"]["plan"]["sample"]
    file.write_text(json.dumps(edited))
    for command in (("verify", "eqbench.lock.json", "--export", "out"), ("redo", "out")):
        code, _, err = eqlab("study", *command)
        assert (code, "is not the one that was locked" in err) == (1, True)
    file.write_text(whole, encoding="utf-8")


def assert_tables_are_held_against_the_records(eqlab, out):
    """`verify` names file, row and column of what was changed in the tables, which people read instead of the rows."""

    def said(status=1):
        done = eqlab("study", "verify", "eqbench.lock.json", "--export", "out")
        assert done.code == status, done.out
        return [line for line in done.out.splitlines() if line.startswith("! ")]

    answers, people = out / "answers.csv", out / "participants.csv"
    original = answers.read_bytes()
    rows = list(csv.reader(original.decode().splitlines()))
    assert all("\n" not in cell for row in rows for cell in row)
    value = rows[0].index("value")
    changed = [list(row) for row in rows]
    changed[3][value] = str(int(rows[3][value]) + 1)

    def write(lines):
        with answers.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)

    write(changed)
    (line,) = said()
    assert line == f"! answers.csv, row 3, column value: '{changed[3][value]}', and '{rows[3][value]}' in records.jsonl"
    write(rows[:-1])
    assert said() == [f"! answers.csv has {len(rows) - 2:,} rows, and records.jsonl makes {len(rows) - 1}"]
    write([["nobody", *row[1:]] for row in rows])
    assert said() == ["! answers.csv: the names of its columns are not those of the export"]
    write([rows[0], *(["nobody", *row[1:]] for row in rows[1:])])
    assert said()[-1] == f"! answers.csv: {len(rows) - 1 - 3:,} more cells differ"
    answers.write_bytes(original)
    people.rename(out / "elsewhere")
    assert said() == ["! participants.csv is missing"]
    (out / "elsewhere").rename(people)
    parquet = out / "participants.parquet"
    kept = parquet.read_bytes()
    frame = pl.read_parquet(parquet)
    frame.with_columns(pl.lit("banned").alias("state")).write_parquet(parquet)
    assert said()[0] == "! participants.parquet, row 1, column state: 'banned', and 'finished' in records.jsonl"
    parquet.write_bytes(b"no table")
    assert said() == ["! participants.parquet cannot be read (ComputeError)"]
    parquet.write_bytes(kept)
    assert said(0) == []


def test_another_lock_never_takes_the_place_of_a_lock_file(eqlab, tmp_path):
    eqlab("study", "init", "eqbench", "-o", "study.toml")
    assert eqlab("study", "lock", "study.toml")[0] == 0
    first = (tmp_path / "eqbench.lock.json").read_text()
    code, _, error = eqlab("study", "lock", "study.toml", "--store", "another.db")
    assert (code, "eqbench.lock.json is there" in error) == (2, True), error
    assert (tmp_path / "eqbench.lock.json").read_text() == first
    assert eqlab("study", "lock", "study.toml", "--store", "another.db", "-o", "second.lock.json")[0] == 0
    assert eqlab("study", "lock", "study.toml", "--store", "another.db")[0] == 2  # locked meanwhile, in another file
    assert eqlab("study", "lock", "study.toml")[0] == 0  # the same lock again
    assert (tmp_path / "eqbench.lock.json").read_text() == first


def test_a_plan_that_nobody_can_test_is_told_when_it_is_locked(eqlab, tmp_path):
    eqlab("study", "init", "pairwise", "-o", "study.toml", "--arm", "ours=author", "--arm", "again=author")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace("# limit = 40", "limit = 4"))
    code, said, error = eqlab("study", "lock", "study.toml")
    assert (code, "! The planned contrasts cannot be tested" in said) == (0, True), said + error


def test_an_unlocked_study_that_was_closed_is_not_under_way(eqlab, tmp_path):
    eqlab("study", "init", "eqbench", "-o", "study.toml")
    with Store(str(tmp_path / "store.db")) as store:
        text, design = open_study(tmp_path / "study.toml", store)
        create_study(store, design, text, "0", {})
        take(Participation(store, design), Participation(store, design).arrive(None, "en"))
    assert "of a study under way" in eqlab("study", "export", "study.toml", "-o", "one")[1]
    assert eqlab("study", "close", "study.toml", "--yes")[0] == 0
    code, said, error = eqlab("study", "export", "study.toml", "-o", "two")
    assert (code, "under way" in said) == (0, False), error


def test_lock_walk_analyse_export_erase(eqlab, study, tmp_path, monkeypatch):
    code, said, _ = eqlab("study", "lock", "study.toml")
    assert code == 0
    assert "Locked on" in said
    assert "will be confirmatory" in said
    assert "! study.toml still says 'CHANGE ME': people will read it" in said
    assert "Was locked before" in eqlab("study", "lock", "study.toml")[1]
    before = (tmp_path / "study.toml").read_text()
    for command in ("lock", "seal"):
        done = eqlab("study", command, "study.toml", "-o", "./study.toml")
        assert (done.code, "is the study file itself" in done.err) == (2, True)
    assert (tmp_path / "study.toml").read_text() == before
    one, two, *_ = study("PANEL-ID-ONE", "PANEL-ID-TWO", "PANEL-ID-THREE", "PANEL-ID-FOUR", "PANEL-ID-FIVE")

    code, said, _ = eqlab("study", "analyze", "study.toml", "--report", "report.html")
    assert code == 0
    assert "Interim: 5 people score" in said
    assert "assigned: finished" in said
    assert "If nobody were excluded\nThe same: the plan's rules exclude nobody." in said  # no heads above no rows
    page = (tmp_path / "report.html").read_text()
    for words in ("Interim", "Who came", "Who is analysed", "Checks", "If nobody were excluded"):
        assert words in page
    found = json.loads(eqlab("study", "analyze", "study.toml", "--json")[1])
    assert found["standing"]["label"] == "interim"
    assert len(found["standing"]["looks"]) == 1
    assert sorted(found["analysed"]) == sorted([one, two, *set(found["analysed"]).difference((one, two))])

    code, said, _ = eqlab("study", "seal", "study.toml", "-o", "seal.json")
    assert (code, "people: 5, links of the chain: 13" in said) == (0, True)
    code, said, _ = eqlab("study", "export", "study.toml", "-o", "out")
    assert (code, len(list((tmp_path / "out").iterdir()))) == (0, 17)
    assert "answers.csv" in said
    code, said, _ = eqlab("study", "redo", "out")
    assert (code, "The same as in the export." in said) == (0, True)
    code, said, _ = eqlab("study", "verify", "eqbench.lock.json", "--export", "out")
    assert (code, "the signature is right" in said, "made under this lock" in said) == (0, True, True)
    assert "looked at 2 times before the planned number was reached" in said
    against = ("eqbench.lock.json", "seal.json", "--export", "out", "--study", "study.toml")
    code, said, _ = eqlab("study", "verify", *against)
    assert (code, said.count("answers of 5 people as they were sealed.")) == (0, 2)
    assert "The store is under this lock; its results are interim" in said
    assert_the_label_is_held_against_what_it_says(eqlab, tmp_path / "out")
    assert_tables_are_held_against_the_records(eqlab, tmp_path / "out")
    assert "again.1.registration.txt" in eqlab("study", "lock", "study.toml", "-o", "again.1.json")[1]
    for name in ("eqbench.registration.txt", "eqbench.registration.json"):
        assert "before anybody had answered a trial" in (tmp_path / name).read_text()
    assert eqlab("study", "publish", "study.toml", "-o", "public", "--smallest", "6").code == 2
    code, said, _ = eqlab("study", "publish", "study.toml", "-o", "public")
    assert (code, one in (tmp_path / "public" / "people.csv").read_text()) == (0, False)
    assert "earlier release" not in said
    told = json.loads((tmp_path / "public" / "release.json").read_text())
    assert told["looks at results"] == {"before the planned number": 4, "later": 0}
    assert [row["person"] for row in json.loads(eqlab("study", "people", "study.toml", "--json")[1])].count(one) == 1
    done = [row["action"] for row in json.loads(eqlab("study", "audit", "study.toml", "--json")[1])]
    assert done == ["locked", "analysed", "analysed", "sealed", "exported", "analysed", "published"]
    assert "There is an earlier release" in eqlab("study", "publish", "study.toml", "-o", "public2").out

    own = json.loads(eqlab("study", "person", "study.toml", "--person", one)[1])
    assert (own["person"], own["participants"][0]["state"]) == (one, "finished")
    assert panel_hash(SECRET.encode(), "PANEL-ID-ONE") not in json.dumps(own)

    code, _, error = eqlab("study", "erase", "study.toml", "--panel-id", "PANEL-ID-ONE", "--yes")
    assert (code, "EQLAB_STUDY_SECRET" in error) == (2, True)
    monkeypatch.setenv("EQLAB_STUDY_SECRET", SECRET)
    code, said, _ = eqlab("study", "erase", "study.toml", "--panel-id", "PANEL-ID-ONE", "--yes")
    assert (code, said.startswith(f"Erased: {one} and ")) == (0, True)
    assert "backups made before still hold them" in " ".join(said.split())
    assert eqlab("study", "person", "study.toml", "--panel-id", "PANEL-ID-ONE")[0] == 2
    assert "by a researcher" in eqlab("study", "analyze", "study.toml")[1]
    code, said, _ = eqlab("study", "verify", "seal.json", "--study", "study.toml")
    assert (code, "answers of 4 people as they were sealed; erased since: 1." in said) == (0, True)
    content = json.loads((tmp_path / "out" / "study.json").read_text())
    content["audit"] = [row for row in content["audit"] if row["action"] != "analysed"]
    (tmp_path / "out" / "study.json").write_text(json.dumps(content))
    code, said, _ = eqlab("study", "verify", "eqbench.lock.json", "--export", "out")
    assert (code, "! 2 rows of the audit trail are missing or changed" in said) == (1, True)
    content["standing"]["lock"]["at"] -= 60
    (tmp_path / "out" / "study.json").write_text(json.dumps(content))
    assert eqlab("study", "verify", "eqbench.lock.json", "--export", "out")[0] == 1
    del content["chain"][0]
    (tmp_path / "out" / "study.json").write_text(json.dumps(content))
    code, said, _ = eqlab("study", "verify", "seal.json", "--export", "out")
    assert (code, "! link 1 of the chain of events is missing or was changed" in said) == (1, True)

    monkeypatch.setattr("sys.stdin", StringIO(""))
    for what in ("erase", "ban"):
        code, said, _ = eqlab("study", "people", what, "study.toml", "--person", two)
        assert (code, "the result is exploratory from then on" in said) == (130, True)  # nobody answered
        code, _, said = eqlab("study", "people", what, "study.toml", "--person", "nobody", "--yes")
        assert (code, "Nobody is called nobody in study" in said) == (1, True)
    code, said, _ = eqlab("study", "people", "release", "study.toml", "--person", two)
    assert (code, said) == (0, f"Nothing is left to release: {two} is finished.\n")
    assert eqlab("study", "people", "ban", "study.toml", "--person", two, "--yes")[0] == 0
    (tmp_path / "ids.csv").write_text(
        "Participant id,x\nPANEL-ID-TWO,1\nPANEL-ID-THREE,2\nNOBODY-AT-ALL,3\npanel-id-three,4\n"
    )
    code, said, _ = eqlab("study", "approve", "study.toml", "ids.csv", "--bonus", "1.5", "-o", "paid")
    assert code == 0
    told = (tmp_path / "paid" / "eqbench.approval.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in told[1:]] == [
        ["PANEL-ID-TWO", "banned", "look at it"],
        ["PANEL-ID-THREE", "finished", "approve"],
        ["NOBODY-AT-ALL", "unknown", "look at it"],
        ["panel-id-three", "finished", "approve"],
    ]
    assert (tmp_path / "paid" / "eqbench.bonus.csv").read_text() == "panel-id-three,1.50\n"  # once
    for separator in (";", "\t"):  # as a German spreadsheet saves it
        (tmp_path / "theirs.csv").write_text(f"x{separator}Participant id\n1{separator}PANEL-ID-THREE\n")
        assert eqlab("study", "approve", "study.toml", "theirs.csv", "-o", "theirs")[0] == 0
        theirs = (tmp_path / "theirs" / "eqbench.approval.csv").read_text().splitlines()
        assert [line.split(",")[:3] for line in theirs[1:]] == [["PANEL-ID-THREE", "finished", "approve"]]
    for command, said in (("pause", "paused"), ("resume", "open")):
        assert said in eqlab("study", command, "study.toml")[1]
    assert eqlab("study", "close", "study.toml", "--yes")[0] == 0
    code, _, error = eqlab("study", "resume", "study.toml")
    assert (code, "closed for good" in error) == (1, True)
    assert eqlab("study", "erase", "study.toml", "--person", one, "--yes")[0] == 1
    assert eqlab("study", "person", "study.toml", "--person", two)[0] == 0


def test_nobody_peeks_at_a_locked_study_unseen(eqlab, study, tmp_path):
    """General commands do not show what people have answered so far; the study's own do, and keep that they did."""
    eqlab("study", "lock", "study.toml")
    one, _ = study("PANEL-ID-ONE", "PANEL-ID-TWO")
    with Store(str(tmp_path / "store.db")) as store:
        (run,) = store.run_ids()
    for command in (
        ("report", run, "-o", "peek.html"),
        ("show", run),
        ("show", run, "--json"),
        ("export", run, "-o", "peek.csv"),
        ("compare", run, "published:gpt-4-0613"),
    ):
        code, said, error = eqlab(*command)
        assert code != 0, command
        assert "2 of" in error, (command, said, error)
        assert "eqlab study analyze" in error, (command, error)
    assert not list(tmp_path.glob("peek*"))
    assert "nothing to put on the board" in eqlab("leaderboard", "build", "site")[2]  # left out
    own = json.loads(eqlab("study", "person", "study.toml", "--person", one)[1])
    assert own["standing"] == "interim"
    done = [row["action"] for row in json.loads(eqlab("study", "audit", "study.toml", "--json")[1])]
    assert done == ["locked", "read"]
    assert "looked at once before the planned number" in eqlab("study", "analyze", "study.toml")[1]


def test_judges_say_whose_ratings_they_do_not_use(monkeypatch):
    """People's ratings in a locked study under way are passed over, not in silence."""
    from types import SimpleNamespace

    from eqlab.core.results import Estimate, Result
    from eqlab.core.runs import PEOPLE
    from eqlab.runs import score as module
    from eqlab.runs.context import Known

    asked = SimpleNamespace(name="rating")
    study = SimpleNamespace(id="s", benchmarks=[asked], models=())
    store = SimpleNamespace(
        shut=lambda run: "study 'x', which is locked and has 3 of 6 places filled",
        scored=lambda *_: (),
        run_ids=lambda: ["s"],
        read_run=lambda run: SimpleNamespace(config=study),
    )

    def judged(subject, asked, scored, context, model):
        assert [list(one.scored(PEOPLE)) for one in context.others()] == [[]]
        return Result("rating", "Rated", "judge:x", {}, "", Estimate("x", 1.0, n=1), (0.0, 1.0)), []

    monkeypatch.setattr(module, "_answered", judged)
    monkeypatch.setattr(module, "_finished", lambda result, *_: result)
    stored = SimpleNamespace(id="r", config=SimpleNamespace(models=()))
    found = module.result_of(Known(store), (stored, "judge:x", asked))
    assert found.caveats == (
        "What people said in study 'x', which is locked and has 3 of 6 places filled, is not used here before it is "
        "complete or closed.",
    )


def test_a_study_that_is_not_locked_is_shown_by_general_commands(eqlab, study, tmp_path):
    with Store(str(tmp_path / "store.db")) as store:
        create_study(store, open_study(tmp_path / "study.toml", store)[1], "", "test", {})
        (run,) = store.run_ids()
    study("PANEL-ID-ONE")
    assert eqlab("show", run)[0] == 0


def test_erasing_asks_first(eqlab, study, monkeypatch):
    eqlab("study", "lock", "study.toml")
    (one,) = study("PANEL-ID-ONE")
    monkeypatch.setattr("typer.confirm", lambda text, abort: (_ for _ in ()).throw(KeyboardInterrupt))
    assert eqlab("study", "erase", "study.toml", "--person", one)[0] == 130
    assert eqlab("study", "person", "study.toml", "--person", one)[0] == 0


@pytest.mark.parametrize("clean", [True, False])
def test_erasing_tells_whether_traces_are_left_in_the_files(eqlab, study, monkeypatch, clean):
    eqlab("study", "lock", "study.toml")
    (one,) = study("PANEL-ID-ONE")
    monkeypatch.setattr("eqlab.store.study.records.scrub", lambda *_, **__: clean)
    said = eqlab("study", "erase", "study.toml", "--person", one, "--yes").out
    assert ("Traces in the database" in said) is not clean


def test_a_changed_plan_is_exploratory_and_cannot_be_locked_again(eqlab, study, tmp_path):
    eqlab("study", "lock", "study.toml")
    study("PANEL-ID-ONE", "PANEL-ID-TWO")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace('exclude = ["failed_attention"]', "exclude = []"))
    code, _, error = eqlab("study", "lock", "study.toml")
    assert (code, "analysis.exclude" in error) == (1, True)
    assert "Exploratory: " in eqlab("study", "analyze", "study.toml")[1]


def test_a_study_that_has_not_begun_is_said_plainly(eqlab, study):
    for command in ("analyze", "export", "person"):
        code, _, error = eqlab("study", command, "study.toml")
        assert (code, "has not begun" in error) == (1, True)


def test_one_person_must_be_named(eqlab, study):
    eqlab("study", "lock", "study.toml")
    code, _, error = eqlab("study", "person", "study.toml")
    assert (code, "Name one person" in error) == (2, True)


def test_simulate_prints_what_was_put_in_and_what_was_found(eqlab, study, tmp_path):
    pytest.importorskip("uvicorn")
    code, said, _ = eqlab(
        "study", "simulate", "study.toml", "--people", "8", "--mix", "honest=7", "--mix", "leaving=1", "--repeats", "3"
    )
    assert code == 0
    assert "Simulated effect: 1.5" in said
    assert "8 people came, 8 counted, 1 of them left on the way" in said
    assert "3 simulations: the first over HTTP" in said
    assert not (tmp_path / "store.db").exists() or eqlab("study", "analyze", "study.toml")[0] == 1  # nothing was kept


def test_who_came_between_an_export_and_a_newer_seal_is_no_accusation(capsys):
    held = SealCheck(3, 0, 0, 1, 0, (), later=1)
    assert not _say_check("out", held)
    said = " ".join(capsys.readouterr().out.split())
    assert "MISSING: 1." in said
    assert "may have answered since, and counts as missing: export again." in said

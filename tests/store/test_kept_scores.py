"""Scores kept between starts: the same to the last digit, and none where anything has changed or is not sound."""

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

pytest.importorskip("starlette")

from msgspec import structs
from server import answer_to
from view_case import fill, near, prepared

import eqlab as api
from eqlab.core.item_columns import ItemColumns
from eqlab.core.runs import PEOPLE
from eqlab.publish.report import write
from eqlab.runs import score
from eqlab.runs.context import Known
from eqlab.store.access import open_reader
from eqlab.store.kept_scores import KeptScores, pack, unpacked, without_texts, without_words
from eqlab.store.store import Store
from eqlab.view.shelf import Shelf

SIX = ("eqbench", "emotionbench", "empathy", "emobench", "dialogue", "seceu")


def look(where, looked=()):
    """The results that a new process would have, and of how many it scored the answers."""
    shelf, scored = Shelf(str(where)), []
    shelf._looked.update(looked)
    answered = score._answered
    with (
        closing(KeptScores(str(where))) as shelf._kept,
        open_reader(str(where)) as store,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(score, "_answered", lambda *given: (scored.append(given[0]), answered(*given))[1])
        shelf.read(store)
    return [result for run in shelf.snapshot.runs for result in run.results], len(scored)


@pytest.fixture
def where(tmp_path):
    fill(tmp_path / "s.db", prepared(repeats=2))
    return tmp_path / "s.db"


def test_a_second_start_scores_nothing_and_has_the_same_results(where):
    first, scored = look(where)
    again, nothing = look(where)
    assert (scored, nothing) == (3, 0)
    assert again == first
    assert all(result.items and not result.items[0].text for result in again)


@pytest.mark.parametrize("name", SIX)
def test_a_result_comes_back_to_the_last_digit(tmp_path, name):
    run = fill(tmp_path / "s.db", prepared(("lab/careful",), (name,), limit=2, items="open"))
    with Store(str(tmp_path / "s.db")) as store:
        (result,) = map(without_texts, api.results(store, run))
    back, _ = unpacked(pack(result))
    assert (back, pack(back)) == (result, pack(result))


@pytest.mark.parametrize("room", [0, 300_000])
def test_items_in_columns_are_the_items_whether_they_stay_or_not(tmp_path, monkeypatch, room):
    monkeypatch.setattr(ItemColumns, "room", room)
    run = fill(tmp_path / "s.db", prepared(("lab/careful",), limit=6, repeats=2))
    with Store(str(tmp_path / "s.db")) as store:
        (result,) = api.results(store, run)
    lean = without_texts(result).items
    assert lean == tuple(without_words(item, numbers=False) for item in result.items) == tuple(lean)
    assert [item.words for item in lean] == [item.words for item in result.items]
    mixed = lean.instead({3: result.items[3]})
    for items in (mixed, pickle.loads(pickle.dumps(mixed)), ItemColumns.of(mixed)):
        assert (items[3], items[4], items[-1]) == (result.items[3], lean[4], lean[-1])
        assert tuple(items)[4:] == items[4:] == lean[4:]
    assert ItemColumns.room == room - len(lean) * (3 if room else 0)
    del lean, mixed, items
    assert ItemColumns.room == room


def test_what_has_changed_is_scored_again(where, tmp_path, monkeypatch):
    look(where)
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodels = ["lab/hasty"]\ninput = 1.0\noutput = 1.0\n')
    monkeypatch.setenv("EQLAB_PRICES", str(prices))
    assert look(where)[1] == 1  # the one whose price is known now
    fill(where, prepared(("lab/careful",), ("seceu",), limit=2))
    assert look(where)[1] == 1  # the new run alone
    monkeypatch.setattr("eqlab.store.kept_scores._code", lambda: "another version")
    assert look(where)[1] == 4


def test_where_other_runs_count_theirs_must_not_have_changed_either(where):
    assert look(where, {"eqbench"})[1] == 3  # as of a benchmark that looks at all its runs
    assert look(where)[1] == 0
    fill(where, prepared(("lab/careful",), ("seceu",), limit=2))
    assert look(where)[1] == 4


def test_a_run_under_way_and_people_are_not_kept(tmp_path):
    run = fill(tmp_path / "s.db", prepared(("lab/careful",)), leave=4)
    look(tmp_path / "s.db")
    assert look(tmp_path / "s.db")[1] == 1
    with Store(str(tmp_path / "s.db")) as store:
        stored = store.find_run(run)
        job = (stored, PEOPLE, stored.config.benchmarks[0])
        assert score._stamp(Known(store), job, None, "1") == ""


def test_a_damaged_file_is_made_anew(where):
    first, _ = look(where)
    path = KeptScores(str(where)).path
    path.write_bytes(b"no database at all " * 100)
    assert look(where) == (first, 3)
    assert look(where) == (first, 0)
    with closing(KeptScores(str(where))) as kept:
        kept._do("UPDATE kept SET result = substr(result, 1, 40)", ())
    assert look(where) == (first, 3)


def test_where_nothing_can_be_kept_everything_is_scored(where, tmp_path):
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "scores").write_text("a file where the folder should be")
    assert look(where)[1] == look(where)[1] == 3


_WRITER = """
import sys
from eqlab.store.kept_scores import KeptScores
kept = KeptScores(sys.argv[1])
((blob,),) = kept._do("SELECT result FROM kept LIMIT 1", ())
for number in range(10**9):
    kept._do("REPLACE INTO kept VALUES ('r', ?, 'b', 'i', 's', 0, ?)", (str(number % 50), blob * (1 + number % 7)))
    kept._do("UPDATE kept SET looked = looked", ())
    if number == 20:
        print("writing", flush=True)
"""


def killed_while_writing(where, after):
    """Another process that keeps scores of the same store, ended by -9 in the middle of it; its log stays."""
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(where)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"writing\n"
        time.sleep(after)
        os.kill(writer.pid, signal.SIGKILL)
    assert KeptScores(str(where)).path.with_name(f"{KeptScores(str(where)).path.name}-wal").stat().st_size


@pytest.mark.parametrize("after", [0.0, 0.013, 0.05])
def test_killed_while_writing_the_next_start_has_the_same_results(where, after):
    first, _ = look(where)
    killed_while_writing(where, after)
    assert look(where) == (first, 0)
    with closing(KeptScores(str(where))) as kept:
        assert kept._do("PRAGMA integrity_check", ()) == [("ok",)]


def test_files_of_stores_that_nobody_looks_at_any_more_go(tmp_path, monkeypatch):
    monkeypatch.setattr("eqlab.store.kept_scores.MOST", 3)
    made = []
    for number in range(5):
        with closing(KeptScores(str(tmp_path / f"{number}.db"))) as kept:
            kept._do("SELECT 1", ())
            os.utime(kept.path, (number, number))
            kept.path.with_name(f"{kept.path.name}-wal").write_bytes(b"")
            made.append(kept.path)
    with closing(KeptScores(str(tmp_path / "2.db"))) as kept:
        kept._do("SELECT 1", ())
    with closing(KeptScores(str(tmp_path / "5.db"))) as kept:
        kept._do("SELECT 1", ())
        assert sorted(made[0].parent.glob("*.db")) == sorted([made[2], made[4], kept.path])
    assert not any(path.with_name(f"{path.name}-wal").exists() for path in (made[0], made[1], made[3]))


# -- a report from kept scores: the words that it shows come from the store -----------------------------------------


def uneven(trial, subject, repeat):
    """Replies of which some say nothing, some are blanks, and some are no answer."""
    kind = sum(trial.id.encode()) % 5
    return {0: "", 1: " \n ", 2: "<b>I cannot\u202e tell</b>"}.get(kind) or near(trial, subject, repeat)


def report(where, tmp_path, monkeypatch, *, kept):
    """A report's files, times aside, and of how many results the answers were scored."""

    from eqlab.runs import parallel

    scored, answered = [], score._answered
    with monkeypatch.context() as patch:
        patch.setattr(score, "_answered", lambda *given: (scored.append(given[0]), answered(*given))[1])
        patch.setattr(parallel, "MANY", 1 if kept else 10**9)
        patch.setattr(write.time, "time", lambda: 1_790_000_000.0)
        folder = tmp_path / "reports"
        folder.mkdir(exist_ok=True)
        with open_reader(str(where)) as store:
            write.write_report(store, "last", folder / "report.html")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.html")}, len(scored)


@pytest.mark.parametrize("reply", [near, uneven])
def test_a_second_report_is_the_same_to_the_byte_and_scores_talks_alone(tmp_path, monkeypatch, reply):
    fill(tmp_path / "s.db", prepared(("lab/careful", "lab/hasty"), SIX, limit=40, items="open", repeats=2), reply)
    whole, every = report(tmp_path / "s.db", tmp_path, monkeypatch, kept=False)
    first, scored = report(tmp_path / "s.db", tmp_path, monkeypatch, kept=True)
    second, again = report(tmp_path / "s.db", tmp_path, monkeypatch, kept=True)
    assert first == whole
    assert second == whole
    assert (every, scored, again) == (12, 12, 2)


def test_a_second_report_beside_people_scores_nothing(tmp_path, monkeypatch, published):
    monkeypatch.setenv("EQLAB_DATA", str(published))
    asked = prepared(("lab/careful", "lab/hasty"), ("emotionbench",), items="published", repeats=2)
    fill(tmp_path / "s.db", asked, lambda trial, *_: answer_to(trial.prompt))
    whole, _ = report(tmp_path / "s.db", tmp_path, monkeypatch, kept=False)
    assert b"Furthest from people" in whole["report.html"]
    assert report(tmp_path / "s.db", tmp_path, monkeypatch, kept=True) == (whole, 2)
    assert report(tmp_path / "s.db", tmp_path, monkeypatch, kept=True) == (whole, 0)


def test_a_report_after_a_view_has_its_words(where, tmp_path, monkeypatch):
    whole, _ = report(where, tmp_path, monkeypatch, kept=False)
    look(where)
    assert report(where, tmp_path, monkeypatch, kept=True) == (whole, 3)  # a view keeps no words: scored once more
    assert report(where, tmp_path, monkeypatch, kept=True) == (whole, 0)
    assert look(where)[1] == 0


def test_an_answer_more_is_in_the_next_report(where, tmp_path, monkeypatch):
    report(where, tmp_path, monkeypatch, kept=True)
    with Store(str(where)) as store:
        run = store.find_run("last")
        (one, *_) = store.scored(run.id, "model:lab/careful", "eqbench")
        store.add_answers([structs.replace(one.attempts[0], attempt=2, status="error", text="")])
    whole, _ = report(where, tmp_path, monkeypatch, kept=False)
    assert report(where, tmp_path, monkeypatch, kept=True) == (whole, 3)


def test_no_words_are_kept(where, tmp_path, monkeypatch):
    fill(where, prepared(("lab/careful", "lab/hasty"), limit=5), lambda *_: "Relieved: 3\nwhat I really think of you")
    report(where, tmp_path, monkeypatch, kept=True)
    with closing(KeptScores(str(where))) as kept:
        rows = kept._do("SELECT result FROM kept", ())
    assert rows
    for (packed,) in rows:
        result, _ = unpacked(packed)
        assert b"really think" not in packed
        assert "really think" not in f"{[getattr(result, name) for name in result.__slots__]} {list(result.items)}"


def test_a_report_after_a_large_run_scores_nothing(server, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from eqlab.cli.main import app
    from eqlab.runs import parallel

    monkeypatch.setattr(parallel, "MANY", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    where = str(tmp_path / "s.db")
    asked = ("run", "m", "other", "-b", "eqbench", "--limit", "5", "--base-url", server.url, "--store", where)
    CliRunner().invoke(app, asked)

    whole, _ = report(where, tmp_path, monkeypatch, kept=False)
    assert report(where, tmp_path, monkeypatch, kept=True) == (whole, 0)

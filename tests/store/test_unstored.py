"""A store that fails: what was paid for is kept in a file and taken in exactly once."""

import json
import stat
from dataclasses import replace

import pytest
from sqlalchemy import event
from test_store import answer, config, plan, trial

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError
from eqlab.store import unstored
from eqlab.store.place import sqlite_path, store_key
from eqlab.store.store import Store
from eqlab.store.take_in import take_in
from eqlab.store.unstored import Unstored, waiting
from eqlab.store.writer import Writer


@pytest.fixture
def store(store_url):
    opened = Store(store_url)
    opened.begin_run(config(), plan(50), {})
    yield opened
    opened.close()


def stored(store, subject="model:b"):
    return [given for one in store.scored(config().id, subject, "eqbench") for given in one.attempts]


def test_answers_of_a_failed_session_are_taken_in_once(store):
    kept = Unstored(store.where)
    kept.keep([answer(0), answer(1, text="täxt \ud800")])
    kept.keep([answer(2)])
    kept.close()
    (path,) = kept.paths
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    copy = path.read_text()
    take_in(store)
    assert [one.trial for one in stored(store)] == [trial(n).id for n in range(3)]
    assert waiting(store.where) == []
    path.write_text(copy)  # as if the process had died after the commit and before the file went
    take_in(store)
    assert len(stored(store)) == 3
    assert waiting(store.where) == []


def test_an_attempt_number_that_is_taken_loses_nothing(store):
    store.add_answers([answer(0, text="asked again")])
    kept = Unstored(store.where)
    kept.keep([replace(answer(0, text="came first"), at=0.5)])
    kept.close()
    take_in(store)
    assert [(one.attempt, one.text) for one in stored(store)] == [(1, "asked again"), (2, "came first")]


def test_a_line_that_was_cut_off_and_answers_of_another_store(store):
    kept = Unstored(store.where)
    kept.keep([answer(0), answer(1, run="elsewhere")])
    kept.close()
    with kept.paths[0].open("a") as file:
        file.write('{"run": "cut o')
    take_in(store)
    assert len(stored(store)) == 1
    assert waiting(store.where) == [kept.paths[0].resolve()]  # somebody may still want the other one


def test_a_file_that_is_being_written_is_left_alone(store):
    kept = Unstored(store.where)
    kept.keep([answer(0)])
    take_in(store)
    assert stored(store) == []
    kept.close()
    take_in(store)
    assert len(stored(store)) == 1


def test_the_next_folder_is_tried_and_loss_is_counted(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr(unstored, "_folders", lambda where: [blocked / "a", tmp_path / "second"])
    kept = Unstored("s.db")
    kept.keep([answer(0)])
    kept.close()
    assert kept.paths[0].parent == tmp_path / "second"
    monkeypatch.setattr(unstored, "_folders", lambda where: [blocked / "a"])
    lost = Unstored("s.db")
    lost.keep([answer(0), answer(1)])
    assert (lost.kept, lost.lost) == (0, 2)


def test_a_full_disk_in_the_middle_of_a_run(server, tmp_path):
    """SQLite really runs out of pages; the same request again stores everything and asks nothing twice."""
    from test_kill import good

    store = api.open_store(str(tmp_path / "s.db"))
    server.reply = lambda body, n: good(body) + "\n" + "x" * 3000
    prepared = api.prepare(api.Request(models=("m",), base_url=server.url, repeats=8))

    def begun(_):
        @event.listens_for(store.engine, "begin")
        def _full(connection):
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            room = 20 if len(server.requests) < 3 else 0
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + room}")

    with pytest.raises(StoreError, match=r"full.*eqlab-unstored-.*Make room"):
        api.run(prepared, store, concurrency=4, listener=api.Listener(begun=begun))
    store.close()
    asked = len(server.requests)
    assert 0 < asked < 480
    again = api.open_store(str(tmp_path / "s.db"))
    outcome = api.run(prepared, again, concurrency=4)
    (result,) = api.results(again, again.find_run(outcome.run))
    again.close()
    assert result.counts["ok"] == 480
    assert len(server.requests) == 480


def test_a_writer_goes_on_when_nobody_listens_any_more(store):
    def gone(batch):
        raise SystemExit(1)  # what rich does when the terminal is gone

    writer = Writer(store, gone)
    for number in range(30):
        writer.put(answer(number))
    writer.close()
    assert len(stored(store)) == 30


def test_one_store_has_one_key_however_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        store_key("s.db") == store_key(f"sqlite:///{tmp_path}/s.db") == store_key(str(tmp_path / "x" / ".." / "s.db"))
    )
    assert store_key("postgresql://me:secret@host/db") == store_key("postgresql://host/db") != store_key("s.db")
    assert sqlite_path("postgresql://host/db") is None


def test_what_is_kept_is_what_came():
    full = Answer("r", "t", "s", 0, 2, "täxt\n", "ok", {"k": 3}, "n", "think", "m", 0.16, 1.25, 3, 10, 20, "stop", 2.5)
    from dataclasses import asdict

    assert unstored._read(json.dumps(asdict(full))) == full

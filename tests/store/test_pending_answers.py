"""A store that fails: what was paid for is kept in a file and taken in exactly once."""

import json
import os
import stat
from contextlib import contextmanager, suppress

import pytest
from msgspec import structs
from test_store import answer, config, plan, trial

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError
from eqlab.store import pending_answers
from eqlab.store.access import take_in
from eqlab.store.location import sqlite_path, store_key
from eqlab.store.pending_answers import PendingAnswers, waiting
from eqlab.store.store import Store
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
    kept = PendingAnswers(store.where)
    kept.keep([answer(0), answer(1, text="täxt \ud800")])
    kept.keep([answer(2)])
    kept.close()
    (path,) = kept.paths
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    copy = path.read_text()
    take_in(store)
    assert [one.trial for one in stored(store)] == [trial(n).id for n in range(3)]
    assert waiting(store.where) == []
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(copy)  # as if the process had died after the commit and before the file went
    take_in(store)
    assert len(stored(store)) == 3
    assert waiting(store.where) == []


def test_an_attempt_number_that_is_taken_loses_nothing(store):
    store.add_answers([answer(0, text="asked again")])
    kept = PendingAnswers(store.where)
    kept.keep([structs.replace(answer(0, text="came first"), at=0.5)])
    kept.close()
    take_in(store)
    assert [(one.attempt, one.text) for one in stored(store)] == [(1, "asked again"), (2, "came first")]


def test_a_line_that_was_cut_off_and_answers_of_another_store(store):
    kept = PendingAnswers(store.where)
    kept.keep([answer(0), answer(1, run="elsewhere")])
    kept.close()
    with kept.paths[0].open("a") as file:
        file.write('{"run": "cut o')
    take_in(store)
    assert len(stored(store)) == 1
    assert waiting(store.where) == [kept.paths[0]]  # somebody may still want the other one


def test_a_file_that_is_being_written_is_left_alone(store):
    kept = PendingAnswers(store.where)
    kept.keep([answer(0)])
    take_in(store)
    assert stored(store) == []
    kept.close()
    take_in(store)
    assert len(stored(store)) == 1


def test_the_next_folder_is_tried_and_loss_is_counted(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr(pending_answers, "_folders", lambda where: [blocked / "a", tmp_path / "second"])
    kept = PendingAnswers("s.db")
    kept.keep([answer(0)])
    kept.close()
    assert kept.paths[0].parent == tmp_path / "second"
    monkeypatch.setattr(pending_answers, "_folders", lambda where: [blocked / "a"])
    lost = PendingAnswers("s.db")
    lost.keep([answer(0), answer(1)])
    assert (lost.kept, lost.lost) == (0, 2)


def test_a_full_disk_in_the_middle_of_a_run(server, tmp_path):
    """SQLite really runs out of pages; the same request again stores everything and asks nothing twice."""
    from small_sweep import good

    store = api.open_store(str(tmp_path / "s.db"))
    server.reply = lambda body, n: good(body) + "\n" + "x" * 3000
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, repeats=8)
    )

    def begun(_):
        write = store.database.writing

        @contextmanager
        def full():
            with write() as transaction:
                ((pages,),) = transaction.rows("PRAGMA page_count")
                room = 20 if len(server.requests) < 3 else 0
                transaction.run(f"PRAGMA max_page_count = {pages + room}")
                yield transaction

        store.database.writing = full

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
    assert pending_answers._read(json.dumps(structs.asdict(full))) == full


def bait(folder, store, target):
    """What another user of a shared folder could put there for us."""
    name = f"eqlab-unstored-{store_key(store.where)}-1-1.jsonl"
    (folder / name).symlink_to(target)
    return folder / name


def test_no_link_is_followed_and_no_file_behind_one_is_deleted(tmp_path, monkeypatch):
    """A link in a folder that others can write to, dangling or leading to a file of ours: neither read nor deleted."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    monkeypatch.setenv("TMPDIR", str(shared))
    opened = Store(str(shared / "s.db"))
    opened.begin_run(config(), plan(50), {})
    precious = tmp_path / "precious.jsonl"
    precious.write_text(json.dumps(structs.asdict(answer(0))) + "\n")
    link = bait(shared, opened, precious)
    assert waiting(opened.where) == []
    take_in(opened)
    assert precious.exists()
    assert stored(opened) == []
    link.unlink()
    os.link(precious, link)  # a name of the same file is none of ours either
    assert waiting(opened.where) == []
    take_in(opened)
    assert stored(opened) == []
    link.unlink()
    bait(shared, opened, tmp_path / "nothing-here")
    take_in(opened)
    assert waiting(opened.where) == []
    opened.close()


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    """Somebody made our folder's name before us, as a link or open to all: the next one is taken."""
    where = str(tmp_path / "s.db")
    (tmp_path / ".s.db.unstored").mkdir(mode=0o755)
    (tmp_path / ".s.db.unstored").chmod(0o777)
    kept = PendingAnswers(where)
    kept.keep([answer(0)])
    kept.close()
    assert kept.kept == 1
    assert kept.paths[0].parent.name == "unstored"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / ".t.db.unstored").symlink_to(elsewhere)
    other = PendingAnswers(str(tmp_path / "t.db"))
    other.keep([answer(0)])
    other.close()
    assert list(elsewhere.iterdir()) == []


def test_the_shared_temporary_folder_is_not_looked_into(store, tmp_path, monkeypatch):
    """0.1 kept answers there too, where anybody could put something for us."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    left = shared / f"eqlab-unstored-{store_key(store.where)}-7-7.jsonl"
    left.write_text(json.dumps(structs.asdict(answer(0))) + "\n")
    left.chmod(0o600)
    assert waiting(store.where) == []
    take_in(store)
    assert left.exists()
    assert stored(store) == []


def test_what_another_user_owns_is_neither_read_nor_written(store, tmp_path, monkeypatch):
    kept = PendingAnswers(store.where)
    kept.keep([answer(0)])
    kept.close()
    (path,) = kept.paths
    old = tmp_path / "home" / path.name  # in a folder that need not be private
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(path.read_bytes())
    assert sorted(waiting(store.where)) == sorted([path, old])
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    assert waiting(store.where) == []
    take_in(store)
    assert stored(store) == []
    lost = PendingAnswers(store.where)
    lost.keep([answer(1)])
    assert (lost.kept, lost.lost) == (0, 1)
    with monkeypatch.context() as patched:
        patched.setattr(pending_answers, "_private", lambda folder: True)
        assert waiting(store.where) == []  # nor is a file by its own owner
    monkeypatch.setattr(os, "geteuid", lambda: us)
    take_in(store)
    assert len(stored(store)) == 1


def test_only_what_was_opened_is_deleted(store):
    """Whatever has taken the name since is somebody else's."""
    kept = PendingAnswers(store.where)
    kept.keep([answer(0)])
    kept.close()
    (path,) = kept.paths
    with pending_answers.held(path) as (answers, remove):
        assert len(answers) == 1
        path.rename(path.with_name("elsewhere"))
        path.write_text("another's")
        remove()
        assert path.read_text() == "another's"


def test_files_of_an_earlier_version_are_still_taken_in(store, tmp_path):
    """0.1 wrote them beside the store; the shared temporary folder is not looked into any more."""
    path = sqlite_path(store.where)
    if path is None:
        pytest.skip("0.1 kept them beside a file")
    old = path.parent / f"eqlab-unstored-{store_key(store.where)}-7-7.jsonl"
    old.write_text(json.dumps(structs.asdict(answer(0))) + "\n")
    old.chmod(0o600)
    assert waiting(store.where) == [old]
    take_in(store)
    assert len(stored(store)) == 1
    assert not old.exists()


def test_room_that_was_set_aside_goes_with_its_session(store):
    """While a run works its reserve is no waiting answer; after a kill it is tidied up."""
    own = PendingAnswers(store.where)
    own.reserve()
    (path,) = own.paths
    assert path.stat().st_size >= pending_answers.RESERVE
    assert waiting(store.where) == []
    take_in(store)
    assert path.exists()  # its session is still at work
    own.keep([answer(0)])
    assert waiting(store.where) == [path]
    own.close()
    take_in(store)
    assert len(stored(store)) == 1
    assert not path.exists()
    killed = PendingAnswers(store.where)
    killed.reserve()
    os.close(killed._number)  # as a kill lets go of it
    take_in(store)
    assert not killed.paths[0].exists()


def test_a_disk_that_is_really_full(tmp_path):
    """A small file system with the store and all folders on it: what is under way when it fills is kept."""
    import subprocess

    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        os.environ["EQLAB_HOME"] = str(disk / "home")
        small = Store(str(disk / "s.db"))
        small.begin_run(config(), plan(50), {})
        stopped = []
        writer = Writer(small, lambda _: None, lambda: stopped.append(True))
        (disk / "filler").write_bytes(b"")
        with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(b"x" * 4096)
        for number in range(50):
            writer.put(answer(number, text="x" * 20_000))
        with pytest.raises(StoreError, match="answers that came after"):
            writer.close()
        assert stopped
        assert writer._pending.lost == 0
        (disk / "filler").unlink()
        take_in(small)
        assert len(stored(small)) == 50
        small.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)

"""A store that may only be read, by somebody who may write neither the file nor its folder."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from server import answer_to

import eqlab as api

_DROP, _OVERRIDE, _SEARCH = 24, 1, 2
"""PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: what lets root write to whatever it likes."""


@pytest.fixture
def place():
    """A folder that everybody may read, on the way too."""
    folder = Path(tempfile.mkdtemp(prefix="eqlab-read-only-"))
    folder.chmod(0o755)
    yield folder
    for found in (folder, *folder.rglob("*")):
        if found.is_dir():
            found.chmod(0o755)
    shutil.rmtree(folder)


SEVERAL = """
import json, sys
from eqlab.cli.main import main
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
    sys.stdout.write("\\0")
"""
"""Commands one after the other: that they read only is shown by one process as well as by ten."""


def eqlab(place, *arguments, code="from eqlab.cli.main import main; main()"):
    """The command line in a process that may write what its owner may, whoever we are."""
    work = place / "work"
    work.mkdir(exist_ok=True)
    work.chmod(0o777)
    environment = os.environ | {"EQLAB_HOME": str(work / "home"), "HOME": str(work), "COLUMNS": "200"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=work, env=environment, timeout=120, preexec_fn=_like_anybody
    )


def _like_anybody():
    """Root loses its right to write to what nobody may write to."""
    if os.geteuid() == 0:
        import ctypes

        for right in (_OVERRIDE, _SEARCH):
            ctypes.CDLL(None).prctl(_DROP, right, 0, 0, 0)


def freeze(folder):
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def frozen(place, server):
    """A finished run in a store that is then made read-only."""
    folder = place / "store"
    folder.mkdir()
    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"]) + "\nThat sounds hard."
    store = api.open_store(str(folder / "s.db"))
    for seed in (0, 1):
        request = api.Request(("m",), ("eqbench",), limit=3, base_url=server.url, seed=seed)
        assert not api.run(api.prepare(request), store).failures
    store.close()
    shutil.rmtree(folder / "s.db-locks")
    freeze(folder)
    return folder / "s.db"


def test_everything_that_only_reads(frozen, place):
    before, beside = frozen.read_bytes(), list(frozen.parent.iterdir())
    commands = (
        ("runs",),
        ("show",),
        ("report", "-o", "r.html"),
        ("export", "-o", "x.csv"),
        ("export", "-o", "x.parquet"),
        ("compare", "last", "published:gpt-4-0314"),
        ("leaderboard", "build", "site"),
        ("store", "check"),
        ("store", "backup", "copy.db"),
        ("runs", "--json"),
    )
    done = eqlab(place, json.dumps([[*command, "--store", str(frozen)] for command in commands]), code=SEVERAL)
    assert done.returncode == 0, done.stderr
    said = done.stdout.split("\0")
    assert len(said) == len(commands) + 1
    assert (place / "work" / "x.csv").read_text().count("That sounds hard.") == 3
    assert json.loads(said[-2])
    assert frozen.read_bytes() == before
    assert list(frozen.parent.iterdir()) == beside


def test_what_would_write_says_so(frozen, place):
    done = eqlab(place, "run", "m", "--base-url", "http://127.0.0.1:9/v1", "--store", frozen)
    assert done.returncode == 1
    assert str(frozen) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_that_was_left_behind_is_not_passed_over(place, server):
    """Answers in the write-ahead log of a killed run are part of the store: they are read, or it is said why not."""
    folder = place / "store"
    folder.mkdir()
    store = api.open_store(str(folder / "made.db"))
    server.reply = lambda body, n: "That sounds hard."
    api.run(api.prepare(api.Request(("m",), ("empathy",), limit=3, base_url=server.url)), store)
    for end in ("", "-wal"):
        shutil.copy(folder / f"made.db{end}", folder / f"s.db{end}")
    store.close()
    assert (folder / "s.db-wal").stat().st_size > 0
    for file in list(folder.glob("made*")):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    freeze(folder)
    done = eqlab(place, "show", "--store", folder / "s.db")
    assert done.returncode == 1
    assert "was not closed" in done.stderr
    assert "s.db-wal" in done.stderr
    copied = place / "work" / "own"
    shutil.copytree(folder, copied, copy_function=shutil.copyfile)
    copied.chmod(0o777)
    for file in copied.iterdir():
        file.chmod(0o666)
    assert eqlab(place, "show", "--store", copied / "s.db").stdout.count("That sounds hard.") == 3


def test_one_of_another_version_says_what_to_do(frozen, place):
    frozen.parent.chmod(0o755)
    frozen.chmod(0o644)
    for version, said in (("0001", "Copy it"), ("9999", "Upgrade")):
        connection = sqlite3.connect(frozen)
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        freeze(frozen.parent)
        done = eqlab(place, "show", "--store", frozen)
        assert done.returncode == 1
        assert said in done.stderr
        frozen.parent.chmod(0o755)
        frozen.chmod(0o644)


def test_a_writer_that_begins_meanwhile_is_noticed(frozen, monkeypatch):
    """Without a lock a checkpoint could move pages under the reader: what was read is not given out."""
    from eqlab.core.errors import StoreError
    from eqlab.store import access

    monkeypatch.setattr(access, "may_write", lambda path: False)
    reader = access.open_sqlite_reader(str(frozen))
    assert len(reader.run_ids()) == 2
    frozen.parent.chmod(0o755)
    frozen.chmod(0o644)
    connection = sqlite3.connect(frozen)
    connection.execute("DELETE FROM sessions")
    connection.commit()
    with pytest.raises(StoreError, match="Another program is writing"):
        reader.run_ids()
    connection.close()
    reader.close()


def test_a_full_disk_is_read_as_what_cannot_be_written(place, server):
    """SQLite would make a file beside the store even to read it."""
    disk = place / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
        store = api.open_store(str(disk / "s.db"))
        api.run(api.prepare(api.Request(("m",), ("eqbench",), limit=3, base_url=server.url)), store)
        store.close()
        with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(4096))
        for command in (("show", "last"), ("runs",), ("report", "-o", "r.html"), ("export", "-o", "x.csv")):
            done = eqlab(place, *command, "--store", disk / "s.db")
            assert done.returncode == 0, done.stderr
        done = eqlab(place, "run", "m", "-b", "eqbench", "--base-url", server.url, "--store", disk / "s.db")
        assert done.returncode == 1
        assert "Make room" in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)

"""A store that is damaged: cut, overwritten, or no database at all. Said with the file's name and the way out."""

import random
import sqlite3

import pytest
from server import answer_to

import eqlab as api

COMMANDS = (
    ("runs",),
    ("show", "--limit", "100"),
    ("report", "-o", "r.html"),
    ("export", "-o", "x.csv"),
    ("compare", "last"),
)


@pytest.fixture
def path(tmp_path, server):
    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"]) + "\n" + "So it is. " * 60
    where = tmp_path / "s.db"
    store = api.open_store(str(where))
    api.run(api.prepare(api.Request(("m", "n"), ("eqbench",), limit=8, base_url=server.url)), store)
    store.close()
    return where


def test_what_is_no_database(eqlab, tmp_path):
    (tmp_path / "s.db").write_bytes(b"a page of text, or a picture " * 500)
    for command in (*COMMANDS, ("store", "check"), ("run", "m", "--base-url", "http://127.0.0.1:9/v1")):
        done = eqlab(*command, "--store", "s.db")
        assert done.code == 1, command
        assert "s.db is not a store, or a corrupt one" in done.err, done.err
        assert "--store" in done.err
        assert len(done.err.splitlines()) == 1


def test_what_is_another_programs(eqlab, tmp_path):
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("CREATE TABLE bookmarks (id INTEGER)")
    connection.commit()
    connection.close()
    before = (tmp_path / "s.db").read_bytes()
    for command in COMMANDS:
        done = eqlab(*command, "--store", "s.db")
        assert done.code == 1
        assert "another program's database" in done.err
    assert (tmp_path / "s.db").read_bytes()[100:] == before[100:]  # no table of ours in it


@pytest.mark.parametrize("share", [0.9, 0.5, 0.2])
def test_what_was_cut(eqlab, path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    for command in (
        ("show",),
        ("export", "-o", "x.csv"),
        ("store", "check"),
        ("run", "m", "--base-url", "http://127.0.0.1:9/v1"),
    ):
        done = eqlab(*command, "--store", "s.db")
        assert done.code == 1, (command, done)
        assert "s.db is corrupt" in done.err, done.err
        assert "copy" in done.err
        assert ".recover" in done.err
        assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("seed", [*range(12), 47])
def test_what_was_overwritten(eqlab, path, seed):
    """Pages of noise anywhere in the file: commands end with what they could read or with one line that names the
    file, never with a traceback (which `eqlab` would let through)."""
    draw = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 3, 12))):
        at, length = draw.randrange(100, len(content)), draw.choice((1, 8, 200, 4096))
        content[at : at + length] = draw.randbytes(len(content[at : at + length]))
    path.write_bytes(content)
    for command in (*COMMANDS, ("store", "check")):
        done = eqlab(*command, "--store", "s.db")
        assert done.code in (0, 1, 2), done
        if done.code and "holds no run" not in done.err:
            assert "s.db" in done.err or "damaged in" in done.err or "Nothing is left to compare" in done.err, done.err

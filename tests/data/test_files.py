"""A file is there whole or not at all."""

import errno
import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from eqlab.core.errors import DataError, UsageError
from eqlab.data.files import whole_file, write_whole


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "new" / "report.html"
    write_whole(path, "one")
    write_whole(path, "zwei ü")
    assert path.read_text(encoding="utf-8") == "zwei ü"
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]
    os.umask(mask := os.umask(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask  # a file to pass on follows the umask


def test_only_what_must_last_takes_the_place_of_an_old_file(tmp_path, monkeypatch):
    """A file system may then put it on the disk at once, and a site of thousands of pages would wait for that."""
    taken, real = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda part, path: (taken.append(path.exists()), real(part, path))[1])
    path = tmp_path / "page.html"
    for durable in (False, False, True):
        write_whole(path, f"{durable}", durable=durable)
        assert path.read_text() == f"{durable}"
    assert taken == [False, False, True]


def half(path, failure):
    with whole_file(path) as file:
        file.write(b"half of it")
        raise failure


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(DataError, match=r"answers\.csv cannot be written: No space left on device.*another place"):
        half(path, OSError(28, "No space left on device"))
    with pytest.raises(KeyboardInterrupt):
        half(path, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["answers.csv"]


def test_no_link_of_somebody_else_is_written_through(tmp_path, monkeypatch):
    """In a folder that others can write to, whoever guesses the name beside could lay a link there."""
    precious = tmp_path / "precious"
    precious.write_text("ours")
    monkeypatch.setattr("eqlab.data.files.secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".r.html.guessed.part").symlink_to(precious)
    with pytest.raises(DataError, match="File exists"):
        write_whole(tmp_path / "r.html", "new")
    assert precious.read_text() == "ours"
    monkeypatch.undo()
    for _ in range(3):
        write_whole(tmp_path / "r.html", "new")
    assert precious.read_text() == "ours"


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        write_whole(tmp_path, "x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"):
        write_whole(tmp_path / "file" / "inside.html", "x")


def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    write_whole(__import__("pathlib").Path("/dev/null"), "x")
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_every_file_that_a_user_keeps_is_written_whole():
    """No writer of its own anywhere: what is exempt writes into a temporary folder, a lock or a new key."""
    import eqlab

    root = Path(eqlab.__file__).parent
    exempt = {
        "publish/plot.py",
        "models/weights.py",
        "data/files.py",
        "store/writer.py",
        "publish/leaderboard/submission.py",
        "view/start.py",  # the log of a run that it started, in a temporary folder
    }
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"\.write_(text|bytes)\(|\.open\(\"w|[^_.]open\([^)]*\"w", path.read_text())
    }
    assert found - exempt == set()


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("report", "published:gpt-4-0314", "-o"), "r.html"),
        (("report", "published:gpt-4-0314", "-o"), "r.md"),
        (("plot", "published:gpt-4-0314", "-o"), "p.svg"),
        (("export", "-o"), "x.csv"),
        (("export", "-o"), "x.parquet"),
        (("export", "-o"), "x.jsonl"),
        (("submit", "-o"), "s.json"),
        (("leaderboard", "build", "--published"), "site"),
        (("study", "init", "eqbench", "-o"), "s.toml"),
        (("study", "language", "fr", "-o"), "fr.toml"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_full_disk_is_one_line_and_the_old_file_stays(eqlab, server, tmp_path, monkeypatch, command, file):
    from server import answer_to

    if command[0] in ("export", "submit"):
        server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
        assert eqlab("run", "m", "-b", "eqbench", "--limit", "2", "--base-url", server.url).code == 0
    old = tmp_path / file
    fresh = command[0] in ("study", "leaderboard")  # these never write over what is there, or write many files
    if not fresh:
        old.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        done = eqlab(*command, file)
    assert done.code == 1, (done.out, done.err)
    assert "No space left on device" in done.err
    assert file in done.err
    assert len(done.err.strip().splitlines()[-1:]) == 1
    assert "Traceback" not in done.err
    if not fresh:
        assert old.read_text() == "old"
    assert not list(tmp_path.rglob("*.part"))
    if old.is_dir():
        shutil.rmtree(old)
    old.unlink(missing_ok=True)
    if command[0] == "leaderboard":
        old.write_text("a file")
    else:
        old.mkdir()
    done = eqlab(*command, file)
    assert done.code in (1, 2)
    assert file in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("file", ["x.csv", "x.parquet", "x.jsonl"])
def test_a_disk_that_is_full_while_it_is_written_to(eqlab, server, tmp_path, monkeypatch, file):
    """Each writer meets the real error, and not all call it by its name."""
    from contextlib import contextmanager

    from server import answer_to

    import eqlab.data.files as files

    @contextmanager
    def beside(path, durable):
        with open("/dev/full", "wb") as full:
            yield full

    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
    assert eqlab("run", "m", "-b", "eqbench", "--limit", "2", "--base-url", server.url).code == 0
    monkeypatch.setattr(files, "_beside", beside)
    done = eqlab("export", "-o", file)
    assert done.code == 1
    assert done.err.startswith(f"eqlab: {file} cannot be written: No space left on device")
    assert "Traceback" not in done.err


def test_a_board_that_cannot_be_finished_keeps_its_old_front_page(eqlab, tmp_path, monkeypatch):
    import eqlab.publish.leaderboard.build as build

    assert eqlab("leaderboard", "build", "site", "--published").code == 0
    front = (tmp_path / "site" / "index.html").stat().st_mtime_ns
    real, left = build._write, iter(range(5))

    def some(path, content):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, content)

    monkeypatch.setattr(build, "_write", some)
    assert eqlab("leaderboard", "build", "site", "--published").code == 1
    assert (tmp_path / "site" / "index.html").stat().st_mtime_ns == front


def test_a_study_export_that_fails_leaves_the_old_one(make_participation, tmp_path, monkeypatch):
    from eqlab.study.results.export import export_all

    participation = make_participation()
    export_all(participation, tmp_path / "out")
    files = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert len(files) > 8

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="cannot be written: No space left"):
        export_all(participation, tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files


def test_a_picture_that_the_browser_does_not_make_leaves_the_old_one(tmp_path, monkeypatch):
    from eqlab.publish import plot as browser

    old = tmp_path / "p.png"
    old.write_text("old")
    monkeypatch.setattr(browser, "browser", lambda: "false")
    with pytest.raises(UsageError, match=r"made no p\.png"):
        browser.draw("<svg/>", (10, 10), old)
    assert old.read_text() == "old"

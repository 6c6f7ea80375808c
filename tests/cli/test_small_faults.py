"""Typing errors and places that cannot be written are said before the work, in one line."""

import os
import subprocess
import sys

import pytest
from server import answer_to


def test_looking_at_a_store_that_is_not_there_makes_none(eqlab, tmp_path):
    for command in (("runs",), ("show",), ("report",), ("plot",), ("cite",)):
        done = eqlab(*command, "--store", "typo.db")
        assert done.code == 1
        assert "There is no store" in done.err
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("where", ["/proc/nowhere/x.html", "/dev/null/x.html", "."])
def test_what_cannot_be_written_is_said_before_anything_is_asked(eqlab, server, where):
    done = eqlab("run", "m", "-b", "empathy", "--limit", "1", "--base-url", server.url, "--report", where)
    assert done.code == 2, done.err
    assert "cannot be written" in done.err or "is a folder" in done.err
    assert not server.requests
    assert eqlab("report", "published:gpt-4-0314", "-o", where).code == 2


def test_an_address_without_a_model_is_no_score_of_the_embedded_one(eqlab):
    done = eqlab("run", "-b", "eqbench", "--limit", "2", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 2
    assert "no model is named. Name the model to ask there." in done.err


def test_an_item_that_is_not_there_is_a_failure(eqlab, server):
    server.reply = lambda body, n: "That sounds hard."
    assert eqlab("run", "m", "-b", "empathy", "--limit", "1", "--base-url", server.url).code == 0
    done = eqlab("show", "--item", "nope")
    assert done.code == 1
    assert "No item" in done.err


def test_tables_keep_to_eighty_columns_and_break_no_name(eqlab):
    names = ("gpt-4-0314", "gpt-3.5-turbo-0301", "TheBloke/Mistral-7B-Instruct-v0.2-GGUF")
    done = eqlab("compare", *(f"published:{name}" for name in names), COLUMNS="80")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.count("TheBloke/Mistral-7B-Instruct-v0.2-GGUF") > 3
    for part in ("TheBloke/Mistral-7B\n", " -Instruct", "turbo-\n"):
        assert part not in done.out


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "last"),
        ("export",),
        ("submit",),
        ("judge", "m", "--on", "last"),
        ("items", "report", "last"),
        ("leaderboard", "build", "site"),
        ("correlate", "scores.csv", "last"),
        ("study", "researcher", "list"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_command_that_only_reads_makes_a_store(eqlab, tmp_path, command):
    (tmp_path / "scores.csv").write_text("model,arena\nm,1\n")
    (tmp_path / "mine.db").touch()
    (tmp_path / "answers.csv").touch()
    done = eqlab(*command, "--store", "mime.db")
    assert done.code == 1, done.err
    assert "There is no store mime.db" in done.err
    assert "Beside it there is mine.db." in done.err
    assert not (tmp_path / "mime.db").exists()


def test_ratings_that_are_not_there_make_no_store(eqlab, tmp_path):
    done = eqlab("ratings", "import", "none.csv", "--store", "new.db")
    assert done.code == 1
    assert "There is no file none.csv" in done.err
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "published:gpt-4-0314", "--markdown"),
        ("compare", "published:gpt-4-0314", "--baseline", "published:gpt-4-0613", "--junit"),
        ("reproduce", "eqbench", "--csv"),
        ("sweep", "none.toml", "--report"),
        ("plot", "published:gpt-4-0314", "-o"),
    ],
    ids=lambda command: " ".join(command),
)
def test_every_output_is_looked_at_first(eqlab, command):
    done = eqlab(*command, "/proc/nowhere/x.svg")
    assert done.code == 2
    assert "cannot be written" in done.err or "no folder" in done.err
    assert "Traceback" not in done.err


def test_a_failed_fetch_is_one_short_message(eqlab):
    done = eqlab("data", "fetch", EQLAB_MIRROR="http://127.0.0.1:9", COLUMNS="80")
    assert done.code == 1
    lines = (done.out + done.err).splitlines()
    assert len(lines) <= 3, done.err
    assert "127.0.0.1:9 cannot be reached" in done.err
    assert "EQLAB_MIRROR" in done.err
    assert "--data DIR" in done.err


def test_a_server_without_the_files_names_three_of_them(eqlab, server):
    done = eqlab("data", "fetch", "eqbench", EQLAB_MIRROR=f"http://127.0.0.1:{server.port}")
    assert done.code == 1
    assert done.err.count("status 404") == 3
    assert "more" in done.err
    assert len(done.err.splitlines()) < 12


@pytest.mark.parametrize("broken", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_a_table(server, tmp_path, broken):
    done = _command(server, tmp_path, environment={"PYTHONIOENCODING": broken})
    assert done.returncode == 0, done.stderr
    assert "eqlab runs show" in done.stdout.decode(broken)


def test_a_log_on_a_full_disk_is_no_reason_not_to_ask(server, tmp_path):
    with open("/dev/full", "w") as full:
        done = _command(server, tmp_path, stderr=full)
    assert done.returncode == 0
    assert len(server.requests) == 2


def _command(server, folder, environment=None, stderr=subprocess.PIPE):
    """In a process of its own: what is tested is how it is begun."""
    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
    code = "from eqlab.cli.main import main; main()"
    command = ["run", "m", "-b", "eqbench", "--limit", "2", "--base-url", server.url, "--store", "s.db"]
    return subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=stderr,
        timeout=120,
        check=False,
    )

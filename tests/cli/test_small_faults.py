"""Typing errors and places that cannot be written are said before the work, in one line."""

import os
import subprocess
import sys

import pytest
from aiohttp import web
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


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "m", "--report", "out.docx"), 2, "A report cannot be 'out.docx'. Write an .html file"),
        (("sweep", "none.toml", "--report", "out.pdf"), 2, "A report cannot be 'out.pdf'."),
        (("report", "published:gpt-4-0314", "-o", "x.docx"), 2, "'x.docx'. Write an .html, .pdf or .md file."),
        (("compare", "published:gpt-4-0314", "--paper", "p.docx"), 2, "plain text, which 'p.docx' would not be"),
        (("run", "m", "-b", "eqbench", "-o", "versoin=v1"), 2, "Did you mean version?"),
        (("run", "m", "--dialect", "opnai_chat"), 2, "Did you mean openai_chat?"),
        (("run", "m", "--effort", "hgih"), 2, "Did you mean high?"),
        (("run", "m", "--profile", "ful"), 2, "Did you mean full?"),
        (("run", "m", "--repot", "x.html"), 2, "There is no option --repot. Did you mean --repeats, --report"),
        (("run", "m", "--seed", "x"), 2, "'x' is not a whole number."),
        (("run", "m", "--max-cost", "x"), 2, "'x' is not a number."),
        (("run", "m", "--limit", "0"), 2, "0 is less than 1."),
        (("view", "--port", "99999"), 2, "99999 is not from 0 to 65535."),
        (("benchmarks", "nope"), 2, "Too many arguments: nope. See"),
        (("run", "gguf:"), 1, "names a folder. Name a file: gguf:PATH."),
        (("data", "fetch", "eqbnch"), 2, "Did you mean eqbench?"),
        (("study", "init", "rating", "--arm", "foo"), 2, "Write --arm name=value."),
        (("compare", "list.json"), 1, "list.json is not an EQ-Bench result file. It should be JSON"),
        (("research", "correlate", "published", "--external", "empty.csv"), 2, "not the file empty.csv"),
        (("run", "m", "--prices", "empty.toml"), 1, "price is missing (begin each with a line [[price]])"),
        (("runs", "import", "lm-eval", "empty.csv", "-b", "eqbench"), 1, "The log holds no reply."),
        (("ci", "init", "openai/x", "--key", "not a name"), 2, "'not a name' cannot be the name of a secret."),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_slip_is_one_line_that_names_it_and_the_way_out(eqlab, tmp_path, arguments, code, said):
    for name, text in (("empty.csv", ""), ("empty.toml", ""), ("list.json", "[]")):
        (tmp_path / name).write_text(text)
    server = ("--base-url", "http://127.0.0.1:9/v1") if arguments[:2] == ("run", "m") else ()
    done = eqlab(*arguments, *server)
    assert (done.code, said in done.err) == (code, True), done.err
    assert sum(line.startswith("eqlab: ") for line in done.err.splitlines()) == 1
    assert "Traceback" not in done.err
    assert not list(tmp_path.glob("*.docx")) + list(tmp_path.glob(".github"))


def test_a_report_from_python_has_its_own_ending(tmp_path, monkeypatch):
    import eqlab as api
    from eqlab.core.errors import UsageError

    monkeypatch.chdir(tmp_path)
    with api.open_store("x.db") as store, pytest.raises(UsageError, match=r"cannot be 'r\.docx'"):
        api.write_report(store, [], "r.docx")


def test_every_model_that_fails_says_why(eqlab, server):
    server.reply = lambda body, n: web.json_response({"error": {"message": "no such model"}}, status=404)
    done = eqlab("run", "one", "two", "-b", "empathy", "--limit", "1", "--base-url", server.url)
    assert done.code == 1
    assert [f"eqlab: {name} at" in done.err.replace("\n", " ") for name in ("one", "two")] == [True, True]


def test_a_label_is_seen_in_the_list_of_runs(eqlab, server):
    server.reply = lambda body, n: "That sounds hard."
    assert eqlab("run", "m", "-b", "empathy", "--limit", "1", "--label", "3f2a", "--base-url", server.url).code == 0
    assert "m (3f2a)" in eqlab("runs").out
    done = eqlab("runs", "show", "--item", "nope")
    assert "matches --item nope." in done.err


def test_a_benchmark_is_named_once_in_a_conclusion(eqlab, server):
    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
    done = eqlab("run", "m", "-b", "eqbench", "-b", "empathy", "--limit", "5", "--base-url", server.url)
    assert done.code == 0, done.err
    assert done.out.startswith("m scores ")
    assert done.out.splitlines()[0].count("EQ Lab open dialogues") == 1

"""The command line as a user meets it: exit codes, and one clear line for each mistake."""

import json
import re
import subprocess
import sys
import traceback
from dataclasses import dataclass

import pytest

from eqlab.cli.main import main
from eqlab.core.errors import EqlabError


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def eqlab(monkeypatch, capsys):
    """Runs the command line in this process, exactly as the installed command does."""

    def call(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(sys, "argv", ["eqlab", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except EqlabError:  # --debug
            code = 1
            traceback.print_exc()
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


def good(body, number=0):
    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    return "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words))


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(result, *words, code=None):
    assert result.returncode not in (0, None)
    if code is not None:
        assert result.returncode == code
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 4, result.stderr
    said = " ".join(result.stderr.split())
    for word in words:
        assert word in said, said
    return said


def test_help_names_every_command(eqlab):
    text = eqlab("--help").stdout
    for command in ("run", "report", "runs", "show", "export", "data", "reproduce", "benchmarks"):
        assert f"  {command} " in text


def test_from_run_to_report(eqlab, server, in_tmp):
    server.reply = good
    ran = eqlab("run", "m", "other", "-b", "eqbench", "--base-url", server.url, "--limit", 5, "--json")
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert [result["subject"] for result in report["results"]] == ["model:m", "model:other"]
    assert report["results"][0]["headline"]["n"] == 5
    html = (in_tmp / "eqlab-report.html").read_text()
    assert "other" in html
    assert "http-equiv" in html

    run = report["run"]
    assert run in eqlab("runs").stdout
    shown = eqlab("show", run, "--limit", 1).stdout
    assert "How strongly does" in shown
    assert "score:" in shown
    whole = json.loads(eqlab("show", run[:5], "--json", "--limit", 100).stdout)
    assert len(whole) == 10
    assert whole[0]["attempts"][0]["text"] == good({"messages": [{"content": whole[0]["prompt"]}]})
    assert "Report:" in eqlab("report", run, "-o", "again.html").stdout
    assert (in_tmp / "again.html").stat().st_size > 5000

    import polars as pl

    for ending, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("jsonl", pl.read_ndjson)):
        assert eqlab("export", run, "-o", f"x.{ending}").returncode == 0
        frame = read(in_tmp / f"x.{ending}")
        assert frame.height == 10
        assert frame["status"].to_list() == ["ok"] * 10
        assert frame["score"].null_count() == 0


def test_hostile_replies_do_no_harm(eqlab, server, in_tmp):
    evil = '=HYPERLINK("http://x")\x1b[31mred\x1b[0m [bold]x[/bold] <script>alert(1)</script>'
    server.reply = lambda body, n: evil
    ran = eqlab("run", "m", "-b", "eqbench", "--base-url", server.url, "--limit", 1)
    assert ran.returncode == 0, ran.stderr
    shown = eqlab("show", "last").stdout
    assert "\x1b" not in shown
    assert "[bold]x[/bold]" in shown
    assert "<script>alert" not in (in_tmp / "eqlab-report.html").read_text()
    eqlab("export", "last", "-o", "x.csv")
    import csv

    with (in_tmp / "x.csv").open() as file:
        assert all(row["text"].startswith("'=") for row in csv.DictReader(file))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nobody/x"], ["nobody/x", "provider/name", "openai"]),
        (["run", "openai/gpt"], ["OPENAI_API_KEY"]),
        (["run", "m", "--base-url", "http://127.0.0.1:9/v1", "--limit", "1"], ["cannot be reached", "127.0.0.1:9"]),
        (["run", "m", "--base-url", "nonsense"], ["nonsense", "--base-url"]),
        (["run", "--items", "closed"], ["--items", "open or published"]),
        (["run", "--profile", "slow"], ["--profile", "quick or full"]),
        (["run", "-b", "iq"], ["iq", "eqbench"]),
        (["run", "--set", "temperature"], ["temperature", "name=value"]),
        (["run", "--set", "stream=true"], ["stream"]),
        (["run", "-o", "version=v9"], ["v9", "v1 or v2"]),
        (["run", "-o", "x=1"], ["option 'x'"]),
        (["run", "gguf:/nowhere.gguf"], ["/nowhere.gguf"]),
        (["run", "m", "--items", "published", "--data", "/nowhere"], ["/nowhere", "--data"]),
        (["run", "--store", "mysql://x", "m", "--base-url", "http://127.0.0.1:9"], ["mysql://x"]),
        (["show", "zzz"], ["eqlab run"]),
        (["report"], ["eqlab run"]),
        (["reproduce", "iqbench"], ["iqbench", "eqbench"]),
        (["data", "fetch", "nothing"], ["nothing", "eqbench"]),
        (["run", "--limit", "0"], ["--limit"]),
        (["run", "--limit", "many"], ["--limit", "eqlab run --help"]),
        (["run", "--colour"], ["--colour"]),
    ],
)
def test_mistakes_get_one_clear_line(eqlab, in_tmp, arguments, words):
    fails(eqlab(*arguments), *words)


def test_missing_published_data_name_the_command(eqlab, in_tmp):
    for arguments in (
        ["run", "m", "-b", "eqbench", "--base-url", "http://x", "--items", "published"],
        ["reproduce", "eqbench"],
    ):
        fails(eqlab(*arguments, EQLAB_CACHE=in_tmp / "cache"), "eqlab data fetch eqbench", code=1)


def test_a_corrupt_question_file(eqlab, in_tmp):
    path = in_tmp / "d" / "eqbench" / "data" / "eq_bench_v2_questions_171.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"1": {"prompt": "x"}}')
    said = fails(
        eqlab("run", "m", "--base-url", "http://x", "-b", "eqbench", "--items", "published", "--data", in_tmp / "d")
    )
    assert "eq_bench_v2_questions_171.json: question 1" in said
    assert "eqlab data" in said


def test_debug_shows_the_traceback(eqlab, in_tmp):
    for arguments in (["--debug", "run", "nobody/x"], ["run", "nobody/x", "--debug"]):
        assert "Traceback" in eqlab(*arguments).stderr


def test_a_wrong_key_stops_at_once_and_is_not_shown(eqlab, server, in_tmp):
    from aiohttp import web

    server.reply = lambda body, n: web.Response(status=401, text='{"error": {"message": "bad key"}}')
    result = eqlab("run", "openai/x", "--base-url", server.url, OPENAI_API_KEY="sk-very-secret")
    fails(result, "refuses the key")
    assert len(server.requests) <= 16
    for path in in_tmp.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes()
    assert "sk-very-secret" not in result.stdout + result.stderr


def test_heavy_modules_are_not_loaded_for_help():
    code = (
        "import sys\nfrom eqlab.cli.main import app\n"
        "heavy = {'sqlalchemy', 'aiohttp', 'polars', 'numpy', 'scipy', 'alembic', 'jinja2', 'xllamacpp', 'pooch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("benchmark", ["eqbench", "emotionbench", "empathy"])
def test_every_benchmark_can_be_shown_and_exported_trial_by_trial(eqlab, server, in_tmp, benchmark):
    import polars as pl

    server.reply = lambda body, n: (
        "\n".join(f"{item}: 3" for item in re.findall(r"^\d+\. (.+)$", body["messages"][-1]["content"], re.MULTILINE))
        or ("I hear you." if "Your reply:" in body["messages"][-1]["content"] else good(body))
    )
    ran = eqlab("run", "m", "-b", benchmark, "--base-url", server.url, "--limit", 4, "--repeats", 2, "--json")
    assert ran.returncode == 0, ran.stderr
    asked = json.loads(ran.stdout)["results"][0]["counts"]["planned"]
    shown = json.loads(eqlab("show", "last", "--json", "--limit", 1000).stdout)
    assert len(shown) == asked
    assert all(line["status"] == "ok" and line["values"] for line in shown)
    assert "read: " in eqlab("show", "last", "--limit", 3).stdout
    assert eqlab("export", "last", "-o", "x.parquet").returncode == 0
    assert pl.read_parquet(in_tmp / "x.parquet").height == asked

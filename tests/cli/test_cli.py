"""The command line as a user meets it: exit codes, and one clear line for each mistake."""

import json
import os
import re
import subprocess
import sys

import pytest

from eqlab.cli.main import main


def good(body, number=0):
    words = re.search(r"(?:at the end\?|feel\.\.\.)\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    return "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words))


def fails(result, *words, code=None):
    assert result.code not in (0, None)
    if code is not None:
        assert result.code == code
    assert "Traceback" not in result.err
    assert len(result.err.strip().splitlines()) <= 4, result.err
    said = " ".join(result.err.split())
    for word in words:
        assert word in said, said
    return said


def test_help_names_every_command(eqlab):
    text = eqlab("--help").out
    for command in ("run", "report", "runs", "compare", "study", "data", "research", "benchmarks"):
        assert f"  {command} " in text


def test_the_package_is_a_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "eqlab", "runs", "--bogus"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "'python -m eqlab runs --help'" in done.stderr


def test_from_run_to_report(eqlab, server, tmp_path):
    server.reply = good
    ran = eqlab("run", "m", "other", "-b", "eqbench", "--base-url", server.url, "--limit", 5, "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert [result["subject"] for result in report["results"]] == ["model:m", "model:other"]
    assert report["results"][0]["headline"]["n"] == 5
    html = (tmp_path / "eqlab-report.html").read_text()
    assert "other" in html
    assert "http-equiv" in html

    run = report["run"]
    assert run in eqlab("runs").out
    shown = eqlab("show", run, "--limit", 1).out
    assert "How strongly does" in shown
    assert "score:" in shown
    whole = json.loads(eqlab("show", run[:5], "--json", "--limit", 100).out)
    assert len(whole) == 10
    assert whole[0]["attempts"][0]["text"] == good({"messages": [{"content": whole[0]["prompt"]}]})
    assert "Report:" in eqlab("report", run, "-o", "again.html").out
    assert (tmp_path / "again.html").stat().st_size > 5000

    import polars as pl

    for ending, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("jsonl", pl.read_ndjson)):
        assert eqlab("export", run, "-o", f"x.{ending}").code == 0
        frame = read(tmp_path / f"x.{ending}")
        assert frame.height == 10
        assert frame["status"].to_list() == ["ok"] * 10
        assert frame["score"].null_count() == 0


def test_hostile_replies_do_no_harm(eqlab, server, tmp_path):
    evil = '=HYPERLINK("http://x")\x1b[31mred\x1b[0m [bold]x[/bold] <script>alert(1)</script>'
    server.reply = lambda body, n: evil
    ran = eqlab("run", "m", "-b", "eqbench", "--base-url", server.url, "--limit", 1)
    assert ran.code == 1, ran.err  # not one usable answer
    shown = eqlab("show", "last").out
    assert "\x1b" not in shown
    assert "[bold]x[/bold]" in shown
    assert "<script>alert" not in (tmp_path / "eqlab-report.html").read_text()
    eqlab("export", "last", "-o", "x.csv")
    import csv

    with (tmp_path / "x.csv").open() as file:
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
        (["run", "-b", "eqbnch"], ["Did you mean eqbench?"]),
        (["run", "opnai/gpt"], ["Did you mean openai?"]),
        (["run", "--set", "temprature=0"], ["'temprature'", "Did you mean temperature?"]),
        (["run", "--set", "max_token=9"], ["Did you mean max_tokens?"]),
        (["study", "init", "ratng"], ["Did you mean rating?"]),
        (["data", "verify", "--data", "."], ["Nothing is here to verify", "eqlab data fetch"]),
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
        (["reproduce", "sage", "--json", "--markdown"], ["--json", "--markdown"]),
        (["reproduce", "sage", "--csv", "/proc/nowhere/rows.csv"], ["/proc/nowhere/rows.csv", "cannot be written"]),
        (["reproduce", "sage", "--csv", "."], ["folder", "Name a file"]),
        (["data", "fetch", "nothing"], ["nothing", "eqbench"]),
        (["run", "--limit", "0"], ["--limit"]),
        (["run", "--limit", "many"], ["--limit", "eqlab run --help"]),
        (["run", "--colour"], ["--colour"]),
    ],
)
def test_mistakes_get_one_clear_line(eqlab, tmp_path, arguments, words):
    fails(eqlab(*arguments), *words)


def test_the_studys_own_questions_are_asked_where_they_are(eqlab, server, published, tmp_path, monkeypatch):
    """The default of --items: published where their files are, open ones otherwise; a folder that is gone is no error
    unless it was named on the command line."""
    monkeypatch.delenv("EQLAB_ITEMS")
    server.reply = good
    ask = ["run", "m", "-b", "eqbench", "--limit", 5, "--base-url", server.url]
    said = " ".join(eqlab(*ask, EQLAB_DATA=tmp_path / "gone").out.split())
    assert "EQ Lab open dialogues" in said
    assert "published models" not in said
    fails(eqlab(*ask, "--data", tmp_path / "gone"), "gone", "--data")
    said = " ".join(eqlab(*ask, EQLAB_DATA=published).out.split())
    assert "EQ-Bench v2" in said
    assert "Among 12 published models on the same 5 questions" in said
    assert "gpt-4-0314" in (tmp_path / "eqlab-report.html").read_text()
    assert "EQ Lab open dialogues" in eqlab(*ask, EQLAB_ITEMS="open").out


def test_what_was_asked_for_and_cannot_be_is_said(eqlab, server):
    server.reply = good
    asked = ("-b", "eqbench", "--limit", 5, "--base-url", server.url)
    ran = eqlab("run", "m", "m", *asked, "--set", "top_a=0.5", "--json")
    assert ran.code == 0, "a provider's own setting is sent as it is"
    assert ran.err.startswith("m is named more than once and asked once; --repeats asks again.\n")
    assert len(json.loads(ran.out)["results"]) == 1
    done = eqlab("report", "--last", 99)
    assert done.code == 0
    assert "--last 99: the store holds 1; all of them are taken." in done.err


def test_missing_published_data_name_the_command(eqlab, tmp_path):
    for arguments in (
        ["run", "m", "-b", "eqbench", "--base-url", "http://x", "--items", "published"],
        ["reproduce", "empathy"],
    ):
        fails(eqlab(*arguments, EQLAB_CACHE=tmp_path / "cache"), "eqlab data fetch", code=1)


def test_missing_results_of_sage_name_the_command(eqlab, tmp_path):
    fails(eqlab("reproduce", "sage", EQLAB_CACHE=tmp_path / "cache"), "eqlab data fetch sage", code=1)


def test_a_corrupt_question_file(eqlab, tmp_path):
    path = tmp_path / "d" / "eqbench" / "data" / "eq_bench_v2_questions_171.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"1": {"prompt": "x"}}')
    said = fails(
        eqlab("run", "m", "--base-url", "http://x", "-b", "eqbench", "--items", "published", "--data", tmp_path / "d")
    )
    assert "eq_bench_v2_questions_171.json: question 1" in said
    assert "eqlab data" in said


def test_debug_shows_the_traceback(eqlab, tmp_path):
    for arguments in (["--debug", "run", "nobody/x"], ["run", "nobody/x", "--debug"]):
        assert "Traceback" in eqlab(*arguments).err


def test_a_wrong_key_stops_at_once_and_is_not_shown(eqlab, server, tmp_path):
    from aiohttp import web

    server.reply = lambda body, n: web.Response(status=401, text='{"error": {"message": "bad key"}}')
    result = eqlab("run", "openai/x", "--base-url", server.url, OPENAI_API_KEY="sk-very-secret")
    fails(result, "refuses the key")
    assert len(server.requests) <= 16
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes()
    assert "sk-very-secret" not in result.out + result.err


def test_asking_can_be_imported_without_what_answers_need():
    heavy = {"aiohttp", "polars", "numpy", "scipy", "alembic", "jinja2", "xllamacpp", "pooch", "sqlalchemy"}
    code = f"import sys, eqlab.runs.ask\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_study_is_served_and_replies_are_judged_without_what_fits_models():
    """Every process of `study serve` would load it."""
    code = "import sys, eqlab.runs.judge, eqlab.study.build_design\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.stats"}.isdisjoint(done.stdout.split())


SLOW = [
    "aiohttp",
    "alembic",
    "asyncio",
    "email.message",
    "eqlab.analysis.two_samples",
    "eqlab.comparison.compare",
    "eqlab.comparison.speakers",
    "eqlab.core.study",
    "eqlab.publish.plot",
    "eqlab.store.reader",
    "eqlab.tables.svg",
    "jinja2",
    "multiprocessing",
    "numpy",
    "numpy.f2py",
    "numpy.testing",
    "polars",
    "pooch",
    "pydantic",
    "rich.console",
    "scipy",
    "scipy.linalg",
    "scipy.special",
    "scipy.stats",
    "sqlalchemy",
    "xllamacpp",
]
NEEDED = {
    "": [],
    "--help": [],
    "study --help": [],
    "runs": ["eqlab.store.reader"],
    "models": [],
    "runs store check": [],
    "data list": [],
    "runs show last": [],
    "compare last --json": ["eqlab.comparison.compare", "numpy", "scipy"],
    "report last -o r.html": ["eqlab.tables.svg", "jinja2"],
    "runs export last -o x.csv": ["polars"],
    "--version": [],
}
"""Commands, and what each needs of what is slow to import, beside what those above it need."""


def test_a_command_imports_what_it_needs_and_no_more(eqlab, server, tmp_path):
    """All in one process, one after the other, the light ones first."""
    server.reply = lambda body, n: good(body)
    assert eqlab("run", "m", "-b", "eqbench", "--base-url", server.url, "--limit", 6, "--repeats", 2).code == 0
    script = (
        "import contextlib, io, json, sys\nfrom eqlab.cli.main import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = command.split()\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main()\n"
        f"    print(json.dumps([command, [name for name in {SLOW} if name in sys.modules]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(list(NEEDED))], capture_output=True, text=True, cwd=tmp_path
    )
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    for command in list(NEEDED)[-2:]:  # polars brings it with it, up to Python 3.12
        loaded[command] = [name for name in loaded[command] if name != "email.message"]
    expected: dict[str, list[str]] = {}
    sofar: list[str] = []
    for command, own in NEEDED.items():
        sofar = sorted([*sofar, *own])
        expected[command] = sofar
    assert loaded == expected, done.stderr
    assert {"r.html", "x.csv"} <= {path.name for path in tmp_path.iterdir()}, done.stderr


def test_published_models_are_compared_without_what_runs_need(published, tmp_path):
    names = ["published:gpt-4-0613", "published:gpt-3.5-turbo-0613"]
    script = (
        "import sys\nfrom eqlab.cli.main import main\ntry:\n    main()\n"
        f"except SystemExit:\n    print('loaded', *[name for name in {SLOW} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", script, "compare", *names, "--data", str(published)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "gpt-4-0613" in done.stdout, done.stderr
    needed = ["eqlab.comparison.compare", "eqlab.store.reader", "numpy", "scipy"]
    assert done.stdout.splitlines()[-1].split() == ["loaded", *needed]


def test_the_command_ends_when_everything_is_done_and_written():
    """Threads, what others want done at the end, and output that was not flushed."""
    script = (
        "import atexit, sys, threading, time\nfrom eqlab.__main__ import run\n"
        "atexit.register(print, 'the end')\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('a thread'))).start()\n"
        "sys.argv[1:] = ['runs', 'show', 'nothing', '--store', 'nowhere.db']\n"
        "print('the beginning')\nrun()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.split("\n"), done.returncode) == (["the beginning", "a thread", "the end", ""], 1), done.stderr
    assert "There is no store nowhere.db." in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
def test_output_that_nothing_takes_is_no_success():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "eqlab", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0


def test_a_run_is_shown_without_what_compares_any_two(server, tmp_path):
    server.reply = lambda body, n: good(body)
    script = (
        "import sys\nfrom eqlab.cli.main import main\ntry:\n    main()\n"
        f"except SystemExit:\n    print('loaded', *[name for name in {SLOW} if name in sys.modules])\n"
    )
    asked = ["run", "m", "-b", "eqbench", "--base-url", server.url, "--limit"]
    needed = {"eqlab.store.reader", "eqlab.tables.svg", "aiohttp", "asyncio", "email.message", "jinja2", "numpy",
              "scipy"}  # fmt: skip
    for limit, for_a_new_store in (("3", {"alembic", "sqlalchemy"}), ("4", set())):
        command = [sys.executable, "-c", script, *asked, limit]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.stdout.splitlines()[-1].split()[0] == "loaded", done.stderr
        assert set(done.stdout.splitlines()[-1].split()[1:]) == needed | for_a_new_store


@pytest.mark.parametrize("benchmark", ["eqbench", "emotionbench", "empathy"])
def test_every_benchmark_can_be_shown_and_exported_trial_by_trial(eqlab, server, tmp_path, benchmark):
    import polars as pl

    server.reply = lambda body, n: (
        "\n".join(f"{item}: 3" for item in re.findall(r"^\d+\. (.+)$", body["messages"][-1]["content"], re.MULTILINE))
        or ("I hear you." if "Your reply:" in body["messages"][-1]["content"] else good(body))
    )
    ran = eqlab("run", "m", "-b", benchmark, "--base-url", server.url, "--limit", 4, "--repeats", 2, "--json")
    assert ran.code == 0, ran.err
    asked = json.loads(ran.out)["results"][0]["counts"]["planned"]
    shown = json.loads(eqlab("show", "last", "--json", "--limit", 1000).out)
    assert len(shown) == asked
    assert all(line["status"] == "ok" and line["values"] for line in shown)
    assert "read: " in eqlab("show", "last", "--limit", 3).out
    assert eqlab("export", "last", "-o", "x.parquet").code == 0
    assert pl.read_parquet(tmp_path / "x.parquet").height == asked


def test_show_scores_whom_it_shows_and_leaves_nothing_open(eqlab, tmp_path, monkeypatch):
    """A run of many models is not scored to show twenty answers of the first; what was not read is let go in time."""
    pytest.importorskip("starlette")
    from view_case import fill, prepared

    from eqlab.runs import score

    monkeypatch.setattr("eqlab.store.reader._PAGE", 2)
    fill(tmp_path / "s.db", prepared(benchmarks=("eqbench", "emotionbench"), limit=4, items="open"))
    scored, result_of, left = [], score.result_of, []
    monkeypatch.setattr(score, "result_of", lambda known, job: (scored.append(job[1]), result_of(known, job))[1])
    monkeypatch.setattr(sys, "unraisablehook", left.append)
    shown = eqlab("runs", "show", "last", "--limit", 3, "--store", tmp_path / "s.db")
    assert shown.out.count("lab/careful · eqbench") == 3
    assert scored == ["model:lab/careful"]
    eqlab("runs", "show", "last", "--limit", 1000, "--store", tmp_path / "s.db")
    assert set(scored) == {"model:lab/careful", "model:lab/hasty", "model:lab/terse"}
    assert not left


@pytest.mark.parametrize(
    ("arguments", "own", "threads"),
    [(["report", "--help"], None, "1"), (["compare", "--help"], "4", "4")],
)
def test_commands_leave_openblas_one_thread(monkeypatch, capsys, arguments, own, threads):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", own or "")
    if own is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr("sys.argv", ["eqlab", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads

"""Benchmarks of another distribution, installed beside eqlab: all that ours can do, without a line of eqlab changed."""

import asyncio
import csv
import json
import os
import subprocess
import sys
import threading
from importlib import invalidate_caches
from pathlib import Path

import pytest
from killing import kill_after

import eqlab as api
from eqlab.benchmarks import registry
from eqlab.core.errors import DataError, UsageError
from eqlab.runs.request import Request, prepare
from eqlab.store.access import open_store

PLUGIN = Path(__file__).parent.parent / "plugin"


@pytest.fixture(scope="session")
def distribution(tmp_path_factory):
    """The package, really built and installed, into a folder of its own."""
    target = tmp_path_factory.mktemp("plugin") / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    made = tmp_path_factory.mktemp("source") / "plugin"
    subprocess.run(
        [sys.executable, "-c", f"import shutil; shutil.copytree({str(PLUGIN)!r}, {str(made)!r})"], check=True
    )
    subprocess.run([*pip, "--target", str(target), str(made)], check=True, capture_output=True, timeout=120)
    return target


@pytest.fixture
def plugin(distribution, monkeypatch):
    monkeypatch.syspath_prepend(str(distribution))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(distribution), *filter(None, [os.environ.get("PYTHONPATH")])])
    )
    invalidate_caches()
    yield distribution
    for name in [name for name in sys.modules if name.startswith("eqlab_shades")]:
        del sys.modules[name]


def test_a_plan_locks_the_source_of_a_package_that_brings_benchmarks(plugin):
    """Not only the version that it gives itself: whoever develops one changes its scoring under one version."""
    from eqlab.study.results.analysis import analysis_libraries

    def locked():
        analysis_libraries.cache_clear()
        return analysis_libraries()["eqlab-shades"]

    try:
        before = locked()
        path = plugin / "eqlab_shades" / "shades.py"
        source = path.read_bytes()
        path.write_bytes(source + b"# another score\n")
        after = locked()
        path.write_bytes(source)
        assert before != after
        assert locked() == before
    finally:
        analysis_libraries.cache_clear()


def choose(body, number):
    """Right, but for the model that always says A."""
    prompt = body["messages"][-1]["content"]
    strong = ("furious", "terrified", "elated", "heartbroken", "astounded", "mortified")
    if "Go on." in prompt:
        return "And then it rained."
    if "A)" not in prompt:
        return " ".join(["I see."] * (len(body["messages"]) // 2 + 1))
    lines = {line[0]: line[3:] for line in prompt.splitlines() if line[1:2] == ")"}
    best = next(letter for letter, word in lines.items() if word in strong)
    return f"The answer is {'A' if body['model'] == 'flat' else best}."


def ask(eqlab, server, *more, code=0):
    server.reply = choose
    done = eqlab("run", "good", "flat", "-b", "shades", "--base-url", server.url, "--profile", "full", *more)
    assert done.code == code, done.err
    return done


def test_it_is_listed_and_run(plugin, eqlab, server):
    assert "shades" in eqlab("benchmarks").out
    out = ask(eqlab, server).out
    assert "good" in out
    assert "Shades of feeling" in out
    assert len(server.requests) == 12
    ask(eqlab, server)
    assert len(server.requests) == 12, "the same command asks nothing twice"


def test_show_report_compare_and_export(plugin, eqlab, server, tmp_path):
    ask(eqlab, server)
    assert "heartbroken" in eqlab("show", "last", "--item", "sorrow").out
    assert eqlab("report", "last", "-o", "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Shades of feeling" in page
    assert "a guess" in page
    compared = eqlab("compare", "last").out
    assert "pairs" in compared
    assert "good" in compared
    assert "flat" in compared
    cited = eqlab("cite").out
    assert "@software{eqlab-shades," in cited, "a package without a paper is cited as a package"
    assert "version = {1.0}" in cited
    assert "\\cite{eqlab-shades}" in cited
    assert "written for EQ Lab" not in cited.replace("\n% ", " "), "the package wrote its own items"
    assert "in the form of" not in cited.replace("\n% ", " ")
    assert eqlab("compare", "last", "--paper", "paper.txt").code == 0
    assert "the benchmark's own" in " ".join((tmp_path / "paper.txt").read_text().split())
    assert eqlab("export", "last", "-o", "out.csv").code == 0
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert {row["benchmark"] for row in rows} == {"shades"}


def test_leaderboard_with_a_submission(plugin, eqlab, server, tmp_path):
    ask(eqlab, server)
    done = eqlab("submit", "last", "-o", "mine.json")
    assert done.code == 0, done.err
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    (tmp_path / "mine.json").rename(submissions / "mine.json")
    done = eqlab("leaderboard", "build", "board", "--from", str(submissions), "--no-runs")
    assert done.code == 0, done.err + done.out
    assert "Shades of feeling" in (tmp_path / "board" / "index.html").read_text()


def test_inspect_and_lm_eval(plugin, eqlab, tmp_path):
    pytest.importorskip("inspect_ai")
    import importlib

    from inspect_ai import Task

    from eqlab.publish.tools import inspect_tasks

    importlib.reload(inspect_tasks)  # it lists what is installed, and an earlier test may have loaded it
    made = inspect_tasks.shades(limit=3)
    assert isinstance(made, Task)
    assert len(made.dataset) == 3
    done = eqlab("export-task", "lm-eval", "-b", "shades", "-o", "task")
    assert done.code == 0, done.err
    documents = (tmp_path / "task" / "documents.jsonl").read_text().splitlines()
    assert len(documents) == 6
    from eqlab.publish.tools import lm_eval_steps

    right = [
        lm_eval_steps.process_results(one, [f"Answer: {'AB'[json.loads(one['trial'])['key']['right'] - 1]}"])["score"]
        for one in map(json.loads, documents)
    ]
    assert lm_eval_steps.aggregate(tmp_path / "task", "score", right) == 100.0
    assert eqlab("export-task", "lm-eval", "-b", "smalltalk", "-o", "talk").code == 2


def test_items_are_part_of_a_runs_identity(plugin, monkeypatch, tmp_path):
    """Whether they are in a file of the package, in a user's file, or in Python."""
    request = Request(("m",), ("shades",), base_url="http://127.0.0.1:9/v1")
    before = prepare(request).config
    (name,) = prepare(request).files["shades"]
    assert name == "items.toml"
    items = plugin / "eqlab_shades" / "items.toml"
    text = items.read_text()
    try:
        items.write_text(text.replace('strong = "furious"', 'strong = "livid"'))
        assert prepare(request).config.id != before.id
    finally:
        items.write_text(text)
    assert prepare(request).config.id == before.id

    own = tmp_path / "mine.toml"
    own.write_text(text)
    mine = prepare(Request(("m",), ("shades",), items=str(own), base_url="http://127.0.0.1:9/v1")).config
    assert mine.benchmarks[0].item_set == "own"
    assert mine.id != before.id
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "mine.toml").write_text(text)
    again = Request(("m",), ("shades",), items=str(moved / "mine.toml"), base_url="http://127.0.0.1:9/v1")
    assert prepare(again).config.id == mine.id, "where a file lies is not what is in it"

    talk = Request(("m",), ("smalltalk",), base_url="http://127.0.0.1:9/v1")
    first = prepare(talk).config
    import eqlab_shades.smalltalk as module

    monkeypatch.setitem(module.LINES, "day6", ["Another.", "b", "c"])
    assert prepare(talk).config.id != first.id


def test_what_is_missing_is_named(plugin, distribution):
    from eqlab.core.benchmark import Source
    from eqlab.data.items import read_sources

    with pytest.raises(DataError, match=r"eqlab_shades.*nothing\.toml"):
        read_sources([Source("package", "nothing.toml", "eqlab_shades")], None)
    with pytest.raises(DataError, match="no_such_package"):
        read_sources([Source("package", "x.toml", "no_such_package")], None)
    with pytest.raises(UsageError, match="smalltalk takes no items of your own"):
        prepare(Request(("m",), ("smalltalk",), items=str(PLUGIN / "pyproject.toml")))


def test_a_run_of_a_package_that_is_gone_is_still_listed(plugin, eqlab, server, monkeypatch):
    ask(eqlab, server)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [])
    assert "shades" in eqlab("runs").out
    assert "There is no benchmark 'shades'" in eqlab("show", "last").err


# -- talks -------------------------------------------------------------------------------------------------------------


def test_a_talk_goes_on_turn_by_turn(plugin, server, store):
    server.reply = choose
    prepared = prepare(Request(("m",), ("smalltalk",), base_url=server.url, limit=2, repeats=2))
    api.run(prepared, store, concurrency=3)
    talks = [body["messages"] for body in server.requests]
    assert sorted(map(len, talks)) == [1] * 4 + [3] * 4 + [5] * 4
    longest = next(messages for messages in talks if len(messages) == 5)
    assert [message["role"] for message in longest] == ["user", "assistant"] * 2 + ["user"]
    assert [message["content"] for message in longest[::2]][1:] == [
        longest[0]["content"].replace("line 1", f"line {line}") for line in (2, 3)
    ]
    assert longest[1]["content"] == "I see."
    assert longest[3]["content"] == "I see. I see."
    (result,) = api.results(store, store.find_run("last"))
    assert result.counts == {"planned": 12, "ok": 12}
    api.run(prepared, store)
    assert len(server.requests) == 12, "a talk that is over is not gone on with"


def test_another_model_in_the_talk(plugin, server, store):
    server.reply = choose
    options = {"speaker": "openai/other"}
    prepared = prepare(Request(("m",), ("smalltalk",), base_url=server.url, limit=1, options=options))
    os.environ["OPENAI_API_KEY"] = "k"
    try:
        from eqlab.core.runs import ModelConfig

        benchmark = prepared.asked["smalltalk"].benchmark
        benchmark.seats = lambda options: {"speaker": ModelConfig(options["speaker"], base_url=server.url)}
        api.run(prepared, store)
    finally:
        del os.environ["OPENAI_API_KEY"]
    assert [body["model"] for body in server.requests] == ["m", "other", "m", "other", "m"]
    assert server.requests[2]["messages"][-1]["content"] == "And then it rained."
    scored = list(store.scored(prepared.config.id, "model:m", "smalltalk"))
    assert [one.trial.seat for one in scored] == ["", "speaker", "", "speaker", ""]
    assert [one.attempts[0].model for one in scored][1] == "other"


def test_talks_do_not_wait_for_each_other(plugin, server, store):
    """The first turn of one talk takes long; the others are over before its second is asked."""
    order, gone = [], threading.Event()

    def reply(body, number):
        messages = body["messages"]
        order.append((messages[0]["content"], len(messages)))
        if len(order) == 15:  # five whole talks
            gone.set()
        return choose(body, number)

    async def slow(body):
        while body["messages"][0]["content"].startswith("Day 1,") and not gone.is_set():
            await asyncio.sleep(0.01)

    server.reply, server.before = reply, slow
    prepared = prepare(Request(("m",), ("smalltalk",), base_url=server.url))
    api.run(prepared, store, concurrency=6)
    assert len(order) == 18
    assert order[-2:] == [("Day 1, line 1.", 3), ("Day 1, line 1.", 5)]


@pytest.mark.parametrize("kills", [(20,), pytest.param((14, 25), marks=pytest.mark.claims)], ids=["once", "twice"])
def test_killed_in_the_middle_of_talks(plugin, server, tmp_path, kills):
    """kill -9: every talk goes on where it was, and no answered turn is asked again."""
    server.reply = choose
    where = str(tmp_path / "s.db")
    command = [sys.executable, "-c", "from eqlab.cli.main import main; main()", "run", "m", "-b", "smalltalk"]
    command += ["--base-url", server.url, "--profile", "full", "--store", where, "--repeats", "3", "--report", "r.html"]
    command += ["--max-concurrency", "4"]

    def start():
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path, text=True)

    for replies in kills:
        kill_after(replies, server, where, start)
    worker = start()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    with open_store(where) as store:
        run = store.find_run("last").id
        scored = list(store.scored(run, "model:m", "smalltalk"))
    assert len(scored) == 6 * 3 * 3, "each talk has its three turns, once"
    assert all(len(one.attempts) == 1 for one in scored)
    turns = {}
    for one in scored:
        turns.setdefault((one.trial.talk or one.trial.id, one.repeat), []).append(one.trial.turn)
    assert all(sorted(own) == [0, 1, 2] for own in turns.values())
    assert len(turns) == 18
    for one in scored:  # what was said before is what was answered before
        if one.trial.turn:
            before = next(
                other.attempts[0].text
                for other in scored
                if (other.trial.talk or other.trial.id, other.repeat, other.trial.turn)
                == (one.trial.talk, one.repeat, one.trial.turn - 1)
            )
            assert one.trial.messages[-1].text == before
    asked_twice = len(server.requests) - len(scored)
    assert 1 <= asked_twice <= 4 * len(kills), "what was under way when the process died"

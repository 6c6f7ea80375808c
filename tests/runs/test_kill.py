"""kill -9 at any moment, the same command again: it goes on, asks nothing twice that was stored, loses nothing."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from counts import counts_hold
from killing import settle
from small_sweep import good

import eqlab as api

COMMAND = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]


def start(server, store, *more, pipe=subprocess.PIPE):
    command = [
        *COMMAND,
        "run",
        "m",
        "-b",
        "eqbench",
        "--base-url",
        server.url,
        "--profile",
        "full",
        "--store",
        store,
        *more,
    ]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=dict(os.environ))


def answered(where, run):
    """The prompts of a run whose answers are stored."""
    with api.open_store(where) as store:
        assert counts_hold(store)
        return {one.trial.prompt for one in store.scored(run, "model:m", "eqbench") if one.attempts}


@pytest.mark.parametrize(
    ("engine", "times"),
    [("sqlite", 1), *(pytest.param(engine, 3, marks=pytest.mark.claims) for engine in ("sqlite", "postgresql"))],
)
def test_killed_again_and_again(server, tmp_path, request, engine, times, monkeypatch):
    monkeypatch.chdir(tmp_path)
    where = str(tmp_path / "s.db") if engine == "sqlite" else request.getfixturevalue("postgres")
    server.reply = good
    server.delay = 0.15
    draw = random.Random(4)
    kills = 0
    run = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, seed=77)
    ).config.id
    at_each_kill = []
    for _ in range(20):
        worker = start(server, where, "--max-concurrency", "4", "--seed", "77", pipe=subprocess.DEVNULL)
        before = len(server.requests)
        deadline = time.monotonic() + 60
        while worker.poll() is None and len(server.requests) < before + 8 and time.monotonic() < deadline:
            time.sleep(0.01)
        if worker.poll() is not None:
            break
        time.sleep(draw.uniform(0, 0.3))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        kills += 1
        settle(server)  # what it sent is taken in
        at_each_kill.append((len(server.requests), answered(where, run)))
        if kills == times:
            break
    out, err = start(server, where, "--max-concurrency", "4", "--seed", "77").communicate(timeout=120)
    assert "60" in out, err
    assert kills == times
    store = api.open_store(where)
    (result,) = api.results(store, store.find_run(run))
    store.close()
    assert result.counts["ok"] == 60
    for before, stored in at_each_kill:  # what was stored when the process died is not asked again
        asked = [body["messages"][-1]["content"] for body in server.requests]
        assert stored
        assert stored <= set(asked[:before])
        assert stored.isdisjoint(asked[before:])


def test_an_answer_is_on_disk_soon(server, tmp_path, monkeypatch):
    import threading

    store = api.open_store(str(tmp_path / "s.db"))
    sent, stored = {}, {}
    lock = threading.Lock()

    def reply(body, number):
        text = good(body)
        with lock:
            sent[text] = time.time()
        return text

    server.reply = reply
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=30)
    )

    def heard(batch):
        now = time.time()
        stored.update({answer.text: now - answer.at for answer in batch})

    api.run(prepared, store, concurrency=4, listener=api.Listener(stored=heard))
    store.close()
    assert len(stored) == 30
    assert sorted(stored.values())[len(stored) // 2] < 1.0  # a fifth of it on a quiet machine


def test_ctrl_c_says_how_to_go_on(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server.reply = good
    server.delay = 0.3
    worker = start(server, str(tmp_path / "s.db"), "--max-concurrency", "2")
    deadline = time.monotonic() + 60
    while len(server.requests) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    worker.send_signal(signal.SIGINT)
    _out, err = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert "same command again" in err
    assert "Traceback" not in err
    store = api.open_store(str(tmp_path / "s.db"))
    (result,) = api.results(store, store.find_run("last"))
    store.close()
    assert result.counts["ok"] == len(server.requests) < 60


def test_a_scheduler_that_asks_to_end_gets_the_answers_under_way(server, tmp_path, monkeypatch):
    """SIGTERM (Slurm, Kubernetes) ends like the first Ctrl-C, well within the 30 s before the kill."""
    monkeypatch.chdir(tmp_path)
    server.reply = good
    server.delay = 0.5
    where = str(tmp_path / "s.db")
    worker = start(server, where, "--max-concurrency", "4", "--seed", "78")
    deadline = time.monotonic() + 60
    while len(server.requests) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    asked_at_end = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    out, err = worker.communicate(timeout=60)
    assert time.monotonic() - asked_at_end < 25
    assert worker.returncode != 0
    assert "Traceback" not in out + err
    assert "SIGTERM" in err + out
    store = api.open_store(where)
    run = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, seed=78)
    ).config.id
    stored = [one for one in store.scored(run, "model:m", "eqbench") if one.attempts]
    store.close()
    assert len(stored) == len(server.requests)  # every answer that was paid for

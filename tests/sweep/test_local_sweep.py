"""A sweep in one process: one limit for an address, a model that fails alone, kill and go on."""

import os
import signal
import subprocess
import sys
import time

import pytest
from aiohttp import web
from conftest import ROOT
from killing import kill_after
from small_sweep import good, small_cells, stored_answers, sweep_text

import eqlab as api
from eqlab.models.timeouts import Timeouts
from eqlab.store.writer import run_lock
from eqlab.sweep.grid import SweepListener, plan_runs
from eqlab.sweep.local import run_here

EQLAB = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]
TINY = ROOT / "tests" / "support" / "tiny_server.py"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("eqlab.models.http.HttpChat._backoff", lambda self, retries: 0.005)


def go(cells, store, **more):
    return run_here(cells, store, timeouts=Timeouts(5.0), watch=SweepListener(**more))


def test_every_cell_is_asked_once_and_again_asks_nothing(server, store):
    server.reply = good
    cells = small_cells(server.url)
    before = plan_runs(cells, store)
    assert [(plan.calls, plan.answered) for plan in before] == [(6, 0)] * 4
    ended = []
    outcome = go(cells, store, ended=lambda cell, failure: ended.append((cell.run, failure)))
    assert not outcome.failures
    assert sorted(ended) == sorted((cell.run, None) for cell in cells)
    assert len(server.requests) == 24
    go(cells, store)
    assert len(server.requests) == 24
    assert [(plan.calls, plan.tokens_in) for plan in plan_runs(cells, store)] == [(0, 0)] * 4


def test_the_plan_counts_what_is_sent(server, store):
    server.reply = good
    cells = small_cells(server.url, "a", seeds=(0,))
    (plan,) = plan_runs(cells, store)
    go(cells, store)
    sent = sum(len(message["content"]) for body in server.requests for message in body["messages"])
    assert plan.tokens_in == round(sent / 4)
    assert plan.tokens_out == sum(body["max_tokens"] for body in server.requests)


def test_models_of_one_address_share_its_limit(server, store):
    under_way, replied = [], 0

    def reply(body, number):
        nonlocal replied
        under_way.append(len(server.requests) - replied)
        replied += 1
        return good(body)

    server.reply, server.delay = reply, 0.03
    go(small_cells(server.url, "a", "b", "c", seeds=(0,), at_once=3), store)
    assert len(server.requests) == 18
    assert 2 <= max(under_way) <= 3


def test_a_model_that_fails_does_not_stop_the_rest(server, store):
    server.reply = lambda body, n: web.Response(status=404) if body["model"] == "b" else good(body)
    cells = small_cells(server.url, "a", "b", "c")
    outcome = go(cells, store)
    assert set(outcome.failures) == {cell.run for cell in cells if cell.subject == "model:b"}
    assert all("knows no such model" in str(failure) for failure in outcome.failures.values())
    answers = stored_answers(store, [cell for cell in cells if cell.subject != "model:b"])
    assert [len(given) for given in answers.values()] == [6] * 4
    assert sum(body["model"] == "b" for body in server.requests) <= 4  # its second cell was not tried


def test_a_missing_key_is_one_models_failure(server, store, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    server.reply = good
    cells = small_cells(server.url, "a", "b", seeds=(0,), more='key = "NO_SUCH_KEY"')  # the last model's
    outcome = go(cells, store)
    (failure,) = outcome.failures.values()
    assert "NO_SUCH_KEY" in str(failure)
    assert len(server.requests) == 6


def test_a_cell_that_another_process_works_on_is_left_to_it(server, store):
    server.reply = good
    cells = small_cells(server.url, "a", seeds=(0, 1))
    with run_lock(store, cells[0].run):
        outcome = go(cells, store)
    assert set(outcome.failures) == {cells[0].run}
    assert len(server.requests) == 6


def test_a_server_of_its_own_is_started_and_stopped(store, tmp_path):
    from eqlab.sweep.file import parse_sweep
    from eqlab.sweep.grid import make_runs

    text = f"""
benchmarks = ["eqbench"]
limit = 3
[[models]]
spec = "tiny"
start = "{sys.executable} {TINY} {{port}} {tmp_path}/pid"
[[models]]
spec = "broken"
start = "{sys.executable} -c 'raise SystemExit(\\"no GPU here {{port}}\\")'"
"""
    cells = make_runs(parse_sweep(text))
    outcome = go(cells, store)
    assert set(outcome.failures) == {cells[1].run}
    assert "no GPU here" in str(outcome.failures[cells[1].run])
    assert len(stored_answers(store, cells[:1])[cells[0].run]) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_server_ends_with_a_worker_that_is_killed(tmp_path):
    """SIGKILL runs no clean-up in the worker; the guard between them notices."""
    code = f"""
import asyncio
from eqlab.sweep.model_server import started_server
from eqlab.sweep.file import parse_sweep
text = '''benchmarks = ["eqbench"]
[[models]]
spec = "tiny"
start = "{sys.executable} {TINY} {{port}} {tmp_path}/pid"
'''
async def main():
    async with started_server(parse_sweep(text).models[0]):
        print("up", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
    worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "up\n"
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 0)
    worker.kill()
    worker.communicate()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the server outlived its worker")


def start(file, store):
    command = [*EQLAB, "sweep", str(file), "--store", store]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=file.parent)


def test_killed_and_started_again_it_goes_on(server, tmp_path):
    """Every stored answer was asked for once; what was under way is asked for again."""
    file, where = tmp_path / "s.toml", str(tmp_path / "s.db")
    file.write_text(sweep_text(server.url, limit=10))
    server.reply = good
    kill_after(12, server, where, lambda: start(file, where))
    out, err = start(file, where).communicate(timeout=60)
    store = api.open_store(where)
    answers = stored_answers(store, small_cells(server.url, limit=10))
    store.close()
    assert [len(given) for given in answers.values()] == [10] * 4, err
    assert 40 < len(server.requests) <= 40 + 4
    assert "answered before" in err
    assert out.count("10 ") >= 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_a_scheduler_ends_it_and_it_says_how_to_go_on(server, tmp_path, number):
    file = tmp_path / "s.toml"
    file.write_text(sweep_text(server.url, limit=30))
    server.reply, server.delay = good, 0.2
    worker = start(file, str(tmp_path / "s.db"))
    deadline = time.monotonic() + 60
    while len(server.requests) < 6 and worker.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    worker.send_signal(number)
    _, err = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert "same command again" in err
    store = api.open_store(str(tmp_path / "s.db"))
    kept = sum(map(len, stored_answers(store, small_cells(server.url, limit=30)).values()))
    store.close()
    assert 6 <= kept == len(server.requests) < 120  # what was under way is stored
    assert "Traceback" not in err

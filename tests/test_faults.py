"""Bad days, end to end: every fault of support/fault_server.py against a run, in process and with short pauses."""

import fault_server as faults
import pytest
from server import answer_to

import eqlab as api
from eqlab.core.answers import Reading
from eqlab.core.errors import ModelError, StoreError
from eqlab.models import limiter
from eqlab.models.http import HttpChat

TRIALS = 8


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    monkeypatch.setattr(limiter, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(limiter, "_FIRST_INTERVAL", 0.01)


def run(server, store, timeout=60.0, **more):  # a busy machine can stand still for seconds
    prepared = api.prepare(
        api.Request(
            models=("m",),
            base_url=server.url,
            **({"benchmarks": ("eqbench",), "profile": "full", "limit": TRIALS} | more),
        )
    )
    return api.run(prepared, store, concurrency=4, timeout=timeout)


def attempts(store, run_id):
    """Every attempt with the values that the server meant."""
    from eqlab.benchmarks.registry import load

    benchmark, asked = load("eqbench"), store.find_run(run_id).config.benchmarks[0]
    for scored in store.scored(run_id, "model:m", "eqbench"):
        meant = benchmark.read(scored.trial, answer_to(scored.trial.prompt), asked.options).values
        for given in scored.attempts:
            yield given, meant


def all_well(store, run_id, ok=TRIALS):
    found = list(attempts(store, run_id))
    assert [given.values for given, _ in found if given.status == "ok"] == [
        meant for given, meant in found if given.status == "ok"
    ]
    (result,) = api.results(store, store.find_run(run_id))
    assert result.counts["ok"] == ok
    scored = {given.trial: meant for given, meant in found}  # scoring reads replies anew
    assert all(dict(item.values) in ({}, scored[item.trial]) for item in result.items)
    return [given for given, _ in found]


@pytest.mark.parametrize(
    "fault",
    [
        faults.reset_in_body,
        faults.refusing(429, {"Retry-After": "0"}, 4),
        faults.refusing(429, {}, 4),
        faults.refusing(500, {}, 12),
        faults.refusing(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 3),
        faults.saying(faults.truncated),
        faults.saying(faults.no_choices),
        faults.saying(faults.html),
        faults.saying(faults.stream_twice),
        faults.nan_usage,
        faults.huge(1_000_000),
    ],
    ids=["reset", "429+", "429", "500s", "503 date", "truncated", "choices", "html", "stream", "nan", "huge"],
)
def test_what_passes_by(fault, tmp_path):
    """Every trial ends up answered, once, with what the server meant."""
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(fault) as server:
        outcome = run(server, store)
        assert not outcome.failures
        given = all_well(store, outcome.run)
        asked = server.requests
        run(server, store)
        assert server.requests == asked  # nothing is asked again
    assert sum(answer.status == "ok" for answer in given) == TRIALS
    assert sum(answer.status == "error" for answer in given) <= 1  # the first, which bears the first faults alone
    store.close()


@pytest.mark.parametrize("fault", [faults.silence, faults.drip], ids=["silence", "drip"])
def test_what_never_comes_is_not_waited_for(fault, tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(fault) as server:
        given = all_well(store, run(server, store, timeout=1.0).run)
    assert sum(answer.transport_retries for answer in given) >= 4
    store.close()


def test_a_server_that_is_away_is_waited_for(unused_port, monkeypatch):
    """Connections refused more often than any fault is forgiven; then it listens again at the same place."""
    import asyncio

    from aiohttp import web
    from conftest import completion

    from eqlab.models.chat import prompted
    from eqlab.models.providers import resolve
    from eqlab.models.transport import Transport

    pauses = []
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: pauses.append(retries) or 0.01)

    async def reply(request):
        return web.json_response(completion("back again"))

    async def main():
        transport = Transport(4, patience=60.0)
        transport.met = True  # it was there before
        chat = HttpChat(resolve("m", f"http://127.0.0.1:{unused_port}/v1"), transport)
        asked = asyncio.create_task(chat.ask(prompted("x")))
        while len(pauses) < 20 and not asked.done():
            await asyncio.sleep(0.01)
        runner = web.ServerRunner(web.Server(reply, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", unused_port).start()
        try:
            return await asked
        finally:
            await chat.close()
            await runner.cleanup()

    assert asyncio.run(main()).text == "back again"


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_refusals_are_counted_and_never_scored(tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(faults.refusal) as server:
        outcome = run(server, store)
    (result,) = api.results(store, store.find_run(outcome.run))
    refused = result.counts["refused"]
    assert 0 < refused < TRIALS
    given = all_well(store, outcome.run, ok=TRIALS - refused)
    assert sum(answer.status == "refused" for answer in given) == 3 * refused
    assert all(not answer.values for answer in given if answer.status == "refused")
    store.close()


def test_a_revoked_key_stops_the_model_and_the_same_run_goes_on(tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(faults.revoked(5)) as server:
        outcome = run(server, store)
        (failure,) = outcome.failures.values()
        assert isinstance(failure, ModelError)
        assert "refuses the key" in str(failure)
        server.fault = faults.none
        outcome = run(server, store)
        assert not outcome.failures
        given = all_well(store, outcome.run)
        assert server.good == len(given) == TRIALS
    store.close()


def test_a_key_that_a_server_repeats_is_not_repeated_by_us(tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", "swordfish")

    async def telltale(asked):
        from aiohttp import web

        return web.json_response({"error": {"message": "bad key swordfish"}}, status=401 if asked.number > 1 else 400)

    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(telltale) as server:
        outcome = run(server, store)
    assert "swordfish" not in str(outcome.failures)
    store.close()
    assert b"swordfish" not in (tmp_path / "s.db").read_bytes()


def test_answers_under_way_are_kept_when_a_model_is_given_up(tmp_path):
    import asyncio

    async def one_is_refused(asked):
        from aiohttp import web

        if asked.number == 2:
            return web.json_response({"error": "no"}, status=401)
        await asyncio.sleep(0.3)
        return None

    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(one_is_refused) as server:
        outcome = run(server, store)
        assert outcome.failures
        given = [answer for answer, _ in attempts(store, outcome.run)]
        assert len(given) == server.good >= 3  # more where the refusal was read late
    store.close()


def test_a_reader_that_stumbles_loses_no_reply(tmp_path, monkeypatch):
    from eqlab.benchmarks.eqbench.benchmark import EqBench

    real = EqBench.read

    def stumbling(self, trial, text, options):
        if trial.items[0].endswith("1"):
            raise ZeroDivisionError("oh")
        reading: Reading = real(self, trial, text, options)
        return reading

    monkeypatch.setattr(EqBench, "read", stumbling)
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(faults.none) as server:
        outcome = run(server, store)
        given = list(attempts_of(store, outcome.run))
        assert len(given) == server.good
    bad = [answer for answer in given if answer.status == "unparseable"]
    assert bad
    assert all("ZeroDivisionError: oh" in answer.note and answer.text for answer in bad)
    store.close()


def attempts_of(store, run_id):
    for scored in store.scored(run_id, "model:m", "eqbench"):
        yield from scored.attempts


def test_a_clock_that_jumps(tmp_path, monkeypatch):
    import itertools
    import time

    jumps, real = itertools.cycle([0, 86400, -86400, 3e7, -3e7]), time.time
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    store = api.open_store(str(tmp_path / "s.db"))
    with faults.serving(faults.refusing(429, {"Retry-After": "0"}, 3)) as server:
        all_well(store, run(server, store).run)
    store.close()


def test_a_store_that_stays_locked_loses_nothing(tmp_path, monkeypatch):
    import sqlite3

    import eqlab.store.database as database

    monkeypatch.setattr(database, "BUSY", 0.2)
    store = api.open_store(str(tmp_path / "s.db"))
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)

    async def lock_first(asked):
        if asked.number == 3:
            other.execute("BEGIN IMMEDIATE")
        return

    with faults.serving(lock_first) as server:
        with pytest.raises(StoreError, match=r"locked.*eqlab-unstored.*Another program"):
            run(server, store)
        other.execute("ROLLBACK")
        other.close()
        store.close()
        store = api.open_store(str(tmp_path / "s.db"))
        all_well(store, run(server, store).run)
        assert server.good == TRIALS
    store.close()


def test_a_database_that_is_restarted_in_the_middle(start_postgres):
    """PostgreSQL is stopped while answers arrive and started again: the run waits for it and goes on."""
    import threading

    database = start_postgres()
    again = []

    async def stop_once(asked):
        if asked.number == 3:
            database.stop()
            timer = threading.Timer(1.0, database.start)
            timer.start()
            again.append(timer)
        return

    store = api.open_store(database.uri)
    try:
        with faults.serving(stop_once) as server:
            all_well(store, run(server, store).run)
            assert server.good == TRIALS
    finally:
        again[0].join()
        store.close()


def test_a_database_that_is_away_while_the_plan_is_read(monkeypatch):
    """Reading waits as writing does; SQLite does not, for it is no server."""
    from types import SimpleNamespace

    import eqlab.store.database as database

    monkeypatch.setattr(database, "_PAUSE", 0.0)
    left = iter([StoreError("gone", ""), StoreError("gone", ""), None])

    def read():
        failure = next(left)
        if failure:
            raise failure
        return "read"

    server, file = (SimpleNamespace(is_server=is_server) for is_server in (True, False))
    assert database.patiently(server, read) == "read"
    left = iter([StoreError("full", "")])
    with pytest.raises(StoreError, match="full"):
        database.patiently(file, read)
    monkeypatch.setattr(database, "PATIENCE", -1.0)
    left = iter([StoreError("gone", "")])
    with pytest.raises(StoreError, match="gone"):
        database.patiently(server, read)


def test_what_the_bench_of_faults_changes_in_a_process_is_there(monkeypatch):
    """It runs eqlab with some of its values changed by name; a name that has moved would end every such case."""
    import subprocess
    import sys
    from pathlib import Path

    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "bench"))
    from fault_cases import CASES

    changes = {case.prelude for case in CASES if "eqlab." in case.prelude}
    ours = {line for change in changes for line in change.splitlines() if "eqlab." in line}
    assert len(ours) == 3
    found = [line.replace(" = ", " == ") for line in sorted(ours, key=len)]
    subprocess.run([sys.executable, "-c", "\n".join(found)], check=True, timeout=60)

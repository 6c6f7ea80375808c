"""A run from preparing to scoring, against a chat server on loopback: what is asked, retried, stored, continued."""

import re

import pytest
from aiohttp import web
from conftest import completion

import eqlab as api
from eqlab.core.errors import ModelError, UsageError


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("eqlab.models.http.HttpChat._backoff", lambda self, retries: 0.005)


def asked_words(body):
    prompt = body["messages"][-1]["content"]
    return re.search(r"feel each of these at the end\?\n((?:\w+\n){4})", prompt).group(1).split()


def good(body, number=0):
    return "\n".join(f"{word}: {index + 1}" for index, word in enumerate(asked_words(body)))


def go(server, store, **request):
    heard = []
    wanted = api.Request(
        **{"benchmarks": ("eqbench",), "profile": "full", "models": ("m",), "base_url": server.url, "limit": 6}
        | request
    )
    prepared = api.prepare(wanted)
    outcome = api.run(prepared, store, concurrency=4, timeout=60, listener=api.Listener(stored=heard.extend))
    return outcome, api.results(store, store.find_run(outcome.run)), heard


def test_a_run_asks_every_trial_once_and_stores_it(server, store):
    server.reply = good
    outcome, (result,), heard = go(server, store)
    assert len(server.requests) == len(heard) == 6
    assert result.counts["ok"] == 6
    assert not outcome.failures
    assert heard[0].model == "m"
    assert heard[0].tokens_in == 11


def test_the_same_command_again_asks_nothing(server, store):
    server.reply = good
    first, (before,), _ = go(server, store)
    second, (after,), heard = go(server, store)
    assert first.run == second.run
    assert len(server.requests) == 6
    assert heard == []
    assert before.headline == after.headline


def test_another_seed_is_another_run(server, store):
    server.reply = good
    first, _, _ = go(server, store)
    second, _, _ = go(server, store, seed=1)
    assert first.run != second.run
    assert len(server.requests) == 12


def test_the_temperature_rises_only_after_a_reply_that_could_not_be_read(server, store):
    server.reply = lambda body, n: "no numbers today" if n < 3 else good(body)
    _, (result,), heard = go(server, store, limit=1)
    assert [body["temperature"] for body in server.requests] == [0.01, 0.16, 0.31]
    assert [answer.status for answer in heard] == ["unparseable", "unparseable", "ok"]
    assert result.items[0].attempts == 3


def test_a_transport_error_does_not_raise_it(server, store):
    server.reply = lambda body, n: web.Response(status=500) if n < 3 else good(body)
    _, _, heard = go(server, store, limit=1)
    assert {body["temperature"] for body in server.requests} == {0.01}
    assert [answer.status for answer in heard] == ["ok"]
    assert heard[0].transport_retries == 2


def test_three_tries_and_then_no_more_ever(server, store):
    server.reply = lambda body, n: "I'm sorry, but I can't rate feelings."
    _, (result,), heard = go(server, store, limit=2)
    assert len(heard) == 6
    assert result.counts["refused"] == 2
    go(server, store, limit=2)
    assert len(server.requests) == 6


def test_a_lost_request_is_stored_as_error_and_asked_again_next_time(server, store):
    lost = set()

    def reply(body, number):
        word = asked_words(body)[0]
        if number > 3 and (not lost or word in lost):
            lost.add(word)
            return web.Response(status=500, text="gone")
        return good(body)

    server.reply = reply
    _, (result,), heard = go(server, store)
    assert result.counts["error"] == 1
    assert [answer.note for answer in heard if answer.status == "error"] == ["HTTP 500: gone"] * 2
    server.reply = good
    _, (result,), heard = go(server, store)
    assert result.counts == {"planned": 6, "ok": 6, "unparseable": 0, "refused": 0, "error": 0, "unanswered": 0}
    assert len(heard) == 1
    assert {body["temperature"] for body in server.requests} == {0.01}  # the server's fault is not the model's


def test_reasoning_is_kept_and_not_parsed(server, store):
    server.reply = lambda body, n: completion(
        f"<think>{good(body)[::-1]} Joy: 3</think>{good(body)}", reasoning="field"
    )
    _, (result,), heard = go(server, store, limit=1)
    assert result.counts["ok"] == 1
    assert "<think>" not in heard[0].text
    assert "Joy: 3" in heard[0].reasoning
    assert "field" in heard[0].reasoning


def test_several_models_side_by_side_and_one_that_fails(server, store):
    server.reply = lambda body, n: (
        web.Response(status=404, text="no such model") if body["model"] == "bad" else good(body)
    )
    outcome, results, _ = go(server, store, models=("one", "bad", "two"))
    assert set(outcome.failures) == {"model:bad"}
    assert isinstance(outcome.failures["model:bad"], ModelError)
    assert [result.counts["ok"] for result in results] == [6, 0, 6]
    assert [result.counts["unanswered"] for result in results] == [0, 6, 0]


def test_a_server_that_breaks_for_good_is_given_up(server, store):
    server.reply = lambda body, n: good(body) if n == 1 else web.Response(status=500)
    outcome, (result,), _ = go(server, store, limit=40)
    assert "in a row" in str(outcome.failures["model:m"])
    assert result.counts["unanswered"] > 20


def test_structured_runs_send_a_schema_and_are_runs_of_their_own(server, store):
    import json

    server.reply = lambda body, n: json.dumps(
        dict.fromkeys(body["response_format"]["json_schema"]["schema"]["properties"], 5)
    )
    outcome, (result,), _ = go(server, store, structured=True)
    assert result.rules["mode"] == "json"
    assert result.counts["ok"] == 6
    server.reply = good
    other, (free,), _ = go(server, store)
    assert other.run != outcome.run
    assert free.rules["mode"] == "text"


def test_repeats_get_seeds_of_their_own(server, store):
    server.reply = good
    go(server, store, limit=2, repeats=3)
    seeds = [body["seed"] for body in server.requests]
    assert len(set(seeds)) == 6


def test_nothing_that_was_paid_for_is_lost_when_a_run_is_stopped(server, store):
    """The first Ctrl-C waits for what is under way."""
    import os
    import signal

    server.delay = 0.3
    server.reply = good
    heard = []

    def stored(batch):
        if not heard:
            os.kill(os.getpid(), signal.SIGINT)
        heard.extend(batch)

    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=30)
    )
    outcome = api.run(prepared, store, concurrency=4, timeout=60, listener=api.Listener(stored=stored))
    assert outcome.interrupted
    assert len(heard) == len(server.requests) < 30


@pytest.mark.parametrize(
    "request_",
    [
        api.Request(benchmarks=("nothing",)),
        api.Request(benchmarks="eqbench", profile="full", options={"nothing": "x"}),
        api.Request(benchmarks="eqbench", profile="full", limit=0),
        api.Request(benchmarks="eqbench", profile="full", repeats=-1),
        api.Request(benchmarks="eqbench", profile="full", items="open", options={"version": "v1"}),
    ],
)
def test_requests_that_make_no_sense(request_):
    with pytest.raises(UsageError):
        api.prepare(request_)


def test_a_benchmark_of_another_package(monkeypatch):
    """The entry point group makes a benchmark known without touching this package."""
    from importlib.metadata import EntryPoint

    from eqlab.benchmarks import registry
    from eqlab.benchmarks.eqbench.benchmark import EqBench

    point = EntryPoint("theirs", "eqlab.benchmarks.eqbench.benchmark:EqBench", "eqlab.benchmarks")
    monkeypatch.setattr(registry, "entry_points", lambda **_: [point])
    assert "theirs" in registry.names()
    assert isinstance(registry.load("theirs"), EqBench)

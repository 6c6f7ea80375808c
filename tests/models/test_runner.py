"""What the runner makes of replies that are cut off, empty, declined or lost."""

import json
import re

import pytest
from aiohttp import web
from conftest import completion
from server import answer_to

from eqlab.models.http import HttpChat
from eqlab.runs.ask import run
from eqlab.runs.request import Request, prepare
from eqlab.store.access import open_store


def good(body):
    return answer_to(body["messages"][-1]["content"])


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


def go(server, tmp_path, limit=3, concurrency=4, **more):
    store = open_store(str(tmp_path / "s.db"))
    prepared = prepare(
        Request(
            models=("m",), base_url=server.url, limit=limit, **({"benchmarks": ("eqbench",), "profile": "full"} | more)
        )
    )
    outcome = run(prepared, store, concurrency=concurrency)
    attempts = [one.attempts for one in store.scored(outcome.run, "model:m", "eqbench")]
    store.close()
    return outcome, attempts


def test_a_cut_reply_is_never_ok_and_is_asked_once_more_with_more_room(server, tmp_path):
    """A last "10" that is cut to "1" would be a wrong score: the four names and numbers are all there."""

    def reply(body, number):
        cut = body["max_tokens"] < 1000
        tens = re.sub(r"\d+$", "10", good(body))
        return completion(tens[:-1], finish="length") if cut else completion(tens)

    server.reply = reply
    _, attempts = go(server, tmp_path)
    for first, second in attempts:
        assert (first.status, second.status) == ("unparseable", "ok")
        assert (first.values, list(second.values.values())[-1]) == ({}, 10)
        assert "cut off before its end, at 256 tokens" in first.note
        assert first.temperature == second.temperature  # the model could not help it
        assert second.sent["room"] == 256 + 1024


def test_a_reply_that_stays_cut_is_unparseable_with_the_reason(server, tmp_path):
    server.reply = lambda body, n: completion(good(body), finish="length")
    _, attempts = go(server, tmp_path, limit=1)
    (tries,) = attempts
    assert [answer.status for answer in tries] == ["unparseable", "unparseable"]  # more room once, then no more tries
    assert "tokens" in tries[-1].note
    go(server, tmp_path, limit=1)
    assert len(server.requests) == 2  # the same command again asks for nothing


def test_a_whole_json_object_is_complete_even_if_cut_behind_it(server, tmp_path):
    def reply(body, number):
        names = body["response_format"]["json_schema"]["schema"]["properties"]
        return completion(json.dumps(dict.fromkeys(names, 5)) + "\n\n", finish="length")

    server.reply = reply
    _, attempts = go(server, tmp_path, structured=True)
    assert [[answer.status for answer in tries] for tries in attempts] == [["ok"]] * 3


def test_a_model_cut_while_thinking_is_named_and_gets_its_room(server, tmp_path):
    def reply(body, number):
        if body["max_tokens"] < 5000:
            return completion("<think>Let me see", finish="length")
        return completion(f"<think>I see.</think>{good(body)}")

    server.reply = reply
    _, attempts = go(server, tmp_path, concurrency=1)
    assert "cut off while it was thinking, at 256 tokens" in attempts[0][0].note
    assert [len(tries) for tries in attempts] == [2, 1, 1]  # learnt from the first
    assert all(tries[-1].status == "ok" for tries in attempts)


def test_nothing_but_empty_replies_stops_early_with_the_reason(server, tmp_path):
    server.reply = lambda body, n: completion("")
    outcome, _ = go(server, tmp_path, limit=20, concurrency=1)
    (failure,) = outcome.failures.values()
    assert "8 empty replies in a row (finish: stop)" in str(failure)
    assert len(server.requests) == 8


def test_an_empty_reply_under_a_filter_is_refused(server, tmp_path):
    server.reply = lambda body, n: completion("", finish="content_filter")
    _, attempts = go(server, tmp_path)
    assert [[answer.status for answer in tries] for tries in attempts] == [["refused"]] * 3
    assert len(server.requests) == 3


def test_what_a_filter_cut_is_refused_however_it_reads(server, tmp_path):
    server.reply = lambda body, n: completion(re.sub(r"\d+$", "1", good(body)), finish="content_filter")
    _, attempts = go(server, tmp_path)
    assert [[(answer.status, answer.values) for answer in tries] for tries in attempts] == [[("refused", {})]] * 3


def test_a_trial_costs_at_most_fourteen_requests(server, tmp_path):
    """The worst that a server can do without an outage, as docs/models.md states it; in 0.1 it was 21."""
    worst = ["cut", "strange", "strange", *["broken"] * 7, "cut", *["broken"] * 9]

    def reply(body, number):
        now = worst[number - 1]
        if now == "broken":
            return web.Response(status=500, text="oops")
        return completion(good(body)[:-1], finish="length") if now == "cut" else "no numbers today"

    server.reply = reply
    outcome, (tries,) = go(server, tmp_path, limit=1)
    assert outcome.lost
    assert len(server.requests) == 14
    assert [one.status for one in tries] == ["unparseable"] * 3 + ["error", "unparseable", "error"]


def test_failures_of_all_tries_together_are_counted(server, tmp_path):
    """Three tries with six failures each were 21 requests."""
    server.reply = lambda body, n: web.Response(status=500) if n % 4 else "no numbers today"
    _, (tries,) = go(server, tmp_path, limit=1)
    assert [one.transport_retries for one in tries][:2] == [3, 3]
    assert tries[2].status == "error"
    assert len(server.requests) == 4 + 4 + 1 + 3


def test_lost_trials_are_asked_once_more_and_said(server, tmp_path):
    prompts = {}

    def reply(body, number):
        prompt = body["messages"][-1]["content"]
        prompts[prompt] = prompts.get(prompt, 0) + 1
        if list(prompts).index(prompt) == 1 and prompts[prompt] <= server.bad:
            return web.Response(status=400, text="strange")
        return good(body)

    server.reply, server.bad = reply, 1
    outcome, attempts = go(server, tmp_path / "a")
    assert not outcome.lost
    assert [tries[-1].status for tries in attempts] == ["ok"] * 3
    prompts.clear()
    server.bad = 99
    outcome, _ = go(server, tmp_path / "b")
    assert outcome.lost == {"model:m": "1 trial got no answer (last: HTTP 400: strange)."}


def test_the_same_model_asked_with_what_the_user_chose(server, tmp_path):
    server.reply = lambda body, n: good(body)
    go(server, tmp_path, limit=1, settings={"top_p": 0.9, "stop": "END", "min_p": 0.1, "temperature": 0.7, "seed": 4})
    (body,) = server.requests
    assert {name: body[name] for name in ("top_p", "stop", "min_p", "temperature", "seed")} == {
        "top_p": 0.9,
        "stop": ["END"],
        "min_p": 0.1,
        "temperature": 0.7,
        "seed": 4,
    }

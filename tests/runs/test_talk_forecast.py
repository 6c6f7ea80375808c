"""What talks will cost, told before they begin: the forecast against the tokens that were really sent."""

import json
import math
import re

import pytest
from aiohttp import web
from scripted import is_speaker, talk

import eqlab as api
from eqlab.models.prices import Price, Prices
from eqlab.runs.estimate import forecasts

PRICES = Prices([Price(("m",), 1.0, 10.0), Price(("s",), 2.0, 20.0)], "2026-11-15")


def plan(server, *models, speaker="s", **more):
    return api.prepare(
        api.Request(
            models or ("m",),
            "dialogue",
            base_url=server.url,
            profile="full",
            options={"speaker": f"{speaker}@{server.url}" if speaker != "fixed" else speaker},
            **{"limit": 3} | more,
        )
    )


def sent(bodies):
    return sum(math.ceil(len(message["content"].encode()) / 4) + 8 for body in bodies for message in body["messages"])


def test_both_seats_are_counted_with_the_context_growing(server):
    """Replies of exactly the length that the forecast supposes: what is sent must be what was foretold."""
    listener, speaker = forecasts(plan(server), None, PRICES)
    assert (listener.calls, speaker.calls) == (3 * 8, 3 * 8)
    assert [one.model.role for one in (listener, speaker)] == ["model", "seat"]

    def reply(body, number):
        if is_speaker(body):
            return f"Feeling: {'f' * 126}\nEmotion: 55\nLeaves: no\nSays: {'s' * 253}"
        return "w" * 480

    server.reply = reply
    store = api.open_store("")
    api.run(plan(server), store)
    store.close()
    told = {False: listener, True: speaker}
    for seat, one in told.items():
        real = sent(body for body in server.requests if is_speaker(body) == seat)
        assert one.tokens_in[0] == pytest.approx(real, rel=0.08)
        assert one.tokens_in[1] > 1.3 * one.tokens_in[0]  # long replies are sent again, too
    assert listener.tokens_out[1] == 3 * 8 * 300
    # a context that did not grow would be far off
    assert listener.tokens_in[0] > 3 * sent(body for body in server.requests[:1]) * 8


def test_repeats_speakers_and_fixed_lines(server):
    one, seat = forecasts(plan(server), None, PRICES)
    twice, again = forecasts(plan(server, repeats=2), None, PRICES)
    assert (twice.calls, twice.tokens_in, again.tokens_in) == (
        2 * one.calls,
        tuple(2 * count for count in one.tokens_in),
        tuple(2 * count for count in seat.tokens_in),
    )
    pair = forecasts(plan(server, "m", "n"), None, PRICES)
    assert [found.model.spec for found in pair] == ["m", "n", "s"]
    assert pair[2].calls == 2 * seat.calls, "one seat, whoever listens"
    (fixed,) = forecasts(plan(server, speaker="fixed"), None, PRICES)
    assert fixed.calls == 3 * 4


def test_what_is_left_in_the_middle_of_talks(server, tmp_path):
    """Stopped on the way: the forecast counts the rest of each talk, and that is what is asked then."""
    server.reply = lambda body, number: (
        talk({**body, "model": "plain"}, number) if number <= 15 else web.Response(status=401)
    )
    store = api.open_store(str(tmp_path / "s.db"))
    whole = sum(one.calls for one in forecasts(plan(server), store, PRICES))
    outcome = api.run(plan(server), store, concurrency=2)
    assert outcome.failures
    answered, _ = store.progress(outcome.run)["model:m"]
    assert 10 <= answered <= 15
    left = forecasts(plan(server), store, PRICES)
    assert sum(one.calls for one in left) == whole - answered
    asked = len(server.requests)
    server.reply = lambda body, number: talk({**body, "model": "plain"}, number)
    api.run(plan(server), store)
    assert len(server.requests) - asked == whole - answered
    assert [one.calls for one in forecasts(plan(server), store, PRICES)] == [0, 0]
    store.close()


def test_a_large_run_of_talks_says_its_size_before_it_asks(eqlab, server, tmp_path):
    """60 talks are 60 trials in the plan and 960 calls: more than the 500 from which on a run says so."""
    server.reply = talk
    prices = tmp_path / "p.toml"
    prices.write_text('[[price]]\nmodels = ["bad", "s"]\ninput = 1.0\noutput = 2.0\n')
    command = ["run", "bad", "--speaker", "s", "--base-url", server.url, "--profile", "full", "--prices", prices]
    done = eqlab(*command, "--dry-run")
    assert done.code == 0, done.err
    assert re.search(r"bad +480 +0 +[\d,]+ to [\d,]+ ", done.out), done.out
    assert re.search(r"s \(as speaker\) +480 ", done.out), done.out
    assert "full length" in done.out
    done = eqlab(*command, "--dry-run", "--json")
    rows = json.loads(done.out)["models"]
    assert [(row["role"], row["calls"]) for row in rows] == [("model", 480), ("seat", 480)]
    assert rows[1]["cost"][0] > 0
    assert not server.requests
    done = eqlab(*command, "--store", "s.db", "--limit", "40")
    assert "bad: 320 calls, about" in done.err
    assert "s (as speaker): 320 calls" in done.err

"""Calls, tokens and money on the command line: before, while and after."""

import json
import re
import time

import pytest
from batch_servers import KEY, housed
from conftest import completion
from scripted import talk

PRICES = """
[[price]]
models = ["dear"]
input = 1000.0
output = 2000.0
batch = 0.5
date = "2026-11-15"
source = "a friend"
"""


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return path


def good(body, number=0):
    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"])
    if words is None:
        return "Okay"
    text = "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words.group(1).split()))
    return completion(text) | {"usage": {"prompt_tokens": 300, "completion_tokens": 40}}


def command(server, *more, model="dear"):
    return ["run", model, "-b", "eqbench", "--base-url", server.url, "--profile", "full", *more]


def test_a_dry_run_asks_and_stores_nothing(eqlab, server, prices, tmp_path):
    done = eqlab(*command(server, "--dry-run", "--prices", prices, "--store", "s.db"))
    assert done.code == 0, done.err
    assert re.search(r"dear +60 +0 +[\d,]+ +[\d,]+ to 15,360 +[\d.]+ to [\d.]+ USD", done.out), done.out
    assert "Prices: a friend (2026-11-15)." in done.out
    assert not server.requests
    assert not (tmp_path / "s.db").exists()
    assert not list(tmp_path.glob("*.html"))


def test_a_dry_run_as_json_and_at_half_price(eqlab, server, prices):
    whole = json.loads(eqlab(*command(server, "--dry-run", "--json", "--prices", prices)).out)
    half = json.loads(eqlab(*command(server, "--dry-run", "--json", "--batch", "--prices", prices)).out)
    (one,), (other,) = whole["models"], half["models"]
    assert one["calls"] == other["calls"] == 60
    assert other["cost"] == pytest.approx([amount / 2 for amount in one["cost"]])
    assert one["currency"] == "USD"


def test_an_unknown_price_says_unknown(eqlab, server):
    done = eqlab(*command(server, "--dry-run", model="m"))
    assert re.search(r"m +60 .* unknown", done.out)
    assert "No price is known of m" in done.out
    (one,) = json.loads(eqlab(*command(server, "--dry-run", "--json", model="m")).out)["models"]
    assert one["cost"] is None


def test_a_dry_run_counts_what_was_answered_before(eqlab, server, prices):
    server.reply = good
    eqlab(*command(server, "--limit", "5", "--store", "s.db"))
    done = eqlab(*command(server, "--limit", "5", "--store", "s.db", "--dry-run", "--prices", prices))
    assert re.search(r"dear +0 +5 ", done.out), done.out


def test_a_limit_has_an_exit_code_of_its_own_and_says_how_to_go_on(eqlab, server, prices):
    server.reply = good
    done = eqlab(*command(server, "--prices", prices, "--max-cost", "5", "--store", "s.db"))
    assert done.code == 4, done.err
    assert "Stopped before a limit (--max-cost 5: " in done.err
    assert "with a higher limit" in done.err
    asked = len(server.requests)
    assert 0 < asked < 60
    done = eqlab(*command(server, "--prices", prices, "--max-cost", "500", "--store", "s.db"))
    assert done.code == 0, done.err
    assert len(server.requests) == 60
    done = eqlab(*command(server, "--max-tokens-total", "1000", "--store", "other.db", model="m"))
    assert done.code == 4
    assert "--max-tokens-total 1000" in done.err


@pytest.mark.parametrize(
    "reports",
    [
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 0, "completion_tokens": 1},
        {"prompt_tokens": -5, "completion_tokens": -1},
        {"prompt_tokens": 10**9, "completion_tokens": 10**9},
        {},
    ],
    ids=lambda usage: "/".join(map(str, usage.values())) or "nothing",
)
def test_limits_hold_against_a_server_whose_counts_cannot_be(eqlab, server, tmp_path, reports):
    """Unknown counts are estimated from the texts, said to be, and the next session holds the limit too."""
    cheap = tmp_path / "cheap.toml"
    cheap.write_text(PRICES.replace("1000.0", "1.0").replace("2000.0", "2.0"))
    server.reply = lambda body, number: good(body) | {"usage": reports}
    limits = ("--max-cost", "0.02", "--max-tokens-total", "12000", "--prices", cheap, "--store", "s.db")
    done = eqlab(*command(server, *limits))
    asked = len(server.requests)
    assert done.code == 4, done.err
    assert 2 < asked < 40
    assert f"estimated from the text for {asked} replies whose tokens were not counted" in done.err
    assert ("token counts that cannot be" in done.err) is any(count >= 0 for count in reports.values())
    assert eqlab(*command(server, *limits)).code == 4
    assert len(server.requests) < 50


def test_a_limit_of_cost_without_a_price_is_a_mistake(eqlab, server):
    done = eqlab(*command(server, "--max-cost", "5", model="m"))
    assert done.code == 2
    assert "none is known of m" in done.err
    assert not server.requests


def test_what_it_took_is_shown_and_in_the_report_and_unknown_where_unknown(eqlab, server, prices, tmp_path):
    server.reply = good
    done = eqlab(*command(server, "--limit", "4", "--prices", prices, "--store", "s.db"))
    # 4 × (300 in at 1000 and 40 out at 2000 a million): 1.52
    assert re.search(r"dear +4 +1,200 +160 +1\.52 USD +(?:< )?\d", done.out), done.out
    page = (tmp_path / "eqlab-report.html").read_text()
    assert "1.52 USD" in page
    assert "seconds a reply" in page
    (result,) = json.loads(eqlab(*command(server, "--limit", "4", "--json", "--store", "s.db")).out)["results"]
    assert (result["usage"]["tokens_in"], result["usage"]["tokens_out"]) == (1200, 160)
    server.reply = lambda body, number: {name: value for name, value in good(body).items() if name != "usage"}
    done = eqlab(*command(server, "--limit", "4", "--store", "s.db", model="m"))
    assert re.search(r"m +4 +unknown +unknown +unknown +(?:< )?\d", done.out), done.out


def test_the_provider_knows_best_what_it_charged(eqlab, server, prices):
    def reply(body, number):
        return good(body) | {"usage": {"prompt_tokens": 300, "completion_tokens": 40, "cost": 0.25}}

    server.reply = reply
    for model in ("dear", "m"):
        done = eqlab(*command(server, "--limit", "4", "--prices", prices, "--store", "s.db", model=model))
        assert "1.00 USD" in done.out, done.out


@pytest.mark.parametrize(("cost", "told"), [({"cost": 0.5}, "3.00 USD"), ({}, "≥ 1.50 USD")])
def test_first_tries_that_failed_are_in_the_cost_or_said_to_be_missing(eqlab, server, prices, cost, told):
    """Of three questions each is billed twice; the tokens were doubled, and the money was not."""
    tried = set()

    def reply(body, number):
        question, usage = body["messages"][-1]["content"], {"prompt_tokens": 300, "completion_tokens": 40}
        if question in tried:
            return good(body) | {"usage": {**usage, "cost": 0.5}}
        tried.add(question)
        return completion("", finish="error") | {"usage": {**usage, **cost}}

    server.reply = reply
    done = eqlab(*command(server, "--limit", "3", "--store", "s.db", model="m"))
    assert re.search(rf"m +3 +1,800 +240 +{told} ", done.out), done.out


def test_a_talk_with_somebody_whose_price_is_not_known_costs_at_least_this(eqlab, server, prices, tmp_path):
    """Six of eight requests were in the tokens, and not in the money."""
    server.reply = talk
    asks = ("run", "dear", "-b", "dialogue", "-o", f"speaker=talker@{server.url}", "-o", "turns=3", "--limit", "2")
    asks = (*asks, "--base-url", server.url, "--prices", prices, "--store", "s.db")
    done = eqlab(*asks)
    requests, dear = len(server.requests), sum(body["model"] == "dear" for body in server.requests)
    assert 0 < dear < requests
    told = f"≥ {dear * 0.025:,.2f} USD"  # 11 in at 1000 and 7 out at 2000 a million each
    assert re.search(rf"dear +{requests} +{11 * requests} +{7 * requests} +{told} ", done.out), done.out
    (result,) = json.loads(eqlab(*asks, "--json").out)["results"]
    assert result["usage"]["cost"] == pytest.approx(dear * 0.025)
    assert result["usage"]["unpriced"] == requests - dear
    assert told in (tmp_path / "eqlab-report.html").read_text()
    assert eqlab("leaderboard", "build", "site", "--store", "s.db").code == 0
    assert told in (tmp_path / "site" / "index.html").read_text()
    (table,) = (tmp_path / "site" / "data").glob("board-*.json")
    (row,) = (row for row in json.loads(table.read_text()) if row["name"] == "dear")
    assert (row["cost"], row["unpriced"]) == (pytest.approx(dear * 0.025), requests - dear)


def test_a_large_run_says_its_size_first(eqlab, server, prices):
    server.reply = lambda body, number: "no"
    done = eqlab(*command(server, "--repeats", "20", "--max-tokens-total", "10", "--prices", prices))
    assert re.search(r"dear: 1,200 calls, about [\d,]+ tokens in, [\d,]+ to [\d,]+ out; cost [\d.]+ to ", done.err)
    done = eqlab(*command(server, "--repeats", "8", "--max-tokens-total", "10", "--prices", prices))
    assert "calls, about" not in done.err


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_absurd_sizes_are_refused_at_once(eqlab, server, more, tmp_path):
    started = time.monotonic()
    done = eqlab(*command(server, "--repeats", "1000000000", "--store", "s.db", *more))
    assert done.code == 2
    assert "more than 1,000,000 calls" in done.err
    assert time.monotonic() - started < 20
    assert not server.requests


def test_faulty_prices_are_said_before_anything_is_asked(eqlab, server, tmp_path):
    (tmp_path / "bad.toml").write_text("[[price]]\nmodels = ['x']\n")
    done = eqlab(*command(server, "--prices", tmp_path / "bad.toml"))
    assert done.code == 1
    assert "input is missing" in done.err
    assert not server.requests


def test_by_batch_from_the_command_line_and_for_judges_too(eqlab, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with housed("anthropic") as house:
        address = ["--base-url", house.url, "--batch", "--poll", "0.05", "--store", "s.db"]
        done = eqlab("run", house.model, "-b", "eqbench", "--limit", "6", "--profile", "full", *address)
        assert done.code == 0, done.err
        # On a starved machine the sending may go unconfirmed: the batch is then looked for, and taken in all the same.
        assert "batch msgbatch_001 taken in: 5 answers" in done.err
        # One directly, five at half the price of 400 tokens in (100 of them cached) and 20 out.
        whole = (300 * 5 + 100 * 0.5 + 20 * 25) / 1e6
        cost = json.loads(
            eqlab("run", house.model, "-b", "eqbench", "--limit", "6", "--profile", "full", *address, "--json").out
        )
        assert cost["results"][0]["usage"]["cost"] == pytest.approx(3.5 * whole)
        house.one = lambda body: {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [{"type": "text", "text": "Good"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 300, "output_tokens": 2},
        }
        done = eqlab("judge", house.model, "--on", "author", "--limit", "5", *address)
        assert "batch msgbatch_002 taken in: 4 answers" in done.err, done.err
        assert len(house.sent) == len(set(house.sent))


def test_batches_need_a_provider_that_takes_them(eqlab):
    done = eqlab("run", "embedded", "-b", "eqbench", "--limit", "2", "--batch")
    assert done.code == 2
    assert "--batch does not work with embedded" in done.err


def test_the_leaderboard_has_small_columns(eqlab, server, prices, tmp_path):
    server.reply = good
    eqlab(*command(server, "--limit", "4", "--prices", prices, "--store", "s.db"))
    eqlab(*command(server, "--limit", "4", "--store", "s.db", model="m"))
    done = eqlab("leaderboard", "build", "site", "--store", "s.db", EQLAB_PRICES=prices)
    assert done.code == 0, done.err
    page = (tmp_path / "site" / "index.html").read_text()
    assert "1.52 USD" in page
    assert re.search(r'data-label="cost" data-value="">unknown', page)
    (table,) = (tmp_path / "site" / "data").glob("board-*.json")
    rows = {row["name"]: row for row in json.loads(table.read_text())}
    assert rows["dear"]["cost"] == pytest.approx(1.52)
    assert rows["m"]["cost"] is None
    assert rows["m"]["tokens_in"] == 1200

"""Limits: a run stops before them, says which, and goes on with a higher one."""

import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web
from conftest import completion
from hypothesis import given
from hypothesis import strategies as st

import eqlab as api
from eqlab.core.errors import ModelError, UsageError
from eqlab.core.trials import one_prompt
from eqlab.models.chat import ChatRequest, LimitReached, Unasked
from eqlab.models.http import HttpChat
from eqlab.models.prices import Price, Prices, spent
from eqlab.models.runner import Session, ask_one
from eqlab.runs.ask import run
from eqlab.runs.budget import Amount, Budget, Limits
from eqlab.runs.estimate import forecasts, most_tokens_in
from eqlab.store.store import Planned

PRICES = """
[[price]]
models = ["dear"]
input = 1000.0
output = 2000.0
cached = 500.0
"""


@pytest.fixture
def priced(tmp_path, monkeypatch):
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    monkeypatch.setenv("EQLAB_PRICES", str(path))


@pytest.fixture
def store(tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    yield store
    store.close()


def good(body, number=0, tokens=(300, 40)):
    import re

    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    text = "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words))
    return completion(text) | {"usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}}


def prepared(server, models=("dear",), **more):
    return api.prepare(
        api.Request(models=models, base_url=server.url, **({"benchmarks": ("eqbench",), "profile": "full"} | more))
    )


def total(store, plan):
    uses = store.used(plan.config.id, plan.config.models[0].subject)
    return [sum(column) for column in zip(*((use.tokens_in, use.tokens_out) for use in uses), strict=True)]


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_limit_of_cost_is_never_passed_and_a_higher_one_goes_on(server, store, priced, concurrency):
    server.reply = good
    server.delay = 0.01
    plan = prepared(server)
    # 300 in and 40 out cost 0.38; a request may cost its prompt's bytes and 256 out: about 1.2 + 0.5.
    outcome = run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0))
    first = len(server.requests)
    assert outcome.limit.startswith("--max-cost 8: ")
    assert not outcome.failures
    assert not outcome.interrupted
    tokens_in, tokens_out = total(store, plan)
    assert 4 < (tokens_in * 1000 + tokens_out * 2000) / 1e6 <= 8.0
    again = run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0))
    assert again.limit
    assert len(server.requests) <= first + 2  # what an earlier worst case left over
    outcome = run(plan, store, concurrency=concurrency, limits=Limits(cost=100.0))
    assert not outcome.limit
    assert store.progress(plan.config.id)["model:dear"] == (60, 60)
    assert len(server.requests) == 60


def test_a_limit_of_tokens_needs_no_price(server, store):
    server.reply = good
    plan = prepared(server, ("m",))
    outcome = run(plan, store, limits=Limits(tokens=30_000))
    assert outcome.limit.startswith("--max-tokens-total 30000: ")
    assert sum(total(store, plan)) <= 30_000
    assert 10 < len(server.requests) < 60


def test_replies_that_nobody_counted_are_taken_at_their_worst(server, store, priced):
    server.reply = lambda body, number: {name: part for name, part in good(body).items() if name != "usage"}
    plan = prepared(server)
    outcome = run(plan, store, concurrency=1, limits=Limits(cost=20.0))
    assert outcome.limit
    asked = len(server.requests)
    assert 2 < asked < 60
    again = run(plan, store, concurrency=1, limits=Limits(cost=20.0))
    assert again.limit
    assert len(server.requests) - asked <= asked


def test_a_request_that_timed_out_counts_as_billed(server, store, priced):
    def reply(body, number):
        server.delay = 0.0 if number > 3 else 3.0
        return good(body)

    server.delay = 3.0
    server.reply = reply
    plan = prepared(server, limit=3)
    run(plan, store, concurrency=1, timeout=1, silence=1, limits=Limits(cost=100.0))
    waited = [use.timed_out for use in store.used(plan.config.id, "model:dear") if use.timed_out]
    assert waited
    price = Price(("dear",), 1000, 2000)
    tokens, cost, _ = spent(store, plan.config.id, "model:dear", {"": price})
    counted = sum(total_of(use) for use in store.used(plan.config.id, "model:dear"))
    assert tokens > counted
    assert cost > 3 * 0.38


def cut(body, number):
    return web.Response(text='{"choices": [{"message"', content_type="application/json")


def failed(body, number):
    choice = {"index": 0, "finish_reason": "error", "message": {"content": ""}}
    return {"choices": [choice], "usage": {"prompt_tokens": 300, "completion_tokens": 40}}


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("status", [200, 500])
def test_a_failure_counts_at_the_cost_that_its_provider_says(server, store, priced, status, concurrency):
    """Each first try costs .90, by the list prices .38: the difference was spent beyond every limit."""
    tried = set()

    def reply(body, number):
        question = body["messages"][-1]["content"]
        if question in tried:
            return good(body)
        tried.add(question)
        whole = failed(body, number)
        return web.json_response(whole | {"usage": {**whole["usage"], "cost": 0.9}}, status=status)

    server.reply = reply
    plan = prepared(server, limit=20)
    assert run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0)).limit.startswith("--max-cost 8: ")
    uses = list(store.used(plan.config.id, "model:dear"))
    cost = 0.9 * len(tried) + 0.38 * sum(use.answered for use in uses)
    assert spent(store, plan.config.id, "model:dear", {"": Price(("dear",), 1000, 2000)})[1] == pytest.approx(cost)
    assert 5 < cost <= 8
    (result,) = api.results(store, store.find_run(plan.config.id))
    assert (result.usage.cost, result.usage.unpriced) == (pytest.approx(cost), 0)
    asked = len(server.requests)
    assert run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0)).limit
    assert len(server.requests) <= asked + 2


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "broken", [cut, failed, lambda body, number: web.Response(status=504)], ids=["cut", "failed, counted", "504"]
)
def test_a_reply_that_broke_off_counts_as_billed_now_and_in_a_later_session(server, store, priced, broken, concurrency):
    """Every other reply breaks off: what was sent cost nothing, and the limit was passed."""
    server.reply = lambda body, number: good(body) if number % 2 else broken(body, number)
    plan = prepared(server, limit=20)
    outcome = run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0))
    assert outcome.limit.startswith("--max-cost 8: ")
    price = Price(("dear",), 1000, 2000)
    _, cost, _ = spent(store, plan.config.id, "model:dear", {"": price})
    least = 0.38 * (len(server.requests) - concurrency)
    assert least <= cost <= 8.0 + 0.4  # a later session estimates prompts from what is stored
    asked = len(server.requests)
    assert run(plan, store, concurrency=concurrency, limits=Limits(cost=8.0)).limit
    assert len(server.requests) <= asked + 2


def test_what_was_billed_until_patience_ended_counts_in_the_next_session(server, store, priced, monkeypatch):
    """Every session began anew, and the limit was passed in each."""
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.05)
    server.reply = lambda body, number: web.Response(status=504)
    plan = prepared(server, limit=4)
    assert run(plan, store, concurrency=4, patience=0.3, limits=Limits(cost=200.0)).failures
    asked = len(server.requests)
    assert sum(use.timed_out for use in store.used(plan.config.id, "model:dear")) == asked > 4
    cost = spent(store, plan.config.id, "model:dear", {"": Price(("dear",), 1000, 2000)})[1]
    assert cost > asked * 256 * 2000 / 1e6
    assert run(plan, store, patience=0.3, limits=Limits(cost=cost)).limit
    assert len(server.requests) == asked
    server.reply = good
    assert not run(plan, store, limits=Limits(cost=cost + 10)).limit
    assert store.progress(plan.config.id)["model:dear"] == (4, 4)


class Thinker:
    """A model of which nobody knows that it thinks, before its first reply or its first refusal."""

    def __init__(self, refuses=False):
        self.rooms, self.refuses, self.under_way, self.most = [], refuses, 0, 0

    async def before(self, body):
        long = body.get("max_completion_tokens", body.get("max_tokens")) > 1000
        self.under_way += long
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.1 if self.rooms else 0.02)
        self.under_way -= long

    def reply(self, body, number):
        if self.refuses and "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return web.json_response({"error": {"message": said, "param": "max_tokens"}}, status=400)
        self.rooms.append(body.get("max_completion_tokens") or body["max_tokens"])
        whole = good(body, tokens=(300, self.rooms[-1]))
        whole["choices"][0]["message"]["reasoning_content"] = "Hm. " * 300
        return whole


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("refuses", [False, True])
def test_a_limit_holds_for_a_model_that_turns_out_to_think(server, store, priced, refuses, concurrency):
    """Sixteen questions that waited for the first reply were sent with room for thinking that nobody had reserved."""
    thinker = Thinker(refuses)
    server.reply, server.before = thinker.reply, thinker.before
    plan = prepared(server, limit=40)
    assert run(plan, store, concurrency=concurrency, limits=Limits(cost=100.0)).limit.startswith("--max-cost 100: ")
    assert sum(thinker.rooms) * 2000 / 1e6 <= 100
    assert max(thinker.rooms) == 256 + 16384
    assert thinker.most <= 2  # 33 each at their worst


def test_what_waits_for_room_to_think_is_asked_when_there_is(server, store, priced):
    thinker = Thinker()
    server.reply = lambda body, number: (
        thinker.reply(body, number) | {"usage": {"prompt_tokens": 9, "completion_tokens": 400}}
    )
    server.before = thinker.before
    plan = prepared(server, limit=12)
    assert not run(plan, store, limits=Limits(cost=80.0)).limit
    assert store.progress(plan.config.id)["model:dear"] == (12, 12)
    assert thinker.most == 2


@pytest.mark.parametrize("end", [Unasked("the session ended"), ModelError("gone"), asyncio.CancelledError()])
@pytest.mark.parametrize("billed", [True, False])
def test_a_question_that_ends_without_a_reply_keeps_its_bill(server, end, billed):
    """After Ctrl-C, with its model, or cut off while it was under way."""
    plan, kept = prepared(server, limit=1), []

    class Ends:
        async def ask(self, request):
            request.bill.sent = {"room": 77}
            if billed:
                request.bill.sends()
            raise end

    _, name, trial, repeat = next(iter(plan.plan()))
    session = Session("r", plan.config.models[0], 1, Ends(), plan.asked, None, kept.append, None)
    session.stop = SimpleNamespace(is_set=lambda: False)

    async def one():
        return await asyncio.gather(
            ask_one(session, Planned(0, name, trial, repeat, 0, 0, False)), return_exceptions=True
        )

    (raised,) = asyncio.run(one())
    assert raised is None if isinstance(end, Unasked) else type(raised) is type(end)
    assert [(one.status, one.sent, one.usage) for one in kept] == [("error", {"room": 77}, {"timed_out": 1})] * billed


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_that_refuses_costs_nothing_and_keeps_the_room_of_a_request(server, store, priced, status):
    headers = {"Retry-After": "0.01"}
    server.reply = lambda body, number: good(body) if number % 2 else web.Response(status=status, headers=headers)
    plan = prepared(server, limit=4)
    outcome = run(plan, store, concurrency=1, limits=Limits(cost=3.2))
    assert not outcome.limit
    assert len(server.requests) == 7
    assert spent(store, plan.config.id, "model:dear", {"": Price(("dear",), 1000, 2000)})[1] == pytest.approx(4 * 0.38)


def total_of(use):
    return (use.tokens_in or 0) + (use.tokens_out or 0)


def test_limits_are_no_part_of_a_run(server, store, priced):
    server.reply = good
    plan = prepared(server, limit=2)
    one = run(plan, store, limits=Limits(cost=50.0)).run
    assert run(plan, store).run == one
    assert len(server.requests) == 2


def test_an_unknown_price_is_refused_before_anything_is_asked(server, store, priced):
    with pytest.raises(UsageError, match="none is known of m"):
        run(prepared(server, ("dear", "m")), store, limits=Limits(cost=1.0))
    assert not server.requests


def test_two_currencies_have_no_sum(server, store, tmp_path, monkeypatch):
    path = tmp_path / "two.toml"
    path.write_text(PRICES + '[[price]]\nmodels = ["other"]\ninput = 1\noutput = 1\ncurrency = "EUR"\n')
    monkeypatch.setenv("EQLAB_PRICES", str(path))
    with pytest.raises(UsageError, match="cannot add up EUR and USD"):
        run(prepared(server, ("dear", "other")), store, limits=Limits(cost=1.0))


@pytest.mark.parametrize("limits", [Limits(cost=0.0), Limits(tokens=0), Limits(cost=-1.0)])
def test_a_limit_of_nothing_makes_no_sense(server, store, limits, priced):
    with pytest.raises(UsageError, match="above 0"):
        run(prepared(server), store, limits=limits)


def test_errors_of_the_server_cost_nothing(server, store, priced):
    server.reply = lambda body, number: web.Response(status=400, text='{"error": {"message": "too long"}}')
    plan = prepared(server, limit=4)
    run(plan, store, limits=Limits(cost=50.0))
    assert spent(store, plan.config.id, "model:dear", {"": Price(("dear",), 1000, 2000)}) == (0, 0.0, 0)


@given(
    st.integers(1, 2000),
    st.lists(st.tuples(st.integers(1, 300), st.floats(0, 1)), min_size=1, max_size=60),
    st.integers(1, 12),
)
def test_whatever_comes_the_limit_holds(limit, requests, workers):
    """Property: with any worst cases and any actual costs below them, in any interleaving, no limit is passed."""

    async def work():
        budget = Budget(Limits(tokens=limit), {}, Amount(), "USD")
        waiting = iter(requests)
        most = 0

        async def one():
            nonlocal most
            for worst, share in waiting:
                try:
                    await budget.reserve(Amount(worst))
                except LimitReached:
                    return
                await asyncio.sleep(0)
                budget.settle(Amount(worst), Amount(int(worst * share)))
                most = max(most, budget.spent.tokens)

        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(workers))), 10)
        return most

    assert asyncio.run(work()) <= limit


def test_no_tokenizer_makes_more_tokens_than_there_are_bytes():
    request = ChatRequest(one_prompt("日本" * 50, "be brief"), schema={"type": "object"})
    assert most_tokens_in(request) >= len(("日本" * 50 + "be brief").encode())


def test_a_forecast_counts_what_is_left(server, store):
    server.reply = good
    plan = prepared(server, ("m", "dear"), limit=6)
    before = forecasts(plan, None, Prices([], "2026-11-15"))
    assert [(one.calls, one.answered) for one in before] == [(6, 0), (6, 0)]
    run(prepared(server, ("m", "dear"), limit=6), store)
    assert [(one.calls, one.answered) for one in forecasts(plan, store, Prices([], "2026-11-15"))] == [(0, 6), (0, 6)]
    assert before[0].cost is None


def test_thinking_is_a_range_and_effort_sets_its_end():
    def high(**settings):
        config = api.prepare(
            api.Request(benchmarks="eqbench", profile="full", models=("openai/gpt-5",), limit=4, settings=settings)
        )
        (found,) = forecasts(config, None, Prices([Price(("openai/gpt-5",), 1, 10, thinks=True)], "2026-11-15"))
        return found.tokens_out

    low, usual = high()
    assert usual > 4 * 16_000
    assert high(effort="none")[1] < 4 * 300
    assert high(effort="low")[1] < usual < high(effort="max")[1]
    assert high(thinking_tokens=100)[1] == 4 * (256 + 100)
    assert {high(effort=effort)[0] for effort in ("none", "max")} == {low}


def test_the_estimate_is_near_what_a_tokenizer_counts():
    """English prose has between three and five characters a token in every tokenizer of today."""
    plan = api.prepare(api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url="http://h/v1"))
    (found,) = forecasts(plan, None, Prices([], "2026-11-15"))
    characters = sum(len(trial.prompt) for _, _, trial, _ in plan.plan())
    assert characters / 5 < found.tokens_in[0] == found.tokens_in[1] < characters / 3


def test_local_models_are_taken_as_they_are(store):
    plan = api.prepare(api.Request(benchmarks="eqbench", profile="full", models=("embedded",), limit=2))
    (found,) = forecasts(plan, store, Prices([], "2026-11-15"))
    assert found.cost == (0.0, 0.0)
    assert found.thinks is False

"""Judging planned before it is asked: calls, tokens and money, and which prompts a small budget takes."""

import json
from collections import Counter

import pytest

import eqlab as api
from eqlab.benchmarks.rating.trials import FILE, from_jsonl
from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import UsageError
from eqlab.models.prices import Price, Prices
from eqlab.runs import ask, judge_plan
from eqlab.runs import judge as judging
from eqlab.runs.judge_plan import Budget, balanced_order, half_width, plan_judging, read_budget

KINDS = ("sad", "proud", "afraid", "hopeful", "angry")


def rows(prompts, arms=("m0", "m1", "m2", "m3")):
    return [
        ReplyRow(arm, f"p{p:04}", f"Reply {p} of {arm}. " * 3, KINDS[p % 5], "", "", f"Hello {p}. " * (1 + p % 4))
        for p in range(prompts)
        for arm in arms
    ]


@pytest.fixture
def replies(monkeypatch):
    def give(prompts, arms=("m0", "m1", "m2", "m3")):
        monkeypatch.setattr(judging, "collect", lambda *_: rows(prompts, arms))

    return give


class OnePrice(Prices):
    def __init__(self):
        pass

    def of(self, model):
        return Price((), 1.0, 4.0, batch=0.5, currency="USD")


def planned(store, budget=None, judges=("a", "b", "c"), batch=False, **more):
    request = judging.JudgeRequest(judges, ("x",), base_url="http://127.0.0.1:1/v1", rubric="published", **more)
    wanted = read_budget(budget) if budget else None
    return plan_judging(request, store, wanted, OnePrice(), batch=batch, say=lambda text: None)


@pytest.mark.claims
def test_four_models_two_thousand_prompts_three_judges_both_orders(store, replies):
    replies(2000)
    plan = planned(store, pairwise=True, pairs="ring")
    assert plan.all_calls == 48_000
    assert sum(one.calls for one in plan.forecasts) == 48_000
    assert [one.calls for one in plan.forecasts] == [16_000] * 3
    assert all(one.tokens_in[0] > 16_000 * 100 for one in plan.forecasts)
    assert all(one.cost[0] > 0 for one in plan.forecasts)


def test_all_pairs_and_one_reference(store, replies):
    replies(20)
    assert planned(store, pairwise=True).all_calls == 6 * 20 * 2 * 3
    assert planned(store, pairwise=True, pairs="m0").all_calls == 3 * 20 * 2 * 3
    assert planned(store).all_calls == 4 * 20 * 3


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5", Budget(5, "money")),
        ("12.50", Budget(12.5, "money")),
        ("2000calls", Budget(2000, "calls")),
        ("1,000,000 tokens", Budget(1e6, "tokens")),
        ("1 call", Budget(1, "calls")),
    ],
)
def test_amounts(text, budget):
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["", "-5", "0", "five", "5 euros", "1e400", "nan", "5calls more"])
def test_no_amounts(text):
    with pytest.raises(UsageError, match="is not an amount"):
        read_budget(text)


@pytest.mark.parametrize("budget", ["700calls", "60000tokens", "0.12"])
def test_a_small_budget_holds_and_is_balanced(store, replies, budget):
    replies(200)
    plan = planned(store, budget)
    wanted = read_budget(budget)
    spent = sum(judge_plan._need(one, wanted) for one in plan.forecasts)
    assert spent <= wanted.amount
    assert spent > 0.9 * wanted.amount
    kept = {row.prompt: row.emotion for row in from_jsonl(plan.prepared.files["rating"][FILE])}
    assert len(kept) == plan.prompts < 200
    counts = Counter(kept.values())
    assert max(counts.values()) - min(counts.values()) <= 1
    trials = [trial for _, _, trial, _ in plan.prepared.plan()]
    assert len(trials) == sum(one.calls for one in plan.forecasts)
    assert {trial.key["arm"] for trial in trials} == {"m0", "m1", "m2", "m3"}


def test_the_interval_to_expect(store, replies):
    replies(200)
    small, large = planned(store, "600calls"), planned(store)
    assert small.prompts == 50
    assert small.reach == pytest.approx(2.0096 * 70 / 50**0.5, abs=0.01)
    assert large.reach == small.all_reach < small.reach
    assert "assumed" in small.basis
    assert half_width(10, 4) is None


def test_enough_money_changes_nothing(store, replies):
    replies(30)
    assert planned(store, "1000calls").prepared.config == planned(store).prepared.config


def test_batches_cost_half(store, replies):
    replies(200)
    one, other = planned(store, "0.12"), planned(store, "0.12", batch=True)
    assert other.prompts == pytest.approx(2 * one.prompts, abs=3)


def test_too_little_for_any_interval(store, replies):
    replies(50)
    with pytest.raises(UsageError, match="too few for any interval") as caught:
        planned(store, "40calls")
    assert "5 prompts take 60 calls" in caught.value.hint


def test_a_price_that_nobody_knows(store, replies, monkeypatch):
    replies(50)
    monkeypatch.setattr(OnePrice, "of", lambda self, model: None)
    with pytest.raises(UsageError, match="No price is known of a"):
        planned(store, "5")
    assert planned(store, "240calls").prompts == 20


def test_an_adaptive_run_has_no_budget(store, replies):
    replies(50)
    with pytest.raises(UsageError, match="--max-cost"):
        planned(store, "240calls", pairwise=True, adaptive=True, width=1.5)


def test_the_order_is_balanced_at_every_length():
    order = balanced_order(rows(100), 3)
    kind = {row.prompt: row.emotion for row in rows(100)}
    assert sorted(order) == sorted(kind)
    for length in range(5, 100):
        counts = Counter(kind[prompt] for prompt in order[:length])
        assert max(counts.values()) - min(counts[one] for one in KINDS) <= 2
    assert balanced_order(rows(100), 3) == order != balanced_order(rows(100), 4)


def test_spread_is_learnt_from_runs_that_are_there(server, store, replies):
    """Half of the prompts tell the arms apart in an earlier run: the plan takes its spread."""
    replies(40, ("cold", "warm"))
    server.reply = lambda body, n: (
        "Good" if "of warm" in body["messages"][-1]["content"] and "Hello 1" in body["messages"][-1]["content"]
        else "Okay"
    )  # fmt: skip
    request = judging.JudgeRequest(("j",), ("x",), base_url=server.url, rubric="published")
    run = api.run(judging.prepare(request, store), store, concurrency=4).run
    plan = planned(store, judges=("other",))
    assert plan.basis == f"run {run}"
    share = sum(f"Hello {p}".startswith("Hello 1") for p in range(40)) / 40
    assert plan.spread == pytest.approx(100 * (share * (1 - share) * 40 / 39) ** 0.5, abs=0.5)


def test_from_the_command_line(eqlab, server, tmp_path):
    server.reply = lambda body, n: "Good"
    lines = [f"{arm},{one.id},Reply of {arm}." for one in judging.open_prompts()[:30] for arm in "ab"]
    (tmp_path / "r.csv").write_text("\n".join(("arm,prompt,reply", *lines)))
    command = ("judge", "j", "--on", "r.csv", "--base-url", server.url, "--budget", "20calls")
    dry = eqlab(*command, "--dry-run")
    assert dry.code == 0, dry.err
    assert not server.requests
    assert "Plan: 20 calls for 10 of 30 prompts, within 20 calls." in dry.err
    assert "Expected interval: ±50.1 points for a difference in P(Good)" in " ".join(dry.err.split())
    assert "All prompts would be 60 calls" in dry.err
    data = json.loads(eqlab(*command, "--dry-run", "--json").out)
    assert data["budget"]["prompts"] == 10
    assert data["budget"]["expected_half_width"] == pytest.approx(50.1, abs=0.1)
    done = eqlab(*command)
    assert done.code == 0, done.err
    assert len(server.requests) == 20
    adaptive = ("--pairwise", "--adaptive", "--width", 1.5, "--base-url", server.url)
    rounds = eqlab("judge", "j", "--on", "r.csv", *adaptive, "--dry-run", "--json")
    assert json.loads(rounds.out)["most_calls"] == 60


def test_batches_where_there_are_some(store, replies):
    """A panel may have judges whose providers take batches and others; alone, the others are refused."""
    replies(6)

    def check(*judges, mixed):
        prepared = judging.prepare(judging.JudgeRequest(judges, ("x",), rubric="published"), store)
        ask._check_batches(prepared, mixed=mixed)

    check("openai/gpt-4o", "ollama/qwen3", mixed=True)
    with pytest.raises(UsageError, match="does not work with ollama/qwen3"):
        check("openai/gpt-4o", "ollama/qwen3", mixed=False)
    with pytest.raises(UsageError, match="does not work with ollama/qwen3"):
        check("ollama/qwen3", mixed=True)

"""What judging will take, prompt by prompt, and which prompts to ask when the budget is too small for all: the first of
an order that is balanced over emotions at every length, so that the part is a small likeness of the whole. Its interval
is foretold from what is known of the spread."""

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

from eqlab.analysis.intervals import FEWEST, sample_sd, t_bounds
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.trials import FILE, from_jsonl
from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Result
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.models.prices import Prices
from eqlab.runs.estimate import Forecast, forecast_of
from eqlab.runs.judge import JudgeRequest, Say, prepare
from eqlab.runs.request import Prepared
from eqlab.runs.score import results
from eqlab.store.store import Store

Unit = Literal["money", "calls", "tokens"]
ASSUMED = {"P(Good)": 70.0, "overall": 25.0, "preference": 35.0}
"""Standard deviations over prompts that are assumed where nothing is known, in points of 100: of differences in P(Good)
where half of the prompts tell two arms apart; of differences on a rubric, one step of five; of preferences where both
orders agree on half of the prompts."""
_AMOUNT = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?|\.[0-9]+)\s*(calls?|tokens?)?")


@dataclass(frozen=True, slots=True)
class Budget:
    amount: float
    unit: Unit

    @property
    def words(self) -> str:
        return f"{self.amount:,.2f}" if self.unit == "money" else f"{self.amount:,.0f} {self.unit}"


def read_budget(text: str) -> Budget:
    found = _AMOUNT.fullmatch(text.strip().lower())
    amount = float(found[1].replace(",", "").replace("_", "")) if found else 0.0
    if found is None or amount <= 0:
        raise UsageError(
            f"--budget '{text}' is not an amount.", "Write money (5 or 12.50), 2000calls or 1000000tokens."
        )
    unit: Unit = "money" if not found[2] else ("calls" if found[2].startswith("call") else "tokens")
    return Budget(amount, unit)


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """What will be asked, and what would be if there were no end to the money."""

    prepared: Prepared
    forecasts: tuple[Forecast, ...]
    prompts: int
    all_prompts: int
    all_calls: int
    needs: float
    """All prompts, in the budget's unit, at most."""
    measure: str
    spread: float
    basis: str
    """Where the spread comes from."""

    @property
    def reach(self) -> float | None:
        """Half the width of the interval to expect, in points of 100."""
        return half_width(self.spread, self.prompts)

    @property
    def all_reach(self) -> float | None:
        return half_width(self.spread, self.all_prompts)


def half_width(spread: float, n: int) -> float | None:
    """None for too few prompts."""
    return None if n < FEWEST else t_bounds(0.0, spread / math.sqrt(n), n - 1)[1]


def plan_judging(
    request: JudgeRequest, store: Store, budget: Budget | None, prices: Prices, *, batch: bool, say: Say
) -> JudgePlan:
    """The run within the budget; raises UsageError where not even an interval can be had for it."""
    if request.adaptive and budget is not None:
        raise UsageError("An adaptive run decides by itself how much it asks.", "Bound it with --max-cost instead.")
    whole = prepare(request, store, say)
    trials = [(model, _trials(whole, model)) for model in whole.config.models]
    forecasts = tuple(forecast_of(model, whole, own, prices.of(model), batch=batch) for model, own in trials)
    measure = _measure(whole)
    spread, basis = known_spread(store, whole, measure)
    prompts = sorted({trial.items[0] for _, own in trials for trial in own})
    calls = sum(len(own) for _, own in trials)
    needs = sum(_need(forecast, budget) for forecast in forecasts) if budget else 0.0
    planned = JudgePlan(whole, forecasts, len(prompts), len(prompts), calls, needs, measure, spread, basis)
    if budget is None or needs <= budget.amount:
        return planned
    rows = from_jsonl(whole.files[Ratings.name][FILE])
    order = balanced_order([row for row in rows if row.prompt in set(prompts)], request.seed)
    cost = _per_prompt(whole, trials, prices, budget, batch=batch)
    kept, spent = list[str](), 0.0
    for prompt in order:  # the first that is too dear ends it: to skip dear ones would choose short replies
        spent += cost[prompt]
        if spent > budget.amount:
            break
        kept.append(prompt)
    if len(kept) < FEWEST:
        least = sum(cost[prompt] for prompt in order[:FEWEST])
        raise UsageError(
            f"A budget of {budget.words} is enough for {many(len(kept), 'prompt')}: too few for any interval.",
            f"{FEWEST} prompts take {Budget(least, budget.unit).words}, all {len(prompts)} {needs:,.2f}.",
        )
    part = prepare(replace(request, limit=None, keep=_keeping(set(kept))), store)
    less = [(model, _trials(part, model)) for model in part.config.models]
    forecasts = tuple(forecast_of(model, part, own, prices.of(model), batch=batch) for model, own in less)
    return replace(planned, prepared=part, forecasts=forecasts, prompts=len(kept))


def _keeping(kept: set[str]) -> Callable[[Sequence[ReplyRow]], list[ReplyRow]]:
    return lambda rows: [row for row in rows if row.prompt in kept]


def balanced_order(rows: Sequence[ReplyRow], seed: int) -> list[str]:
    """Every prompt once, such that any first part holds each emotion in its share, within one prompt."""
    kinds: dict[str, str] = {}
    for row in rows:
        kinds.setdefault(row.prompt, row.emotion or row.valence)
    strata: dict[str, list[str]] = {}
    for prompt in sorted(kinds):
        strata.setdefault(kinds[prompt], []).append(prompt)
    draw = random.Random(f"budget {seed}")
    placed = []
    for kind in sorted(strata):
        own = strata[kind]
        draw.shuffle(own)
        begin = draw.random()
        placed += [((place + begin) / len(own), prompt) for place, prompt in enumerate(own)]
    return [prompt for _, prompt in sorted(placed)]


def _trials(prepared: Prepared, model: ModelConfig) -> list[Trial]:
    selection = prepared.selection(model)
    return [
        trial
        for name, asked in prepared.asked.items()
        for trial, _ in asked.benchmark.plan(prepared.files[name], asked.options, selection)
    ]


def _need(one: Forecast, budget: Budget) -> float:
    """At most, so that the budget holds."""
    if budget.unit == "calls":
        return float(one.calls)
    if budget.unit == "tokens":
        return float(one.tokens_in[1] + one.tokens_out[1])
    if one.cost is None:
        raise UsageError(
            f"No price is known of {one.model.spec}.", "Give one with --prices FILE, or a budget in calls or tokens."
        )
    return one.cost[1]


def _per_prompt(
    prepared: Prepared,
    trials: Sequence[tuple[ModelConfig, Sequence[Trial]]],
    prices: Prices,
    budget: Budget,
    *,
    batch: bool,
) -> dict[str, float]:
    found: dict[str, float] = {}
    for model, own in trials:
        by_prompt: dict[str, list[Trial]] = {}
        for trial in own:
            by_prompt.setdefault(trial.items[0], []).append(trial)
        for prompt, some in by_prompt.items():
            part = forecast_of(model, prepared, some, prices.of(model), batch=batch)
            found[prompt] = found.get(prompt, 0.0) + _need(part, budget)
    return found


# -- what to expect ------------------------------------------------------------------------------------------------


def _measure(prepared: Prepared) -> str:
    (asked,) = prepared.asked.values()
    if asked.options["pairwise"]:
        return "preference"
    return "overall" if "rubric_sha256" in asked.options else "P(Good)"


def known_spread(store: Store, prepared: Prepared, measure: str) -> tuple[float, str]:
    """(standard deviation over prompts, where from): of the newest run with the same form that has enough prompts; else
    assumed."""
    (asked,) = prepared.asked.values()
    alike = ("pairwise", "rubric_sha256")
    for run in store.run_ids():
        stored = store.read_run(run)
        for config in stored.config.benchmarks:
            if config.name != Ratings.name or not stored.config.models:
                continue
            if any(config.options.get(name) != asked.options.get(name) for name in alike):
                continue
            spreads = [found for result in results(store, stored) if (found := _spread(result)) is not None]
            if spreads:
                return fmean(spreads), f"run {run}"
    return ASSUMED[measure], "assumed: no run like it is in the store"


_ENOUGH = 20


def _spread(result: Result) -> float | None:
    """Over prompts: of the differences between two arms, or of one arm's points; of preferences where pairs were
    judged."""
    if result.rules.get("pairwise"):
        se = [(estimate.high - estimate.low) / (2 * 1.96) * math.sqrt(estimate.n) for estimate in result.estimates
              if estimate.name.startswith("preference for") and estimate.low is not None and estimate.high is not None
              and estimate.n >= _ENOUGH]  # fmt: skip
        return fmean(se) if se else None
    arms: dict[str, dict[str, list[float]]] = {}
    for item in result.items:
        if item.points is not None and item.group:
            arms.setdefault(item.group, {}).setdefault(item.item, []).append(item.points)
    means = [{prompt: fmean(own) for prompt, own in by.items()} for by in arms.values()]
    found = []
    for place, mean in enumerate(means):
        for other in means[place + 1 :]:
            gaps = [mean[prompt] - other[prompt] for prompt in mean if prompt in other]
            if len(gaps) >= _ENOUGH:
                found.append(sample_sd(gaps, fmean(gaps)))
    if len(means) == 1 and len(means[0]) >= _ENOUGH:
        values = list(means[0].values())
        found.append(sample_sd(values, fmean(values)))
    return fmean(found) if found else None

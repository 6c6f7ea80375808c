"""`eqlab judge --budget`: the plan in calls, tokens and money, said before anything is asked."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eqlab.cli.money import Spending
    from eqlab.runs.judge import JudgeRequest
    from eqlab.runs.judge_plan import Budget, JudgePlan
    from eqlab.runs.request import Prepared
    from eqlab.store.store import Store


def within_budget(
    request: "JudgeRequest", store: "Store", text: str, spending: "Spending", say: Callable[[str], None]
) -> "tuple[Prepared, dict[str, object]]":
    """The run that the budget allows, after saying what it takes and what to expect of it; and the same as data."""
    from eqlab.models.batch.contract import takes_batches
    from eqlab.models.prices import known_prices
    from eqlab.runs.judge_plan import plan_judging, read_budget

    spending.look_up()
    budget = read_budget(text)
    plan = plan_judging(request, store, budget, known_prices(), batch=spending.batch, say=say)
    for line in plan_lines(plan, budget):
        say(line)
    if plan.prompts < plan.all_prompts and budget.unit == "money" and not spending.batch:
        able = [one.model.spec for one in plan.forecasts if takes_batches(one.model)]
        if able:
            say(f"--batch costs about half with {', '.join(able)}, and takes up to a day.")
    data: dict[str, object] = {
        "prompts": plan.prompts,
        "all_prompts": plan.all_prompts,
        "all_calls": plan.all_calls,
        "measure": plan.measure,
        "expected_half_width": plan.reach,
        "all_half_width": plan.all_reach,
        "standard_deviation": plan.spread,
        "basis": plan.basis,
    }
    return plan.prepared, {"budget": data}


def plan_lines(plan: "JudgePlan", budget: "Budget") -> list[str]:
    from eqlab.cli.money import cost_words, span_words

    calls = sum(one.calls for one in plan.forecasts)
    said = [f"Plan: {calls:,} calls for {plan.prompts:,} of {plan.all_prompts:,} prompts, within {budget.words}."]
    said += [
        f"  {one.model.spec}: {one.calls:,} calls, about {span_words(one.tokens_in)} tokens in, "
        f"{span_words(one.tokens_out)} out; cost {cost_words(one)}."
        for one in plan.forecasts
    ]
    what = {"P(Good)": "a difference in P(Good)", "overall": "a difference overall", "preference": "a preference"}
    of = f"{what[plan.measure]} (standard deviation {plan.spread:.0f} points over prompts, {plan.basis})"
    if plan.reach is not None:
        said.append(f"  Expected interval: ±{plan.reach:.1f} points for {of}.")
    if plan.prompts < plan.all_prompts:
        rest = "" if plan.all_reach is None else f", ±{plan.all_reach:.1f} points"
        said.append(
            f"  All prompts would be {plan.all_calls:,} calls{rest}. The prompts are drawn by seed, balanced over "
            "emotions; which ones says nothing of what the replies are like."
        )
    return said

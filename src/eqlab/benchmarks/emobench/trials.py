"""Scenarios become trials: each in several orders of its choices, so that the place of a choice can be told from what
it says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.choices import choice, shuffled
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.emobench.items import Scenario
from eqlab.benchmarks.emobench.prompt import prompt, question
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form
from eqlab.core.trials import Trial

ORDERS = 2
"""Orders of choices that each scenario is asked in, if nobody says how many."""


def select(scenarios: Sequence[Scenario], selection: Selection) -> list[Scenario]:
    """By scenario, so that those of two languages stay together."""
    names = list(dict.fromkeys(scenario.id for scenario in scenarios))
    if selection.profile == "quick":
        quick = {scenario.id for scenario in scenarios if scenario.quick}
        names = [name for name in names if name in quick] or spread(names, 8)
    chosen = set(spread(names, selection.limit or len(names)))
    return [scenario for scenario in scenarios if scenario.id in chosen]


def plan(
    scenarios: Sequence[Scenario], options: Mapping[str, Any], selection: Selection
) -> Iterator[tuple[Trial, int]]:
    for order in range(selection.repeats or ORDERS):
        for scenario in select(scenarios, selection):
            yield build_trial(scenario, options, selection.seed, order, structured=selection.structured), order


def build_trial(
    scenario: Scenario, options: Mapping[str, Any], seed: int, order: int, *, structured: bool = False
) -> Trial:
    """Order k is one drawn order turned by k places, so over as many orders as choices each stands everywhere once.
    The draw is the scenario's: both languages have the same order."""
    scales = []
    right: dict[str, int] = {}
    for asked in scenario.questions:
        drawn = shuffled(range(len(asked.options)), f"{seed} {scenario.id} {asked.key}")
        turn = order % len(drawn)
        told = [asked.options[place] for place in (*drawn[turn:], *drawn[:turn])]
        scales.append(choice(asked.key, question(scenario, asked.key), told))
        right[asked.key] = told.index(asked.right) + 1
    form = Form(tuple(scales))
    return Trial(
        "emobench",
        (scenario.id,),
        scenario.task,
        scenario.text,
        form,
        prompt(scenario, form, structured=structured, reasoning=options["reasoning"] and not structured),
        mode="json" if structured else "text",
        order_seed=order,
        key={
            "correct": right,
            "category": scenario.category,
            "kind": scenario.kind,
            "language": scenario.language,
        },
    )

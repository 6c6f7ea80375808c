"""Prompts become trials: somebody's words above, one field for a reply below; in batches of ten."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.empathy.items import EmpathyItem, balanced_batches
from eqlab.benchmarks.empathy.prompt import build, stimulus
from eqlab.benchmarks.empathy.published import BATCH_SIZE
from eqlab.benchmarks.spread import spread
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form
from eqlab.core.trials import Trial

QUICK_ITEMS = 4
"""Prompts in the quick profile: a reply is long, and two slow cores write one in seconds."""


def plan(items: Sequence[EmpathyItem], options: Mapping[str, Any], selection: Selection) -> Iterator[tuple[Trial, int]]:
    limit = selection.limit or (QUICK_ITEMS if selection.profile == "quick" else len(items))
    chosen = spread(items, limit)
    trials = [
        build_trial(item, batch, options)
        for batch, group in enumerate(batched(chosen, options["batches"], selection.seed))
        for item in group
    ]
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def batched(items: Sequence[EmpathyItem], how: str, seed: int) -> list[list[EmpathyItem]]:
    """Batches of ten: in the order of the file, which for published prompts is as they were rated, or balanced."""
    if how == "balanced":
        return balanced_batches(items, [item.emotion for item in items], BATCH_SIZE, seed)
    return [list(items[start : start + BATCH_SIZE]) for start in range(0, len(items), BATCH_SIZE)]


def build_trial(item: EmpathyItem, batch: int, options: Mapping[str, Any]) -> Trial:
    situation = bool(options["situation"])
    return Trial(
        benchmark="empathy",
        items=(item.id,),
        condition=options["style"],
        stimulus=stimulus(item, situation=situation),
        form=Form(),
        prompt=build(item, style=options["style"], situation=situation),
        key={
            "emotion": item.emotion,
            "valence": item.valence,
            "plutchik": item.plutchik,
            "situation": item.situation,
            "utterance": item.utterance,
            "batch": batch,
        },
    )

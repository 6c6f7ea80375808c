"""EQ-Bench's short forms: the shipped item numbers and parameters, what to ask, and the estimated full score.

The file is written by `eqlab reproduce short-forms --json`; it holds numbers only, and only for EQ-Bench v2 in English
without revision under the leaderboard's rules."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.eqbench.items import Question
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import Baseline

if TYPE_CHECKING:
    from eqlab.analysis.item_response import ItemModel

FIRST, STEP = 16, 8
"""Questions asked before the first look, and between looks, of an adaptive run: enough for several requests at once,
and the same whatever the concurrency, so that a run asks the same questions on every machine."""


@cache
def facts() -> Mapping[str, Any]:
    path = files("eqlab.benchmarks.eqbench").joinpath("short_forms.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


@cache
def item_model() -> "ItemModel":
    import numpy as np

    from eqlab.analysis.item_response import ItemModel

    values = np.array(list(parameters(facts()["items"]).values()))
    return ItemModel(values[:, 0], values[:, 1], values[:, 3:], values[:, 2])


def parameters(items: Mapping[str, str]) -> dict[str, list[float]]:
    """By question number: difficulty, slope, unique variance, and the loadings of the residual factors."""
    return {number: [float(value) for value in line.split()] for number, line in items.items()}


@cache
def positions() -> Mapping[str, int]:
    return {number: position for position, number in enumerate(facts()["items"])}


def is_short(options: Mapping[str, Any]) -> bool:
    return bool(options.get("short") or options.get("width"))


def check(item_set: str, options: Mapping[str, Any]) -> None:
    """Raises when the run is not one that the parameters hold for."""
    if options.get("short") and options.get("width"):
        raise UsageError("A run is either of a fixed short form or adaptive.", "Drop --short or --adaptive.")
    sizes = facts()["forms"]
    if options.get("short") and str(options["short"]) not in sizes:
        raise UsageError(f"There is no short form of {options['short']} questions.", f"Sizes: {', '.join(sizes)}.")
    if item_set != "published":
        raise UsageError("Short forms exist for the published questions only.", "Add '--items published'.")
    holds = facts()["holds_for"]
    for name in ("version", "language", "revision", "rules"):
        if options[name] != holds[name]:
            wanted = "no" if holds[name] is False else holds[name]
            raise UsageError(
                f"The short forms hold for {name}={wanted} only: no published results to learn others from.",
                f"Drop '-o {name}=…', or ask all questions.",
            )


def fingerprint(references: Mapping[str, Mapping[str, float]]) -> str:
    """Of the numbers, words and references that the parameters were learned with."""
    listed = [[number, sorted(reference.items())] for number, reference in references.items()]
    text = json.dumps(listed, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_questions(questions: Sequence[Question]) -> None:
    found = fingerprint({question.id: question.reference for question in questions})
    if found != facts()["holds_for"]["questions_sha256"]:
        raise DataError(
            "The question file is not the one that the short forms were learned with.",
            "Run 'eqlab data verify', then 'eqlab data fetch eqbench'; or ask all questions.",
        )


def first_questions(options: Mapping[str, Any]) -> Sequence[str]:
    """The numbers to ask: the whole short form, or the first round of an adaptive run."""
    if options.get("short"):
        return list(facts()["forms"][str(options["short"])])
    return next_questions((), {}, options)


def next_questions(asked: Sequence[str], scores: Mapping[str, float], options: Mapping[str, Any]) -> Sequence[str]:
    """The next round of an adaptive run, given the numbers asked and the scores of the readable answers; none when the
    90 % interval is narrow enough or everything was asked."""
    from eqlab.analysis.item_response import estimate, next_items

    model, at = item_model(), positions()
    read = {at[number]: score for number, score in scores.items()}
    if asked and width(estimate(model, read).sd) <= options["width"]:
        return []
    closed = [at[number] for number in asked if number not in scores]
    numbers = list(at)
    return [numbers[item] for item in next_items(model, sorted(read), closed, STEP if asked else FIRST)]


def width(sd: float) -> float:
    """Of an adaptive run's 90 % interval, in points of 100."""
    return float(2 * 10 * facts()["reach"]["adaptive"]["90"] * sd)


@dataclass(frozen=True, slots=True)
class FullScore:
    """The estimated score over all 171 questions, in points of 100."""

    value: float
    low90: float
    high90: float
    low95: float
    high95: float
    """Prediction: where the score on all 171 questions lies."""
    others: tuple[float, float] | None
    """Sampling: where the score would lie with other questions of the same kind, 95 %; None for fewer than five
    answers."""
    ability: float
    spread: float
    beyond: bool
    """Whether it lies outside the scores of the models that the parameters were learned from."""

    @property
    def se(self) -> float:
        return (self.value - self.low95) / 1.959963984540054


def full_score(scores: Mapping[str, float], options: Mapping[str, Any]) -> FullScore | None:
    """None without a readable answer."""
    from eqlab.analysis.item_response import estimate, two_intervals

    if not scores:
        return None
    at = positions()
    answers = {at[number]: score for number, score in scores.items()}
    guess = estimate(item_model(), answers)
    reach = facts()["reach"]["adaptive" if options.get("width") else "fixed"]
    value, fitted = 10 * guess.mean, facts()["fitted_to"]
    half90, half95 = (10 * reach[level] * guess.sd for level in ("90", "95"))
    both = two_intervals(item_model(), answers, reach["95"])
    return FullScore(
        value,
        value - half90,
        min(100.0, value + half90),
        value - half95,
        min(100.0, value + half95),
        None if both is None else (10 * both.items_low, min(100.0, 10 * both.items_high)),
        guess.ability,
        guess.spread,
        not fitted["lowest"] <= value <= fitted["highest"],
    )


def full_baselines() -> tuple[Baseline, ...]:
    return tuple(Baseline(name, value) for name, value in facts()["baselines"].items())

"""EQ-Bench's short forms: the shipped item numbers and parameters, what to ask, and the estimated full score.

The file is written by `eqlab research reproduce short-forms --json`; it holds numbers only, and only for EQ-Bench v2 in
English without revision under the leaderboard's rules."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.score import EqBenchOptions
from eqlab.core.errors import DataError, UsageError
from eqlab.core.grouping import group_means
from eqlab.core.plural import many
from eqlab.core.results import WITH_OTHER_ITEMS, Baseline, Estimate, ItemScore, Result
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from eqlab.analysis.item_response import ItemModel


FIRST, STEP = 16, 8
"""Questions asked before the first look, and between looks, of an adaptive run: enough for several requests at once,
and the same whatever the concurrency, so that a run asks the same questions on every machine."""


@cache
def facts() -> Mapping[str, Any]:
    return dict(json.loads(Path(__file__).with_name("short_forms.json").read_text(encoding="utf-8")))


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


def is_short(options: EqBenchOptions) -> bool:
    return bool(options.short or options.width)


def check(item_set: str, options: EqBenchOptions) -> None:
    """Raises when the run is not one that the parameters hold for."""
    if options.short and options.width:
        raise UsageError("A run is either of a fixed short form or adaptive.", "Drop -o short or -o width.")
    sizes = facts()["forms"]
    if options.short and str(options.short) not in sizes:
        raise UsageError(f"There is no short form of {many(options.short, 'question')}.", f"Sizes: {', '.join(sizes)}.")
    if item_set != "published":
        raise UsageError("Short forms exist for the published questions only.", "Add '--items published'.")
    holds = facts()["holds_for"]
    for name in ("version", "language", "revision", "rules"):
        if getattr(options, name) != holds[name]:
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


def first_questions(options: EqBenchOptions) -> Sequence[str]:
    """The numbers to ask: the whole short form, or the first round of an adaptive run."""
    if options.short:
        return list(facts()["forms"][str(options.short)])
    return next_questions((), {}, options)


def next_questions(asked: Sequence[str], scores: Mapping[str, float], options: EqBenchOptions) -> Sequence[str]:
    """The next round of an adaptive run, given the numbers asked and the scores of the readable answers; none when the
    90 % interval is narrow enough or everything was asked."""
    from eqlab.analysis.item_response import estimate, next_items

    model, at = item_model(), positions()
    read = {at[number]: score for number, score in scores.items()}
    if asked and width(estimate(model, read).sd) <= options.width:
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


def full_score(scores: Mapping[str, float], options: EqBenchOptions) -> FullScore | None:
    """None without a readable answer."""
    from eqlab.analysis.item_response import estimate, two_intervals

    if not scores:
        return None
    at = positions()
    answers = {at[number]: score for number, score in scores.items()}
    guess = estimate(item_model(), answers)
    reach = facts()["reach"]["adaptive" if options.width else "fixed"]
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


# -- the result of a short form --------------------------------------------------------------------------------------
# The result of a short form: the estimated score over all questions, said to be one, with the plain score beside.

_BEYOND = "Outside {low:.0f} to {high:.0f}, the scores of the models the form was learned from: neither estimate nor \
interval has been checked there."
_UNREAD = (
    "{n} answers could not be read and are left out, as in a full run: the estimate rests on the other {read}. If \
a model is unreadable where it is weak, neither this nor a full score shows it."
)


def as_short(plain: Result, options: EqBenchOptions) -> Result:
    """The result of the questions asked, turned into one about all of them."""
    scores = _scores(plain)
    total, asked = len(facts()["items"]), len({item.item for item in plain.items})
    score = full_score(scores, options)
    name = f"{plain.headline.name}, estimated from {len(scores)} of {many(total, 'question')}"
    floor = full_baselines()
    headline = Estimate(name, None, 0)
    if score is not None:
        note = f"of the score on all {many(total, 'question')}; 90 % interval {score.low90:.1f} to {score.high90:.1f}"
        headline = Estimate(name, score.value, len(scores), score.se, score.low95, score.high95, note=note)
    return replace(
        plain,
        title=f"{plain.title}, {'adaptive' if options.width else 'short form'}",
        sentence=_sentence(plain, score, len(scores), total, floor),
        headline=headline,
        estimates=(
            *_with_others(score, len(scores)),
            structs.replace(
                plain.headline, name="plain score of the questions asked", note="no estimate of the full score"
            ),
            *plain.estimates,
        ),
        baselines=floor,
        items=_without_points(plain.items),
        caveats=(*_caveats(plain, score, asked, total, options), *plain.caveats),
    )


def _with_others(found: FullScore | None, n: int) -> tuple[Estimate, ...]:
    """The same estimate with the other interval: the one to hold beside a full run's, whose questions are a sample."""
    if found is None or found.others is None:
        return ()
    return (
        Estimate(WITH_OTHER_ITEMS, found.value, n, None, *found.others, note="questions as a sample, as in a full run"),
    )


def _without_points(items: Sequence[ItemScore]) -> tuple[ItemScore, ...]:
    """The estimate is no mean of the points of the questions asked, so it is the estimates that are compared."""
    return tuple(structs.replace(item, points=None) for item in items)


def _scores(plain: Result) -> dict[str, float]:
    """By question number, the mean over repeats."""
    return group_means((item.item, item.score) for item in plain.items)


def _sentence(plain: Result, score: FullScore | None, n: int, total: int, floor: tuple[Baseline, ...]) -> str:
    who = plain.subject.removeprefix("model:")
    if score is None:
        return f"No answer of {who} could be scored, so there is no estimate."
    text = (
        f"{who} would score about {score.value:.1f} on all {many(total, 'question')} of "
        f"{plain.headline.name}: an estimate "
        f"from {n} of them (95 % interval of that score {score.low95:.1f} to {score.high95:.1f}"
    )
    if score.others is not None:
        text += f"; with other questions of this kind {score.others[0]:.1f} to {score.others[1]:.1f}"
    text += ")"
    if not plain.valid:
        return f"{text}, but too few answers could be read: by the published rule the run has failed."
    best = max(floor, key=lambda baseline: baseline.value)
    where = f"what the answer '{best.name}' gets without any skill ({best.value:.1f})"
    if score.low95 > best.value:
        return f"{text}, above {where}."
    if score.high95 < best.value:
        return f"{text}, below {where}."
    return f"{text}, which cannot be told apart from {where}."


def _caveats(plain: Result, score: FullScore | None, asked: int, total: int, options: EqBenchOptions) -> list[str]:
    held, size, n = facts()["held_out"], options.short, len(_scores(plain))
    said = []
    if size:
        seen, stricter = held["copies"][str(size)], held["families"][str(size)]
        said.append(
            f"Estimated from a short form. On {seen['subjects']:.0f} published models held out with their copies, "
            f"forms of {size} were off by {seen['mae']:.1f} points on average (r = {seen['r']:.3f}); with their whole "
            f"families held out, as for a model of a new family, by {stricter['mae']:.1f} (r = {stricter['r']:.3f})."
        )
    else:
        reached = score is not None and score.high90 - score.low90 <= options.width
        goal = f"the 90 % interval, by which it stops, is at most {options.width} points wide"
        why = goal if reached else "not sure enough yet"
        said.append(
            f"Estimated by an adaptive run: {asked} of {many(total, 'question')} asked, {total - asked} "
            f"calls saved; {why}."
        )
    if plain.headline.value is not None:
        said.append(f"The plain score of the {many(n, 'question')} read is {plain.headline.value:.2f}.")
    if score is not None and score.beyond:
        fitted = facts()["fitted_to"]
        said.append(_BEYOND.format(low=fitted["lowest"], high=fitted["highest"]))
    if n < asked:
        said.append(_UNREAD.format(n=asked - n, read=n))
    return said

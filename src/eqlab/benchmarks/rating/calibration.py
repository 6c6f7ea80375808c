"""How far a judge can be trusted: its ratings against people's ratings of the same replies. Agreement beside the human
ceiling, bias per arm, preference for its own family, bias towards length; whole raters are drawn for the intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from eqlab.analysis.agreement import agreement, printed_kappa
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import Interval, draw_totals, interval
from eqlab.benchmarks.rating.families import family
from eqlab.benchmarks.rating.prompt import RATING
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.reply_rows import REFERENCE_ARMS, order_arms
from eqlab.core.forms import Scale
from eqlab.core.results import Estimate

HUMAN_KAPPA = 0.2817
"""Weighted kappa of two people on the three-point form, from the study's pilot of 100; no interval is printed."""
_PILOT_PAIRS = 100
CEILING = "quadratic kappa"


@dataclass(frozen=True, slots=True)
class RatingPair:
    """A judge's and a person's rating of one reply."""

    arm: str
    rater: str
    judge: int
    human: int
    words: int


@dataclass(frozen=True, slots=True)
class Calibration:
    pairs: int
    raters: int
    measures: dict[str, Estimate]
    """Kappa, alpha, rho, exact agreement, mean difference. No interval: the same in every draw, as for a judge that
    never varies."""
    bias: dict[str, Estimate]
    """Judge minus people by arm, in scale points."""
    distortion: dict[str, Estimate]
    """By arm: its bias minus the reference arm's; what the judge adds to the arms' difference."""
    family: str
    own_family: Estimate | None
    """Bias on arms of its own family minus bias on the others; None where that cannot be measured."""
    own_family_note: str
    length: dict[str, Estimate]
    confusion: Floats
    slope: Estimate
    """Points that people's rating rises with one point of the judge's: 1 is right, below 1 the judge exaggerates, 0 it
    knows nothing."""
    scale: Scale
    ceiling: Estimate | None
    """What two people reach; None where nobody knows."""


def pairs_of(ratings: Sequence[RatedReply]) -> list[RatingPair]:
    """Each judge's rating with every person's rating of the same reply."""
    return [
        RatingPair(one.arm, rater, one.value, value, one.key["words"])
        for one in ratings
        if one.value is not None
        for rater, value in one.human
    ]


PILOT = Estimate(
    CEILING, HUMAN_KAPPA, _PILOT_PAIRS, None, *printed_kappa(HUMAN_KAPPA, _PILOT_PAIRS),
    note=f"the study's pilot; its interval as of {_PILOT_PAIRS} independent pairs",
)  # fmt: skip


def calibrate(
    pairs: Sequence[RatingPair], judge: str, scale: Scale = RATING, ceiling: Estimate | None = PILOT
) -> Calibration | None:
    """None without pairs. `judge` is the model's name, which says its family."""
    if not pairs:
        return None
    raters = [pair.rater for pair in pairs]
    judged, human = ([value - scale.low + 1 for value in values] for values in (
        [pair.judge for pair in pairs], [pair.human for pair in pairs]
    ))  # fmt: skip
    whole = agreement(judged, human, raters, categories=scale.high - scale.low + 1)
    arms = order_arms(pair.arm for pair in pairs)
    own, note, gap = _own_family(pairs, arms, judge)
    return Calibration(
        len(pairs),
        whole.clusters,
        {name: _estimate(name, found, len(pairs)) for name, found in whole.measures.items()},
        {arm: _bias(f"judge − people, {arm}", pairs, [arm], []) for arm in arms},
        {arm: _bias(f"{arm} − {arms[0]}", pairs, [arm], [arms[0]]) for arm in arms[1:]},
        own,
        gap,
        note,
        _length(pairs),
        whole.confusion,
        _slope(pairs),
        scale,
        ceiling,
    )


def two_people(ratings: Sequence[RatedReply], scale: Scale) -> Estimate | None:
    """Quadratic kappa of two people on the same reply, whole prompts drawn again; None where no reply has two."""
    both = [
        (one.prompt, first, second)
        for one in ratings
        if one.repeat == 0
        for (_, first), (_, second) in permutations(one.human, 2)
    ]
    if not both:
        return None
    first = [value - scale.low + 1 for _, value, _ in both]
    second = [value - scale.low + 1 for _, _, value in both]
    whole = agreement(first, second, [prompt for prompt, _, _ in both], categories=scale.high - scale.low + 1)
    return _estimate(CEILING, whole.measures[CEILING], len(both) // 2)


def _estimate(name: str, found: Interval, n: int, unit: str = "") -> Estimate:
    low, high = found.low, found.high
    if low is not None and low == high:
        low = high = None
    return Estimate(name, found.value, n, None, low, high, unit)


def _by_rater(pairs: Sequence[RatingPair], columns: Floats) -> Floats:
    """One row per rater: sums of the columns over the rater's pairs."""
    place: dict[str, int] = {}
    index = [place.setdefault(pair.rater, len(place)) for pair in pairs]
    rows = np.zeros((len(place), columns.shape[1]))
    np.add.at(rows, index, columns)
    return rows


def _bias(name: str, pairs: Sequence[RatingPair], arms: Sequence[str], reference: Sequence[str]) -> Estimate:
    """Mean of judge − people on some arms, minus the same on the reference arms."""

    used = [pair for pair in pairs if pair.arm in (*arms, *reference)]
    gap = np.array([float(pair.judge - pair.human) for pair in used])
    inside = np.array([float(pair.arm in arms) for pair in used])
    beside = np.array([float(pair.arm in reference) for pair in used])
    rows = _by_rater(used, np.column_stack([gap * inside, inside, gap * beside, beside]))

    def statistic(totals: Sequence[Floats]) -> Floats:
        (sums,) = totals
        with np.errstate(invalid="ignore", divide="ignore"):
            value = sums[..., 0] / sums[..., 1]
            return np.asarray(value - sums[..., 2] / sums[..., 3] if reference else value)

    return _estimate(name, interval([rows], statistic), len(used), "points")


def _slope(pairs: Sequence[RatingPair]) -> Estimate:
    """Least squares of people on the judge; whole raters are drawn again."""
    judge = np.array([float(pair.judge) for pair in pairs])
    human = np.array([float(pair.human) for pair in pairs])
    rows = _by_rater(pairs, np.column_stack([np.ones(len(pairs)), judge, human, judge**2, judge * human]))

    def statistic(totals: Sequence[Floats]) -> Floats:
        (sums,) = totals
        n, x, y, xx, xy = (sums[..., column] for column in range(5))
        spread = xx - x**2 / n
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(spread > 1e-9, (xy - x * y / n) / np.maximum(spread, 1e-300), np.nan))

    return _estimate("slope", interval([rows], statistic), len(pairs))


def still_missing(found: Estimate, reach: float) -> int | None:
    """Human ratings that are still needed for an interval of ± `reach`: errors shrink with the root of the number of
    raters, each rating as many as now. 0 if it is reached; None without an interval."""
    if found.low is None or found.high is None:
        return None
    now = (found.high - found.low) / 2
    return max(0, math.ceil(found.n * ((now / reach) ** 2 - 1)))


def _own_family(pairs: Sequence[RatingPair], arms: Sequence[str], judge: str) -> tuple[str, str, Estimate | None]:
    own = family(judge)
    if not own:
        return "", f"The name '{judge}' does not say which family the judge belongs to.", None
    relatives = [arm for arm in arms if family(arm) == own]
    others = [arm for arm in arms if arm not in relatives]
    if not relatives or not others:
        which = "No rated reply is" if not relatives else "All rated replies are"
        return own, f"{which} of the judge's family ({own}): a preference for it cannot be measured here.", None
    gap = _bias(f"own family ({own}) − others", pairs, relatives, others)
    note = f"Own family: {', '.join(relatives)}; others: {', '.join(others)}."
    if all(arm in REFERENCE_ARMS for arm in others):
        note += " The others are people's replies only, so a preference for model text in general looks the same."
    return own, note, gap


def _length(pairs: Sequence[RatingPair]) -> dict[str, Estimate]:
    """Spearman's correlation of rating and number of words inside the arms, for judge and people, and the difference.
    Ranks are taken once inside each arm and held fixed while raters are drawn."""
    ranks = np.zeros((len(pairs), 3))
    for arm in {pair.arm for pair in pairs}:
        inside = [index for index, pair in enumerate(pairs) if pair.arm == arm]
        for column, values in enumerate(
            ([pairs[i].words for i in inside], [pairs[i].judge for i in inside], [pairs[i].human for i in inside])
        ):
            ranks[inside, column] = _middle_ranks(values)
    both = ranks[:, :1] * ranks[:, 1:]
    rows = _by_rater(pairs, np.column_stack([np.ones(len(pairs)), ranks, ranks**2, both]))
    totals = draw_totals([rows]) if len(rows) > 1 else [rows]

    def correlation(sums: Floats, which: int) -> Floats:
        n, words, other = sums[..., 0], sums[..., 1], sums[..., 2 + which]
        joint = sums[..., 7 + which] - words * other / n
        spread = (sums[..., 4] - words**2 / n) * (sums[..., 5 + which] - other**2 / n)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(spread > 1e-12, joint / np.sqrt(np.maximum(spread, 1e-300)), np.nan))

    statistics: dict[str, Callable[[Sequence[Floats]], Floats]] = {
        "judge: rating with length": lambda t: correlation(t[0], 0),
        "people: rating with length": lambda t: correlation(t[0], 1),
        "judge − people": lambda t: correlation(t[0], 0) - correlation(t[0], 1),
    }
    return {
        name: _estimate(name, interval([rows], statistic, totals=totals), len(pairs))
        for name, statistic in statistics.items()
    }


def _middle_ranks(values: Sequence[int]) -> Floats:
    """Ranks from −½ to ½ around 0; ties share their middle."""
    _, index, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[index] / len(values) - 0.5)

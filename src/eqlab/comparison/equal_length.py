"""The length-adjusted view of a table: the same subjects, in the order they would have if all replies were equally
long. Beside the score and never instead of it; "undefined" with the reason where a slope cannot be told."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from eqlab.analysis.length import EqualLength, LengthReply, at_equal_length
from eqlab.analysis.ranks import rank_ranges
from eqlab.comparison.contender import item_means
from eqlab.core.results import Estimate, ItemScore, Result, field_of
from eqlab.core.values import dataclass

NO_MEAN = "the score is not a mean over items"
RATED = "what is rated is somebody else's reply: its run's report has the shares of Good at equal length"
NO_WORDS = "the items' points do not belong to single replies"


@dataclass(frozen=True, slots=True)
class LengthLine:
    name: str
    rank: tuple[int, int]
    estimate: Estimate
    score: Estimate
    words: float
    """Geometric mean of its replies, the length that is adjusted for."""


@dataclass(frozen=True, slots=True)
class LengthView:
    why: str = ""
    """Why there is none."""
    lines: tuple[LengthLine, ...] = ()
    slope: Estimate | None = None
    words: float = 0.0


def length_view(members: Mapping[str, Result]) -> LengthView:
    """Results by name: models only, for people's answers have no length. With fewer than two there is no slope."""
    if any(result.others is not None for result in members.values()):
        return LengthView(RATED)
    if not all(_is_mean(result.headline, item_means(result.items)) for result in members.values()):
        return LengthView(NO_MEAN)
    replies = {name: _replies(name, result.items) for name, result in members.items()}
    if not all(replies.values()):
        return LengthView(NO_WORDS)
    digits = min(result.headline.digits for result in members.values())
    found = at_equal_length([reply for own in replies.values() for reply in own], digits)
    if not isinstance(found, EqualLength):
        return LengthView(found)
    words = {name: 2 ** fmean(reply.doublings for reply in own) for name, own in replies.items()}
    del replies  # of thousands of models a hundred megabytes
    lines = [
        LengthLine(name, rank, estimate, members[name].headline, words[name])
        for name, estimate, rank in zip(found.subjects, found.scores, rank_ranges(found.pseudo_values), strict=True)
    ]
    lines.sort(key=lambda line: -(line.estimate.value or 0.0))
    return LengthView("", tuple(lines), found.slope, found.words)


def _is_mean(headline: Estimate, points: Mapping[str, float]) -> bool:
    """Not so for a short form's estimate, or where questions were lost in some of several repeats."""
    return bool(points) and headline.value is not None and math.isclose(headline.value, fmean(points.values()))


def _replies(subject: str, items: Sequence[ItemScore]) -> list[LengthReply]:
    """One per item, the mean over repeats; a reply without points or words is left out."""
    found: dict[str, list[tuple[float, float]]] = {}
    columns = (field_of(items, name) for name in ("item", "points", "words"))
    for item, points, words in zip(*columns, strict=True):
        if words and points is not None:
            found.setdefault(item, []).append((points, math.log2(words)))
    return [LengthReply(subject, item, *(own[0] if len(own) == 1 else _means(own))) for item, own in found.items()]


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return fmean(points for points, _ in pairs), fmean(doublings for _, doublings in pairs)

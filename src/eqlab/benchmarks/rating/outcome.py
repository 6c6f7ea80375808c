"""What the three kinds of rating results (judge, people, pairs) have to say, before it is put into a Result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.results import Baseline, Estimate, Table


@dataclass(frozen=True, slots=True)
class RatingOutcome:
    title: str
    sentence: str
    headline: Estimate
    score_range: tuple[float, float]
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    caveats: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()


def gap_words(arm: str, reference: str, gap: Estimate) -> str:
    """A difference in P(Good) in words that do not claim more than the interval does."""
    if gap.value is None:
        return f"{arm} and {reference} cannot be compared"
    if gap.low is None or gap.high is None:
        return f"{arm} and {reference} differ by {abs(gap.value):.1f} points, too few for an interval"
    bounds = f"{gap.value:+.1f} points, 95 % interval {gap.low:.1f} to {gap.high:.1f}"
    if gap.low > 0:
        return f"{arm} is called Good more often than {reference} ({bounds})"
    if gap.high < 0:
        return f"{arm} is called Good less often than {reference} ({bounds})"
    return f"{arm} and {reference} cannot be told apart ({bounds})"

"""Shares of Good at equal length: longer replies please raters, so arms are seen at one common length too."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from eqlab.analysis.length import EqualLength, LengthReply, at_equal_length
from eqlab.benchmarks.rating.arm_shares import ArmShares
from eqlab.benchmarks.rating.rated import GOOD, GivenRating
from eqlab.core.results import Estimate, Table

TITLE = "P(Good) at equal length"


def length_table(
    usable: Sequence[GivenRating], shares: ArmShares, cluster_of: Callable[[GivenRating], str]
) -> tuple[Table, ...]:
    """Nothing for one arm alone; a reason instead of numbers where length and arm cannot be told apart."""
    if len(shares.arms) < 2:
        return ()
    found = at_equal_length(
        [
            LengthReply(one.arm, one.prompt, 100.0 * (one.value == GOOD), math.log2(one.words), cluster_of(one))
            for one in usable
            if one.words > 0
        ],
        digits=1,
        unit="%",
    )
    columns = ("replies by", TITLE, "P(Good)", "mean words")
    words = {arm: _mean([one.words for one in usable if one.arm == arm and one.words]) for arm in shares.arms}
    if not isinstance(found, EqualLength):
        rows = tuple((arm, None, shares.good(arm), words[arm]) for arm in shares.arms)
        return (Table(TITLE, columns, rows, f"Undefined: {found}."),)
    known = {arm: _bounded(share) for arm, share in zip(found.subjects, found.scores, strict=True)}
    slope = found.slope
    return (
        Table(
            TITLE,
            columns,
            tuple((arm, known.get(arm), shares.good(arm), words[arm]) for arm in shares.arms),
            f"As if all replies had {found.words:.0f} words, the geometric mean over all. A reply twice as long is "
            f"called Good {slope.value:+.1f} points more often (95 % CI {slope.low:.1f} to {slope.high:.1f}) than "
            "another by the same writer, prompts taken out: Good = writer + prompt + slope · log2(words). Linear, cut "
            "at 0 and 100 %. An association, not a cause.",
            whiskers=TITLE,
        ),
    )


def _bounded(share: Estimate) -> Estimate:
    """A line knows no limits, a share does."""

    def inside(value: float | None) -> float | None:
        return None if value is None else min(100.0, max(0.0, value))

    return replace(share, value=inside(share.value), low=inside(share.low), high=inside(share.high))


def _mean(words: Sequence[int]) -> float | None:
    return sum(words) / len(words) if words else None

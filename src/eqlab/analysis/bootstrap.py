"""Bootstrap over clusters: whole raters are drawn again, with all their answers, inside each sample.

A statistic is a function of totals, so a draw is a sum of the drawn clusters' rows, and ten thousand draws are a few
array operations. Intervals by percentiles or BCa (Efron 1987; acceleration by the jackknife over all clusters)."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.core.values import dataclass

Statistic = Callable[[Sequence[Floats]], Floats]
"""From each sample's totals (shape … × columns) to one value per draw (shape …)."""

DRAWS = 10_000
SEED = 20240607
_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    value: float | None
    low: float | None
    high: float | None
    draws: int
    defined: int
    """Draws in which the statistic exists; the bounds are theirs."""
    method: Literal["percentile", "expanded", "bca"]


def draw_totals(samples: Sequence[Floats], draws: int = DRAWS, seed: int = SEED) -> list[Floats]:
    """Totals of each sample in each draw. `samples` have one row per cluster; clusters are drawn with replacement,
    as many as there are, independently in each sample."""
    random = np.random.default_rng(seed)
    totals = []
    for rows in samples:
        chosen = random.integers(0, len(rows), size=(draws, len(rows)))
        step = max(1, _AT_ONCE // max(1, rows.size))
        totals.append(
            np.concatenate([rows[chosen[start : start + step]].sum(axis=1) for start in range(0, draws, step)])
        )
    return totals


def shared_totals(samples: Sequence[Floats], draws: int = DRAWS, seed: int = SEED) -> list[Floats]:
    """As `draw_totals`, the same draws for all statistics of as many clusters: made once, and a product instead of a
    sum over drawn rows. For reports with hundreds of intervals over the same things."""
    return [np.asarray(_how_often(len(rows), draws, seed + place) @ rows) for place, rows in enumerate(samples)]


@lru_cache(maxsize=8)
def _how_often(n: int, draws: int, seed: int) -> Floats:
    """How often each of n clusters is drawn, draw by draw."""
    return np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=draws).astype(float)


def interval(
    samples: Sequence[Floats],
    statistic: Statistic,
    *,
    totals: Sequence[Floats] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    method: Literal["percentile", "expanded", "bca"] = "percentile",
    confidence: float = 0.95,
    deciding: Sequence[int] | None = None,
) -> Interval:
    """The statistic with its interval. "expanded" is for few clusters: percentiles as far out as Student's t and an
    unbiased spread would be (Hesterberg 2015, The American Statistician 69:371). Pass the `totals` of one
    `draw_totals` to several statistics to have them all from the same draws. `deciding`: the samples that the statistic
    depends on, where it does not on all."""
    value = float(statistic([rows.sum(axis=0) for rows in samples]))
    drawn = np.asarray(statistic(totals if totals is not None else draw_totals(samples, draws, seed)), dtype=float)
    usable = drawn[np.isfinite(drawn)]
    counts = [len(samples[place]) for place in (range(len(samples)) if deciding is None else deciding)]
    if not np.isfinite(value) or min(counts) < 2 or len(usable) < 100:
        shown = value if np.isfinite(value) else None
        return Interval(shown, None, None, len(drawn), len(usable), method)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "expanded":
        tails = _expanded_tails(tails, sum(counts), len(counts))
    if method == "bca":
        tails = _bca_tails(tails, value, usable, samples, statistic)
    low, high = np.quantile(usable, tails)
    return Interval(value, float(low), float(high), len(drawn), len(usable), method)


def _expanded_tails(tails: Floats, clusters: int, samples: int) -> Floats:
    from eqlab.analysis.special import ndtr, stdtrit

    df = clusters - samples
    return np.asarray(ndtr(np.sqrt(clusters / df) * stdtrit(df, tails)))


def _bca_tails(tails: Floats, value: float, drawn: Floats, samples: Sequence[Floats], statistic: Statistic) -> Floats:
    """Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), ties counted half; without spread the plain tails."""
    from eqlab.analysis.special import ndtr, ndtri

    below = (np.sum(drawn < value) + 0.5 * np.sum(drawn == value)) / len(drawn)
    if not 0 < below < 1:
        return tails
    bias = ndtri(below)
    cubes = squares = 0.0
    sums = [rows.sum(axis=0) for rows in samples]
    for index, rows in enumerate(samples):
        left_out = [np.broadcast_to(total, rows.shape) for total in sums]
        scale = len(rows) / (len(rows) - 1)
        left_out[index] = (sums[index] - rows) * scale
        kept = np.asarray(statistic(left_out), dtype=float)
        influence = (len(rows) - 1) / len(rows) * (np.nanmean(kept) - kept)
        influence = influence[np.isfinite(influence)]
        cubes += float((influence**3).sum())
        squares += float((influence**2).sum())
    if squares == 0:
        return tails
    acceleration = cubes / (6 * squares**1.5)
    shifted = bias + ndtri(tails)
    return np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)))

"""Is A better than B on these items? Differences with interval, probability and effect size; paired where items are
shared. The item is the unit: average over repeats first. Missing is NaN, undefined is None: fewer than five items have
a difference, and no interval or test.

The one rule of separation is paired. Two subjects looked at alone are separated if the paired test's p is below α; in a
list of them, if p adjusted for all pairs is (`ranks.adjusted_p`), from which the ranges of the claim `all` follow, or,
for one subject's range, by the test of its own row (claim `each`)."""

import math
from dataclasses import replace
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, Labels, codes
from eqlab.analysis.intervals import FEWEST, mean_bounds
from eqlab.analysis.special import ndtri, stdtr, stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

DIFFER = 8
"""Items on which two must differ for Student's t. Near copies agree on most items: the few others have too little
spread to be judged by, and are judged by their signs, exactly."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A minus B."""

    value: float | None
    n: int
    """Items compared: shared ones if paired, those of both sides together if not."""
    method: Literal["paired", "unpaired"]
    se: float | None = None
    df: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """Two-sided."""
    probability: float | None = None
    """That A is better in the long run over such items: the posterior P(δ > 0) under the flat prior p(δ, σ) ∝ 1/σ,
    which is Student's T(difference/se) (Jeffreys 1961; Gelman et al., Bayesian Data Analysis, 3.2)."""
    effect: float | None = None
    """Difference over the root mean of the two variances over items, with Hedges' correction (g_av; Lakens 2013)."""
    superiority: float | None = None
    """Share of items (of pairs of items, if unpaired) on which A scores higher, ties half (Vargha & Delaney 2000)."""
    differ: int | None = None
    """Items on which the two differ, where they are so few that p is exact (`signs_p`) and there is no interval; None:
    Student's test."""
    skew: float | None = None
    """Third standardised moment of the paired differences, over √n: what one-sided claims correct for."""


def paired(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
    clusters: Labels | None = None,
) -> Difference:
    """Student's paired comparison over the items that both have: d̄ ± t·s_d/√n. NaN on a side: item left out. With the
    `bounds` of the scale the interval stays inside the differences that are possible, and differences that are nearly
    all alike have an interval too (`mean_bounds`). Items that come in `clusters` are alike in them: the clusters are
    the units (`cluster_points`)."""
    one, other = _pair(a, b)
    shared = np.isfinite(one) & np.isfinite(other)
    one, other = one[shared], other[shared]
    n = len(one)
    if clusters is not None and n >= FEWEST:
        group = codes([label for label, kept in zip(clusters, shared.tolist(), strict=True) if kept])
        if int(group.max()) + 1 < n:
            return _clustered(one, other, group, level)
    if n == 0:
        return Difference(None, 0, "paired")
    gaps = one - other
    won = float((gaps > 0).mean() + 0.5 * (gaps == 0).mean())
    if n == 1:
        return Difference(float(gaps[0]), 1, "paired", superiority=won)
    spread = float(gaps.std(ddof=1))
    rounding = 1e-12 * float(max(np.abs(one).max(), np.abs(other).max()))
    se = spread / math.sqrt(n) if spread > rounding else 0.0
    effect = _effect(float(gaps.mean()), one, other, n - 1)
    if n < FEWEST:
        return Difference(float(gaps.mean()), n, "paired", se, n - 1, effect=effect, superiority=won)
    if bounds is None and 0 < (differ := int(np.count_nonzero(gaps))) < min(DIFFER, n):
        p, gap = signs_p(gaps), float(gaps.mean())
        chance = 1 - p / 2 if gap > 0 else p / 2
        return Difference(gap, n, "paired", se, n - 1, None, None, p, chance, effect, won, differ)
    difference = replace(_tested(float(gaps.mean()), n, "paired", se, n - 1, effect, won, level), skew=_skew(gaps))
    if bounds is None:
        return difference
    reach = bounds[1] - bounds[0]
    low, high = mean_bounds(gaps.tolist(), (-reach, reach), level) or (None, None)
    return replace(difference, low=low, high=high)


def cluster_points(points: Floats, clusters: Ints) -> Floats:
    """One value a cluster, whose mean is that of all points and whose standard error that of clusters drawn anew
    (linearised, Liang & Zeger 1986): m + C/n·Σ(x − m) over a cluster's points, by row; NaN is left out, and a cluster
    without any point is NaN. Linear in the points, so differences of two rows are those of their differences."""
    table = np.atleast_2d(points)
    known = np.isfinite(table)
    member = (clusters[:, None] == np.arange(int(clusters.max(initial=-1)) + 1)).astype(float)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    means = np.where(known, table, 0.0).sum(axis=1, keepdims=True) / n
    there = (known.astype(float) @ member) > 0
    sums = np.where(known, table - means, 0.0) @ member
    found = np.where(there, means + there.sum(axis=1, keepdims=True) / n * sums, np.nan)
    return np.asarray(found if np.ndim(points) > 1 else found[0])


def _clustered(one: Floats, other: Floats, group: Ints, level: float) -> Difference:
    """Whole clusters as units; n still counts items. Too few clusters: a difference, and no interval or test."""
    gaps = one - other
    whole = paired(cluster_points(gaps, group), np.zeros(int(group.max()) + 1), level)
    won = float((np.sign(gaps) + 1).mean()) / 2
    return replace(whole, n=len(one), effect=_effect(float(gaps.mean()), one, other, len(one) - 1), superiority=won)


def _skew(gaps: Floats) -> float | None:
    spread = float(gaps.std())
    if spread <= 1e-12 * float(np.abs(gaps).max()):
        return None
    return float(((gaps - gaps.mean()) ** 3).mean()) / spread**3 / math.sqrt(len(gaps))


def least(difference: Difference, level: float = 0.975) -> float | None:
    """What the true difference is above with this confidence, one-sided. Student's bound, or Hall's (1992, JRSS B
    54:221) where the skew of the differences moves it down: of few large losses Student's is short. With G = γ/√n and
    t its quantile, d̄ − se·(3/G)·(∛(1 + G·(t − G/6)) − 1)."""
    if difference.value is None or not difference.se or difference.df is None:
        return None
    t = float(stdtrit(difference.df, level))
    reach = t
    if difference.skew and abs(difference.skew) > 1e-6:
        reach = max(t, 3 / difference.skew * (math.cbrt(1 + difference.skew * (t - difference.skew / 6)) - 1))
    return difference.value - reach * difference.se


def above_p(difference: Difference, bound: float) -> float:
    """One-sided p against "the true difference is at most `bound`": Student's or Hall's, whichever is larger (`least`
    lies above the bound where it is below 1 − level)."""
    if difference.value is None or not difference.se or difference.df is None:
        raise UsageError("A one-sided test needs a difference with a standard error.")
    t = (difference.value - bound) / difference.se
    skew = difference.skew or 0.0
    moved = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
    return float(stdtr(difference.df, -min(t, moved)))


def signs_p(gaps: npt.ArrayLike) -> float:
    """Fisher's (1935) exact test of random signs: the share of all 2ᵏ ways to give the k gaps that are not 0 a sign in
    which their sum is as far from 0. Gaps of one size (right and wrong) make it McNemar's exact test. For few gaps."""
    sizes = np.abs(np.asarray(gaps, dtype=float))
    sizes = sizes[sizes > 0]
    if len(sizes) == 0:
        return 1.0
    seen = abs(float(np.asarray(gaps, dtype=float).sum()))
    sums = np.abs(np.array(list(product((-1.0, 1.0), repeat=len(sizes)))) @ sizes)
    return float((sums >= seen - 1e-9 * sizes.sum()).mean())


def unpaired(
    a: npt.ArrayLike, b: npt.ArrayLike, level: float = 0.95, overlap: tuple[Floats, Floats] | None = None
) -> Difference:
    """Welch's comparison of two sets of items (Welch 1947). `overlap` holds both sides' values of the few items that
    are shared after all; their covariance is taken out: s_a²/n_a + s_b²/n_b − 2·n_ab·cov/(n_a·n_b)."""
    one, other = (values[np.isfinite(values)] for values in (np.asarray(a, dtype=float), np.asarray(b, dtype=float)))
    n = len(one) + len(other)
    if len(one) == 0 or len(other) == 0:
        return Difference(None, n, "unpaired")
    gap = float(one.mean() - other.mean())
    above = np.sign(one[:, None] - other[None, :])
    won = float((above.mean() + 1) / 2)
    if len(one) < 2 or len(other) < 2:
        return Difference(gap, n, "unpaired", superiority=won)
    part, rest = float(one.var(ddof=1)) / len(one), float(other.var(ddof=1)) / len(other)
    variance = part + rest
    if overlap is not None and len(overlap[0]) > 1:
        shared = np.cov(overlap[0], overlap[1])[0, 1] * len(overlap[0]) / (len(one) * len(other))
        variance = max(variance - 2 * float(shared), 0.0)
    df = (part + rest) ** 2 / (part**2 / (len(one) - 1) + rest**2 / (len(other) - 1)) if part + rest > 0 else n - 2
    effect = _effect(gap, one, other, len(one) + len(other) - 2)
    return _tested(gap, n, "unpaired", math.sqrt(variance), df, effect, won, level)


def _pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if one.ndim != 1 or one.shape != other.shape:
        raise UsageError("A paired comparison needs one value per item and side, in the same order of items.")
    return one, other


def _effect(gap: float, one: Floats, other: Floats, df: int) -> float | None:
    spread = math.sqrt((float(one.var(ddof=1)) + float(other.var(ddof=1))) / 2)
    return None if spread == 0 else gap / spread * (1 - 3 / (4 * df - 1))


def _tested(
    gap: float,
    n: int,
    method: Literal["paired", "unpaired"],
    se: float,
    df: float,
    effect: float | None,
    won: float,
    level: float,
) -> Difference:
    if se == 0 and gap != 0:
        # the same gap on every item: no spread to judge it by, but all signs agree (exact test of random signs, 2/2ⁿ)
        p = 2.0 ** (1 - n) if method == "paired" else None
        chance = None if p is None else 1 - p / 2 if gap > 0 else p / 2
        return Difference(gap, n, method, 0.0, df, p=p, probability=chance, effect=effect, superiority=won)
    if se == 0:  # the same everywhere: no sign of a difference, and no interval to say how small it is
        return Difference(0.0, n, method, 0.0, df, p=1.0, probability=0.5, effect=effect, superiority=won)
    reach = float(stdtrit(df, 0.5 + level / 2)) * se
    t = gap / se
    p, probability = 2 * float(stdtr(df, -abs(t))), float(stdtr(df, t))
    return Difference(gap, n, method, se, df, gap - reach, gap + reach, p, probability, effect, won)


def items_needed(difference: Difference, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Items that would separate the two at level α with this power, if the difference seen is the true one:
    n = ((t_{1−α/2} + t_{power})·s/|d|)², with s = se·√n; solved for n, which t depends on. Unpaired: on both sides
    together, in the present proportion. None where no number of items would."""
    if not difference.value or difference.p is None:
        return None
    if not difference.se:
        return math.ceil(math.log2(2 / alpha))
    per_item = difference.se**2 * difference.n / difference.value**2
    lost = difference.n - difference.df if difference.df is not None else 1.0
    needed = (float(ndtri(1 - alpha / 2)) + float(ndtri(power))) ** 2 * per_item + 2
    for _ in range(100):
        df = max(needed - lost, 1.0)
        again = (float(stdtrit(df, 1 - alpha / 2)) + float(stdtrit(df, power))) ** 2 * per_item
        if abs(again - needed) < 0.01:
            break
        needed = 0.5 * (needed + again)
    return max(2, math.ceil(needed - 0.02))

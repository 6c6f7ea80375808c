"""Intervals for means. An interval that cannot be computed is None, never zero width: four answers alike are no
certainty. On a bounded scale a mean's interval stays inside the scale, and values that are (nearly) all alike have the
interval that their number allows."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from statistics import fmean

from eqlab.core.errors import UsageError
from eqlab.core.results import FEWEST as FEWEST
from eqlab.core.results import Estimate

_NEARLY_ALL = 5
"""With fewer values than this beside the commonest one, the spread tells nothing and the count of them all."""


Z95 = 1.959963984540054
"""Φ⁻¹(0.975)."""


def t_bounds(mean: float, se: float, df: float, confidence: float = 0.95) -> tuple[float, float]:
    """mean ± t·se with Student's t."""
    from eqlab.analysis.special import stdtrit

    reach = float(stdtrit(df, 0.5 + confidence / 2)) * se
    return mean - reach, mean + reach


def sample_sd(values: Sequence[float], mean: float) -> float:
    """With n − 1, around the mean of at least two values: to the last digits what `statistics.stdev` finds by exact
    fractions, in a tenth of the time."""
    return math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (len(values) - 1))


def mean_bounds(
    values: Sequence[float], bounds: tuple[float, float] | None = None, confidence: float = 0.95
) -> tuple[float, float] | None:
    """The interval of a mean. None for fewer than five values, and for values all alike on a scale without ends.

    Student's t, cut to the `bounds` of the scale. Where fewer than five values differ from the commonest, c, their
    spread is no guide (19 times 100 and once 99 do not say that 0 is impossible), but their number is: with confidence
    the share of c is at least π = Clopper & Pearson's (1934) lower bound, and the rest lies between the ends, so the
    mean lies within π·c + (1 − π)·end. For values all alike that is the rule of three, π = (α/2)^(1/n)."""
    n = len(values)
    if n < FEWEST:
        return None
    _check_scale(values, bounds)
    mean = fmean(values)
    return _bounds_around(mean, sample_sd(values, mean) / math.sqrt(n), values, bounds, confidence)


def _check_scale(values: Sequence[float], bounds: tuple[float, float] | None) -> None:
    if bounds is not None and not (bounds[0] <= min(values) and max(values) <= bounds[1]):
        raise UsageError(f"A value lies outside the scale from {bounds[0]:g} to {bounds[1]:g}.")


def _bounds_around(
    mean: float, se: float, values: Sequence[float], bounds: tuple[float, float] | None, confidence: float = 0.95
) -> tuple[float, float] | None:
    """The same of a mean and standard error that are known."""
    n = len(values)
    low, high = t_bounds(mean, se, n - 1, confidence)
    if bounds is None:
        return (low, high) if se > 1e-14 * max(abs(mean), 1e-300) else None
    common, count = Counter(values).most_common(1)[0]
    if n - count < _NEARLY_ALL:
        from eqlab.analysis.special import betaincinv

        held = float(betaincinv(count, n - count + 1, (1 - confidence) / 2))
        low = min(low, held * common + (1 - held) * bounds[0])
        high = max(high, held * common + (1 - held) * bounds[1])
    return max(bounds[0], low), min(bounds[1], high)


def mean_estimate(
    name: str,
    values: Sequence[float],
    *,
    unit: str = "",
    note: str = "",
    digits: int = 2,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Mean, standard error s/√n and 95 % interval of independent values; `bounds` are the ends of their scale."""
    n = len(values)
    if n == 0:
        return Estimate(name, None, 0, unit=unit, note=note, digits=digits)
    mean = fmean(values)
    if n == 1:
        return Estimate(name, mean, 1, unit=unit, note=note, digits=digits)
    se = sample_sd(values, mean) / math.sqrt(n)
    low, high = None, None
    if n >= FEWEST:
        _check_scale(values, bounds)
        low, high = _bounds_around(mean, se, values, bounds) or (None, None)
    return Estimate(name, mean, n, se, low, high, unit, note, digits)


def proportion_estimate(name: str, hits: int, n: int, *, note: str = "") -> Estimate:
    """A share in percent with Wilson's 95 % score interval (Wilson 1927), which holds near 0 and 1 too."""
    if n == 0:
        return Estimate(name, None, 0, unit="%", note=note, digits=1)
    p = hits / n
    low, high = proportion_bounds(p, n)
    return Estimate(name, 100 * p, n, None, 100 * low, 100 * high, "%", note, 1)


def clustered_share(
    name: str, hits: Sequence[bool], clusters: Sequence[object], *, note: str = "", together: int = 1
) -> Estimate:
    """A share in percent of answers that come in clusters (repeats of an item, a person's answers): Wilson's interval
    for as many independent answers as they are worth, n/deff, with deff the linearised variance over clusters by that
    of independent answers and Student's t in place of the normal (Korn & Graubard 1998). Where all are alike nothing
    tells how alike a cluster's answers are: then each cluster counts once. `together`: of how many such shares this is
    one whose intervals are to hold at once (Bonferroni)."""
    if len(hits) != len(clusters):
        raise UsageError("Every answer of a share belongs to a cluster.")
    n, sums = len(hits), Counter[object](compress(clusters, hits))
    sizes: Counter[object] = Counter(clusters)
    count, total = len(sizes), sum(map(bool, hits))
    plain = proportion_estimate(name, total, n, note=note)
    if not n or (count == n and together == 1):
        return plain
    p, few = total / n, _squared_quantiles(count - 1, together) if count > 1 else 1 / together
    if 0 < p < 1 and count > 1:
        around = math.fsum((sums[one] - p * size) ** 2 for one, size in sizes.items()) * count / (count - 1) / n**2
        effect = max(1.0, around / (p * (1 - p) / n))
        worth = n / effect * few
    else:
        worth = float(count) if together == 1 else count * few
    low, high = proportion_bounds(p, worth)
    return Estimate(name, 100 * p, n, None, 100 * low, 100 * high, "%", note, 1)


def _squared_quantiles(df: int, together: int) -> float:
    """(z/t)²: what few clusters cost, and several shares at once."""
    from eqlab.analysis.special import stdtrit

    return (Z95 / float(stdtrit(df, 1 - 0.025 / together))) ** 2


def proportion_bounds(p: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share p of n (Wilson 1927), both from 0 to 1."""
    centre = (p + Z95 * Z95 / (2 * n)) / (1 + Z95 * Z95 / n)
    reach = Z95 / (1 + Z95 * Z95 / n) * math.sqrt(p * (1 - p) / n + Z95 * Z95 / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def difference_bounds(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """d − √((a − l_a)² + (u_b − b)²) and d + √((u_a − a)² + (b − l_b)²), with d = a − b: the method of variance
    estimates recovery (Zou & Donner 2008, Statistics in Medicine 27:1693), for two independent estimates. None where
    one of them has no interval."""
    if a.value is None or a.low is None or a.high is None or b.value is None or b.low is None or b.high is None:
        return None
    gap = a.value - b.value
    down, up = math.hypot(a.value - a.low, b.high - b.value), math.hypot(a.high - a.value, b.value - b.low)
    return gap - down, gap + up


def fisher(r: float, n: int) -> tuple[float, float] | tuple[None, None]:
    """Fisher's (1921) 95 % interval of a correlation over n pairs, tanh(artanh r ± 1.96/√(n − 3)); undefined for fewer
    than four pairs, and for a perfect one, from which rounding may differ in the last digits."""
    if n < 4 or abs(r) > 1 - 1e-12:
        return None, None
    middle, reach = math.atanh(r), Z95 / math.sqrt(n - 3)
    return math.tanh(middle - reach), math.tanh(middle + reach)

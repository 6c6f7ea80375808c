"""Do two scores order the same subjects alike? Pearson's and Spearman's correlations with their intervals, the
correlation without measurement error, and the reliability of group means, which bounds it."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Labels, codes
from eqlab.analysis.bootstrap import DRAWS, SEED, interval
from eqlab.analysis.clusters import clustering
from eqlab.analysis.intervals import fisher, t_bounds
from eqlab.core.plural import many
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

# the correlation would be without measurement error.
FEW = 10
"""Fewer subjects than this make bootstrap intervals too narrow to be trusted."""


def pearson(name: str, x: Floats, y: Floats, *, note: str = "", lost: int = 0) -> Estimate:
    """r with Fisher's 95 % interval; undefined if either side does not vary. `lost`: as many fewer observations tell
    something, as where means of groups were taken out."""
    n = len(x)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(name, None, n, note=note)
    r = float(np.corrcoef(x, y)[0, 1])
    low, high = fisher(r, n - lost)
    return Estimate(name, r, n, None, low, high, note=note)


@dataclass(frozen=True, slots=True)
class Association:
    n: int
    pearson: Estimate
    spearman: Estimate
    corrected: Estimate
    """Pearson over the root of both reliabilities; a reliability that is not known counts as 1."""
    without_one: tuple[tuple[float, int], tuple[float, int]] | None
    """Lowest and highest r when one subject is left out, each with the place of that subject."""


def associate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    reliabilities: tuple[float | None, float | None] = (None, None),
    draws: int = DRAWS,
    seed: int = SEED,
) -> Association:
    """The subject is the unit that is drawn again: intervals speak of subjects like these, not of these only."""
    one, other = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pearson = _pearson(one, other, draws, seed)
    return Association(
        len(one),
        pearson,
        _spearman(one, other, draws, seed),
        disattenuate(pearson, reliabilities),
        _without_one(one, other),
    )


def _pearson(x: Floats, y: Floats, draws: int, seed: int) -> Estimate:
    """r with the BCa interval (Efron 1987)."""
    n = len(x)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate("Pearson's r", None, n, note="undefined: fewer than three, or one side does not vary")
    found = interval([r_rows(x, y)], r_of_totals, draws=draws, seed=seed, method="bca")
    return Estimate("Pearson's r", found.value, n, None, found.low, found.high, note=_few(n))


def grouped_r(
    name: str, x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels, given: npt.ArrayLike | None = None, of: str = ""
) -> Estimate:
    """r of subjects that come in groups (fine-tunes of one base are no independent models), or with `given` the partial
    r that a third score leaves: Fisher's z, its error from leaving out whole groups in turn (Tukey's jackknife), never
    below that of as many independent subjects as these are worth, n/(1 + (m − 1)·ICC_x·ICC_y), Student's t by the
    number of groups. n counts groups."""
    columns = np.column_stack([np.asarray(one, dtype=float) for one in (x, y, *([] if given is None else [given]))])
    group = codes(groups)
    n, count = len(columns), int(group.max(initial=-1)) + 1
    free = n - 3 - (given is not None)
    whole = _z(columns)
    each = [_z(columns[group != left]) for left in range(count)]
    if whole is None or free < 1:
        return Estimate(name, None, count, of=of, note="undefined: too few, or one side does not vary")
    r = math.tanh(whole)
    known = np.array([one for one in each if one is not None])
    if count < 3 or len(known) < count:
        return Estimate(name, r, count, of=of, note=f"no interval: {many(count, 'group is', 'groups are')} too few")
    alike = [max(0.0, clustering(column, group).icc or 0.0) for column in columns[:, :2].T]
    worth = n / (1 + (n / count - 1) * alike[0] * alike[1]) - 1 - (given is not None)
    error = max(
        math.sqrt((count - 1) / count * float(((known - whole) ** 2).sum())),
        1 / math.sqrt(free),
        1 / math.sqrt(max(1.0, worth)),
    )
    low, high = (math.tanh(bound) for bound in t_bounds(whole, error, count - 1))
    return Estimate(name, r, count, None, low, high, of=of)


def _z(columns: Floats) -> float | None:
    """Fisher's z of the first two columns, without what the third explains of them."""
    if len(columns) < columns.shape[1] + 1 or (np.ptp(columns, axis=0) == 0).any():
        return None
    correlations = np.asarray(np.corrcoef(columns, rowvar=False))
    r = correlations[0, 1]
    if columns.shape[1] == 3:
        a, b = correlations[0, 2], correlations[1, 2]
        left = (1 - a * a) * (1 - b * b)
        if left < 1e-12:
            return None
        r = (r - a * b) / math.sqrt(left)
    return math.atanh(min(0.999999, max(-0.999999, float(r))))


def r_rows(x: Floats, y: Floats) -> Floats:
    """One row a subject, whose totals are all that `r_of_totals` needs."""
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()  # r does not change, rounding does
    return np.column_stack([np.ones(len(x)), a, b, a * a, b * b, a * b])


def r_of_totals(totals: Sequence[Floats]) -> Floats:
    n, a, b, aa, bb, ab = np.moveaxis(np.asarray(totals[0]), -1, 0)
    spread = np.maximum(aa - a * a / n, 0.0) * np.maximum(bb - b * b / n, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(spread > 1e-18, (ab - a * b / n) / np.sqrt(spread), np.nan)
    return np.asarray(np.clip(r, -1.0, 1.0))


def _spearman(x: Floats, y: Floats, draws: int, seed: int) -> Estimate:
    """Pearson's r of the ranks, ties at their mean rank (Spearman 1904); ranked anew in each draw, percentiles."""
    from scipy.stats import rankdata

    n = len(x)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate("Spearman's ρ", None, n, note="undefined: fewer than three, or one side does not vary")
    value = float(_rows_r(rankdata(x)[None, :], rankdata(y)[None, :])[0])
    chosen = np.random.default_rng(seed).integers(0, n, size=(draws, n))
    drawn = _rows_r(rankdata(x[chosen], axis=1), rankdata(y[chosen], axis=1))
    drawn = drawn[np.isfinite(drawn)]
    if n < 4 or len(drawn) < 100:
        return Estimate("Spearman's ρ", value, n)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate("Spearman's ρ", value, n, None, float(low), float(high), note=_few(n))


def _rows_r(a: Floats, b: Floats) -> Floats:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    spread = (a * a).sum(axis=1) * (b * b).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 1e-18, (a * b).sum(axis=1) / np.sqrt(spread), np.nan))


def _without_one(x: Floats, y: Floats) -> tuple[tuple[float, int], tuple[float, int]] | None:
    if len(x) < 4:
        return None
    found = []
    for left in range(len(x)):
        a, b = np.delete(x, left), np.delete(y, left)
        if np.ptp(a) > 0 and np.ptp(b) > 0:
            found.append((float(np.corrcoef(a, b)[0, 1]), left))
    return (min(found), max(found)) if found else None


def _few(n: int) -> str:
    return f"{many(n, 'model is', 'models are')} few: the interval is too narrow" if n < FEW else ""


def disattenuate(r: Estimate, reliabilities: tuple[float | None, float | None]) -> Estimate:
    """r/√(ρ_x·ρ_y) (Spearman 1904), bounds likewise with the reliabilities taken as known. Not cut at 1: a value above
    says that a reliability is too low for these scores, or that errors on both sides go together."""
    name = "r without measurement error"
    known = [value for value in reliabilities if value is not None]
    if r.value is None or not known or min(known) <= 0:
        return Estimate(name, None, r.n, note="undefined: no reliability is known" if not known else "undefined")
    scale = 1 / math.sqrt(math.prod(known))
    low = None if r.low is None else r.low * scale
    high = None if r.high is None else r.high * scale
    notes = [] if len(known) == 2 else ["only one reliability is known; the other counts as 1"]
    if r.value * scale > 1:
        notes.append("above 1: the correction asks too much of these data")
    return Estimate(name, r.value * scale, r.n, None, low, high, note="; ".join(notes))


def reliability_from_errors(scores: npt.ArrayLike, errors: npt.ArrayLike) -> float | None:
    """1 − mean squared standard error over the variance of the scores: the share of the spread between subjects that is
    not error (Lord & Novick 1968). None where it cannot be told, or errors exceed the spread."""
    values, se = np.asarray(scores, dtype=float), np.asarray(errors, dtype=float)
    if len(values) < 3 or not np.isfinite(se).all() or np.ptp(values) == 0:
        return None
    found = 1 - float((se**2).mean()) / float(values.var(ddof=1))
    return found if found > 0 else None


def split_half(values: Floats, group: npt.NDArray[np.int64], *, splits: int = 500, seed: int = 0) -> float | None:
    """Reliability of the group means: the correlation between means of random halves of each group, averaged over
    splits and stepped up to the full size (Spearman 1910, Brown 1910). None with fewer than three groups."""
    labels, index = np.unique(group, return_inverse=True)
    sizes = np.bincount(index)
    if len(labels) < 3 or sizes.min() < 2:
        return None
    member = np.zeros((len(values), len(labels)))
    member[np.arange(len(values)), index] = 1
    draw = np.random.default_rng(seed).random((splits, len(values)))
    order = np.lexsort((draw, np.broadcast_to(index, draw.shape)), axis=-1)
    starts = np.repeat(np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    even = (np.arange(len(values)) - starts) % 2 == 0
    half = np.zeros(draw.shape)
    np.put_along_axis(half, order, np.broadcast_to(even, draw.shape).astype(float), axis=-1)
    one = (half * values) @ member / (half @ member)
    other = ((1 - half) * values) @ member / ((1 - half) @ member)
    one -= one.mean(axis=1, keepdims=True)
    other -= other.mean(axis=1, keepdims=True)
    spread = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    if not spread.all():
        return None
    r = float(((one * other).sum(axis=1) / spread).mean())
    return 2 * r / (1 + r)

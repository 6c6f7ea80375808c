"""Two sets of items on one scale, through the models that answered both; and whether somebody knows one set too well.

Linear equating with a common group of subjects (Kolen & Brennan 2014, ch. 4; structural regression of Deming 1943):
scores on the two sets measure one ability, each with its own error over items. A model that lies far above the line on
a public set has probably seen it: the same number is a contamination check."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.special import stdtr, stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.values import dataclass

DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Off:
    """One model against the line."""

    model: str
    gap: float
    """Points it scores on the second set beyond what the first says."""
    low: float
    high: float
    """95 %: items of both sets, and the line."""
    p_holm: float
    """One-sided, that it is not above the line, over all models."""


@dataclass(frozen=True, slots=True)
class Equated:
    n: int
    """Models that answered both."""
    slope: float
    slope_low: float
    slope_high: float
    shift: float
    """Points by which the second set is easier for a model of average score, line − identity."""
    shift_low: float
    shift_high: float
    correlation: float
    true_correlation: float | None
    """Without the error of items."""
    error: float
    """What models scatter about the line beyond the error of items: the SD of real difference between the sets."""
    models: tuple[Off, ...]
    _mean: float
    _centre: float

    def second(self, first: float) -> float:
        """The score on the second set that goes with a score on the first."""
        return self._centre + self.slope * (first - self._mean)


def equate(
    first: npt.ArrayLike, second: npt.ArrayLike, models: Sequence[str], draws: int = DRAWS, seed: int = 0
) -> Equated:
    """`first` and `second` are models × items of each set, the same models in the same order, NaN where missing.
    Intervals are over models and items of both sets. Five models that answered both are the least."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 2 or b.ndim != 2 or not len(a) == len(b) == len(models):
        raise UsageError("Equating needs the same models, in the same order, on both sets of items.")
    both = (np.isfinite(a).sum(axis=1) > 1) & (np.isfinite(b).sum(axis=1) > 1)
    a, b, names = a[both], b[both], [name for name, kept in zip(models, both.tolist(), strict=True) if kept]
    n = len(a)
    if n < FEWEST:
        raise UsageError(f"{many(n, 'model')} answered both sets; equating needs five.", "Run more models on both.")
    (x, vx), (y, vy) = _scores(a), _scores(b)
    slope = _deming(x, y, vx, vy)
    shift = float(y.mean() - x.mean())
    (slope_low, slope_high), (shift_low, shift_high) = _bounds(a, b, (slope, shift), draws, seed)
    gaps, total = np.array([_off(x, y, vx, vy, model) for model in range(n)]).T
    rest = y - y.mean() - slope * (x - x.mean())
    real = max(0.0, float((rest**2).sum()) / (n - 2) - float((vy + slope**2 * vx).mean()))
    df = n - 3
    reach = float(stdtrit(df, 0.975))
    p_holm = holm([float(stdtr(df, -gap / se)) for gap, se in zip(gaps.tolist(), total.tolist(), strict=True)])
    r = float(np.corrcoef(x, y)[0, 1])
    true = [
        max(0.0, float(one.var(ddof=1) - error.mean())) / float(one.var(ddof=1)) for one, error in ((x, vx), (y, vy))
    ]
    return Equated(
        n, slope, slope_low, slope_high, shift, shift_low, shift_high, r,
        r / math.sqrt(true[0] * true[1]) if min(true) > 0 else None, math.sqrt(real),
        tuple(
            Off(name, gap, gap - reach * se, gap + reach * se, float(p or 0.0))
            for name, gap, se, p in zip(names, gaps.tolist(), total.tolist(), p_holm, strict=True)
        ),
        float(x.mean()), float(y.mean()),
    )  # fmt: skip


def _bounds(
    a: Floats, b: Floats, found: tuple[float, float], draws: int, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """95 % intervals of slope and shift. Models drawn again give the variance M + E, items I + E, both M + I + 3E
    (Owen 2007, the pigeonhole bootstrap): wanted is M + I + E. Spread by quantiles, for slopes of few models have
    heavy tails; Student's t of the models."""
    random = np.random.default_rng(seed)
    n, variance = len(a), []
    for models, items in ((True, False), (False, True), (True, True)):
        drawn = np.empty((max(2, draws // 3), 2))
        for draw in range(len(drawn)):
            rows = random.integers(0, n, n) if models else np.arange(n)
            columns = [random.integers(0, k, (k,)) if items else np.arange(k) for k in (a.shape[1], b.shape[1])]
            (p, vp), (q, vq) = (_scores(one[np.ix_(rows, column)]) for one, column in zip((a, b), columns, strict=True))
            drawn[draw] = _deming(p, q, vp, vq), np.nanmean(q) - np.nanmean(p)
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        low, high = np.quantile(drawn, [0.1587, 0.8413], axis=0)
        variance.append(((high - low) / 2) ** 2)
    by_models, by_items, by_both = variance
    wanted = np.maximum(2 * (by_models + by_items) - by_both, np.maximum(by_models, by_items))
    reach = float(stdtrit(n - 2, 0.975)) * np.sqrt(wanted)
    (slope, shift), (one, other) = found, reach.tolist()
    return (slope - one, slope + one), (shift - other, shift + other)


def _off(x: Floats, y: Floats, vx: Floats, vy: Floats, model: int) -> tuple[float, float]:
    """(gap to the line of the others, its standard error): items of both sets, the sets' real difference as the others
    show it, and the line's own error. A model is not judged by a line that it has bent itself."""
    others = np.arange(len(x)) != model
    slope = _deming(x[others], y[others], vx[others], vy[others])
    away = float(x[model] - x[others].mean())
    rest = y[others] - y[others].mean() - slope * (x[others] - x[others].mean())
    scatter = float((rest**2).sum()) / (len(rest) - 2)
    real = max(0.0, scatter - float((vy[others] + slope**2 * vx[others]).mean()))
    line = scatter * (1 / len(rest) + away**2 / float(((x[others] - x[others].mean()) ** 2).sum()))
    gap = float(y[model] - y[others].mean()) - slope * away
    return gap, math.sqrt(float(vy[model] + slope**2 * vx[model]) + real + line)


def _scores(table: Floats) -> tuple[Floats, Floats]:
    """Each model's mean and its error over items, what is common to all models (an item's ease) taken out."""
    known = np.isfinite(table)
    counts = np.maximum(known.sum(axis=0), 1)
    ease = np.where(known, table, 0.0).sum(axis=0) / counts
    ease = ease - ease[known.any(axis=0)].mean()
    left = np.where(known, table - ease, 0.0)
    n = known.sum(axis=1)
    mean = left.sum(axis=1) / np.maximum(n, 1)
    squares = (np.where(known, left - mean[:, None], 0.0) ** 2).sum(axis=1) / np.maximum(n - 1, 1)
    return mean, squares / np.maximum(n, 1)


def _deming(x: Floats, y: Floats, vx: Floats, vy: Floats) -> float:
    """Slope of the line through points with error in both, the ratio of the errors known from the items."""
    sx, sy, sxy = float(x.var(ddof=1)), float(y.var(ddof=1)), float(np.cov(x, y)[0, 1])
    if sxy == 0:
        return math.nan
    ratio = float(vy.mean()) / max(float(vx.mean()), 1e-12)
    lead = sy - ratio * sx
    return (lead + math.sqrt(lead**2 + 4 * ratio * sxy**2)) / (2 * sxy)

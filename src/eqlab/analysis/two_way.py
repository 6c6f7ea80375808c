"""Errors over two kinds of units at once: prompts, and judges (or raters) who are a sample of others.

V = V_prompts + V_judges − V_cells (Cameron, Gelbach & Miller 2011), never below either. Few judges say little about how
much judges differ, so the quantile is Cochran & Cox's (1957): the mean of the two Student quantiles, weighted by the
two variances. Satterthwaite's degrees of freedom are too many here: two or three judges who happen to agree look like
many (docs/evidence/coverage.md). Judges' tastes for subjects are pooled over all subjects, and never taken for smaller
than those for the two that are compared."""

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats
from eqlab.analysis.pairwise import Pairwise, pairwise
from eqlab.analysis.special import stdtr, stdtrit
from eqlab.core.values import dataclass

_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class TwoWay:
    """Of one mean, or of an array of them."""

    variance: Floats
    judges: Floats
    """The judges' weight in the quantile, from 0 to 1."""
    df_prompts: float
    df_judges: Floats

    @property
    def se(self) -> Floats:
        return np.sqrt(self.variance)

    def quantile(self, tail: Floats | float) -> Floats:
        """What a t exceeds with this chance on one side."""
        over_prompts, over_judges = (-stdtrit(df, tail) for df in (self.df_prompts, self.df_judges))
        return np.asarray((1 - self.judges) * over_prompts + self.judges * over_judges)

    def p(self, value: Floats) -> Floats:
        """Two-sided, below α exactly where the interval of level 1 − α leaves out 0; NaN without any spread."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(np.asarray(value, dtype=float)) / self.se
        if not np.any(self.judges > 0):
            return np.asarray(2 * stdtr(self.df_prompts, -t))
        low, high = np.full(t.shape, -80.0), np.zeros(t.shape)  # log p
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self.quantile(np.exp(middle) / 2) > t
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.where(np.isnan(t), np.nan, np.exp((low + high) / 2))


def two_way(prompts: Floats, judges: Floats, cells: Floats, n_prompts: int, df_judges: Floats | float) -> TwoWay:
    """From the variances of a mean over prompts, over judges and over single ratings."""
    prompts, judges = np.asarray(prompts, dtype=float), np.asarray(judges, dtype=float)
    total = np.maximum(prompts + np.maximum(judges - cells, 0.0), judges)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(prompts + judges > 0, judges / (prompts + judges), 0.0)
    return TwoWay(
        total, weight, float(max(1, n_prompts - 1)), np.broadcast_to(np.asarray(df_judges, float), total.shape)
    )


def over_judges(by_judge: Floats) -> tuple[Floats, Floats]:
    """(variance, degrees of freedom) of the difference of every two rows of a subjects × judges table: what judges
    differ in about these two, or about all, if that is more. A judge who saw one of the two only does not count."""
    own = pairwise(by_judge)
    count = own.n.astype(float)
    pooled, df = tastes(by_judge)
    with np.errstate(invalid="ignore", divide="ignore"):
        common = np.where(count > 0, 2 * pooled / count, np.nan)
    variance = np.where(own.n > 1, own.se**2, np.nan)
    more = np.asarray(common > variance)
    return np.where(more, common, variance), np.where(more, df, np.maximum(count - 1, 1))


def tastes(by_judge: Floats) -> tuple[float, float]:
    """(variance, degrees of freedom) of a judge's taste for a subject, beyond its severity and the subject's level: the
    interaction of a complete subjects × judges table; 0 where a cell is missing, so that nothing is pooled."""
    subjects, judges = by_judge.shape
    df = (subjects - 1) * (judges - 1)
    if df < 1 or not np.isfinite(by_judge).all():
        return 0.0, 1.0
    rest = by_judge - by_judge.mean(axis=0) - by_judge.mean(axis=1, keepdims=True) + by_judge.mean()
    return float((rest**2).sum()) / df, float(df)


def as_pairwise(gap: Floats, spread: TwoWay, n: npt.NDArray[np.integer]) -> Pairwise:
    """All pairs as `ranks` takes them; NaN where there is no spread or no pair."""
    return Pairwise(gap, spread.se, np.where(gap == 0, 1.0, spread.p(gap)), n)

"""Tests with the rater as the unit: each rater's mean is one value, so answers need not be independent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.two_samples import describe, welch_comparison


@dataclass(frozen=True, slots=True)
class RaterComparison:
    """One arm's rater means against another's."""

    welch_t: float | None
    df: float | None
    p: float | None
    cohen_d: float | None
    """Difference over the root mean of the two variances."""
    mannwhitney_u: float
    mannwhitney_p: float
    a12: float
    """Probability that a rater of the arm is above one of the reference, ties half (Vargha & Delaney 2000)."""


def compare_raters(means: Floats, reference: Floats) -> RaterComparison:
    from scipy.stats import mannwhitneyu

    one, other = describe(means), describe(reference)
    test = welch_comparison(one, other)
    spread = math.sqrt((one.sd**2 + other.sd**2) / 2) if one.sd is not None and other.sd is not None else 0.0
    rank = mannwhitneyu(means, reference, alternative="two-sided")
    return RaterComparison(
        test.t,
        test.df,
        test.p,
        test.difference / spread if spread and test.difference is not None else None,
        float(rank.statistic),
        float(rank.pvalue),
        float(rank.statistic) / (len(means) * len(reference)),
    )


def anova(groups: Sequence[Floats]) -> tuple[float, tuple[int, int], float]:
    """(F, degrees of freedom, p) of the one-way analysis of variance."""
    from scipy.stats import f_oneway

    test = f_oneway(*groups)
    n = sum(len(group) for group in groups)
    return float(test.statistic), (len(groups) - 1, n - len(groups)), float(test.pvalue)


def permutation_p(totals: Floats, reference: Floats, draws: int = 20_000, seed: int = 20240607) -> float:
    """Two-sided p of the difference in totals when whole raters are dealt anew to the two arms;
    (hits + 1)/(draws + 1), so never 0 (Phipson & Smyth 2010)."""
    random = np.random.default_rng(seed)
    both = np.concatenate([totals, reference]).astype(float)
    n = len(totals)
    observed = abs(totals.mean() - reference.mean())
    hits = 0
    for start in range(0, draws, 1000):
        dealt = random.permuted(np.tile(both, (min(1000, draws - start), 1)), axis=1)
        gap = np.abs(dealt[:, :n].mean(axis=1) - dealt[:, n:].mean(axis=1))
        hits += int((gap >= observed - 1e-12).sum())
    return (hits + 1) / (draws + 1)

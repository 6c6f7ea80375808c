"""Is one mean different from another? The published procedure of EmotionBench (variance test, then Student or Welch),
Welch's test, the paired test, tests with the rater as the unit, differences adjusted for a measure taken before, and
whether a difference is small enough not to matter. Undefined is None, never 0."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import t_bounds
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

SD_GUARD = 1e-8
"""Added to both SDs by the published code, so that answers that never vary do not divide by zero."""


@dataclass(frozen=True, slots=True)
class Sample:
    n: int
    mean: float | None
    sd: float | None
    """With n − 1; undefined for a single value."""


@dataclass(frozen=True, slots=True)
class TwoSampleComparison:
    difference: float | None
    test: Literal["student", "welch", "paired", ""]
    """Empty where no test was possible."""
    t: float | None = None
    df: float | None = None
    p: float | None = None
    """Two-sided."""
    p_variances: float | None = None
    se: float | None = None


def describe(values: Floats) -> Sample:
    n = len(values)
    if n == 0:
        return Sample(0, None, None)
    mean = np.add.reduce(values) / n  # as `mean` and `std` do it, without what they do besides
    if n == 1:
        return Sample(1, float(mean), None)
    sd = math.sqrt(np.add.reduce((values - mean) ** 2) / (n - 1))
    return Sample(n, float(mean), sd if sd > 1e-12 * abs(mean) else 0.0)  # rounding is no spread


def published_comparison(sample: Sample, reference: Sample, alpha: float = 0.01) -> TwoSampleComparison:
    """The published procedure: two-sided F-test at α; Student's t if it does not reject, else Welch's."""
    if sample.mean is None or reference.mean is None:
        return TwoSampleComparison(None, "")
    difference = sample.mean - reference.mean
    if sample.sd is None or reference.sd is None:
        return TwoSampleComparison(difference, "")
    a, b = sample.sd + SD_GUARD, reference.sd + SD_GUARD
    p_variances = f_test(a, sample.n, b, reference.n)
    if p_variances > alpha:
        df: float = sample.n + reference.n - 2
        pooled = ((sample.n - 1) * a**2 + (reference.n - 1) * b**2) / df
        se = math.sqrt(pooled * (1 / sample.n + 1 / reference.n))
    else:
        se, df = welch(a, sample.n, b, reference.n)
    t = difference / se
    test: Literal["student", "welch"] = "student" if p_variances > alpha else "welch"
    return TwoSampleComparison(difference, test, t, df, two_sided(t, df), p_variances, se)


def f_test(sd: float, n: int, other_sd: float, other_n: int) -> float:
    """Two-sided test of equal variances: twice the upper tail of the larger over the smaller, at most 1."""
    from eqlab.analysis.special import fdtrc

    (large, n_large), (small, n_small) = sorted(((sd, n), (other_sd, other_n)), reverse=True)
    return min(1.0, 2 * float(fdtrc(n_large - 1, n_small - 1, (large / small) ** 2)))


def welch_comparison(sample: Sample, reference: Sample) -> TwoSampleComparison:
    """Welch's test without a test before it. Undefined where both samples do not vary at all."""
    if sample.mean is None or reference.mean is None:
        return TwoSampleComparison(None, "")
    difference = sample.mean - reference.mean
    if sample.sd is None or reference.sd is None or (sample.sd == 0 and reference.sd == 0):
        return TwoSampleComparison(difference, "")
    se, df = welch(sample.sd, sample.n, reference.sd, reference.n)
    return TwoSampleComparison(difference, "welch", difference / se, df, two_sided(difference / se, df), se=se)


def welch(sd: float, n: int, other_sd: float, other_n: int) -> tuple[float, float]:
    """Standard error of a difference of means and its degrees of freedom (Welch–Satterthwaite)."""
    one, other = sd**2 / n, other_sd**2 / other_n
    df = (one + other) ** 2 / (one**2 / (n - 1) + other**2 / (other_n - 1))
    return math.sqrt(one + other), df


def paired_comparison(changes: Floats) -> TwoSampleComparison:
    """Student's test of changes within the same people."""
    sample = describe(changes)
    if sample.mean is None or sample.sd is None or sample.sd == 0:
        return TwoSampleComparison(sample.mean, "")
    se = sample.sd / math.sqrt(sample.n)
    t = sample.mean / se
    return TwoSampleComparison(sample.mean, "paired", t, sample.n - 1, two_sided(t, sample.n - 1), se=se)


def two_sided(t: float, df: float) -> float:
    from eqlab.analysis.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def hedges_g(sample: Sample, reference: Sample) -> float | None:
    """Standardised difference with Hedges' correction for small samples (Hedges 1981); pooled SD."""
    if sample.mean is None or reference.mean is None or sample.sd is None or reference.sd is None:
        return None
    df = sample.n + reference.n - 2
    pooled = math.sqrt(((sample.n - 1) * sample.sd**2 + (reference.n - 1) * reference.sd**2) / df)
    return None if pooled == 0 else (sample.mean - reference.mean) / pooled * (1 - 3 / (4 * df - 1))


@dataclass(frozen=True, slots=True)
class Equivalence:
    difference: float
    p_above_low: float
    """Against "not above the lower margin"."""
    p_below_high: float
    p: float
    """The larger of the two."""
    equivalent: bool
    low: float
    high: float
    """The (1 − 2α) interval; equivalence is the same as its lying between the margins."""
    margin: tuple[float, float]


def tost(
    difference: float, se: float, margin: tuple[float, float], *, df: float | None = None, alpha: float = 0.05
) -> Equivalence:
    """Two one-sided tests (Schuirmann 1987), normal, or Student's t with `df`. "Not significant" never shows that two
    arms are alike; this can."""
    from eqlab.analysis.special import ndtr, ndtri, stdtr, stdtrit

    if se <= 0 or margin[0] >= margin[1]:
        raise UsageError("An equivalence test needs a standard error above 0 and a margin (low, high) with low < high.")
    above, below = (difference - margin[0]) / se, (difference - margin[1]) / se
    p_low = float(ndtr(-above)) if df is None else float(stdtr(df, -above))
    p_high = float(ndtr(below)) if df is None else float(stdtr(df, below))
    reach = se * float(ndtri(1 - alpha) if df is None else stdtrit(df, 1 - alpha))
    p = max(p_low, p_high)
    return Equivalence(difference, p_low, p_high, p, p < alpha, difference - reach, difference + reach, margin)


# errors that need no equal variances (HC3; MacKinnon & White 1985; Long & Ervin 2000).
@dataclass(frozen=True, slots=True)
class Adjusted:
    """One group against the reference."""

    group: str
    value: float
    se: float
    df: float
    p: float

    def bounds(self, alpha: float = 0.05) -> tuple[float, float]:
        return t_bounds(self.value, self.se, self.df, 1 - alpha)


def adjusted_differences(
    values: Sequence[float], groups: Sequence[str], before: Sequence[float], reference: str
) -> list[Adjusted]:
    """Analysis of covariance by least squares: value = mean of the group + slope · (before − its mean), every group
    against the reference, in the order of their names, with errors that need no equal variances (HC3; MacKinnon & White
    1985; Long & Ervin 2000), as statsmodels' `OLS(…).fit(cov_type="HC3")`. The degrees of freedom are those of the
    error itself (Satterthwaite's, as Bell & McCaffrey 2002 have them for HC2): two people among many have hardly one.
    Empty where a group has fewer than two values, or where nothing is left to tell the error by; without a group that,
    like the reference, does not vary."""
    if not len(values) == len(groups) == len(before):
        raise UsageError("Values, groups and measures before differ in number.", "Give one of each for everybody.")
    names = sorted(set(groups) - {reference})
    counts = {name: sum(group == name for group in groups) for name in (reference, *names)}
    if not names or min(counts.values()) < 2:
        return []
    y, x = np.asarray(values, dtype=float), np.asarray(before, dtype=float)
    columns = [np.ones(len(y)), *(np.array([group == name for group in groups], dtype=float) for name in names)]
    if np.ptp(x) > 0:  # a measure that does not vary explains nothing
        columns.append(x - x.mean())
    design = np.column_stack(columns)
    if len(y) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return []
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    if leverage.max() > 1 - 1e-9:  # somebody alone decides a coefficient: no error can be told
        return []
    left = (y - design @ beta) / (1 - leverage)
    squares = (np.eye(len(y)) - design @ inverse @ design.T) ** 2
    rounding = 1e-9 * max(1.0, float(np.abs(y).max()))
    found = []
    for place, name in enumerate(names, start=1):
        weights = inverse[place] @ design.T
        se = float(np.linalg.norm(weights * left))
        if se > rounding:  # else all is explained, and no error can be told
            value, shares = float(beta[place]), (weights / (1 - leverage)) ** 2
            df = float((shares @ (1 - leverage)) ** 2 / (shares @ squares @ shares))
            found.append(Adjusted(name, value, se, df, two_sided(value / se, df)))
    return found


@dataclass(frozen=True, slots=True)
class RaterComparison:
    """One arm's rater means against another's. Each rater's mean is one value, so answers need not be independent."""

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

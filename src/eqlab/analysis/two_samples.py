"""Is one mean different from another? The published procedure of EmotionBench (variance test, then Student or Welch),
Welch's test with its interval, and the paired test. Undefined is None, never 0."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eqlab.analysis.arrays import Floats

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
    return Sample(n, float(mean), math.sqrt(np.add.reduce((values - mean) ** 2) / (n - 1)))


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
    from scipy.special import fdtrc

    (large, n_large), (small, n_small) = sorted(((sd, n), (other_sd, other_n)), reverse=True)
    return min(1.0, 2 * float(fdtrc(n_large - 1, n_small - 1, (large / small) ** 2)))


def welch(sd: float, n: int, other_sd: float, other_n: int) -> tuple[float, float]:
    """Standard error of a difference of means and its degrees of freedom (Welch–Satterthwaite)."""
    one, other = sd**2 / n, other_sd**2 / other_n
    df = (one + other) ** 2 / (one**2 / (n - 1) + other**2 / (other_n - 1))
    return math.sqrt(one + other), df


def welch_comparison(sample: Sample, reference: Sample) -> TwoSampleComparison:
    """Welch's test without a test before it. Undefined where both samples do not vary at all."""
    if sample.mean is None or reference.mean is None:
        return TwoSampleComparison(None, "")
    difference = sample.mean - reference.mean
    if sample.sd is None or reference.sd is None or (sample.sd == 0 and reference.sd == 0):
        return TwoSampleComparison(difference, "")
    se, df = welch(sample.sd, sample.n, reference.sd, reference.n)
    return TwoSampleComparison(difference, "welch", difference / se, df, two_sided(difference / se, df), se=se)


def paired_comparison(changes: Floats) -> TwoSampleComparison:
    """Student's test of changes within the same people."""
    sample = describe(changes)
    if sample.mean is None or sample.sd is None or sample.sd == 0:
        return TwoSampleComparison(sample.mean, "")
    se = sample.sd / math.sqrt(sample.n)
    t = sample.mean / se
    return TwoSampleComparison(sample.mean, "paired", t, sample.n - 1, two_sided(t, sample.n - 1), se=se)


def two_sided(t: float, df: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def hedges_g(sample: Sample, reference: Sample) -> float | None:
    """Standardised difference with Hedges' correction for small samples (Hedges 1981); pooled SD."""
    if sample.mean is None or reference.mean is None or sample.sd is None or reference.sd is None:
        return None
    df = sample.n + reference.n - 2
    pooled = math.sqrt(((sample.n - 1) * sample.sd**2 + (reference.n - 1) * reference.sd**2) / df)
    return None if pooled == 0 else (sample.mean - reference.mean) / pooled * (1 - 3 / (4 * df - 1))

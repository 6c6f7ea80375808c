"""Tables of counts as the empathy study analysed them: shares of Bad, Okay, Good, chi-squares, gain in Good.
They take answers for independent; `rao_scott` says what is left when they are not."""

import math
from collections.abc import Sequence

import numpy as np

from eqlab.analysis.special import chdtrc, ndtri
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """Ratings 1 bad, 2 okay, 3 good."""

    bad: int
    okay: int
    good: int

    @property
    def n(self) -> int:
        return self.bad + self.okay + self.good

    @property
    def row(self) -> tuple[int, int, int]:
        return self.bad, self.okay, self.good

    @property
    def mean(self) -> float | None:
        return (self.bad + 2 * self.okay + 3 * self.good) / self.n if self.n else None

    @property
    def sd(self) -> float | None:
        """With n − 1."""
        if self.n < 2 or self.mean is None:
            return None
        squares = sum(count * (value - self.mean) ** 2 for value, count in enumerate(self.row, start=1))
        return math.sqrt(squares / (self.n - 1))

    def percent(self, count: int) -> float | None:
        return 100 * count / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class ChiSquare:
    chi2: float
    df: int
    p: float
    n: int
    cramers_v: float
    """√(χ²/(n·(min(rows, columns) − 1))) (Cramér 1946)."""
    cohen_w: float
    """√(χ²/n) (Cohen 1988)."""
    min_expected: float


@dataclass(frozen=True, slots=True)
class GoodGain:
    """Good against the rest, one arm against a reference."""

    good_ref: int
    good_cmp: int
    n_ref: int
    n_cmp: int
    increase_pct: float | None
    yates: ChiSquare | None
    pearson: ChiSquare | None
    odds_ratio: float | None
    or_low: float | None
    or_high: float | None
    risk_difference: float
    cohen_h: float


def count_ratings(values: Sequence[int]) -> Counts:
    found = np.bincount(np.asarray(values, dtype=int), minlength=4)
    return Counts(int(found[1]), int(found[2]), int(found[3]))


def chi_square(table: Sequence[Sequence[int]], *, yates: bool = False) -> ChiSquare | None:
    """Pearson's test of independence, Σ(O − E)²/E with (r − 1)(c − 1) degrees of freedom; with Yates' continuity
    correction (1934) for a 2 × 2 table. None where a row or a column is empty: there is nothing to test."""
    observed = np.asarray(table, dtype=float)
    n = float(observed.sum())
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / n if n else observed
    if n == 0 or not np.all(expected > 0):
        return None
    distance = np.abs(observed - expected)
    if yates and observed.shape == (2, 2):
        distance = distance - np.minimum(0.5, distance)
    chi2 = float((distance**2 / expected).sum())
    rows, columns = observed.shape
    df = (rows - 1) * (columns - 1)
    v = math.sqrt(chi2 / (n * (min(rows, columns) - 1)))
    return ChiSquare(chi2, df, float(chdtrc(df, chi2)), int(n), v, math.sqrt(chi2 / n), float(expected.min()))


def good_gain(good_ref: int, n_ref: int, good_cmp: int, n_cmp: int) -> GoodGain:
    """The study's measure: percent increase in Good, with Yates' chi-square; and the usual effect sizes."""
    rest_ref, rest_cmp = n_ref - good_ref, n_cmp - good_cmp
    table = ((good_ref, rest_ref), (good_cmp, rest_cmp))
    odds = low = high = None
    if min(good_ref, rest_ref, good_cmp, rest_cmp) > 0:
        odds = good_cmp * rest_ref / (rest_cmp * good_ref)
        reach = float(ndtri(0.975)) * math.sqrt(1 / good_ref + 1 / rest_ref + 1 / good_cmp + 1 / rest_cmp)
        low, high = odds * math.exp(-reach), odds * math.exp(reach)
    p_ref, p_cmp = good_ref / n_ref, good_cmp / n_cmp
    return GoodGain(
        good_ref,
        good_cmp,
        n_ref,
        n_cmp,
        100 * (p_cmp / p_ref - 1) if good_ref else None,
        chi_square(table, yates=True),
        chi_square(table),
        odds,
        low,
        high,
        p_cmp - p_ref,
        2 * math.asin(math.sqrt(p_cmp)) - 2 * math.asin(math.sqrt(p_ref)),
    )


def rao_scott(test: ChiSquare, design_effects: Sequence[float]) -> tuple[float, float, float]:
    """(mean design effect, χ² divided by it, p): the first-order correction for clusters (Rao & Scott 1984)."""
    mean = sum(design_effects) / len(design_effects)
    adjusted = test.chi2 / mean
    return mean, adjusted, float(chdtrc(test.df, adjusted))


def implied_good(chi2: float, good_ref: int, n: int, *, digits: int = 2, more: bool = True) -> list[int]:
    """The numbers of Good in n that give a printed Yates chi-square against `good_ref` of n; `more` than it, or
    fewer. How counts are recovered where only tests were published."""
    candidates = range(good_ref + 1, n + 1) if more else range(good_ref)
    found = []
    for good in candidates:
        test = chi_square(((good_ref, n - good_ref), (good, n - good)), yates=True)
        if test is not None and abs(test.chi2 - chi2) <= 0.5 * 10**-digits + 1e-9:
            found.append(good)
    return found

"""How many raters? The study's own calculation, and the one its data call for: with the design effect of raters who
give several ratings each, by formula and by simulation from a mixed model's variance components."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, chndtr, expit, fdtri, ncfdtr, ndtr, ndtri

from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class ChiSquarePower:
    """Sample size for a chi-square test of independence, as G*Power computes it."""

    w: float
    alpha: float
    power: float
    df: int
    noncentrality: float
    n_exact: float
    n: int

    def per_group(self, groups: int, times: int = 1) -> int:
        """Raters in each group; `times` 2 when each of two halves must have the power."""
        return math.ceil(times * self.n / groups)


def chi_square_power(w: float, n: float, df: int, alpha: float = 0.05) -> float:
    """P(reject) with effect size w and n independent answers (Cohen 1988, ch. 7)."""
    return 1.0 - float(chndtr(chdtri(df, alpha), df, n * w * w))


def chi_square_n(w: float, df: int, alpha: float = 0.05, power: float = 0.95) -> ChiSquarePower:
    critical = chdtri(df, alpha)
    noncentrality = float(brentq(lambda x: 1.0 - float(chndtr(critical, df, x)) - power, 1e-6, 1e4))
    exact = noncentrality / w**2
    return ChiSquarePower(w, alpha, power, df, noncentrality, exact, math.ceil(exact - 1e-9))


def smallest_w(n: float, df: int, alpha: float = 0.05, power: float = 0.95) -> float:
    """The effect size that n independent answers can find."""
    return math.sqrt(chi_square_n(1.0, df, alpha, power).noncentrality / n)


def anova_n(f: float, groups: int, alpha: float = 0.05, power: float = 0.95) -> int:
    """Total sample size of a one-way analysis of variance with effect size f (Cohen 1988, ch. 8)."""

    def reached(n: int) -> bool:
        critical = fdtri(groups - 1, n - groups, 1 - alpha)
        return 1.0 - float(ncfdtr(groups - 1, n - groups, f * f * n, critical)) >= power

    n = groups + 2
    while not reached(n):
        n += 1
    return n


def raters_per_arm(
    p_reference: float,
    p_other: float,
    *,
    design_effect: float,
    ratings_per_rater: int,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Raters in each of two arms to find a gap in P(Good): (z_α/2 + z_β)²·(p₁q₁ + p₂q₂)/gap² independent ratings
    (Fleiss 1981), times the design effect, over the ratings each gives."""
    if not (0 < p_reference < 1 and 0 < p_other < 1) or p_reference == p_other:
        raise UsageError("A gap needs two different shares between 0 and 1.")
    z = _z(alpha, power)
    ratings = z * z * _variances(p_reference, p_other) / (p_other - p_reference) ** 2
    return math.ceil(ratings * design_effect / ratings_per_rater - 1e-9)


def gap_power(
    p_reference: float,
    p_other: float,
    raters: int,
    *,
    design_effect: float,
    ratings_per_rater: int,
    alpha: float = 0.05,
) -> float:
    """The power that so many raters per group have (the larger tail)."""
    effective = raters * ratings_per_rater / design_effect
    z = abs(p_other - p_reference) / math.sqrt(_variances(p_reference, p_other) / effective)
    return float(ndtr(z - ndtri(1 - alpha / 2)))


def minimum_gap(
    p_reference: float,
    raters: int,
    *,
    design_effect: float,
    ratings_per_rater: int,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """The smallest gap that so many raters per group can find: (z_α/2 + z_β)·√(2pq·deff/ratings), with the reference's
    variance in both arms, so the answer holds for a gap up or down."""
    variance = _variances(p_reference, p_reference) * design_effect / (raters * ratings_per_rater)
    return _z(alpha, power) * math.sqrt(variance)


def _z(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))


def _variances(p: float, q: float) -> float:
    return p * (1 - p) + q * (1 - q)


@dataclass(frozen=True, slots=True)
class PowerComponents:
    """A mixed model's view of a study: thresholds of the reference arm and spreads on the log-odds scale."""

    thresholds: tuple[float, ...]
    sd_rater: float
    sd_prompt: float


@dataclass(frozen=True, slots=True)
class SimulatedPower:
    power: float
    low: float
    high: float
    """95 % Wilson bounds: the error of the simulation itself."""
    studies: int
    raters: int
    p_reference: float
    p_other: float
    """Shares of the highest category that the log-odds difference stands for, averaged over raters and prompts."""


def simulate_power(
    components: PowerComponents,
    log_odds: float,
    *,
    raters: int,
    ratings_per_rater: int = 10,
    studies: int = 1000,
    alpha: float = 0.05,
    seed: int = 20240607,
) -> SimulatedPower:
    """Two arms of raters who rate the same batches, drawn again and again from the model; each study is judged by
    Welch's test on the raters' shares of the highest category. The prompts that the arms share are not used by the
    test, so a mixed model has slightly more power than this."""
    from scipy.stats import ttest_ind

    random = np.random.default_rng(seed)
    top = components.thresholds[-1]
    significant = 0
    for start in range(0, studies, _STUDIES_AT_ONCE):
        count = min(_STUDIES_AT_ONCE, studies - start)
        prompts = random.normal(0.0, components.sd_prompt, (count, raters, ratings_per_rater))
        shares = []
        for shift in (0.0, log_odds):
            own = random.normal(0.0, components.sd_rater, (count, raters, 1))
            noise = random.logistic(size=prompts.shape)
            shares.append((shift + own + prompts + noise > top).mean(axis=2))
        p_values = ttest_ind(shares[1], shares[0], axis=1, equal_var=False).pvalue
        significant += int((p_values < alpha).sum())
    share = significant / studies
    low, high = _wilson(share, studies)
    spread = math.hypot(components.sd_rater, components.sd_prompt)
    return SimulatedPower(
        share, low, high, studies, raters, marginal_top(top, spread), marginal_top(top - log_odds, spread)
    )


def log_odds_for_gap(components: PowerComponents, p_other: float) -> float:
    """The log-odds difference that brings the highest category to the share `p_other`."""
    spread = math.hypot(components.sd_rater, components.sd_prompt)
    top = components.thresholds[-1]
    return float(brentq(lambda shift: marginal_top(top - shift, spread) - p_other, -15.0, 15.0))


def marginal_top(threshold: float, spread: float) -> float:
    """P(highest category) averaged over normal effects of this spread (Gauss–Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float((weights * expit(spread * nodes - threshold)).sum() / weights.sum())


_STUDIES_AT_ONCE = 100


def _wilson(p: float, n: int) -> tuple[float, float]:
    z = 1.959963984540054
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return centre - reach, centre + reach

"""Cumulative-logit models for ordinal answers, plain or with crossed random effects (CLM, CLMM); shares of the
categories, the check of proportional odds, and effects per level that borrow strength from each other.

P(y ≤ k) = F(θ_k − xβ − zb), b ~ N(0, σ²) independent per term (McCullagh 1980; Christensen, R package ordinal).
Random effects are integrated out by the Laplace approximation. R's `clm` and `clmm` must agree:

    clmm(rating ~ arm + (1 | rater) + (1 | prompt))
    fit_ordinal(rating, {"arm": arm}, [RandomEffect("rater", rater), RandomEffect("prompt", prompt)])
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats, codes, count_levels
from eqlab.analysis.crossed import Layout, Term
from eqlab.analysis.ordinal_likelihood import FitError, LikelihoodProblem, across, find_mode, maximise
from eqlab.analysis.special import chdtrc, expit, logit, ndtr, ndtri
from eqlab.core.plural import many
from eqlab.core.values import dataclass

_LARGEST = 15.0
"""A log-odds beyond which an effect is taken to have no finite estimate."""
# per level that borrow strength from each other (partial pooling).
_Z = float(ndtri(0.975))


@dataclass(frozen=True, slots=True)
class RandomEffect:
    """A random intercept, or with `values` a random slope, per level."""

    name: str
    levels: Sequence[Hashable]
    """The level of each answer."""
    values: Sequence[float] | Floats | None = None


@dataclass(frozen=True, slots=True)
class Coefficient:
    est: float
    se: float
    z: float
    p: float
    """Two-sided Wald test."""
    low: float
    high: float
    """95 % Wald interval."""


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """The most likely effect of one level, given the estimates (an empirical Bayes mode)."""

    level: Hashable
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class OrdinalFit:
    n: int
    categories: tuple[Any, ...]
    names: tuple[str, ...]
    """Of all parameters: thresholds ("1|2"), fixed effects, then "sd:" and the random terms' names."""
    parameters: Floats
    covariance: Floats
    """Inverse of the observed information of all parameters."""
    loglik: float
    effects: Mapping[str, tuple[LevelEffect, ...]]
    modes: Floats
    problem: LikelihoodProblem

    @property
    def df(self) -> int:
        return len(self.parameters)

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviations of the random effects; 0 on the edge of what is possible."""
        count = len(self.problem.layout.terms)
        start = len(self.names) - count
        return {self.names[start + i].removeprefix("sd:"): float(self.parameters[start + i]) for i in range(count)}

    @property
    def coefficients(self) -> dict[str, Coefficient]:
        """Thresholds and fixed effects."""
        return {name: self.contrast({name: 1.0}) for name in self.names if not name.startswith("sd:")}

    def contrast(self, weights: Mapping[str, float]) -> Coefficient:
        """A weighted sum of parameters, such as {"gpt": 1, "llama": -1}."""
        along = np.zeros(len(self.names))
        for name, weight in weights.items():
            if name not in self.names:
                raise FitError(f"The model has no coefficient '{name}'.", f"It has: {', '.join(self.names)}.")
            along[self.names.index(name)] = weight
        est = float(along @ self.parameters)
        return wald(est, math.sqrt(max(0.0, float(along @ self.covariance @ along))))


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    chi2: float
    df: int
    p: float


def wald(est: float, se: float) -> Coefficient:
    z = est / se if se > 0 else math.copysign(math.inf, est) if est else 0.0
    reach = float(ndtri(0.975)) * se
    return Coefficient(est, se, z, 2.0 * float(ndtr(-abs(z))), est - reach, est + reach)


def fit_ordinal(
    y: Sequence[Any],
    fixed: Mapping[str, Sequence[float] | Floats],
    random: Sequence[RandomEffect] = (),
    nominal: Mapping[str, Sequence[float] | Floats] | None = None,
) -> OrdinalFit:
    """The maximum-likelihood fit. `fixed` are columns with one effect each; `nominal` are columns with an effect of
    their own on each threshold (no proportional odds). Raises FitError on a model that the data cannot identify or
    a search that does not converge."""
    categories, category = np.unique(np.asarray(y), return_inverse=True)
    n = len(category)
    if len(categories) < 2:
        raise FitError(
            f"An ordinal model needs two categories; the {many(n, 'answer has', 'answers have')} {len(categories)}."
        )
    nominal = nominal or {}
    columns = _columns(fixed, n)
    design = np.column_stack([np.ones(n), _columns(nominal, n)])
    _check_rank(np.column_stack([design, columns]), ("the thresholds", *nominal, *fixed))
    terms, labels = _terms(random, n)
    problem = LikelihoodProblem(category.astype(np.intp), len(categories) - 1, design, columns, Layout(terms))
    names = (*_threshold_names(categories, tuple(nominal)), *fixed, *(f"sd:{term.name}" for term in terms))
    maximum = maximise(problem)
    _check_finite(maximum.parameters[: len(names) - len(terms)], names)
    sds = maximum.parameters[len(names) - len(terms) :]
    effects = {
        term.name: tuple(
            LevelEffect(level, float(value)) for level, value in zip(levels, sd * maximum.modes[part], strict=True)
        )
        for term, levels, part, sd in zip(terms, labels, problem.layout.slices, sds, strict=True)
    }
    return OrdinalFit(
        n,
        tuple(categories.tolist()),
        names,
        maximum.parameters,
        maximum.covariance,
        maximum.loglik,
        effects,
        maximum.modes,
        problem,
    )


def likelihood_ratio(smaller: OrdinalFit, larger: OrdinalFit) -> LikelihoodRatio:
    """2·(log L₁ − log L₀) against χ² with as many degrees of freedom as there are more parameters (Wilks 1938).
    Conservative when the extra parameter is a standard deviation, whose null value 0 lies on the edge."""
    df = larger.df - smaller.df
    if df <= 0 or larger.n != smaller.n:
        raise FitError("A likelihood-ratio test needs two nested models of the same answers, the smaller one first.")
    chi2 = max(0.0, 2.0 * (larger.loglik - smaller.loglik))
    return LikelihoodRatio(chi2, df, float(chdtrc(df, chi2)))


def _columns(given: Mapping[str, Sequence[float] | Floats], n: int) -> Floats:
    for name, column in given.items():
        if len(column) != n:
            raise FitError(f"Column '{name}' has {len(column)} values for {many(n, 'answer')}.")
    made = np.empty((n, len(given)))
    for index, column in enumerate(given.values()):
        made[:, index] = np.asarray(column, dtype=float)
    if not np.all(np.isfinite(made)):
        raise FitError("A column of the model has a missing or infinite value.", "Leave such answers out first.")
    return made


def _check_rank(design: Floats, names: Sequence[str]) -> None:
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise FitError(
            f"The effects of {', '.join(names)} cannot be told apart: one column is a mixture of the others.",
            "Leave one out (one arm is the reference and has no column).",
        )


def _terms(random: Sequence[RandomEffect], n: int) -> tuple[list[Term], list[list[Hashable]]]:
    terms, labels = [], []
    for effect in random:
        if len(effect.levels) != n:
            raise FitError(f"Random term '{effect.name}' has {len(effect.levels)} levels for {many(n, 'answer')}.")
        level = codes(effect.levels)
        count = count_levels(level)
        if not 2 <= count < n:
            raise FitError(
                f"The spread of '{effect.name}' cannot be estimated: {count} levels for {many(n, 'answer')}.",
                "A random term needs at least two levels and more answers than levels.",
            )
        values = None if effect.values is None else np.asarray(effect.values, dtype=float)
        terms.append(Term(effect.name, level, count, values))
        labels.append(list(dict.fromkeys(effect.levels)))
    return terms, labels


def _threshold_names(categories: Any, nominal: tuple[str, ...]) -> list[str]:
    cuts = [f"{low}|{high}" for low, high in zip(categories[:-1].tolist(), categories[1:].tolist(), strict=True)]
    return [cut if column is None else f"{cut}.{column}" for cut in cuts for column in (None, *nominal)]


def _check_finite(parameters: Floats, names: Sequence[str]) -> None:
    for name, value in zip(names, parameters.tolist(), strict=False):
        if abs(value) > _LARGEST:
            raise FitError(
                f"'{name}' has no finite estimate (log-odds {value:.0f} and growing).",
                "Some group gave all its answers in one category; merge groups or leave the effect out.",
            )


@dataclass(frozen=True, slots=True)
class CategoryShare:
    """A probability with its 95 % interval."""

    value: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    level: Hashable
    est: float
    se: float
    low: float
    high: float


def category_share(fit: OrdinalFit, at: Mapping[str, float], category: Any) -> CategoryShare:
    """P(y = category) for the fixed effects `at` (those not named are 0), averaged over the random intercepts by
    Gauss–Hermite quadrature: the share in the population, not that of a middling rater and prompt. Standard error by
    the delta method, interval symmetric on the logit scale."""
    if category not in fit.categories:
        raise FitError(f"There is no category {category!r}.", f"There are: {fit.categories}.")
    index = fit.categories.index(category)
    fixed_names = fit.names[fit.problem.n_thresholds : len(fit.names) - len(fit.problem.layout.terms)]
    unknown = [name for name in at if name not in fixed_names]
    if unknown or fit.problem.design.shape[1] > 1:
        raise FitError(f"The model has no fixed effect {', '.join(unknown) or 'common to all thresholds'}.")
    where = np.array([at.get(name, 0.0) for name in fixed_names])
    intercepts = np.array([term.values is None for term in fit.problem.layout.terms], dtype=float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()

    def probability(parameters: Floats) -> Floats:
        thresholds, beta, sds = fit.problem.split(parameters)
        eta = float(where @ beta) + np.sqrt(float(np.square(sds * intercepts).sum())) * nodes
        cuts = np.concatenate([[-np.inf], thresholds[:, 0], [np.inf]])
        return np.array([float(weights @ (expit(cuts[index + 1] - eta) - expit(cuts[index] - eta)))])

    value = float(probability(fit.parameters)[0])
    slope = _jacobian(probability, fit.parameters, fit.covariance)[0]
    se = float(np.sqrt(slope @ fit.covariance @ slope))
    reach = _Z * se / (value * (1 - value))
    return CategoryShare(value, se, float(expit(logit(value) - reach)), float(expit(logit(value) + reach)))


def pooled_effects(fit: OrdinalFit, coefficient: str, term: str) -> list[LevelEstimate]:
    """The effect `coefficient` in each level of the random slope `term`: fixed part plus the level's own deviation.

    Approximation: the deviation is its conditional mode; its variance is the inverse curvature there plus what the
    uncertainty of all estimated parameters, spreads included, adds to first order (Kass & Steffey 1989). Like every
    empirical Bayes interval it is symmetric and a little short when the spread itself is poorly known."""
    terms = fit.problem.layout.terms
    place = next((i for i, candidate in enumerate(terms) if candidate.name == term), None)
    if place is None or coefficient not in fit.names:
        raise FitError(f"The model has no effect '{coefficient}' with a random slope '{term}'.")
    part = fit.problem.layout.slices[place]
    fixed_at = fit.names.index(coefficient)

    def effects(parameters: Floats) -> Floats:
        sds = parameters[len(parameters) - len(terms) :]
        return np.asarray(parameters[fixed_at] + sds[place] * _mode(fit, parameters)[0][part])

    values = effects(fit.parameters)
    slopes = _jacobian(effects, fit.parameters, fit.covariance)
    sds = fit.parameters[len(fit.parameters) - len(terms) :]
    columns = np.zeros((fit.problem.layout.size, part.stop - part.start))
    columns[np.arange(part.start, part.stop), np.arange(part.stop - part.start)] = 1.0
    curvature = _mode(fit, fit.parameters)[1].solve(columns)[part]
    variance = np.diag(curvature) * sds[place] ** 2 + np.einsum("ij,jk,ik->i", slopes, fit.covariance, slopes)
    errors = np.sqrt(variance)
    return [
        LevelEstimate(effect.level, float(value), float(se), float(value - _Z * se), float(value + _Z * se))
        for effect, value, se in zip(fit.effects[term], values, errors, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ProportionalOdds:
    """Whether one effect serves for all thresholds."""

    test: LikelihoodRatio
    proportional: OrdinalFit
    free: OrdinalFit
    """With an effect of each column on each threshold. Its signs are those of the thresholds: −β."""


def proportional_odds(
    y: Sequence[Any],
    fixed: Mapping[str, Sequence[float] | Floats],
    random: Sequence[RandomEffect],
    columns: Sequence[str],
    *,
    proportional: OrdinalFit | None = None,
) -> ProportionalOdds:
    """Likelihood-ratio test of the model in which the named columns move each threshold on its own. `proportional`
    is the model without that freedom, if it is fitted already."""
    proportional = proportional or fit_ordinal(y, fixed, random)
    rest = {name: column for name, column in fixed.items() if name not in columns}
    free = fit_ordinal(y, rest, random, nominal={name: fixed[name] for name in columns})
    return ProportionalOdds(likelihood_ratio(proportional, free), proportional, free)


def _mode(fit: OrdinalFit, parameters: Floats) -> Any:
    thresholds, beta, sds = fit.problem.split(parameters)
    found = find_mode(fit.problem, thresholds, across(fit.problem.fixed, beta), sds, fit.modes)
    if found is None:
        raise FitError("The random effects have no mode near the estimates.")
    modes, _, factor = found
    return modes, factor


def _jacobian(function: Callable[[Floats], Floats], at: Floats, covariance: Floats) -> Floats:
    """Central differences, a hundredth of a standard error wide."""
    widths = 1e-2 * np.sqrt(np.clip(np.diag(covariance), 1e-8, 1.0))
    columns = []
    for index, width in enumerate(widths.tolist()):
        move = np.zeros(len(at))
        move[index] = width
        columns.append((function(at + move) - function(at - move)) / (2 * width))
    return np.column_stack(columns)

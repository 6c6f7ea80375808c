"""What follows from a fitted ordinal model: shares of the categories, the check of proportional odds, and effects
per level that borrow strength from each other (partial pooling)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

from eqlab.analysis.arrays import Floats
from eqlab.analysis.cumulative import across
from eqlab.analysis.laplace import find_mode
from eqlab.analysis.maximise import FitError
from eqlab.analysis.ordinal import LikelihoodRatio, OrdinalFit, RandomEffect, fit_ordinal, likelihood_ratio

_Z = float(ndtri(0.975))


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
        LevelEstimate(one.level, float(value), float(se), float(value - _Z * se), float(value + _Z * se))
        for one, value, se in zip(fit.effects[term], values, errors, strict=True)
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

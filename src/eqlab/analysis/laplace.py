"""The Laplace approximation to the likelihood of a cumulative-logit mixed model, and its exact gradient.

log L ≈ Σ log p(û) − ½û′û − ½ log|H(û)|, with û the mode of the joint density over spherical effects u (b = Λu) and
H = I + Λ′Z′WZΛ its negative Hessian (Pinheiro & Chao 2006; the approximation of R's `ordinal::clmm`). The gradient
follows û by the implicit function theorem; one extra solve gives all its parameters at once."""

from dataclasses import dataclass

import numpy as np

from eqlab.analysis.arrays import Floats, Ints
from eqlab.analysis.crossed import Factor, Layout
from eqlab.analysis.cumulative import Terms, across, cut_points, down, terms, threshold_gradient

_INNER_STEPS = 100
_INNER_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class LikelihoodProblem:
    """Data of a model; its parameters are one vector: thresholds, fixed effects, standard deviations."""

    y: Ints
    n_cuts: int
    design: Floats
    """Columns on which the thresholds depend; the first is all ones."""
    fixed: Floats
    layout: Layout

    @property
    def n_thresholds(self) -> int:
        return self.n_cuts * int(self.design.shape[1])

    @property
    def size(self) -> int:
        return self.n_thresholds + int(self.fixed.shape[1]) + len(self.layout.terms)

    def split(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """(thresholds as cut × column, fixed effects, standard deviations)."""
        cut = self.n_thresholds
        end = cut + self.fixed.shape[1]
        return parameters[:cut].reshape(self.n_cuts, -1), parameters[cut:end], parameters[end:]


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """The approximation at one value of the parameters."""

    loglik: float
    gradient: Floats
    modes: Floats
    """û; the random effects themselves are sd · û."""


def evaluate(problem: LikelihoodProblem, parameters: Floats, start: Floats) -> SearchPoint | None:
    """The approximation, its gradient and û, searched from `start`; None where the model has no density."""
    thresholds, beta, sds = problem.split(parameters)
    offset = across(problem.fixed, beta)
    if not problem.layout.terms:
        here = terms(*cut_points(problem.y, problem.design, thresholds, offset))
        return None if here is None else SearchPoint(float(here.log_p.sum()), _plain_gradient(problem, here), start)
    found = find_mode(problem, thresholds, offset, sds, start)
    if found is None:
        return None
    modes, here, factor = found
    loglik = float(here.log_p.sum()) - 0.5 * float(modes @ modes) - 0.5 * factor.log_det
    return SearchPoint(loglik, _gradient(problem, here, factor, modes), modes)


def find_mode(
    problem: LikelihoodProblem, thresholds: Floats, offset: Floats, sds: Floats, start: Floats
) -> tuple[Floats, Terms, Factor] | None:
    """û by Newton's method with step halving; the joint density is log-concave, so it cannot be missed."""
    layout, n = problem.layout, len(problem.y)

    def at(modes: Floats) -> tuple[float, Terms] | None:
        eta = offset + layout.spread(modes, sds, n)
        here = terms(*cut_points(problem.y, problem.design, thresholds, eta))
        return None if here is None else (float(here.log_p.sum()) - 0.5 * float(modes @ modes), here)

    modes = start
    value = at(modes)
    if value is None:
        return None
    for _ in range(_INNER_STEPS):
        height, here = value
        factor = Factor(layout, here.weight, sds)
        rise = layout.gather(here.slope, sds) - modes
        step = factor.solve(rise)
        if float(rise @ step) < _INNER_TOLERANCE * _INNER_TOLERANCE * (1.0 + abs(height)):
            return modes, here, factor
        scale = 1.0
        while True:
            ahead = at(modes + scale * step)
            if ahead is not None and ahead[0] >= height - 1e-12 * abs(height):
                break
            scale /= 2.0
            if scale < 1e-10:
                return modes, here, factor
        modes, value = modes + scale * step, ahead
    return None


def _plain_gradient(problem: LikelihoodProblem, here: Terms) -> Floats:
    by_cuts = threshold_gradient(problem.y, problem.design, problem.n_cuts, here.d_upper, here.d_lower)
    return np.concatenate([by_cuts.ravel(), down(problem.fixed, here.slope)])


def _gradient(problem: LikelihoodProblem, here: Terms, factor: Factor, modes: Floats) -> Floats:
    layout, sds, n = problem.layout, factor.sds, len(problem.y)
    parts = factor.sensitivities()
    variance = across(parts, sds)  # of each answer's predictor, given the data
    by_eta = 0.5 * variance * (here.df_upper + here.df_lower)  # −½ log|H| by the predictor, through the weights
    adjoint = factor.solve(layout.gather(by_eta, sds))
    carried = layout.spread(adjoint, sds, n)  # what a change of the slopes g does to −½ log|H| through û
    by_cuts = threshold_gradient(
        problem.y,
        problem.design,
        problem.n_cuts,
        here.d_upper - 0.5 * variance * here.df_upper + carried * here.f_upper,
        here.d_lower - 0.5 * variance * here.df_lower + carried * here.f_lower,
    )
    along = here.slope + by_eta - carried * here.weight
    by_sds = [
        float(term.spread(modes[part]) @ along + adjoint[part] @ term.gather(here.slope))
        - float(here.weight @ parts[:, index])
        for index, (term, part) in enumerate(zip(layout.terms, layout.slices, strict=True))
    ]
    return np.concatenate([by_cuts.ravel(), down(problem.fixed, along), by_sds])

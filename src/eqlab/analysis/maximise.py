"""The search for the best parameters: quasi-Newton steps on the exact gradient, then Newton's, then the proof that
it is a maximum. A search that does not end in one raises; it never returns numbers."""

from dataclasses import dataclass

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.laplace import LikelihoodProblem, SearchPoint, evaluate
from eqlab.core.errors import EqlabError

_STEPS = 200
_NEAR = 1e-9
"""Newton decrement (about the distance from the maximum in log-likelihood) at which quasi-Newton steps end."""
_DONE = 1e-7
_FIRST_SD = 0.5


class FitError(EqlabError):
    """A statistical model that cannot be fitted to the data at hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    parameters: Floats
    loglik: float
    covariance: Floats
    modes: Floats


def maximise(problem: LikelihoodProblem) -> Maximum:
    parameters, guess = _start(problem)
    n_sds = len(problem.layout.terms)
    point = _at(problem, parameters, np.zeros(problem.layout.size))
    if n_sds:
        parameters, point, guess = _quasi_newton(problem, parameters, point, guess)
    for _ in range(_STEPS):
        information = _information(problem, parameters, point, guess)
        guess = _inverse(information)
        step = guess @ point.gradient
        if 0.5 * float(point.gradient @ step) < _DONE:
            return _finished(problem, parameters + step, point, guess)
        parameters, point = _climb(problem, parameters, point, step)
    raise FitError("The model did not converge.", _ADVICE)


def _finished(problem: LikelihoodProblem, parameters: Floats, point: SearchPoint, covariance: Floats) -> Maximum:
    """The last, tiny step is taken; a standard deviation has no sign and is 0 when it cannot be told from it."""
    last = _at(problem, parameters, point.modes)
    n_sds = len(problem.layout.terms)
    modes = last.modes.copy()
    tidy = parameters.copy()
    for index, part in enumerate(problem.layout.slices):
        place = len(tidy) - n_sds + index
        if tidy[place] < 0:
            tidy[place] = -tidy[place]
            modes[part] = -modes[part]
            covariance = covariance.copy()
            covariance[place, :] *= -1
            covariance[:, place] *= -1
        if tidy[place] < 1e-4:
            tidy[place] = 0.0
    return Maximum(tidy, last.loglik, covariance, modes)


def _start(problem: LikelihoodProblem) -> tuple[Floats, Floats]:
    """Thresholds from the observed shares, no effects, moderate spreads; and a rough covariance. With random terms
    the plain model's estimates, which are near."""
    shares = np.cumsum(np.bincount(problem.y, minlength=problem.n_cuts + 1))[:-1] / len(problem.y)
    thresholds = np.zeros((problem.n_cuts, problem.design.shape[1]))
    thresholds[:, 0] = np.log(shares / (1 - shares))
    parameters = np.concatenate([thresholds.ravel(), np.zeros(problem.fixed.shape[1])])
    guess = np.eye(len(parameters)) * 10.0 / len(problem.y)
    n_sds = len(problem.layout.terms)
    if not n_sds:
        return parameters, guess
    plain = maximise(
        LikelihoodProblem(problem.y, problem.n_cuts, problem.design, problem.fixed, type(problem.layout)(()))
    )
    size = len(plain.parameters)
    joint = np.eye(size + n_sds) * 0.005
    joint[:size, :size] = 1.5 * plain.covariance
    return np.concatenate([plain.parameters, np.full(n_sds, _FIRST_SD)]), joint


def _quasi_newton(
    problem: LikelihoodProblem, parameters: Floats, point: SearchPoint, inverse: Floats
) -> tuple[Floats, SearchPoint, Floats]:
    """BFGS (Nocedal & Wright 2006, ch. 6) until Newton's method can take over."""
    for _ in range(_STEPS):
        step = inverse @ point.gradient
        if 0.5 * float(point.gradient @ step) < _NEAR:
            return parameters, point, inverse
        ahead, there = _climb(problem, parameters, point, step)
        moved, change = ahead - parameters, point.gradient - there.gradient
        curvature = float(moved @ change)
        if curvature > 1e-10:
            tilt = np.eye(len(moved)) - np.outer(moved, change) / curvature
            inverse = tilt @ inverse @ tilt.T + np.outer(moved, moved) / curvature
        parameters, point = ahead, there
    raise FitError("The model did not converge.", _ADVICE)


def _climb(
    problem: LikelihoodProblem, parameters: Floats, point: SearchPoint, step: Floats
) -> tuple[Floats, SearchPoint]:
    """Along the step, halved until it leads up (Armijo)."""
    if float(point.gradient @ step) <= 0:
        step = point.gradient
    step = step * min(1.0, 2.0 / float(np.abs(step).max()))
    slope, noise = float(point.gradient @ step), 1e-13 * abs(point.loglik)
    scale = 1.0
    while scale > 1e-12:
        ahead = parameters + scale * step
        there = evaluate(problem, ahead, point.modes)
        if there is not None and there.loglik >= point.loglik + 1e-4 * scale * slope - noise:
            return ahead, there
        scale /= 2.0
    raise FitError("The model did not converge: no step leads to a higher likelihood.", _ADVICE)


def _information(problem: LikelihoodProblem, parameters: Floats, point: SearchPoint, guess: Floats) -> Floats:
    """Minus the Hessian, by central differences of the exact gradient over a thousandth of a standard error."""
    size = len(parameters)
    information = np.empty((size, size))
    widths = 1e-3 * np.sqrt(np.clip(np.diag(guess), 1e-8, 1.0))
    for index, width in enumerate(widths.tolist()):
        move = np.zeros(size)
        move[index] = width
        up = _at(problem, parameters + move, point.modes)
        down = _at(problem, parameters - move, point.modes)
        information[index] = (down.gradient - up.gradient) / (2 * width)
    return (information + information.T) / 2


def _inverse(information: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.clip(np.abs(np.diag(information)), 1e-300, None))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    if values[0] < 1e-7:
        raise FitError("The data cannot identify the model: the likelihood is flat in some direction.", _ADVICE)
    return np.asarray((vectors / values) @ vectors.T * np.outer(scale, scale))


def _at(problem: LikelihoodProblem, parameters: Floats, start: Floats) -> SearchPoint:
    point = evaluate(problem, parameters, start)
    if point is None:
        raise FitError("The model did not converge: its thresholds cross.", _ADVICE)
    return point


_ADVICE = "Use fewer effects, or merge categories that nobody chose."

"""The likelihood of a cumulative-logit mixed model, and the search for its maximum.

Of one answer: P(y ≤ k) = F(θ_k − η) with F the logistic function (McCullagh 1980). With a = θ_y − η and b = θ_{y−1} − η
the logit link gives unusually short forms: d log p/dη = F(a) + F(b) − 1, and minus the second derivative is
f(a) + f(b) > 0, so the log-likelihood is concave in η.

Of all answers, by the Laplace approximation: log L ≈ Σ log p(û) − ½û′û − ½ log|H(û)|, with û the mode of the joint
density over spherical effects u (b = Λu) and H = I + Λ′Z′WZΛ its negative Hessian (Pinheiro & Chao 2006; the
approximation of R's `ordinal::clmm`). The gradient is exact: it follows û by the implicit function theorem, and one
extra solve gives all parameters at once.

The search takes quasi-Newton steps, then Newton's, then proves that it is at a maximum. One that does not end in a
maximum raises; it never returns numbers."""

import numpy as np

from eqlab.analysis.arrays import Floats, Ints
from eqlab.analysis.crossed import Factor, Layout
from eqlab.analysis.special import expit
from eqlab.core.errors import EqlabError
from eqlab.core.values import dataclass

_INNER_STEPS = 100
_INNER_TOLERANCE = 1e-10
# it is a maximum. A search that does not end in one raises; it never returns numbers.
_STEPS = 200
_NEAR = 1e-9
"""Newton decrement (about the distance from the maximum in log-likelihood) at which quasi-Newton steps end."""
_DONE = 1e-7
_FIRST_SD = 0.5
_ADVICE = "Use fewer effects, or merge categories that nobody chose."


class FitError(EqlabError):
    """A statistical model that cannot be fitted to the data at hand."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Per answer: the log-likelihood and its derivatives."""

    log_p: Floats
    d_upper: Floats
    """By the upper cut point a."""
    d_lower: Floats
    """By the lower cut point b."""
    slope: Floats
    """g, by the predictor η."""
    weight: Floats
    """w = −dg/dη."""
    f_upper: Floats
    f_lower: Floats
    """Logistic densities at a and b: dg/da and dg/db."""
    df_upper: Floats
    df_lower: Floats
    """Their derivatives: dw/da and dw/db."""


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
        search_point = evaluate(problem, ahead, point.modes)
        if search_point is not None and search_point.loglik >= point.loglik + 1e-4 * scale * slope - noise:
            return ahead, search_point
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


def terms(upper: Floats, lower: Floats) -> Terms | None:
    """`upper` is a (∞ in the highest category), `lower` is b (−∞ in the lowest); None where cut points cross, and where
    an answer's probability is too small for a number."""
    above, below = expit(upper), expit(lower)
    not_above, not_below = expit(-upper), expit(-lower)
    if not (np.all(upper > lower) and above.all() and not_below.all()):
        return None
    inside = -np.expm1(lower - upper)  # F(a) − F(b) = F(a)·F(−b)·(1 − e^(b−a)), exact in both tails
    f_upper, f_lower = above * not_above, below * not_below
    return Terms(
        log_p=np.log(above) + np.log(not_below) + np.log(inside),
        d_upper=not_above / (not_below * inside),
        d_lower=-below / (above * inside),
        slope=above - not_below,
        weight=f_upper + f_lower,
        f_upper=f_upper,
        f_lower=f_lower,
        df_upper=f_upper * (not_above - above),
        df_lower=f_lower * (not_below - below),
    )


def cut_points(y: Ints, design: Floats, thresholds: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """(a, b) of each answer. Row k of `thresholds` holds the coefficients of cut point k on the columns of `design`
    (a column of ones, and one per nominal effect)."""
    cuts = np.full((len(y), thresholds.shape[0] + 2), np.inf)
    cuts[:, 0] = -np.inf
    cuts[:, 1:-1] = np.einsum("ij,kj->ik", design, thresholds) - eta[:, None]
    rows = np.arange(len(y))
    return cuts[rows, y + 1], cuts[rows, y]


def threshold_gradient(y: Ints, design: Floats, n_cuts: int, by_upper: Floats, by_lower: Floats) -> Floats:
    """The derivative by each threshold coefficient, from those by a and b."""
    gradient = np.empty((n_cuts, design.shape[1]))
    for cut in range(n_cuts):
        along = np.where(y == cut, by_upper, 0.0) + np.where(y == cut + 1, by_lower, 0.0)
        gradient[cut] = down(design, along)
    return gradient


def across(matrix: Floats, coefficients: Floats) -> Floats:
    """matrix @ coefficients for a tall, thin matrix. Not by BLAS, whose threads stall on it when cores are shared."""
    return np.asarray(np.einsum("ij,j->i", matrix, coefficients))


def down(matrix: Floats, per_answer: Floats) -> Floats:
    """matrix.T @ per_answer, likewise."""
    return np.asarray(np.einsum("ij,i->j", matrix, per_answer))

"""The cumulative-logit likelihood of one ordinal answer, with the derivatives that a Laplace approximation needs.

P(y ≤ k) = F(θ_k − η) with F the logistic function (McCullagh 1980). With a = θ_y − η and b = θ_{y−1} − η the logit
link gives unusually short forms: d log p/dη = F(a) + F(b) − 1, and minus the second derivative is f(a) + f(b) > 0,
so the log-likelihood is concave in η."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from eqlab.analysis.arrays import Floats, Ints


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


def terms(upper: Floats, lower: Floats) -> Terms | None:
    """`upper` is a (∞ in the highest category), `lower` is b (−∞ in the lowest); None where cut points cross."""
    if not np.all(upper > lower):
        return None
    above, below = expit(upper), expit(lower)
    not_above, not_below = expit(-upper), expit(-lower)
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


def across(matrix: Floats, coefficients: Floats) -> Floats:
    """matrix @ coefficients for a tall, thin matrix. Not by BLAS, whose threads stall on it when cores are shared."""
    return np.asarray(np.einsum("ij,j->i", matrix, coefficients))


def down(matrix: Floats, per_answer: Floats) -> Floats:
    """matrix.T @ per_answer, likewise."""
    return np.asarray(np.einsum("ij,i->j", matrix, per_answer))


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

"""An item-response model for continuous scores: every item has a difficulty and a slope on the subjects' ability, and
what items share beyond ability is kept as a few residual factors, shrunken so far as the data do not bear them.

    y_mi = b_i + a_i·θ_m + e_mi,   θ ~ N(0, 1),   Cov(e_m) = L·Lᵀ + diag(u)

Mellenbergh (1994), Multivariate Behavioral Research 29, 223–236: the factor model as item-response model for
continuous answers. EM with missing answers: Rubin & Thayer (1982), Psychometrika 47, 69–76. Shrinkage of the residual
covariance towards its diagonal: Ledoit & Wolf (2003), Journal of Empirical Finance 10, 603–621."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eqlab.core.errors import DataError

Floats = NDArray[np.float64]

FACTORS = 12
_ROUNDS = 500
_STILL = 1e-6
_FLOOR = 0.05
"""An item keeps at least this share of its residual variance to itself."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemModel:
    difficulty: Floats
    """b: the expected score of a subject of average ability; low is hard."""
    slope: Floats
    """a: what one standard deviation of ability adds."""
    shared: Floats
    """L: loadings of the residual factors, items × factors."""
    unique: Floats
    """u: residual variance that an item shares with no other."""

    @property
    def size(self) -> int:
        return len(self.difficulty)

    @property
    def residual(self) -> Floats:
        """Residual variance of each item."""
        return np.asarray((self.shared**2).sum(axis=1) + self.unique)

    def covariance(self) -> Floats:
        """Of the item scores over subjects."""
        return np.outer(self.slope, self.slope) + self.shared @ self.shared.T + np.diag(self.unique)


def fit(scores: Floats, factors: int = FACTORS) -> ItemModel:
    """`scores` are subjects × items, NaN where there is none."""
    known = ~np.isnan(scores)
    if len(scores) < 4 or known.sum(axis=0).min(initial=4) < 4 or not known.any(axis=1).all():
        raise DataError("An item-response model needs four subjects' scores on every item.", "Add result files.")
    difficulty, slope, variance, ability = _one_factor(scores, known)
    residuals = np.where(known, scores - difficulty - np.outer(ability, slope), 0.0)
    shared = _shared(residuals, known, factors)
    unique = np.maximum(variance - (shared**2).sum(axis=1), _FLOOR * variance)
    return ItemModel(difficulty, slope, shared, unique)


def _one_factor(scores: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
    """Maximum likelihood by EM; slopes are turned so that their sum is positive."""
    count = known.sum(axis=0)
    filled = np.where(known, scores, 0.0)
    difficulty = filled.sum(axis=0) / count
    start = np.where(known, scores - difficulty, 0.0).mean(axis=1)
    if not start.std() > 0:
        raise DataError("All subjects have the same score: there is no ability to learn from.", "Add other results.")
    ability = (start - start.mean()) / start.std()
    slope = np.where(known, scores - difficulty, 0.0).T @ ability / count
    variance = _variance(filled, known, difficulty, slope, ability, np.zeros(len(scores)))
    for _ in range(_ROUNDS):
        before = slope
        uncertainty = 1 / (1 + known @ (slope**2 / variance))
        ability = uncertainty * (np.where(known, scores - difficulty, 0.0) @ (slope / variance))
        first, second = known.T @ ability, known.T @ (ability**2 + uncertainty)
        total, product = filled.sum(axis=0), filled.T @ ability
        slope = (product - first * total / count) / (second - first**2 / count)
        difficulty = (total - slope * first) / count
        variance = _variance(filled, known, difficulty, slope, ability, uncertainty)
        if np.abs(slope - before).max() < _STILL * np.abs(slope).max():
            break
    sign = 1.0 if slope.sum() >= 0 else -1.0
    return difficulty, sign * slope, variance, sign * ability


def _variance(
    filled: Floats,
    known: NDArray[np.bool_],
    difficulty: Floats,
    slope: Floats,
    ability: Floats,
    uncertainty: Floats,
) -> Floats:
    squares = np.where(known, filled - difficulty - np.outer(ability, slope), 0.0) ** 2
    expected = (squares + known * np.outer(uncertainty, slope**2)).sum(axis=0) / known.sum(axis=0)
    return np.asarray(np.maximum(expected, 1e-6))


def shrinkage(residuals: Floats) -> float:
    """λ = Σ Var(s_ij) / (M·Σ s_ij²) over the pairs of items: which part of their covariance is sampling noise."""
    m = len(residuals)
    covariance = residuals.T @ residuals / m
    noise = (residuals**2).T @ (residuals**2) / m - covariance**2
    off = ~np.eye(len(covariance), dtype=bool)
    seen = float((covariance[off] ** 2).sum())
    return 1.0 if seen == 0 else float(np.clip(noise[off].sum() / m / seen, 0.0, 1.0))


def _shared(residuals: Floats, known: NDArray[np.bool_], factors: int) -> Floats:
    """The strongest residual factors, their covariance shrunken by λ; the sign is that of the largest loading."""
    pairs = np.maximum(known.T.astype(float) @ known, 1.0)
    covariance = residuals.T @ residuals / pairs
    values, vectors = np.linalg.eigh(covariance)
    keep = np.argsort(values)[::-1][: min(factors, len(residuals) - 2)]
    vectors = vectors[:, keep] * np.sign(vectors[np.abs(vectors[:, keep]).argmax(axis=0), keep])
    return np.asarray(vectors * np.sqrt((1 - shrinkage(residuals)) * np.maximum(values[keep], 0.0)))

"""An item-response model for continuous scores: every item has a difficulty and a slope on the subjects' ability, and
what items share beyond ability is kept as residual factors, as many as the subjects allow.

    y_mi = b_i + a_i·θ_m + e_mi,   θ ~ N(0, 1),   Cov(e_m) = L·Lᵀ + diag(u)

Mellenbergh (1994), Multivariate Behavioral Research 29, 223–236: the factor model as item-response model for
continuous answers. EM with missing answers: Rubin & Thayer (1982), Psychometrika 47, 69–76. Shrinkage of the residual
covariance towards its diagonal: Ledoit & Wolf (2003), Journal of Empirical Finance 10, 603–621."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.arrays import Floats
from eqlab.core.errors import DataError

SHRINKAGE = 0.05
"""λ in Cov(e) = (1 − λ)·C + λ·diag(C), C the residuals' covariance: the share of its residual variance that an item
keeps to itself. Ledoit and Wolf's λ makes every single covariance as good as it can be (0.62 for the published EQ-Bench
results); here a mean over the very items fitted is wanted, for which the many small covariances count together, and λ
has to make Cov(e) invertible with more items than subjects, no more. The price is a standard deviation that is far too
small, so intervals need the calibration of held_out.py."""
_ROUNDS = 500
_STILL = 1e-6


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


def fit(scores: Floats) -> ItemModel:
    """`scores` are subjects × items, NaN where there is none."""
    known = ~np.isnan(scores)
    if len(scores) < 4 or known.sum(axis=0).min(initial=4) < 4 or not known.any(axis=1).all():
        raise DataError("An item-response model needs four subjects' scores on every item.", "Add result files.")
    difficulty, slope, variance, ability = _one_factor(scores, known)
    residuals = np.where(known, scores - difficulty - np.outer(ability, slope), 0.0)
    shared = _shared(residuals, known)
    return ItemModel(difficulty, slope, shared, variance - (shared**2).sum(axis=1))


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


def _shared(residuals: Floats, known: NDArray[np.bool_]) -> Floats:
    """All factors of (1 − λ)·C, the strongest first; the sign is that of the largest loading. C_ij is the sum of the
    products over √(n_i·n_j), so that it stays a covariance where answers are missing."""
    _, values, vectors = np.linalg.svd(residuals / np.sqrt(known.sum(axis=0)), full_matrices=False)
    signs = np.sign(vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)])
    return np.asarray((vectors * (signs * values)[:, None]).T * np.sqrt(1 - SHRINKAGE))

"""Every pair of models on the items both have: difference, standard error, probability, as a few matrix products.

Arrays are models × items, higher is better, NaN is missing."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import FEWEST
from eqlab.core.errors import UsageError

DIFFER = 8
"""Items on which two models must differ. Near copies agree on most items; what is left is too little for a t test, and
no test by signs could separate them among dozens of others either (2/2⁸ = .008)."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair of rows at once, row minus column; NaN where fewer than two items are shared, and p from fewer than
    five."""

    difference: Floats
    se: Floats
    p: Floats
    n: npt.NDArray[np.int64]


def pairwise(matrix: npt.ArrayLike) -> Pairwise:
    """`paired` for all pairs of a models × items array."""
    scores = as_matrix(matrix)
    known = np.isfinite(scores)
    centred = np.where(known, scores - np.nanmean(scores, where=known) if known.any() else 0.0, 0.0)
    mask = known.astype(float)
    n = mask @ mask.T
    sums = centred @ mask.T
    squares = (centred**2) @ mask.T
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(n > 0, (sums - sums.T) / n, np.nan)
        spread = np.maximum(squares + squares.T - 2 * centred @ centred.T - n * gap**2, 0.0)
        spread[spread < 1e-12 * (squares + squares.T)] = 0.0  # rounding is no spread
        se = np.where(n > 1, np.sqrt(spread / (n - 1) / n), np.nan)
        p = np.where(gap == 0, 1.0, 2 * stdtr(np.maximum(n - 1, 1), -np.abs(gap / se)))
    same = (se == 0) & (gap != 0)  # as in `paired`: all signs agree
    p[same] = 2.0 ** (1 - n[same])
    p[np.isnan(se) | (n < FEWEST)] = np.nan
    return Pairwise(gap, se, p, n.astype(np.int64))


def comparable(matrix: npt.ArrayLike, found: Pairwise) -> npt.NDArray[np.bool_]:
    """Pairs of which something can be said: enough shared items, and enough of them on which the two differ."""
    scores = as_matrix(matrix)
    differ = np.zeros(found.n.shape, dtype=np.int64)
    for row, one in enumerate(scores):
        gaps = scores - one
        differ[row] = (np.isfinite(gaps) & (gaps != 0)).sum(axis=1)
    enough = np.asarray((found.n >= FEWEST) & (differ >= np.minimum(DIFFER, found.n)))
    np.fill_diagonal(enough, False)
    return enough


def as_matrix(matrix: npt.ArrayLike) -> Floats:
    scores = np.asarray(matrix, dtype=float)
    if scores.ndim != 2:
        raise UsageError("Ranks need a table: one row per model, one column per item.")
    return scores

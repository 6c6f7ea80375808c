"""Many models on the same items: every pair at once, and each model's rank as a range.

Arrays are models × items, higher is better, NaN is missing."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from eqlab.core.errors import UsageError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

DRAWS = 2000
_AT_ONCE = 250_000
"""Numbers in one piece of work: few enough for a processor's cache, which is several times faster than memory."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair of rows at once, row minus column; NaN where fewer than two items are shared."""

    difference: Floats
    se: Floats
    p: Floats
    n: npt.NDArray[np.int64]


def pairwise(matrix: npt.ArrayLike) -> Pairwise:
    """`paired` for all pairs of a models × items array, as a few matrix products."""
    scores = _matrix(matrix)
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
    p[np.isnan(se)] = np.nan
    same = (se == 0) & (gap != 0)  # as in `paired`: all signs agree
    p[same] = 2.0 ** (1 - n[same])
    return Pairwise(gap, se, p, n.astype(np.int64))


def rank_ranges(matrix: npt.ArrayLike, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> list[tuple[int, int]]:
    """For each row of a models × items array (NaN: missing; higher is better) the ranks it may have, best 1.

    A row's best rank is 1 + how many rows lie significantly above it, its worst the number of rows minus how many lie
    significantly below: with all pairs tested together at 1 − level, all true ranks lie in their ranges with
    probability ≥ level (Mogstad, Romano, Shaikh & Wilhelm 2024). Tested by the largest |t| over pairs under a
    bootstrap with normal weights on items, stepping down (Romano & Wolf 2005). A row without scores may have any."""
    scores = _matrix(matrix)
    found = pairwise(scores)
    return ranges(_separated(scores, found, 1 - level, draws, seed) & (found.difference > 0))


def ranges(above: Flags) -> list[tuple[int, int]]:
    """Rank ranges from `above[j, k]`: row j is certainly better than row k."""
    models = len(above)
    best, worst = 1 + above.sum(axis=0), models - above.sum(axis=1)
    return [(int(low), int(high)) for low, high in zip(best, worst, strict=True)]


def _separated(scores: Floats, found: Pairwise, alpha: float, draws: int, seed: int) -> Flags:
    """Pairs whose p lies below the step-down max-|t| bound. The bound is carried over from the normal to Student's
    scale by its tail probability, so that it holds with few items too."""
    first, second = np.triu_indices(len(scores), 1)
    p = found.p[first, second]
    certain = np.zeros((len(scores), len(scores)), dtype=bool)
    waves = _normal_waves(scores, draws, seed)
    open_pairs = np.isfinite(p)
    rejected = np.zeros(len(p), dtype=bool)
    while open_pairs.any():
        largest = _largest(waves, first[open_pairs], second[open_pairs])
        bound = 2 * float(ndtr(-np.quantile(largest, 1 - alpha)))
        new = open_pairs & (p < bound)
        if not new.any():
            break
        rejected |= new
        open_pairs &= ~new
    certain[first[rejected], second[rejected]] = True
    return np.asarray(certain | certain.T)


def _normal_waves(scores: Floats, draws: int, seed: int) -> tuple[Floats, Floats]:
    """(models × draws, models × models): what each mean does under random item weights, and the pairs' spread."""
    known = np.isfinite(scores)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    means = np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / n
    influence = np.where(known, scores - means, 0.0) / n
    gram = influence @ influence.T
    spread = np.sqrt(np.maximum(np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram, 0.0))
    weights = np.random.default_rng(seed).standard_normal((draws, scores.shape[1]))
    return np.ascontiguousarray((weights @ influence.T).T), spread


def _largest(waves: tuple[Floats, Floats], first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Floats:
    """Per draw the largest |t| over these pairs."""
    means, spread = waves
    width = spread[first, second]
    scale = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    draws = means.shape[1]
    largest = np.zeros(draws)
    step = max(1, _AT_ONCE // draws)
    for start in range(0, len(first), step):
        pairs = slice(start, start + step)
        gaps = means[first[pairs]]
        gaps -= means[second[pairs]]
        gaps *= scale[pairs, None]
        np.maximum(largest, np.abs(gaps, out=gaps).max(axis=0), out=largest)
    return largest


def _matrix(matrix: npt.ArrayLike) -> Floats:
    scores = np.asarray(matrix, dtype=float)
    if scores.ndim != 2:
        raise UsageError("Ranks need a table: one row per model, one column per item.")
    return scores

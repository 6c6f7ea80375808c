"""Every two models on the items that they share: how far apart, and by what chance."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Flags, Floats
from eqlab.analysis.comparison import DIFFER, signs_p
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.special import stdtr
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

T = TypeVar("T")
THREADS = 4
"""At most."""
_BLOCK = 128
"""Models whose pairs are tested together, so that what is computed on the way stays small."""


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Every pair of rows at once, row minus column; NaN where fewer than two items are shared, and p from fewer than
    five."""

    difference: Floats
    se: Floats
    p: Floats
    n: npt.NDArray[np.integer]
    few: Flags | None = None
    """Pairs that differ on so few items that p is by their signs, exactly; None: nobody looked."""
    differ: npt.NDArray[np.integer] | None = None
    """On how many shared items the two differ, exactly where these are few; None: nobody counted."""


def pairwise(matrix: npt.ArrayLike) -> Pairwise:
    """`paired` for all pairs of a models × items array."""
    scores = as_matrix(matrix)
    known = np.isfinite(scores)
    centred = np.where(known, scores - np.nanmean(scores, where=known) if known.any() else 0.0, 0.0)
    mask, squared = known.astype(float), centred**2
    models = len(scores)
    gap, se, p = (np.empty((models, models)) for _ in range(3))
    n = np.empty((models, models), dtype=_whole_numbers(scores))

    def of_some(start: int) -> None:  # each pair once; what is computed on the way stays small
        rows, others = slice(start, start + _BLOCK), slice(start, models)
        own = mask[rows] @ mask[others].T
        sums = centred[rows] @ mask[others].T - mask[rows] @ centred[others].T
        both = squared[rows] @ mask[others].T + mask[rows] @ squared[others].T
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(own > 0, sums / own, np.nan)
            spread = np.maximum(both - 2 * (centred[rows] @ centred[others].T) - own * mean**2, 0.0)
            spread[spread < 1e-12 * both] = 0.0  # rounding is no spread
            error = np.where(own > 1, np.sqrt(spread / (own - 1) / own), np.nan)
            chance = np.where(mean == 0, 1.0, 2 * stdtr(np.maximum(own - 1, 1), -np.abs(mean / error)))
        for whole, part, turned in ((gap, mean, -mean), (se, error, error), (p, chance, chance), (n, own, own)):
            whole[others, rows], whole[rows, others] = turned.T, part

    in_threads(of_some, range(0, models, _BLOCK))
    same = (se == 0) & (gap != 0)  # as in `paired`: all signs agree
    p[same] = 2.0 ** (1.0 - n[same])
    differ = _differing(scores)
    few = (n >= FEWEST) & (differ > 0) & (differ < np.minimum(DIFFER, n))
    for one, other in np.argwhere(np.triu(few)).tolist():
        gaps = scores[one] - scores[other]
        p[one, other] = p[other, one] = signs_p(gaps[np.isfinite(gaps)])
    p[np.isnan(se) | (n < FEWEST)] = np.nan
    return Pairwise(gap, se, p, n, np.asarray(few), differ)


def one_against(row: npt.ArrayLike, matrix: npt.ArrayLike) -> tuple[Floats, Floats]:
    """(difference, p) of one row against every row of a table, each pair as in `pairwise`; NaN where there is none."""
    scores = as_matrix(matrix)
    gaps = np.asarray(row, dtype=float)[None, :] - scores
    known = np.isfinite(gaps)
    n = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(known, gaps, 0.0).sum(axis=1) / n
        spread = (np.where(known, gaps - gap[:, None], 0.0) ** 2).sum(axis=1)
        size = (np.where(known, np.abs(gaps), 0.0) ** 2).sum(axis=1)
        spread[spread < 1e-12 * size] = 0.0
        se = np.sqrt(spread / (n - 1) / n)
        p = np.where(gap == 0, 1.0, 2 * stdtr(np.maximum(n - 1, 1), -np.abs(gap / se)))
    same = (se == 0) & (gap != 0)
    p[same] = 2.0 ** (1.0 - n[same])
    differ = (known & (gaps != 0)).sum(axis=1)
    for place in np.flatnonzero((differ > 0) & (differ < np.minimum(DIFFER, n))):
        p[place] = signs_p(gaps[place][known[place]])
    p[n < FEWEST] = np.nan
    return gap, p


def comparable(matrix: npt.ArrayLike, found: Pairwise) -> npt.NDArray[np.bool_]:
    """Pairs of which something can be said: enough shared items, and some of them on which the two differ; as many as
    Student's t needs, where nobody looked at the signs of fewer."""
    differ = _differing(as_matrix(matrix)) if found.differ is None else found.differ
    needed = np.minimum(DIFFER, found.n) if found.few is None else 1
    enough = np.asarray((found.n >= FEWEST) & (differ >= needed))
    np.fill_diagonal(enough, False)
    return enough


def _differing(scores: Floats) -> npt.NDArray[np.integer]:
    """By pair, on how many shared items the two differ, or on enough: by the number of a score among its item's, which
    is short, and for most pairs on the first items alone."""
    known = np.isfinite(scores)
    codes = np.zeros(scores.shape, dtype=np.int32)
    for item in range(scores.shape[1]):
        codes[:, item] = np.unique(scores[:, item], return_inverse=True)[1]
    codes = codes.astype(np.int16) if len(scores) < 2**15 else codes
    differ = np.zeros((len(scores), len(scores)), dtype=_whole_numbers(scores))

    few = 4 * DIFFER
    first_codes, first_known = np.ascontiguousarray(codes[:, :few]), np.ascontiguousarray(known[:, :few])

    def of_one(row: int) -> None:
        unlike = (first_codes[row:] != first_codes[row]) & first_known[row:] & first_known[row]
        count = np.count_nonzero(unlike, axis=1)
        rest = np.flatnonzero(count < DIFFER)
        unlike = (codes[row + rest] != codes[row]) & known[row + rest] & known[row]
        count[rest] = np.count_nonzero(unlike, axis=1)
        differ[row, row:] = differ[row:, row] = count

    in_threads(of_one, range(len(scores)))
    return differ


def _whole_numbers(scores: Floats) -> type[np.signedinteger[Any]]:
    """Wide enough to count items, of which all pairs have a number."""
    return np.int16 if scores.shape[1] < 2**15 else np.int32


def as_matrix(matrix: npt.ArrayLike) -> Floats:
    scores = np.asarray(matrix, dtype=float)
    if scores.ndim != 2:
        raise UsageError("Ranks need a table: one row per model, one column per item.")
    return scores


def in_threads(work: Callable[[T], None], parts: Sequence[T]) -> None:
    """NumPy lets others work while it computes; every number is the same however many threads there are."""
    count = min(THREADS, len(parts), os.cpu_count() or 1)
    if count < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, parts))

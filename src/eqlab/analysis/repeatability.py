"""Does a subject score the same when asked again? Coefficient of variation of the score over repeats, and how far the
repeats of one item agree."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, fdtri

from eqlab.core.results import FEWEST, Estimate

CV = "repeatability: variation of the score over repeats"
AGREEMENT = "repeatability: agreement of an item's repeats (ICC)"


@dataclass(frozen=True, slots=True)
class Repeatability:
    items: int
    """Items with a value in at least two repeats."""
    repeats: int
    scores: tuple[float, ...]
    """Mean over items, repeat by repeat."""
    sd: float | None
    cv: Estimate
    agreement: Estimate
    identical: float | None
    """Share of these items with the same score in every repeat."""


def repeatability(matrix: npt.ArrayLike) -> Repeatability | None:
    """Of an items × repeats array, NaN where missing; None with one repeat only.

    CV = s/m of the repeats' scores in percent, undefined unless the mean m is above 0; interval from χ² for s, the
    mean taken as known. Agreement: ICC(1) of the one-way analysis of variance with its F interval (Shrout & Fleiss
    1979): 1 means that repeats add nothing new, 0 that items do not differ beyond chance."""
    table = np.asarray(matrix, dtype=float)
    table = table[:, np.isfinite(table).any(axis=0)]
    if table.shape[1] < 2:
        return None
    scores = np.nanmean(table, axis=0)
    again = table[np.isfinite(table).sum(axis=1) >= 2]
    same = None
    if len(again):
        spread = np.nanmax(again, axis=1) - np.nanmin(again, axis=1)
        same = float((spread < 1e-9).mean())
    sd = float(scores.std(ddof=1))
    return Repeatability(
        len(again), len(scores), tuple(scores.tolist()), sd, score_variation(scores), item_agreement(again), same
    )


def score_variation(scores: npt.ArrayLike) -> Estimate:
    """CV in percent of the scores that single repeats give."""
    each = np.asarray(scores, dtype=float)
    if len(each) < 2:
        return Estimate(CV, None, len(each), unit="%", note="undefined: fewer than two repeats have a score")
    mean, sd, df = float(each.mean()), float(each.std(ddof=1)), len(each) - 1
    if mean <= 0:
        return Estimate(CV, None, len(each), unit="%", note="undefined: the mean score is not above 0")
    cv = 100 * sd / mean
    note = f"CV, standard deviation {sd:.2f} points; n counts repeats"
    if len(each) < FEWEST:  # from two repeats the interval would reach from half the value to thirty times it
        return Estimate(CV, cv, len(each), unit="%", note=note)
    low, high = (cv * math.sqrt(df / float(chdtri(df, tail))) for tail in (0.025, 0.975))
    return Estimate(CV, cv, len(each), None, low, high, "%", note)


def item_agreement(matrix: npt.ArrayLike) -> Estimate:
    """ICC(1) of an items × repeats array; items with fewer than two values do not count."""
    table = np.asarray(matrix, dtype=float)
    again = table[np.isfinite(table).sum(axis=1) >= 2]
    known = np.isfinite(again)
    sizes = known.sum(axis=1).astype(float)
    n, k = float(sizes.sum()), len(again)
    if k < 2:
        return Estimate(AGREEMENT, None, k, note="undefined: fewer than two items were asked again")
    means = np.nanmean(again, axis=1)
    grand = float((sizes * means).sum() / n)
    between = float((sizes * (means - grand) ** 2).sum()) / (k - 1)
    within = float(np.where(known, again - means[:, None], 0.0).ravel() @ np.where(known, again, 0.0).ravel()) / (n - k)
    size = (n - float((sizes**2).sum()) / n) / (k - 1)
    if between + (size - 1) * within <= 1e-12:
        return Estimate(AGREEMENT, None, k, note="undefined: no score differs from another")
    if within <= 1e-12 * between:
        return Estimate(AGREEMENT, 1.0, k, None, 1.0, 1.0, note="every repeat gave the same scores")
    icc = (between - within) / (between + (size - 1) * within)
    ratio = between / within
    scaled = ratio / float(fdtri(k - 1, n - k, 0.975)), ratio * float(fdtri(n - k, k - 1, 0.975))
    low, high = ((f - 1) / (f + size - 1) for f in scaled)
    return Estimate(AGREEMENT, icc, k, None, low, high, note="n counts items")

"""Agreement of patterns: how far numbers dealt out over words rise and fall as a norm's do, whatever their strength."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from eqlab.analysis.arrays import Floats, codes
from eqlab.analysis.bootstrap import interval
from eqlab.core.results import FEWEST, Estimate


def sums(own: Sequence[float], norm: Sequence[float]) -> tuple[float, float, float]:
    """Of one item: centred answer times centred norm, and the squared length of each. Items and repeats add up."""
    a, b = np.asarray(own, dtype=float), np.asarray(norm, dtype=float)
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b), float(a @ a), float(b @ b)


def shape(answers: Sequence[tuple[float, float, float]], items: Sequence[str] = ()) -> Estimate:
    """Σ a·b / √(Σ a·a Σ b·b) over all items, the cosine of centred answers and norms: 1 for the norm in any strength, 0
    for a flat answer (which has no direction: that is set, not computed) and, where words stand in drawn order, in
    expectation for any fixed one. Interval: percentiles of 10,000 bootstrap draws of items; below five items none.
    `items`: which item each answer is to, where some were asked again.

    >>> round(shape([sums((4, 3, 2, 1), (5, 3, 1, 1)), sums((1, 2, 3, 4), (0, 2, 2, 6))]).value, 4)
    0.9258
    """
    rows = np.array(answers, dtype=float).reshape(-1, 3)
    if items:
        place = codes(items)
        rows, each = np.zeros((int(place.max()) + 1, 3)), rows
        np.add.at(rows, place, each)
    if not len(rows):
        return Estimate("shape", None, 0)
    if not rows[:, 1].sum():
        bound = 0.0 if len(rows) >= FEWEST else None
        return Estimate("shape", 0.0, len(rows), None, bound, bound, note="the same to every word, throughout")
    found = interval([rows], lambda totals: _cosine(totals[0]))
    low, high = (found.low, found.high) if len(rows) >= FEWEST else (None, None)
    return Estimate("shape", found.value, len(rows), None, low, high)


def agreement(answers: Sequence[tuple[float, float, float]]) -> float:
    """The same without its interval; 0 for flat answers, and for none."""
    product, own, norm = np.array(answers, dtype=float).reshape(-1, 3).sum(axis=0)
    return float(product / np.sqrt(own * norm)) if own and norm else 0.0


def linearised(answers: Sequence[tuple[float, float, float]], items: Sequence[str]) -> list[float]:
    """One number an answer, of which the mean by item and then over items is `shape`, and the spread over items gives
    its error (Taylor linearisation of a ratio), so that two subjects can be compared item by item:
    s + k r (aᵢ·bᵢ / √(AB) − s/2 (aᵢ·aᵢ/A + bᵢ·bᵢ/B)), with A and B the sums of squares over all answers, k the number
    of items and r that of the item's answers."""
    product, own, norm = (math.fsum(column) for column in zip(*answers, strict=True)) if answers else (0.0, 0.0, 0.0)
    if not own or not norm:
        return [0.0] * len(answers)
    repeats = Counter(items)
    length, whole = math.sqrt(own * norm), product / math.sqrt(own * norm)
    parts = (c / length - whole / 2 * (a / own + b / norm) for c, a, b in answers)
    return [whole + len(repeats) * repeats[item] * part for item, part in zip(items, parts, strict=True)]


def _cosine(totals: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[..., 0] / np.sqrt(totals[..., 1] * totals[..., 2]))

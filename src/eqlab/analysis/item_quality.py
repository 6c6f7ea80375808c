"""What is each question worth? Difficulty, discrimination, agreement with the rest, and where it informs. Whether it is
harder for one group of subjects than their ability says is in differential.py.

Scores are subjects × items, NaN is missing, higher is better. Near copies of one subject count as one: leave them out
first (held_out.copies), or a question looks good because five names of one model agree on it."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_response import fit
from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class ItemQuality:
    item: int
    n: int
    difficulty: float
    """Mean score; low is hard."""
    discrimination: float
    """Slope on ability: what one SD of ability adds (item_response.py)."""
    rest: float | None
    """Correlation with the mean of the other items, which holds no part of itself (corrected item–total)."""
    rest_low: float | None
    rest_high: float | None
    """95 % by Fisher's z."""
    upper: float | None
    lower: float | None
    """The same among the upper and the lower half of subjects by their score on the *other* items."""
    information: float
    """a²/σ²: what the item tells about ability (continuous scores: the same at every ability)."""


def item_quality(scores: npt.ArrayLike) -> list[ItemQuality]:
    table = as_table(scores)
    model = fit(table)
    found = []
    for item in range(table.shape[1]):
        rest = rest_of(table, item)
        own = table[:, item]
        known = np.isfinite(own) & np.isfinite(rest)
        r = _pearson(own[known], rest[known])
        low, high = _fisher(r, int(known.sum()))
        middle = np.median(rest[known]) if known.any() else np.nan
        halves = [known & (rest > middle), known & (rest <= middle)]
        upper, lower = (_pearson(own[half], rest[half]) for half in halves)
        found.append(
            ItemQuality(
                item,
                int(np.isfinite(own).sum()),
                float(np.nanmean(own)),
                float(model.slope[item]),
                r,
                low,
                high,
                upper,
                lower,
                float(model.slope[item] ** 2 / model.residual[item]),
            )
        )
    return found


def information_curve(scores: npt.ArrayLike, points: int = 9) -> list[tuple[float, float]]:
    """(score, standard error of ability in SDs) along the range of subjects: 1/√Σ a²/σ²(θ), with each item's residual
    variance at that ability from subjects near it (normal kernel of half an SD). Where it rises, the test tells
    little."""
    table = as_table(scores)
    model = fit(table)
    known = np.isfinite(table)
    weight = model.slope / model.residual
    ability = np.array([
        np.where(row, (values - model.difficulty) * weight, 0.0).sum() / (row @ (model.slope * weight))
        for row, values in zip(known, np.where(known, table, 0.0), strict=True)
    ])  # fmt: skip
    squares = np.where(known, table - model.difficulty - np.outer(ability, model.slope), np.nan) ** 2
    curve = []
    low, high = (float(one) for one in np.quantile(ability, [0.05, 0.95]))
    for at in np.linspace(low, high, points):
        near = np.exp(-0.5 * ((ability - at) / 0.5) ** 2)[:, None] * known
        # a tenth of the overall variance keeps an item that few answered alike from counting as certain
        variance = (np.where(known, squares, 0.0) * near).sum(axis=0) / near.sum(axis=0)
        information = float((model.slope**2 / np.maximum(variance, 0.1 * model.residual)).sum())
        curve.append((float((model.difficulty + model.slope * at).mean()), 1 / math.sqrt(information)))
    return curve


def rest_of(table: Floats, item: int) -> Floats:
    """Each subject's mean over the other items, each item as a deviation from its own mean so that gaps do no harm."""
    others = np.delete(table - np.nanmean(table, axis=0), item, axis=1)
    known = np.isfinite(others)
    counts = known.sum(axis=1)
    return np.asarray(np.where(counts > 0, np.where(known, others, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan))


def _pearson(x: Floats, y: Floats) -> float | None:
    if len(x) < FEWEST or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _fisher(r: float | None, n: int) -> tuple[float | None, float | None]:
    if r is None or n < FEWEST or abs(r) >= 1:
        return None, None
    reach = 1.959963984540054 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def as_table(scores: npt.ArrayLike) -> Floats:
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UsageError("Item quality needs a table: one row per subject, one column per item.")
    return table

"""The difference between two entries of one table: paired over items, or, where a score is no mean over items, from
both intervals."""

import math
from typing import Any

import numpy as np
from scipy.special import stdtrit

from eqlab.analysis.comparison import Difference, paired
from eqlab.core.results import Estimate
from eqlab.core.text import is_number
from eqlab.publish.leaderboard.tables import Board, Line


def difference(board: Board, a: Line, b: Line) -> Difference:
    """A minus B."""
    if board.items and a.entry and b.entry:
        return paired(board.row(a.entry), board.row(b.entry))
    return from_intervals(a.estimate, b.estimate)


def from_intervals(a: Estimate, b: Estimate) -> Difference:
    """d = a − b with d − √((a − l_a)² + (u_b − b)²) and d + √((u_a − a)² + (b − l_b)²): the method of variance
    estimates recovery (Zou & Donner 2008, Statistics in Medicine 27:1693). Takes both for independent, which is
    cautious where they answered the same items."""
    n = a.n + b.n
    if a.value is None or b.value is None or not (is_number(a.value) and is_number(b.value)):
        return Difference(None, n, "unpaired")
    gap = a.value - b.value
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Difference(gap, n, "unpaired")
    low = gap - math.hypot(a.value - a.low, b.high - b.value)
    high = gap + math.hypot(a.high - a.value, b.value - b.low)
    return Difference(gap, n, "unpaired", low=low, high=high)


def as_estimate(found: Difference, digits: int) -> Estimate:
    return Estimate("difference", found.value, found.n, found.se, found.low, found.high, digits=digits)


def compare_data(boards: list[Board]) -> dict[str, Any]:
    """Everything the compare page computes with. Item scores take few different values, so each is kept once, in full
    precision, and a row is a list of places in that list (−1: no score)."""
    most = max((len(board.items) for board in boards), default=0)
    reach = stdtrit(np.arange(1, max(most, 2)), 0.975)
    return {
        "t": [float(value) for value in reach],
        "tables": [_table(board) for board in boards if len(board.entered) > 1],
    }


def _table(board: Board) -> dict[str, Any]:
    values: dict[float, int] = {}
    models = []
    for line, entry in board.entered:
        row = [values.setdefault(float(v), len(values)) if np.isfinite(v) else -1 for v in board.row(entry)]
        head = line.estimate
        models.append([entry.id, line.name, head.value, head.low, head.high, head.n, row])
    return {
        "title": board.label,
        "digits": board.lines[0].estimate.digits,
        "items": list(board.items),
        "values": list(values),
        "models": models,
    }

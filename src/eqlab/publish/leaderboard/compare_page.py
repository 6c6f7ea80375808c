"""What the page that compares any two entries computes with: the rule of `comparison.pair`, done in the browser."""

from typing import Any

import numpy as np
from scipy.special import stdtrit

from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.ranks import DIFFER
from eqlab.publish.leaderboard.tables import Board


def compare_data(boards: list[Board]) -> dict[str, Any]:
    """Everything the compare page computes with. Item scores take few different values, so each is kept once, in full
    precision, and a row is a list of places in that list (−1: no score)."""
    most = max((len(board.items) for board in boards), default=0)
    reach = stdtrit(np.arange(1, max(most, 2)), 0.975)
    return {
        "t": [float(value) for value in reach],
        "fewest": FEWEST,
        "differ": DIFFER,
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

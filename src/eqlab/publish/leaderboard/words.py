"""A table's conclusion in words: who may be first, how many neighbours can be told apart, who beats no baseline."""

from typing import TYPE_CHECKING

import numpy as np

from eqlab.analysis.comparison import pairwise
from eqlab.comparison.conclusion import conclusion
from eqlab.core.text import basis_of, number, short_name, value_of

if TYPE_CHECKING:
    from eqlab.publish.leaderboard.tables import Board, Line

_MOST_NAMES = 3
_ALPHA = 0.05


def sentence(board: "Board") -> str:
    ranked = [line for line in board.lines if line.rank]
    if not ranked:
        return "No score can be ranked here."
    if not board.items or len(ranked) == 1:
        own = [(line.name, line.entry.result) for line in ranked if line.entry]
        return conclusion([result for _, result in own], [name for name, _ in own])
    return " ".join(part for part in (_first(ranked, board), _neighbours(ranked, board), _floor(ranked, board)) if part)


def _first(ranked: "list[Line]", board: "Board") -> str:
    top = ranked[0]
    opening = f"{short_name(top.name)} scores highest ({value_of(top.estimate)}, {basis_of(top.estimate)})"
    tied = [line for line in ranked[1:] if line.rank and line.rank[0] == 1]
    if not tied:
        return f"{opening} and is ahead of the other {len(ranked) - 1}." if len(ranked) > 2 else f"{opening}."
    names = _names([f"{short_name(line.name)} ({value_of(line.estimate)})" for line in tied])
    return f"{opening}, but cannot be separated from {names} with these {len(board.items)} items."


def _neighbours(ranked: "list[Line]", board: "Board") -> str:
    """Each row against the next, paired over items, not corrected: the most that can be said for the order."""
    if len(ranked) < 3:
        return ""
    found = pairwise(np.array([board.row(line.entry) for line in ranked if line.entry]))
    p = np.diagonal(found.p, offset=1)
    same = int(np.sum(~(p < _ALPHA)))
    return f"{same} of {len(p)} neighbours in the order of scores cannot be told apart."


def _floor(ranked: "list[Line]", board: "Board") -> str:
    floor = [line for line in board.lines if line.kind == "baseline"]
    if not floor:
        return ""
    best = floor[0]
    value = best.estimate.value
    weak = [line for line in ranked if line.estimate.low is None or value is None or line.estimate.low <= value]
    if not weak:
        return f"All lie above '{best.name}' ({number(value, 1)}), the best answer without reading."
    names = _names([short_name(line.name) for line in weak])
    return f"Not clearly above '{best.name}' ({number(value, 1)}), an answer without reading: {names}."


def _names(names: list[str]) -> str:
    if len(names) > _MOST_NAMES + 1:
        names = [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

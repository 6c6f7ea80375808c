"""Shares with their Monte Carlo error, and tables as in docs/evidence/coverage.md; for claims.py and its parts."""

import math
import statistics
import sys
from collections.abc import Sequence


def share(hits: float, times: int) -> str:
    p = hits / times
    return f"{p:.3f} ± {math.sqrt(max(p * (1 - p), 1 / times) / times):.3f}"


def mean(values: Sequence[float]) -> str:
    """With its Monte Carlo error, s/√n."""
    if len(values) < 2:
        return "–"
    return f"{statistics.fmean(values):.2f} ± {statistics.stdev(values) / math.sqrt(len(values)):.2f}"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


class Rows(list[Sequence[object]]):
    """Rows of a table, told on stderr as they come: a simulation takes minutes."""

    def append(self, row: Sequence[object]) -> None:
        super().append(row)
        print(" | ".join(str(cell) for cell in row), file=sys.stderr, flush=True)

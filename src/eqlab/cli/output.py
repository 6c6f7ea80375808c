"""What the terminal shows: tables, escaped text, numbers with their interval."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from eqlab.cli.layout import lines
from eqlab.cli.plain import columns, harmless, print_json, wrapped
from eqlab.core.results import Estimate, Table
from eqlab.core.text import TOO_FEW, UNDEFINED, count_of, few, number

__all__ = ["console", "errors", "harmless", "interval", "number", "print_json", "print_rows", "print_table", "say"]


def console() -> Console:
    """Standard output; as wide as COLUMNS says, else as the terminal, else as needed: nothing is cut in a file."""
    return Console(width=columns() or (None if sys.stdout.isatty() else 200), highlight=False)


def say(text: str, style: str = "") -> None:
    """A sentence or more on standard output, broken between words where a line is full; never inside a name. In a
    file without COLUMNS, one line as it is."""
    out = console()
    full = columns() or (out.width if sys.stdout.isatty() else None)
    for line in harmless(text).split("\n"):
        for part in wrapped(line, full):
            out.print(Text(part, style=style), soft_wrap=True)


def errors() -> Console:
    return Console(stderr=True, highlight=False)


def interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return TOO_FEW if few(estimate) else UNDEFINED
    return f"{number(estimate.low, estimate.digits)} … {number(estimate.high, estimate.digits)}"


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table that fits the screen; columns without anything in them are left out."""
    out = console()
    if title:
        say(title, style="italic")
    cells = [[harmless(cell) for cell in row] for row in rows]
    ends = frozenset(place for place, column in enumerate(columns) if column in right)
    for line in lines([harmless(column) for column in columns], cells, out.width, ends):
        out.print(Text(line.text, style=line.style), soft_wrap=True)


def print_table(table: Table) -> None:
    """A benchmark's or reproduction's own table."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    right = [
        column
        for index, column in enumerate(table.columns)
        if table.rows and all(isinstance(row[index], int | float | None) for row in table.rows)
    ]
    print_rows(table.title, table.columns, rows, right)
    if table.note:
        say(table.note, style="dim")


def _cell(cell: str | int | float | Estimate | None) -> str:
    if isinstance(cell, Estimate):
        return f"{number(cell.value, cell.digits)} ({interval(cell)}, n = {count_of(cell)})"
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1e}" if 0 < abs(cell) < 0.005 else f"{cell:.2f}"  # a small p is not 0.00

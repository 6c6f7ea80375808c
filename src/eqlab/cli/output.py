"""What the terminal shows: tables, escaped text, numbers with their interval."""

import sys
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from eqlab.cli.plain import columns, harmless, print_json, wrapped
from eqlab.core.results import Estimate, Table
from eqlab.core.text import count_of

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


def number(value: float | None, digits: int = 2) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        from eqlab.analysis.intervals import FEWEST

        return "too few" if estimate.n < FEWEST else "undefined"
    return f"{estimate.low:.{estimate.digits}f} … {estimate.high:.{estimate.digits}f}"


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table; where it is too narrow for whole words, a line for each row instead."""
    out = console()
    cells = [[harmless(cell) for cell in row] for row in rows]
    heads = [harmless(column) for column in columns]
    words = [
        max(cell_len(word) for cell in own for word in cell.split() or [""]) for own in zip(heads, *cells, strict=True)
    ]
    if cells and sum(words) + 2 * (len(words) - 1) > out.width:  # lines can be broken between words only
        _print_lines(out, harmless(title), heads, cells)
        return
    table = RichTable(title=Text(harmless(title)) if title else None, title_justify="left", box=None, pad_edge=False)
    room = out.width - 2 * (len(heads) - 1)
    inside = [max(most, *map(cell_len, own)) for most, *own in zip(words, *cells, strict=True)] if cells else words
    whole = [max(cell_len(head), most) for head, most in zip(heads, inside, strict=True)]
    widths = _widths(whole, _widths(inside, words, room), room)
    for column, head, width in zip(columns, heads, widths, strict=True):
        side = "right" if column in right else "left"
        table.add_column(Text(head), justify=side, overflow="fold", width=width)  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(table)


def _widths(whole: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """As wide as wanted, or as the room allows: what is left beside the longest words is shared alike, and who needs
    less than a share leaves the rest to the others. Left to itself rich cuts the last column off instead."""
    found = list(words)
    left = room - sum(found)
    order = sorted(range(len(found)), key=lambda one: whole[one] - words[one])
    for place, one in enumerate(order):
        more = max(0, min(whole[one] - words[one], left // (len(order) - place)))
        found[one] += more
        left -= more
    return found


def _print_lines(out: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if title:
        out.print(Text(title, style="italic"))
    for first, *rest in rows:
        out.print(Text(first, style="bold"))
        facts = [f"{head} {cell}".strip() for head, cell in zip(heads[1:], rest, strict=True) if cell]
        for line in textwrap.wrap(
            " · ".join(facts), max(20, out.width - 2), break_long_words=False, break_on_hyphens=False
        ):
            out.print(Text(f"  {line}"), soft_wrap=True)


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

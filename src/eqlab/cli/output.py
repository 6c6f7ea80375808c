"""What the terminal shows: tables, escaped text, numbers with their interval."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from eqlab.cli.plain import columns, harmless, print_json, wrapped
from eqlab.core.results import Cell, Column, Table
from eqlab.core.text import number
from eqlab.tables.cells import interval_text as interval
from eqlab.tables.terminal import table_lines

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


def print_table(table: Table) -> None:
    """A table that fits the screen, between its title and its note."""
    out = console()
    if table.title:
        say(table.title, style="italic")
    for line in table_lines(table, out.width):
        out.print(Text(line.text, style=line.style), soft_wrap=True)
    if table.note:
        say(table.note, style="dim")


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[str] = ()) -> None:
    """A small table of words; `right`: titles of columns whose words are numbers."""
    print_table(Table(title, [_column(name) if name in right else name for name in columns], rows))


def _column(title: str) -> Column:
    return Column(title.replace(" ", "_"), title, "number")

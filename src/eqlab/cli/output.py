"""What the terminal shows: tables, escaped text, numbers with their interval."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from eqlab.cli.plain import columns, harmless, pasteable, print_json, wrapped
from eqlab.core.results import Cell, Column, Table
from eqlab.core.text import number
from eqlab.tables.cells import interval_text as interval
from eqlab.tables.terminal import table_lines

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "console",
    "errors",
    "harmless",
    "interval",
    "number",
    "print_json",
    "print_lines",
    "print_rows",
    "print_table",
    "say",
]


_WEIGHTS = ("bold", "dim", "italic")
_FILE_WIDTH = 200
"""Columns of a table in a file or a pipe where COLUMNS is not set."""
_PAGE_WIDTH = 110
_LOG_WIDTH = 80


def console() -> "Console":
    """Standard output; as wide as COLUMNS says, else as the terminal, else as needed: nothing is cut in a file."""
    from rich.console import Console

    return Console(width=columns() or (None if sys.stdout.isatty() else _FILE_WIDTH), highlight=False)


def errors() -> "Console | Log":
    """Standard error; in a file or a pipe without rich, which takes a quarter of what `import numpy` takes to load."""
    if not sys.stderr.isatty() and not os.environ.get("FORCE_COLOR"):
        return Log()
    from rich.console import Console

    return Console(stderr=True, highlight=False)


class Log:
    """What is printed of rich's console where nothing has a colour or moves."""

    is_terminal = False

    def __init__(self) -> None:
        self.width = columns() or _LOG_WIDTH

    def print(self, text: str, *, markup: bool = True, style: str = "", soft_wrap: bool = False) -> None:
        for line in text.split("\n"):
            for part in wrapped(line, None if soft_wrap else self.width):
                sys.stderr.write(f"{part}\n")
        sys.stderr.flush()


def say(text: str, style: str = "") -> None:
    """A sentence or more on standard output, broken between words where a line is full; never inside a name. In a
    file without COLUMNS, one line as it is."""
    full = columns() or (_width() if sys.stdout.isatty() else None)
    for line in harmless(pasteable(text)).split("\n"):
        for part in wrapped(line, full):
            _print(part, style)


def print_table(table: Table) -> None:
    """A table that fits the screen, between its title and its note; one without rows is its note."""
    if table.title:
        say(table.title, style="italic")
    for line in table_lines(table, _width()) if table.rows or not table.note else ():
        _print(line.text, line.style)
    if table.note:
        say(table.note, style="dim")


def print_lines(lines: Callable[[int], Sequence[str]]) -> None:
    """A drawing in letters, as wide as the screen, or as a page where there is none."""
    for line in lines(columns() or (_width() if sys.stdout.isatty() else _PAGE_WIDTH)):
        _print(harmless(line), "")


def _width() -> int:
    return columns() or (shutil.get_terminal_size().columns if sys.stdout.isatty() else _FILE_WIDTH)


def _print(line: str, style: str) -> None:
    """A line in one style, such as `bold red`; without any in a file, or where the terminal has none."""
    words = style.split() if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else []
    if words:
        colour = next((word for word in words if word not in _WEIGHTS), None)
        weights: dict[str, Any] = {weight: True for weight in _WEIGHTS if weight in words}
        line = typer.style(line, fg=None if os.environ.get("NO_COLOR") else colour, **weights)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[str] = ()) -> None:
    """A small table of words; `right`: titles of columns whose words are numbers."""
    print_table(Table(title, [_column(name) if name in right else name for name in columns], rows))


def _column(title: str) -> Column:
    return Column(title.replace(" ", "_"), title, "number")

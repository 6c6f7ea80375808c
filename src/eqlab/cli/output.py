"""What the terminal shows: tables, escaped text, numbers with their interval."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from eqlab.cli.plain import harmless, print_json
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.text import count_of

__all__ = [
    "console", "errors", "harmless", "interval", "number", "print_json", "print_results", "print_rows", "print_table",
    "result_json",
]  # fmt: skip


def console() -> Console:
    """Standard output; as wide as needed when it is no terminal, so that nothing is cut in a file."""
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False)


def errors() -> Console:
    return Console(stderr=True, highlight=False)


def number(value: float | None, digits: int = 2) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "undefined"
    return f"{estimate.low:.{estimate.digits}f} … {estimate.high:.{estimate.digits}f}"


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    table = RichTable(title=Text(harmless(title)) if title else None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(Text(harmless(column)), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console().print(table)


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
        console().print(Text(harmless(table.note), style="dim"))


def _cell(cell: str | int | float | Estimate | None) -> str:
    if isinstance(cell, Estimate):
        return f"{number(cell.value, cell.digits)} ({interval(cell)}, n = {count_of(cell)})"
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1e}" if 0 < abs(cell) < 0.005 else f"{cell:.2f}"  # a small p is not 0.00


def print_results(results: Sequence[Result], said: Sequence[str] = ()) -> None:
    """One table of all results, then each conclusion and its caveats in words; what was said above is not repeated."""
    rows = []
    for result in results:
        counts = result.counts
        rows.append(
            [
                result.subject.removeprefix("model:"),
                result.title,
                number(result.headline.value, result.headline.digits),
                interval(result.headline),
                count_of(result.headline),
                *(str(counts.get(name, 0)) for name in ("ok", "unparseable", "refused", "error", "unanswered")),
                _rules(result),
            ]
        )
    columns = ["subject", "benchmark", "score", "95 % interval", "n", "ok", "unparseable", "refused", "error"]
    print_rows("", [*columns, "unanswered", "rules"], rows, right=["score", "n", "ok"])
    out = console()
    for result in results:
        above = any(result.sentence in sentence for sentence in said)
        text = f"{result.subject.removeprefix('model:')}, {result.title}" if above else result.sentence
        if not above or result.baselines or result.caveats:
            out.print(Text(harmless(f"\n{text}"), style="" if said else "bold"))
        if result.baselines:
            floor = ", ".join(f"{baseline.name} {baseline.value:.1f}" for baseline in result.baselines)
            out.print(Text(f"What takes no skill scores: {floor}.", style="dim"))
        again = [estimate for estimate in result.estimates if estimate.name.startswith("repeatability: ")]
        if again:
            said = "; ".join(_brief(estimate) for estimate in again)
            out.print(Text(f"Asked again: {said}.", style="dim"))
        for caveat in result.caveats:
            out.print(Text(harmless(f"! {caveat}"), style="yellow"))


def _brief(estimate: Estimate) -> str:
    """Name, value, interval and n in one phrase."""
    name = estimate.name.removeprefix("repeatability: ")
    if estimate.value is None:
        return f"{name} {estimate.note or 'undefined'}"
    unit = f" {estimate.unit}" if estimate.unit else ""
    return f"{name} {number(estimate.value, estimate.digits)}{unit} ({interval(estimate)}, n = {estimate.n})"


def _rules(result: Result) -> str:
    """Under which rules the score was made, in two words."""
    mode = {"json": "structured", "form": "form"}.get(str(result.rules.get("mode")), "free text")
    mode = "form" if result.subject == PEOPLE else mode
    return ", ".join(part for part in (str(result.rules.get("name", "")), mode) if part)


def result_json(result: Result) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(result)

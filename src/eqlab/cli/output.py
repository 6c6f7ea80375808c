"""What the terminal shows: tables, escaped text, numbers with their interval."""

import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from eqlab.cli.plain import harmless, print_json
from eqlab.core.answered_as import in_words, replaced
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.text import count_of

__all__ = [
    "console", "errors", "harmless", "interval", "number", "print_json", "print_results", "print_rows", "print_table",
    "result_json",
]  # fmt: skip


def console() -> Console:
    """Standard output; as wide as COLUMNS says, else as the terminal, else as needed: nothing is cut in a file."""
    said = os.environ.get("COLUMNS", "")
    given = int(said) if said.isdecimal() and int(said) >= 20 else None
    return Console(width=given or (None if sys.stdout.isatty() else 200), highlight=False)


def errors() -> Console:
    return Console(stderr=True, highlight=False)


def number(value: float | None, digits: int = 2) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "undefined"
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
    whole = [max(map(cell_len, own)) for own in zip(heads, *cells, strict=True)]
    for column, head, width in zip(columns, heads, _widths(whole, words, out.width), strict=True):
        side = "right" if column in right else "left"
        table.add_column(Text(head), justify=side, overflow="fold", width=width)  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(table)


def _widths(whole: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """As wide as the cells, or as the room allows: what is left beside the longest words goes, one by one, to the
    column that lacks most. Left to itself rich cuts the last column off instead."""
    found = list(words)
    left = room - 2 * (len(found) - 1) - sum(found)
    while left > 0 and found != list(whole):
        found[max(range(len(found)), key=lambda one: whole[one] - found[one])] += 1
        left -= 1
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
        console().print(Text(harmless(table.note), style="dim"))


def _cell(cell: str | int | float | Estimate | None) -> str:
    if isinstance(cell, Estimate):
        return f"{number(cell.value, cell.digits)} ({interval(cell)}, n = {count_of(cell)})"
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1e}" if 0 < abs(cell) < 0.005 else f"{cell:.2f}"  # a small p is not 0.00


_STATUSES = ("ok", "unparseable", "refused", "error", "unanswered")


def print_results(results: Sequence[Result], said: Sequence[str] = ()) -> None:
    """One table of all results, then each conclusion and its caveats in words; what was said above is not repeated."""
    rows = []
    statuses = [name for name in _STATUSES if name == "ok" or any(result.counts.get(name) for result in results)]
    others = any(map(_another, results))
    for result in results:
        counts = result.counts
        rows.append(
            [
                result.subject.removeprefix("model:"),
                result.title,
                number(result.headline.value, result.headline.digits),
                interval(result.headline),
                count_of(result.headline),
                *(str(counts.get(name, 0)) for name in statuses),
                _rules(result),
                *([in_words(result.answered_as) if _another(result) else ""] if others else []),
            ]
        )
    columns = ["subject", "benchmark", "score", "95 % interval", "n", *statuses, "rules"]
    columns += ["answered as"] if others else []
    print_rows("", columns, rows, right=["score", "n", *statuses])
    out = console()
    once = [one for one in results[0].caveats if all(one in result.caveats for result in results)] if results else []
    for result in results:
        caveats = [caveat for caveat in result.caveats if caveat not in once]
        repeated = any(result.sentence in above for above in said) or (len(results) > 1 and bool(said))
        text = f"{result.subject.removeprefix('model:')}, {result.title}" if repeated else result.sentence
        if not repeated or result.baselines or caveats:
            out.print(Text(harmless(f"\n{text}"), style="" if repeated else "bold"))
        if result.baselines:
            floor = ", ".join(f"{baseline.name} {baseline.value:.1f}" for baseline in result.baselines)
            out.print(Text(f"What takes no skill scores: {floor}.", style="dim"))
        again = [estimate for estimate in result.estimates if estimate.name.startswith("repeatability: ")]
        if again:
            said = "; ".join(_brief(estimate) for estimate in again)
            out.print(Text(f"Asked again: {said}.", style="dim"))
        for caveat in caveats:
            out.print(Text(harmless(f"! {caveat}"), style="yellow"))
    if once:
        out.print("")
    for caveat in once:
        out.print(Text(harmless(f"! {caveat}"), style="yellow"))


def _another(result: Result) -> bool:
    """Whether another model answered than was asked, or several did."""
    return any(replaced(result.subject, result.answered_as))


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

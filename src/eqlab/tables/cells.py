"""The one text of a cell. Every renderer prints it, so a number looks the same on the terminal, on a page, in Markdown
(which is made here) and in a notebook. Files for machines (CSV, JSON, Parquet) hold the values themselves."""

from collections.abc import Sequence

from eqlab.core.results import Cell, Column, Estimate, Rank, Table
from eqlab.core.text import TOO_FEW, UNDEFINED, count_of, few, is_number, money, number, value_of, visible

NO_RANK = "none"
UNKNOWN = "unknown"
RIGHT = frozenset(("count", "number", "p", "share", "rank", "money", "seconds"))
"""Kinds whose cells end at the right."""


def cell_text(column: Column, value: Cell) -> str:
    """A cell as its reader sees it. None is undefined: a word, never 0 and never nothing. What is not of the column's
    kind says what it is: a reason in place of a number, a blank where there is nothing to say."""
    if isinstance(value, str):
        return value
    if value is None:
        return _NONE.get(column.kind, UNDEFINED)
    if isinstance(value, Estimate):
        return estimate_text(value) if column.kind in ("estimate", "text") else value_of(value)
    if isinstance(value, tuple):
        return rank_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not is_number(value):
        return UNDEFINED
    return _TEXTS.get(column.kind, _number)(column, value)


def estimate_text(estimate: Estimate) -> str:
    """ "57.31 (51.20 … 63.40, n = 58)"."""
    if not is_number(estimate.value):
        return f"{UNDEFINED} (n = {count_of(estimate)})"
    unit = f" {estimate.unit}" if estimate.unit else ""
    return f"{number(estimate.value, estimate.digits)}{unit} ({interval_text(estimate)}, n = {count_of(estimate)})"


def interval_text(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None or not is_number(estimate.low + estimate.high):
        return TOO_FEW if few(estimate) else UNDEFINED
    return f"{number(estimate.low, estimate.digits)} … {number(estimate.high, estimate.digits)}"


def rank_text(rank: Rank | None) -> str:
    """ "3–7"; one number where the range is one."""
    if rank is None:
        return NO_RANK
    return f"{rank[0]}" if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def p_text(p: float | None) -> str:
    """A p-value that never prints as 0."""
    if p is None or not is_number(p):
        return UNDEFINED
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def share_text(share: float | None, digits: int = 1) -> str:
    """A share of 1 in per cent; never quite 0 or quite 100 where it is not."""
    if share is None or not is_number(share):
        return UNDEFINED
    text, step = f"{100 * share:.{digits}f}", 10.0**-digits
    if float(text) == 0 and share > 0:
        return f"< {step:.{digits}f} %"
    if float(text) == 100 and share < 1:
        return f"> {100 - step:.{digits}f} %"
    return f"{text} %"


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return "< 0.01" if 0 < seconds < 0.005 else number(seconds, 2 if seconds < 10 else 0)


def _number(column: Column, value: float) -> str:
    """What is not zero does not print as zero."""
    if isinstance(value, int):
        text = f"{value:,}" if abs(value) >= 10_000 else str(value)
    else:
        text = number(value, column.digits)
        text = f"{value:.2g}" if value and float(text) == 0 else text
    return f"{text} {column.unit}" if column.unit else text


_NONE = {"text": "", "flag": "", "rank": NO_RANK, "money": UNKNOWN, "seconds": UNKNOWN}
_TEXTS = {
    "p": lambda column, value: p_text(value),
    "share": lambda column, value: share_text(value, column.digits),
    "money": lambda column, value: money(value, column.unit),
    "seconds": lambda column, value: seconds_text(value),
}


_MARKS = "&\\`*_[]<>|@#"


def markdown_table(table: Table) -> str:
    """Heads, rows, then the note; the title is the caller's, who knows how deep it stands."""
    lines = [
        _line([safe(title) for title in table.titles]),
        _line(["--:" if column.kind in RIGHT else ":--" for column in table.columns]),
        *(
            _line([safe(cell_text(column, value)) for column, value in zip(table.columns, row, strict=True)])
            for row in table.rows
        ),
    ]
    return "\n".join([*lines, "", safe(table.note)] if table.note else lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def safe(text: str) -> str:
    """Names come from servers and files: nothing in them may break a table, or be a link, a tag or a mention."""
    return "".join(f"&#{ord(char)};" if char in _MARKS else char for char in visible(" ".join(text.split())))

"""A reproduction for other programs: its rows as CSV, its sentences and tables as Markdown."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.results import Estimate, Table
from eqlab.core.spreadsheet import FORMULA
from eqlab.core.text import cell, numeric_columns, plain, visible


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """One line a row, a column for every key that any row has; undefined is an empty field."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)  # lines end in CRLF, so that a bare carriage return is quoted: else it ends a row
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer.writerow(columns)
    writer.writerows([_field(row.get(name)) for name in columns] for row in rows)
    return buffer.getvalue().encode("utf-8", "replace")


def _field(value: Any) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def as_markdown(title: str, findings: Sequence[str], tables: Sequence[Table]) -> str:
    parts = [f"# {_escaped(title)}", *[f"- {_escaped(sentence)}" for sentence in findings]]
    text = "\n".join([parts[0], "", *parts[1:], ""])
    return text + "".join(f"\n{_table(table)}" for table in tables)


def _table(table: Table) -> str:
    marks = ["--:" if numeric else ":--" for numeric in numeric_columns(table)]
    lines = [
        f"## {_escaped(table.title)}",
        "",
        _line([_escaped(column) for column in table.columns]),
        _line(marks),
        *(_line([_cell(value) for value in row]) for row in table.rows),
    ]
    if table.note:
        lines += ["", _escaped(table.note)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: str | int | float | Estimate | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and 0 < abs(value) < 0.005:
        return f"{value:.1e}"  # a small p is not 0.00
    return _escaped(cell(value))


def _escaped(text: str) -> str:
    """One line that Markdown takes for text."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", " ".join(visible(text).split()))

"""A reproduction for other programs: its rows as CSV, its sentences and tables as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.results import Table
from eqlab.core.text import plain
from eqlab.tables.cells import markdown_table, safe
from eqlab.tables.data import csv_bytes


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """One line a row, a column for every key that any row has; undefined is an empty field."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_bytes(columns, [{name: _field(value) for name, value in row.items()} for row in rows])


def _field(value: Any) -> str | int | float | None:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return plain(value)


def as_markdown(title: str, findings: Sequence[str], tables: Sequence[Table]) -> str:
    parts = [f"# {safe(title)}", "", *(f"- {safe(sentence)}" for sentence in findings)]
    for table in tables:
        parts += ["", f"## {safe(table.title)}", "", markdown_table(table)]
    return "\n".join(parts) + "\n"

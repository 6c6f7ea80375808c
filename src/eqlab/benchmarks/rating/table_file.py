"""A user's table, CSV or JSON lines, row by row with its line number: the door where files from outside come in."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eqlab.core.errors import DataError
from eqlab.core.spreadsheet import unguarded


@dataclass(frozen=True, slots=True)
class TableRow:
    line: int
    cells: dict[str, str]
    """By column, outer blanks gone; empty cells are left out."""


@dataclass(frozen=True, slots=True)
class BadRow:
    line: int
    reason: str
    """Never holds the cell of a rater: ids belong to people."""


def read_table(content: bytes, path: str, needed: Sequence[str]) -> tuple[list[TableRow], list[BadRow]]:
    """The rows and those that are none. A file that is no table at all, or lacks a needed column, is an error."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from error
    jsonl = path.lower().endswith((".jsonl", ".ndjson"))
    rows, bad = _json_lines(text) if jsonl else _csv(text, path)
    if not rows and not bad:
        raise DataError(f"{path} has no rows.", f"It needs the columns {', '.join(needed)}.")
    known = {column for row in rows for column in row.cells}
    missing = [column for column in needed if column not in known]
    if rows and missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(missing)}.",
            f"It has {', '.join(sorted(known)) or 'none'}; it needs {', '.join(needed)}.",
        )
    return rows, bad


def _csv(text: str, path: str) -> tuple[list[TableRow], list[BadRow]]:
    rows, bad = [], []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise DataError(f"{path}: two columns have the same name.", "Name each column once, in the first line.")
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                bad.append(BadRow(line, f"{len(cells)} cells instead of {len(header)}"))
                continue
            rows.append(TableRow(line, _cells(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num} is not CSV ({error}).", "Quote texts with commas.") from error
    return rows, bad


def _json_lines(text: str) -> tuple[list[TableRow], list[BadRow]]:
    rows, bad = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
            bad.append(BadRow(number, "no JSON object"))
            continue
        if not isinstance(body, dict):
            bad.append(BadRow(number, "no JSON object"))
        elif any(isinstance(value, dict | list) for value in body.values()):
            bad.append(BadRow(number, "a value is a list or an object instead of text or a number"))
        else:
            cells = ((str(name).strip().lower(), _text(value)) for name, value in body.items())
            rows.append(TableRow(number, _cells(cells)))
    return rows, bad


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _cells(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: unguarded(cell.strip()) for name, cell in pairs if name and cell.strip()}

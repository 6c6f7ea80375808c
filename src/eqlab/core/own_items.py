"""A user's own item file: TOML as the open items are, CSV or JSON lines with named columns. Every problem is said at
once, with its line and key; a benchmark only names the keys and makes its items of them."""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from eqlab.core.errors import DataError
from eqlab.core.toml_file import decoded, problems_text, read_toml
from eqlab.core.toml_lines import Path
from eqlab.core.toml_section import Notes, Section

T = TypeVar("T")
TOP = ("title", "version", "licence", "provenance", "author", "language", "item")
HINT = "The format is in docs/own-items.md."


def own_title(content: bytes, path: str) -> str:
    """What the file calls itself; its name if it does not say. A broken file is told of when it is read."""
    stem = PurePath(path).stem
    if PurePath(path).suffix.lower() in (".csv", ".jsonl"):
        return stem
    try:
        title = tomllib.loads(content.decode("utf-8")).get("title")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return stem
    return title.strip() if isinstance(title, str) and title.strip() else stem


def read_own(
    content: bytes,
    path: str,
    known: Sequence[str],
    make: Callable[[Section], T],
    nested: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
) -> list[T]:
    """The items, in the order of the file. `nested`: from the columns of a row to the keys of an item in TOML."""
    name = PurePath(path).name
    text = decoded(content, name)
    kind = PurePath(path).suffix.lower()
    if kind in (".csv", ".jsonl"):
        rows = _csv(text, name) if kind == ".csv" else _json_lines(text, name)
        lines: dict[Path, int] = {("item", index): line for index, (line, _) in enumerate(rows)}
        notes = Notes(lines)
        made = _made(Section({"item": [nested(row) for _, row in rows]}, (), notes, TOP), known, make)
        if notes.problems:
            raise DataError(problems_text(notes, name), HINT)
    else:
        made = read_toml(text, name, TOP, lambda top: _made(top, known, make), HINT)
    if not made:
        raise DataError(f"{name} has no item.", HINT)
    return made


def _made(top: Section, known: Sequence[str], make: Callable[[Section], T]) -> list[T]:
    found, ids = [], set[str]()
    for section in top.tables("item", known):
        own = section.text("id")
        if own and own in ids:
            section.wrong("id", f"'{own[:60]}' is there twice (give each item an id of its own)")
        ids.add(own)
        found.append(make(section))
    return found


def _csv(text: str, name: str) -> list[tuple[int, dict[str, Any]]]:
    """Empty cells are absent keys."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        before = 1
        for row in reader:
            line, before = before + 1, reader.line_num
            if None in row:
                raise DataError(f"{name}:{line}: more cells than columns.", "Put texts with commas in quotes.")
            rows.append((line, {key.strip(): cell for key, cell in row.items() if cell and cell.strip()}))
    except csv.Error as error:
        raise DataError(f"{name}:{reader.line_num}: this is not CSV: {error}.", HINT) from error
    return rows


def _json_lines(text: str, name: str) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for line, one in enumerate(text.splitlines(), start=1):
        if not one.strip():
            continue
        try:
            row = json.loads(one)
        except ValueError as error:
            raise DataError(f"{name}:{line}: this is not JSON: {error}.", HINT) from error
        if not isinstance(row, dict):
            raise DataError(f"{name}:{line}: not an object.", 'Write {"id": "…", …} on each line.')
        rows.append((line, row))
    return rows


def as_number(cell: Any) -> Any:
    """A cell of a CSV as the number it is; anything else stays, for the check to name."""
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except ValueError:
        return cell

"""A file of items, ours or a user's: TOML, CSV or JSON lines. Every problem is said at once, with line, key and the
item's id; a benchmark only names the keys and makes its items of them."""

import csv
import io
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from eqlab.core.errors import DataError
from eqlab.core.toml_file import Notes, Path, Section, decoded, problems_text, read_toml

T = TypeVar("T")
ABOUT = ("title", "version", "licence", "language", "provenance", "author", "instruction")
"""What an item file may say of itself, and to the models; some benchmarks have a second instruction."""
HINT = "The format is in docs/questions.md."
_TABLES = (".csv", ".jsonl")
_BETWEEN = "|"
"""Between the parts of a list in one cell of a CSV."""


def own_title(content: bytes, path: str) -> str:
    """What the file calls itself; its name if it does not say. A broken file is told of when it is read."""
    stem = PurePath(path).stem
    if PurePath(path).suffix.lower() in _TABLES:
        return stem
    try:
        title = tomllib.loads(content.decode("utf-8")).get("title")
    except (ValueError, RecursionError):
        return stem
    return title.strip() if isinstance(title, str) and title.strip() else stem


def read_items(
    content: bytes,
    path: str,
    keys: Sequence[str],
    make: Callable[[Section, Section], T],
    row: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
    text_as: str = "",
    about: Sequence[str] = (),
) -> list[T]:
    """The items in the order of the file, each made of its own table and the file's top. `row`: from the columns of a
    CSV or the keys of a JSON line to the keys of an item in TOML; `text_as`: the key that may also be called `text`;
    `about`: what else the top may say. No id may be there twice."""
    name = PurePath(path).name
    text = decoded(content, name)
    kind = PurePath(path).suffix.lower()

    def items(top: Section) -> list[T]:
        entries = top.tables("item", (*keys, "text") if text_as else keys)
        if not entries and isinstance(top.values.get("item", []), list):
            top.wrong("item", "is missing: there is no item (begin each with a line [[item]])")
        seen: set[str] = set()
        for section in entries:
            own = section.values.get("id")
            if isinstance(own, str) and own.strip() and own.strip() in seen:
                section.wrong("id", f"'{own[:40]}' is there twice (give each item an id of its own)")
            seen.add(own.strip() if isinstance(own, str) else "")
            if text_as and "text" in section.values:
                _called(section, text_as)
        return [make(entry, top) for entry in entries]

    if kind not in _TABLES:
        try:
            return read_toml(text, name, (*ABOUT, *about, "item"), items, HINT)
        except DataError as error:
            raise DataError(_with_ids(error.message, _entries(text)), error.hint) from error
    rows = _csv(text, name) if kind == ".csv" else _json_lines(text, name)
    if not rows:
        raise DataError(f"{name} has no item.", HINT)
    lines: dict[Path, int] = {("item", index): line for index, (line, _) in enumerate(rows)}
    entries = [row(cells) for _, cells in rows]
    notes = Notes(lines)
    made = items(Section({"item": entries}, (), notes, (*ABOUT, "item")))
    if notes.problems:
        raise DataError(_with_ids(problems_text(notes, name), entries), HINT)
    return made


def _called(section: Section, key: str) -> None:
    """What the author calls `text`, under the benchmark's own name."""
    if key in section.values:
        section.wrong("text", f"stands beside {key}, which is the same (write one of them)")
    else:
        section.values = {**section.values, key: section.values["text"]}


def columns(
    lists: Sequence[str] = (), numbers: Sequence[str] = (), flags: Sequence[str] = ()
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Cells of a CSV, which are all text, as the values that TOML and JSON have: lists with | between their parts,
    numbers, and yes or no."""

    def made(cells: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(cells)
        for key in lists:
            if isinstance(found.get(key), str):
                found[key] = [part.strip() for part in found[key].split(_BETWEEN) if part.strip()]
        for key in numbers:
            if key in found:
                found[key] = as_number(found[key])
        for key in flags:
            if isinstance(found.get(key), str):
                found[key] = {"yes": True, "true": True, "no": False, "false": False}.get(
                    found[key].strip().casefold(), found[key]
                )
        return found

    return made


def as_number(cell: Any) -> Any:
    """A cell of a CSV as the number it is; anything else stays, for the check to name."""
    if not isinstance(cell, str):
        return cell
    try:
        return int(cell) if re.fullmatch(r"\s*[+-]?\d{1,9}\s*", cell) else float(cell)
    except ValueError:
        return cell


def numbered(cell: str) -> dict[str, Any]:
    """Words with a number each in one cell: Sad 7 | Calm 2 | …"""
    parts = [re.fullmatch(r"\s*(.*?)[\s=:]+(\S+)\s*", part) for part in cell.split(_BETWEEN)]
    return {part.group(1): as_number(part.group(2)) for part in parts if part}


def numbers_in(key: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """For `read_items`: a line of a CSV whose words and numbers stand in this one cell."""
    return lambda cells: {**cells, **({key: numbered(cell)} if isinstance(cell := cells.get(key), str) else {})}


def instruction(top: Section, needs: Sequence[str], may: Sequence[str] = (), key: str = "instruction") -> str:
    """The user's own words to the model, in whatever language, with {names} where parts of an item go in; empty: ours.
    A part that is needed and not there, or not known, is a problem."""
    if not top.has(key):
        return ""
    text = top.text(key)
    named = set(re.findall(r"\{(\w*)\}", text))
    for slot in needs:
        if text and slot not in named:
            top.wrong(key, f"lacks {{{slot}}} (write it where that part of an item goes in)")
    for slot in sorted(named - {*needs, *may}):
        known = ", ".join(f"{{{one}}}" for one in (*needs, *may)) or "none here"
        top.wrong(key, f"{{{slot}}} is not known (there are: {known})")
    return text


def filled(text: str, **parts: str) -> str:
    """An instruction with its parts in their places; what a part says is not looked at again."""
    return re.sub(r"\{(\w+)\}", lambda found: parts.get(found.group(1), found.group()), text)


def _entries(text: str) -> list[Any]:
    try:
        found = tomllib.loads(text).get("item", [])
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _with_ids(message: str, entries: Sequence[Any]) -> str:
    """Items also by the id that their author knows them by, after the key."""
    names = {index: one["id"] for index, one in enumerate(entries, start=1) if isinstance(one, dict) and "id" in one}

    def named(found: re.Match[str]) -> str:
        own = names.get(int(found.group(2)))
        return f"{found.group(1)} ({own})" if isinstance(own, str) and 0 < len(own.strip()) <= 60 else found.group(1)

    return re.sub(r"(?<=: )(item\[(\d+)\][^\s:]*)(?=:)", named, message)


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
    for line, written in enumerate(text.splitlines(), start=1):
        if not written.strip():
            continue
        try:
            row = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}:{line}: this is not JSON: {error}.", HINT) from error
        if not isinstance(row, dict):
            raise DataError(f"{name}:{line}: not an object.", 'Write {"id": "…", …} on each line.')
        rows.append((line, row))
    return rows

"""A table of a TOML file that hands out values of the right type, and remembers everything that is wrong, with its
line: reading goes on after a problem, so that a user hears of all at once."""

import datetime
import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.toml_lines import Path

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LONGEST = 20_000


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    line: int
    key: str
    what: str
    """What is wrong, and in brackets what to write instead."""


@dataclass(slots=True)
class Notes:
    """The problems found so far, and where keys stand."""

    lines: Mapping[Path, int]
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, what: str) -> None:
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        self.problems.append(Problem(self.lines.get(known, 1), shown(path), what))


def shown(path: Path) -> str:
    """A path as it reads in a message: `tutorial.question[2].answer`; array elements are counted from 1."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            name = part if _BARE.fullmatch(part) else '"' + _brief(part) + '"'
            text += f".{name}" if text else name
    return text


class Section:
    """One table. Every key it may have is named when it is opened; others are reported."""

    def __init__(self, values: Mapping[str, Any], path: Path, notes: Notes, known: Sequence[str]) -> None:
        self.values = values
        self.path = path
        self.notes = notes
        for key in values:
            if key not in known:
                notes.add((*path, key), f"is not known here ({_suggestion(key, known)})")

    def has(self, key: str) -> bool:
        return key in self.values

    def wrong(self, key: str, what: str) -> None:
        self.notes.add((*self.path, key), what)

    def wrong_element(self, key: str, element: str, what: str) -> None:
        """A problem with one text of a list that `texts` has read."""
        index = [isinstance(one, str) and one.strip() == element for one in self.values[key]].index(True)
        self.notes.add((*self.path, key, index), f"'{_brief(element)}' {what}")

    def text(self, key: str, default: str | None = None, *, may_be_empty: bool = False) -> str:
        """A text; without a default it must be there."""
        value = self.values.get(key)
        if isinstance(value, datetime.date | datetime.time):  # keep_until = 2027-01-31
            value = value.isoformat()
        if value is None:
            if default is None:
                self.wrong(key, f'is missing (write {key} = "…")')
            return default or ""
        if not isinstance(value, str):
            self.wrong(key, f'is {_kind(value)}, not text (write {key} = "…")')
            return default or ""
        why = bad_text(value, may_be_empty=may_be_empty)
        if why:
            self.wrong(key, why)
        return value.strip()

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value and value not in choices and isinstance(self.values.get(key), str):
            self.wrong(key, f"'{_brief(value)}' is not one of the values ({_suggestion(value, choices)})")
        return value if value in choices else default or choices[0]

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(key, f"is {_kind(value)}, not a whole number (write one from {low} to {high})")
        elif not low <= value <= high:
            self.wrong(key, f"{_brief_number(value)} is out of range (write a whole number from {low} to {high})")
        else:
            return value
        return default

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(key, f"is {_kind(value)}, not a number (write one from {low:g} to {high:g})")
        elif not low <= value <= high or not math.isfinite(value):
            self.wrong(key, f"{_brief_number(value)} is out of range (write a number from {low:g} to {high:g})")
        else:
            return float(value)
        return default

    def flag(self, key: str, default: bool | None = False) -> bool | None:
        value = self.values.get(key, default)
        if value is not None and not isinstance(value, bool):
            self.wrong(key, f"is {_kind(value)} (write true or false)")
            return default
        return value

    def wholes(self, key: str, default: tuple[int, ...], low: int, high: int) -> tuple[int, ...]:
        """A list of different whole numbers."""
        value = self.values.get(key, list(default))
        fine = isinstance(value, list) and all(type(one) is int and low <= one <= high for one in value)
        if not fine or not value or len(set(value)) < len(value):
            self.wrong(key, f"is not a list of different whole numbers from {low} to {high} (write {key} = [0, 1, 2])")
            return default
        return tuple(value)

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts, without repetition."""
        value = self.values.get(key, list(default))
        if not isinstance(value, list):
            self.wrong(key, f'is {_kind(value)}, not a list (write {key} = ["…", "…"])')
            return default
        found: list[str] = []
        for index, one in enumerate(value):
            why = bad_text(one) if isinstance(one, str) else f"is {_kind(one)}, not text (put it in quotes)"
            if not why and one.strip() in found:
                why = f"'{_brief(one)}' is there twice (delete one)"
            if why:
                self.notes.add((*self.path, key, index), why)
            else:
                found.append(one.strip())
        return tuple(found)

    def table(self, key: str, known: Sequence[str] | None) -> "Section":
        """A table inside this one, empty if absent; with `known` None it may have any keys."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, f"is {_kind(value)}, not a table (write a line [{shown((*self.path, key))}])")
            value = {}
        return Section(value, (*self.path, key), self.notes, tuple(value) if known is None else known)

    def named(self, key: str, known: Sequence[str]) -> dict[str, "Section"]:
        """`[key.NAME]`, by name."""
        names = self.table(key, None)
        return {name: names.table(name, known) for name in names.values}

    def tables(self, key: str, known: Sequence[str]) -> list["Section"]:
        """The tables of an array, in order."""
        value = self.values.get(key, [])
        name = ".".join(part for part in (*self.path, key) if isinstance(part, str))
        if not isinstance(value, list):
            self.wrong(key, f"is {_kind(value)}, not a list of tables (begin each with a line [[{name}]])")
            return []
        found = []
        for index, one in enumerate(value):
            if isinstance(one, dict):
                found.append(Section(one, (*self.path, key, index), self.notes, known))
            else:
                what = f"is {_kind(one)}, not a table (begin each with a line [[{name}]])"
                self.notes.add((*self.path, key, index), what)
        return found


def bad_text(text: str, *, may_be_empty: bool = False) -> str:
    """Why a text cannot be used; empty if it can."""
    if not text.strip() and not may_be_empty:
        return "is empty (write the text, or delete the line for the default)"
    if len(text) > _LONGEST:
        return f"has {len(text)} characters (write {_LONGEST} at most)"
    if _UNPRINTABLE.search(text):
        return "holds a control character (delete it)"
    return ""


def _suggestion(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:100], known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(known) or 'none'}"


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list"}
    if isinstance(value, dict):
        return "a table"
    return names.get(type(value), "a date or time")


def _brief(text: str) -> str:
    line = " ".join(_UNPRINTABLE.sub("?", text).split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _brief_number(value: float) -> str:
    if isinstance(value, int):
        return str(value) if abs(value) < 10**15 else "this number"
    return f"{value:g}"

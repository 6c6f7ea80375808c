"""A user's TOML file read whole: study files, sweep files, rubrics, languages, items (`item_file`). What is wrong with
it is said at once, every problem as FILE:LINE: key: what is wrong (what to write instead)."""

import datetime
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from eqlab.core.errors import DataError
from eqlab.core.forms import Scale
from eqlab.core.values import dataclass

Path = tuple[str | int, ...]
"""Keys from the outside in; a number counts the elements of an array, from 0."""
T = TypeVar("T")
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


@lru_cache(maxsize=32)
def _parsed(text: str) -> dict[str, Any]:
    """A study and its simulations, or several models, read the same files."""
    return tomllib.loads(text)


def read_toml(text: str, name: str, known: Sequence[str], make: "Callable[[Section], T]", hint: str = "") -> T:
    """What `make` makes of the file's top table, whose keys are `known`. Raises DataError with all that is wrong. Where
    keys stand is found out for a message only, so `make` may be called twice."""
    try:
        data = deepcopy(_parsed(text))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at.group(1) if at and at.group(1) else str(text.count("\n") + 1)
        what = _AT.sub("", str(error)).strip()
        raise DataError(
            f"{name}:{line}: this is not TOML: {what}.", "Correct the line, or the one before it."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{name}:1: this cannot be read as TOML ({type(error).__name__}).", "Write the file again."
        ) from error
    notes = Notes({})
    made = make(Section(data, (), notes, known))
    if notes.problems:
        from eqlab.core.toml_lines import lines_of  # only mistakes need it

        notes = Notes(lines_of(text.replace("\r\n", "\n")))
        make(Section(data, (), notes, known))
        raise DataError(problems_text(notes, name), hint)
    return made


def decoded(content: bytes, name: str) -> str:
    """A file's text, without the mark that some editors put before it."""
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not text in UTF-8 (byte {error.start}).", "Save it as UTF-8.") from error


def problems_text(notes: "Notes", name: str) -> str:
    problems = sorted(set(notes.problems))
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"{name} has {count}:", *(f"{name}:{one.line}: {one.key}: {one.what}" for one in problems)])


# -- a table, read value by value ------------------------------------------------------------------------------------


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LONGEST = 20_000


class Problem(NamedTuple):
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
            name = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else '"' + _brief(part) + '"'
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
    from difflib import get_close_matches  # only mistakes need it

    close = get_close_matches(name[:100], known, n=1, cutoff=0.6)
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


# -- scales ----------------------------------------------------------------------------------------------------------


SCALE = ("key", "text", "low", "high", "labels", "ends", "reverse")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_POINTS = 11


def read_scales(top: Section) -> tuple[Scale, ...]:
    scales = []
    for one in top.tables("scale", SCALE):
        low = one.whole("low", 1, 0, 1)
        high = one.whole("high", 5, low + 1, low + _MOST_POINTS - 1)
        scale = Scale(read_key(one), one.text("text"), low, high, _anchors(one, low, high), bool(one.flag("reverse")))
        scales.append(scale)
    check_different(top, "scale", [scale.key for scale in scales])
    return tuple(scales)


def _anchors(section: Section, low: int, high: int) -> tuple[tuple[int, str], ...]:
    labels, ends = section.texts("labels"), section.texts("ends")
    if section.has("labels") and section.has("ends"):
        section.wrong("ends", "stands beside labels (write one of the two)")
    if section.has("labels"):
        if len(labels) != high - low + 1:
            section.wrong("labels", f"are {len(labels)} for the values {low} to {high} (write one for each, or ends)")
        return tuple(enumerate(labels, start=low))
    if section.has("ends") and len(ends) != 2:
        section.wrong("ends", 'are the words at both ends (write ends = ["not at all", "completely"])')
    if not section.has("ends"):
        section.wrong("ends", 'are missing (write ends = ["not at all", "completely"], or labels for every value)')
    return ((low, ends[0]), (high, ends[1])) if len(ends) == 2 else ()


def read_key(section: Section) -> str:
    key = section.text("key")
    if key and not _KEY.fullmatch(key):
        section.wrong("key", "names a column of the data (write lower-case letters, digits and _, a letter first)")
    return key


def check_different(top: Section, name: str, keys: list[str]) -> None:
    for index, key in enumerate(keys):
        if key in keys[:index]:
            top.notes.add((*top.path, name, index, "key"), f"'{key}' is there twice (give it another name)")

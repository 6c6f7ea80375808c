"""Personas: who speaks in a talk, what they need and how they say it. Read from this project's own file (TOML) or
from a file of the same form; everything that is wrong with it is said at once, with line, persona and key."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from eqlab.core.errors import DataError
from eqlab.core.toml_lines import Path, lines_of
from eqlab.core.toml_section import Notes, Problem, Section

OPEN = "dialogue.toml"

Kind = Literal["trouble", "joy", "conflict"]
KINDS: tuple[Kind, ...] = ("trouble", "joy", "conflict")
FIXED_LINES = 3
"""Lines after the opening, for a speaker whose lines are fixed."""


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody with something to tell. Texts speak of the person in the third person."""

    id: str
    title: str
    """May be shown to anybody."""
    kind: Kind
    topic: str
    name: str
    age: int
    who: str
    happened: str
    need: str
    """What the person does not say at first. A listener never sees it, nor `helps`, `hurts` and the two `leaves`."""
    talks: str
    helps: tuple[str, ...]
    hurts: tuple[str, ...]
    leaves_satisfied: str
    leaves_hurt: str
    emotion: int
    """How the person feels as the talk begins, 0 to 100."""
    opening: str
    lines: tuple[str, ...]
    """What is said next, in this order, by a speaker whose lines are fixed, whatever the reply was."""
    quick: bool = False
    language: str = "en"
    """Of the whole file."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """Everything a speaker with fixed lines says, the opening first."""
        return (self.opening, *self.lines)


_KEYS = tuple(field.name for field in fields(Persona) if field.name != "language")
_HEAD = ("title", "version", "licence", "language", "provenance", "author", "item")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NUMBER = re.compile(r"item\[(\d+)\]")


def parse_open(content: bytes, path: str = OPEN) -> list[Persona]:
    """The personas of a file, in its order. Raises DataError with all that is wrong with it."""
    try:
        text = content.decode("utf-8")
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, or nested beyond all sense
        raise DataError(f"{path} cannot be read: {error}.", "It must be a TOML file in UTF-8.") from error
    found, problems = _read(data, {})
    if problems:  # where keys stand is only worth finding out for a message
        _, problems = _read(data, lines_of(text.replace("\r\n", "\n")))
        raise DataError(_message(data, problems, path), "The first lines of the package's own file explain the keys.")
    return found


def _read(data: Mapping[str, Any], lines: Mapping[Path, int]) -> tuple[list[Persona], list[Problem]]:
    notes = Notes(lines)
    file = Section(data, (), notes, _HEAD)
    language = file.text("language", "en")
    entries = file.tables("item", _KEYS)
    if not entries and not notes.problems:
        file.wrong("item", "is missing (begin each persona with a line [[item]])")
    found = [_persona(entry, language) for entry in entries]
    seen: set[str] = set()
    for entry, persona in zip(entries, found, strict=True):
        if persona.id and persona.id in seen:
            entry.wrong("id", f"'{persona.id}' is there twice (give each persona its own)")
        seen.add(persona.id)
    return found, sorted(set(notes.problems))


def _persona(entry: Section, language: str) -> Persona:
    return Persona(
        id=_id(entry),
        title=entry.text("title"),
        kind=cast(Kind, entry.choice("kind", KINDS)),
        topic=entry.text("topic"),
        name=entry.text("name"),
        age=_whole(entry, "age", 1, 120),
        who=entry.text("who"),
        happened=entry.text("happened"),
        need=entry.text("need"),
        talks=entry.text("talks"),
        helps=_texts(entry, "helps"),
        hurts=_texts(entry, "hurts"),
        leaves_satisfied=entry.text("leaves_satisfied"),
        leaves_hurt=entry.text("leaves_hurt"),
        emotion=_whole(entry, "emotion", 0, 100),
        opening=entry.text("opening"),
        lines=_lines(entry),
        quick=_flag(entry, "quick"),
        language=language,
    )


def _id(entry: Section) -> str:
    value = entry.text("id")
    if value and not _ID.fullmatch(value):
        entry.wrong("id", "is no id (write small letters, digits and hyphens)")
    return value


def _whole(entry: Section, key: str, low: int, high: int) -> int:
    if not entry.has(key):
        entry.wrong(key, f"is missing (write a whole number from {low} to {high})")
        return low
    return entry.whole(key, low, low, high)


def _texts(entry: Section, key: str) -> tuple[str, ...]:
    if entry.values.get(key, []) == []:
        entry.wrong(key, f'is missing or empty (write {key} = ["…", "…"])')
        return ()
    return entry.texts(key)


def _lines(entry: Section) -> tuple[str, ...]:
    given = entry.values.get("lines")
    if isinstance(given, list) and given and len(given) != FIXED_LINES:
        entry.wrong("lines", f"holds {len(given)} lines (write {FIXED_LINES})")
    return _texts(entry, "lines")


def _flag(entry: Section, key: str) -> bool:
    value = entry.values.get(key, False)
    if not isinstance(value, bool):
        entry.wrong(key, "is neither true nor false (write one of them, without quotes)")
    return value is True


def _message(data: Mapping[str, Any], problems: list[Problem], path: str) -> str:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    told = (f"{path}:{one.line}: {one.key}{_whose(data, one.key)}: {one.what}" for one in problems)
    return "\n".join([f"{path} has {count}:", *told])


def _whose(data: Mapping[str, Any], key: str) -> str:
    """The id of the persona that a key belongs to, in brackets, if it has one."""
    match = _NUMBER.match(key)
    if not match:
        return ""
    entry = data["item"][int(match.group(1)) - 1]
    name = entry.get("id") if isinstance(entry, dict) else None
    return f" ({name})" if isinstance(name, str) and _ID.fullmatch(name) else ""

"""Personas: who speaks in a talk, what they need and how they say it. Read from this project's own file or from
a user's; everything that is wrong with it is said at once, with line, persona and key."""

import re
from dataclasses import dataclass, fields
from typing import Literal, cast

from eqlab.core.item_file import columns, instruction, read_items
from eqlab.core.toml_section import Section

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
    instruction: str = ""
    """A user's own words to the listener, of the whole file; empty: ours."""
    instruction_speaker: str = ""
    """A user's own words to a model that speaks, with {names} where parts of the persona go in."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """Everything a speaker with fixed lines says, the opening first."""
        return (self.opening, *self.lines)


_OF_FILE = ("language", "instruction", "instruction_speaker")
_KEYS = tuple(field.name for field in fields(Persona) if field.name not in _OF_FILE)
SHEET, HOW = "sheet", "how"
PARTS = (
    *("name", "age", "who", "happened", "need", "talks", "helps", "hurts", "leaves_satisfied", "leaves_hurt"),
    "emotion",
)
"""Parts of a persona that a user's instruction may name; `sheet` is all of them in our words, `how` our way to answer.
"""
LABELS = ("Feeling", "Emotion", "Leaves", "Says")
"""The lines of a speaker's answer, in whatever language the rest is."""
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def parse_open(content: bytes, path: str = OPEN) -> list[Persona]:
    """The personas of a file, in its order. Raises DataError with all that is wrong with it."""
    row = columns(lists=("helps", "hurts", "lines"), numbers=("age", "emotion"), flags=("quick",))
    return read_items(content, path, _KEYS, _persona, row, about=("instruction_speaker",))


def _persona(entry: Section, top: Section) -> Persona:
    return Persona(
        id=_id(entry),
        title=entry.text("title", entry.text("id", "")),
        kind=cast(Kind, entry.choice("kind", KINDS)),
        topic=entry.text("topic", "not said"),
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
        language=top.text("language", "en"),
        instruction=instruction(top, ()),
        instruction_speaker=_to_speaker(top),
    )


def _to_speaker(top: Section) -> str:
    key = "instruction_speaker"
    text = instruction(top, (), (SHEET, HOW, *PARTS), key)
    if text and not any(f"{{{part}}}" in text for part in (SHEET, "happened")):
        top.wrong(
            key, "lacks {sheet} (write it where the persona goes in, or its parts by name, {happened} among them)"
        )
    if text and f"{{{HOW}}}" not in text and not all(f"{label}:" in text for label in LABELS):
        lines = ", ".join(f"{label}:" for label in LABELS)
        top.wrong(key, f"does not say how to answer (write {{how}}, or ask for the four lines {lines})")
    return text


def _id(entry: Section) -> str:
    value = entry.text("id")
    if value and not _ID.fullmatch(value):
        entry.wrong("id", "is not an id (write small letters, digits and hyphens)")
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

"""Personas: who speaks in a talk, what they need and how they say it. Read from this project's own file (TOML) or
from a file of the same form; anything that is missing, unknown or of the wrong kind is named with its key."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from eqlab.core.errors import DataError

OPEN = "dialogue.toml"

Kind = Literal["trouble", "joy", "conflict"]
KINDS: tuple[Kind, ...] = ("trouble", "joy", "conflict")
FIXED_LINES = 3
"""Lines after the opening, for a speaker whose lines are fixed."""

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


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


_KEYS = {field.name for field in fields(Persona)} - {"language"}
_HINT = "The first lines of the package's own dialogue.toml explain the keys."


def parse_open(content: bytes, path: str = OPEN) -> list[Persona]:
    """The personas of a file, in its order."""
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", _HINT) from error
    entries = data.get("item")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path}: no [[item]] in it.", _HINT)
    language = data.get("language", "en")
    if not isinstance(language, str) or not language.strip():
        raise DataError(f"{path}: 'language' must be text, such as \"en\".", _HINT)
    found: dict[str, Persona] = {}
    for number, entry in enumerate(entries, start=1):
        persona = _persona(path, number, entry, language.strip())
        if persona.id in found:
            raise DataError(f"{path}: two personas have the id '{persona.id}'.", "Give each its own.")
        found[persona.id] = persona
    return list(found.values())


def _persona(path: str, number: int, entry: object, language: str) -> Persona:
    if not isinstance(entry, dict):
        raise DataError(f"{path}: persona number {number} is no table.", _HINT)
    item = _Entry(path, number, entry)
    lines = item.texts("lines")
    if len(lines) != FIXED_LINES:
        raise item.wrong("lines", f"must hold {FIXED_LINES} lines, not {len(lines)}")
    return Persona(
        id=item.id,
        title=item.text("title"),
        kind=item.kind(),
        topic=item.text("topic"),
        name=item.text("name"),
        age=item.whole("age", 1, 120),
        who=item.text("who"),
        happened=item.text("happened"),
        need=item.text("need"),
        talks=item.text("talks"),
        helps=item.texts("helps"),
        hurts=item.texts("hurts"),
        leaves_satisfied=item.text("leaves_satisfied"),
        leaves_hurt=item.text("leaves_hurt"),
        emotion=item.whole("emotion", 0, 100),
        opening=item.text("opening"),
        lines=lines,
        quick=item.flag("quick"),
        language=language,
    )


class _Entry:
    """One table of the file, which can say what is wrong with it."""

    def __init__(self, path: str, number: int, values: Mapping[str, Any]) -> None:
        self._values = values
        self._where = f"{path}: persona number {number}"
        self.id = self.text("id")
        if not _ID.fullmatch(self.id):
            raise self.wrong("id", f"must be small letters, digits and hyphens, not '{self.id}'")
        self._where = f"{path}: persona {self.id}"
        for key in sorted(values.keys() - _KEYS):
            raise self.wrong(key, "is no key of a persona")

    def wrong(self, key: str, what: str) -> DataError:
        return DataError(f"{self._where}: '{key}' {what}.", _HINT)

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "must be text that is not empty")
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._get(key)
        if not isinstance(value, list) or not value:
            raise self.wrong(key, "must be a list of texts")
        if not all(isinstance(element, str) and element.strip() for element in value):
            raise self.wrong(key, "must hold texts that are not empty")
        return tuple(element.strip() for element in value)

    def whole(self, key: str, lowest: int, highest: int) -> int:
        value = self._get(key)
        # bool is an int in Python, and no age.
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise self.wrong(key, f"must be a whole number from {lowest} to {highest}, not {value!r}")
        return value

    def flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false")
        return value

    def kind(self) -> Kind:
        value = self._get("kind")
        if value not in KINDS:
            raise self.wrong("kind", f"must be one of {', '.join(KINDS)}, not {value!r}")
        return cast(Kind, value)

    def _get(self, key: str) -> Any:
        if key not in self._values:
            raise self.wrong(key, "is missing")
        return self._values[key]

"""The words on participants' pages, one file per language: ours, and a user's own in a folder. A language file has the
words of pages and, kind by kind, the words inside trials; what is not translated stays English."""

import hashlib
import json
import os
import string
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import date
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from eqlab.core.environment import data_folder
from eqlab.core.errors import DataError
from eqlab.core.toml_file import Section, decoded, read_toml
from eqlab.core.values import dataclass

EMOTION = "emotion_"
"""Begins the key of an emotion's name among the words of a kind."""
_FOLDER = files("eqlab.study") / "languages"
_ENGLISH_LATER = (
    *("check_question", "check_choices", "role_title", "role_text"),
    *("error_both", "preview_end", "preview_leave", "not_loaded"),
)
"""Words that came after users may have translated the rest: English where a file lacks them."""
_WORDLESS_LATER = {
    "date": "{year}-{month}-{day:02}",
    "months": "01 02 03 04 05 06 07 08 09 10 11 12",
    "help": "{help}",
}
"""As those, but an English word inside a sentence of another language helps nobody."""


@dataclass(frozen=True)
class Texts:
    """Words by key. `direction` is "ltr" or "rtl"."""

    language: str
    words: Mapping[str, str]
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Words inside trials, by kind of study; none in English, whose words are the kinds' own."""

    @property
    def direction(self) -> str:
        return self.words["direction"]

    def __call__(self, key: str, **values: object) -> str:
        return self.words[key].format(**values)

    emotions: Mapping[str, str] = field(default_factory=dict)
    """The names of emotions, whichever kind shows them."""

    def date(self, until: str) -> str:
        """A date as people write it; words are left as they are."""
        try:
            day = date.fromisoformat(until)
        except ValueError:
            return until
        return self("date", day=day.day, month=self.words["months"].split()[day.month - 1], year=day.year)

    def kind(self, name: str) -> Mapping[str, str]:
        """A kind's words, the emotions among them."""
        return {**{f"{EMOTION}{key}": text for key, text in self.emotions.items()}, **self.kinds.get(name, {})}


def own_folder() -> Path:
    """Where a user's language files are: `EQLAB_LANGUAGES`, or `languages` beside the default store."""
    return Path(os.environ.get("EQLAB_LANGUAGES") or data_folder() / "languages")


def languages() -> tuple[str, ...]:
    return tuple(sorted({name for name, _ in _files()}))


def load(language: str) -> Texts:
    """The words in a language, or in its main form: `de-AT` finds `de`. A user's file goes before ours."""
    found = _file_of(language)
    return replace(_read(found.read_bytes(), str(found)), language=language)


def own_words(language: str) -> str:
    """A digest of a user's own words in a language, by which a change is noticed; empty where the words are ours."""
    found = _file_of(language)
    if found == _FOLDER / found.name:
        return ""
    said = tomllib.loads(decoded(found.read_bytes(), str(found)))
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _file_of(language: str) -> Traversable:
    found = dict(_files())
    for name in (language, language.split("-")[0]):
        if name in found:
            return found[name]
    raise DataError(
        f"There are no page texts in '{language}'.",
        f"Known: {', '.join(sorted(found))}. 'eqlab study language {language}' writes a file to translate.",
    )


def _files() -> Iterator[tuple[str, Traversable]]:
    own = own_folder()
    for folder in (_FOLDER, *((own,) if own.is_dir() else ())):
        for one in folder.iterdir():
            if one.name.endswith(".toml"):
                yield one.name.removesuffix(".toml"), one


@cache
def _read(content: bytes, name: str) -> Texts:
    text = decoded(content, name)
    english = english_words()
    return read_toml(text, name, (*english, "kinds", "emotions"), lambda top: _texts(top, english))


@cache
def english_words() -> Mapping[str, str]:
    return tomllib.loads((_FOLDER / "en.toml").read_text(encoding="utf-8"))


def _texts(top: Section, english: Mapping[str, str]) -> Texts:
    """Every word that English has, with the same places to fill in."""
    later = {**{key: english[key] for key in _ENGLISH_LATER}, **_WORDLESS_LATER}
    checked = {key: top.text(key, later.get(key)) for key in english}
    words = {key: str(top.values.get(key, text)) for key, text in checked.items()}  # with the blanks at their ends
    for key, text in words.items():
        formats = key != "date"  # which may be 05.03.2030 elsewhere
        if top.has(key) and slots(text, formats=formats) != slots(english[key], formats=formats):
            wanted = ", ".join(f"{{{name}}}" for name in slots(english[key])) or "none"
            top.wrong(key, f"has other places to fill in than English (there are: {wanted})")
    if len(words["months"].split()) != 12:
        top.wrong("months", "is the names of the twelve months, with blanks between")
    try:
        words["date"].format(day=1, month="May", year=2030)
    except (ValueError, LookupError, TypeError, AttributeError):
        top.wrong("date", "asks for something that a day, a year and the name of a month do not have")
    if words["direction"] not in ("ltr", "rtl"):
        top.wrong("direction", 'is the way of writing (write "ltr" or "rtl")')
    tables = top.table("kinds", None)
    kinds = {}
    for kind in tables.values:
        table = tables.table(kind, None)
        kinds[kind] = {key: table.text(key) for key in table.values}
    named = top.table("emotions", None)
    return Texts("", words, kinds, {key: named.text(key) for key in named.values})


def slots(text: str, *, formats: bool = True) -> list[str]:
    """The places of a text that are filled in, with their `formats`; a text that cannot be filled in at all has one
    that no other has."""
    try:
        found = [(name, form, how) for _, name, form, how in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return [text]
    return sorted(f"{name}{f'!{how}' if how else ''}{f':{form}' if form else ''}" if formats else name
                  for name, form, how in found)  # fmt: skip

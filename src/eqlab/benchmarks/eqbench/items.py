"""Questions of EQ-Bench: the published JSON files (v1, v2, German) and this project's own dialogues (TOML)."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from eqlab.core.errors import DataError
from eqlab.core.item_file import as_number, instruction, numbered, read_items
from eqlab.core.toml_file import Section
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    language: str
    dialogue: str
    character: str
    emotions: tuple[str, ...]
    reference: Mapping[str, float]
    """Intensities on the full scale 0–10 (v2), or sharing ten points (v1)."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    """The published prompt, word for word; empty for our own items."""
    asks: str = ""
    """The published line that asks about the character; empty for our own items."""
    instruction: str = ""
    """A user's own words to the model, with places for dialogue, character and emotions; empty: ours."""


_END = {"en": re.compile(r"^\[End dialogue\]$", re.M), "de": re.compile(r"^\[(?:Ende des Dialogs|Dialogende)\]$", re.M)}
"""The line that ends the dialogue. One German question words it differently."""


def parse_published(content: bytes, path: str, version: str, language: str) -> list[Question]:
    data = _decode(path, lambda: json.loads(content))
    if not isinstance(data, dict) or not data:
        raise DataError(f"{path}: not a question file (expected an object with one entry per question).", _FETCH)
    key = "reference_answer" if version == "v1" else "reference_answer_fullscale"
    return [_published_question(path, number, entry, key, language) for number, entry in data.items()]


def _published_question(path: str, number: str, entry: Any, key: str, language: str) -> Question:
    where = f"{path}: question {number}"
    try:
        prompt, reference = entry["prompt"], entry[key]
        emotions = tuple(reference[f"emotion{i}"] for i in range(1, 5))
        scores = tuple(float(reference[f"emotion{i}_score"]) for i in range(1, 5))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{where} is broken ({type(error).__name__}: {error}).", _FETCH) from error
    end = _END[language].search(prompt)
    if end is None:
        raise DataError(f"{where} has no line that ends the dialogue.", _FETCH)
    asks = prompt[end.end() :].strip().split("\n", 1)[0]
    dialogue = prompt[: end.start()].strip().split("\n", 1)[-1].strip()
    return Question(
        id=number,
        language=language,
        dialogue=dialogue,
        character=_character(asks, dialogue),
        emotions=emotions,
        reference=dict(zip(emotions, scores, strict=True)),
        prompt=prompt,
        asks=asks,
    )


def _character(asks: str, dialogue: str) -> str:
    """The speaker whom the question is about: the longest speaker name in the line that is there for itself, not for
    what it owns ("In reaction to Bo's words, Ann would feel…")."""
    speakers = dict.fromkeys(re.findall(r"^([^:\n]{1,40}):", dialogue, flags=re.MULTILINE))
    return max((name for name in speakers if _is_named(name, asks)), key=len, default="")


_OWNS = re.compile(r"['’]?s\b")


def _is_named(name: str, asks: str) -> bool:
    at = asks.find(name)
    while at >= 0:
        if not _OWNS.match(asks, at + len(name)):
            return True
        at = asks.find(name, at + 1)
    return False


def parse_open(content: bytes, path: str) -> list[Question]:
    """Our own dialogues, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, ("id", "theme", "character", "dialogue", "emotions"), _question)


def _question(one: Section, top: Section) -> Question:
    emotions = one.tables("emotions", ("name", "reference", "reason"))
    if len(emotions) != 4 and isinstance(one.values.get("emotions", []), list):
        one.wrong("emotions", f'are {len(emotions)}, not 4 (write {{ name = "…", reference = 0 to 10, reason = "…" }})')
    names = [emotion.text("name") for emotion in emotions]
    if len(set(names)) < len(names):
        one.wrong("emotions", "has a name twice (write four different ones)")
    for emotion in emotions:
        if not emotion.has("reference"):
            emotion.wrong("reference", "is missing (write how strongly it is felt, from 0 to 10)")
    return Question(
        id=one.text("id"),
        language="en",
        dialogue=one.text("dialogue"),
        character=one.text("character"),
        emotions=tuple(names),
        reference={name: one.number("reference", 0.0, 0, 10) for name, one in zip(names, emotions, strict=True)},
        reasons={name: one.text("reason", "", may_be_empty=True) for name, one in zip(names, emotions, strict=True)},
    )


_OWN = ("id", "dialogue", "character", "emotions", "theme", "language")
_FOUR = 4
"""Emotion words of a question: the score's scale is made for four."""


def parse_own(content: bytes, path: str) -> list[Question]:
    """A user's own dialogues."""
    return read_items(content, path, _OWN, _own_question, _nested, "dialogue")


def _own_question(section: Section, top: Section) -> Question:
    short = section.values.get("emotions")
    reference, reasons = _short(section, short) if isinstance(short, dict) else _listed(section)
    if len(reference) != _FOUR:
        section.wrong("emotions", f"there are {len(reference)} different words (write four, each with its reference)")
    language = section.text("language", top.text("language", "en"))
    return Question(
        id=section.text("id"),
        language=language if language in _END else "en",
        dialogue=section.text("dialogue"),
        character=section.text("character", _last_speaker(section.values.get("dialogue"))),
        emotions=tuple(reference),
        reference=reference,
        reasons=reasons,
        instruction=instruction(top, ("dialogue", "emotions"), ("character",)),
    )


def _listed(section: Section) -> tuple[dict[str, float], dict[str, str]]:
    """References and reasons by word, from a list of tables."""
    emotions = section.tables("emotions", ("name", "reference", "reason"))
    for emotion in emotions:
        if not emotion.has("reference"):
            emotion.wrong("reference", "is missing (write how strongly the character feels it, 0 to 10)")
    reference = {one.text("name"): one.number("reference", 0.0, 0.0, 10.0) for one in emotions}
    return reference, {one.text("name"): one.text("reason") for one in emotions if one.has("reason")}


def _short(section: Section, found: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """The same from { Sad = 7, … }."""
    reference: dict[str, float] = {}
    for word, value in found.items():
        number = None if isinstance(value, bool) else value
        if not isinstance(number, int | float) or not 0 <= number <= 10:
            section.wrong("emotions", f"'{word}' is not a number from 0 to 10")
        else:
            reference[word] = float(number)
    return reference, {}


def _last_speaker(dialogue: object) -> str | None:
    """Whom a question without a character is about: whoever speaks last."""
    speakers = re.findall(r"^([^:\n]{1,40}):", dialogue, flags=re.MULTILINE) if isinstance(dialogue, str) else []
    return speakers[-1].strip() if speakers else None


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns emotion1, reference1, reason1 … emotion4 as the list that TOML has; or one column, Sad 7 | …"""
    made = {key: value for key, value in row.items() if not re.fullmatch(r"(emotion|reference|reason)\d", key)}
    if isinstance(made.get("emotions"), str):
        made["emotions"] = numbered(made["emotions"])
    elif "emotions" not in made:
        made["emotions"] = [
            {
                name: as_number(row[f"{column}{k}"]) if column == "reference" else row[f"{column}{k}"]
                for name, column in (("name", "emotion"), ("reference", "reference"), ("reason", "reason"))
                if f"{column}{k}" in row
            }
            for k in range(1, 10)
            if f"emotion{k}" in row or f"reference{k}" in row
        ]
    return made


_FETCH = "Run 'eqlab data verify', then 'eqlab data fetch'."


def _decode(path: str, read: Any) -> Any:
    try:
        return read()
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", _FETCH) from error

"""A rubric: what raters look for, as data. Named scales with anchors, an instruction, a language; read from TOML and
known by a hash of all that a rater is told, so that a title or a comment changes nothing."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, cast

from eqlab.core.forms import Scale
from eqlab.core.toml_file import Section, decoded, read_scales, read_toml
from eqlab.core.values import dataclass

Shown = Literal["reply", "talk"]
"""What is rated: one reply with what it replies to, or a whole talk."""
_TOP = ("name", "title", "language", "of", "instruction", "choose", "scale", "words")
_HINT = "docs/judge.md shows a rubric and lists its keys."
_MOST = 20

WORDS: Mapping[str, str] = {
    "feels": "The person feels: {emotion}",
    "happened": "What happened:",
    "says": "The person says:",
    "replies": "The other replies:",
    "first_reply": "First reply:",
    "second_reply": "Second reply:",
    "talk": "The talk:",
    "first_talk": "First talk:",
    "second_talk": "Second talk:",
    "scales": "Rate on each of these scales:",
    "answer_lines": "Answer with one line for each scale and nothing else: its name, a colon and a whole number.",
    "answer_json": "Answer with a JSON object and nothing else: these keys, each with a whole number as its value.",
    "your_rating": "Your rating:",
    "your_choice": "Your choice:",
}
"""What stands around the material in a judge's prompt; a rubric in another language says it in its own words."""


@dataclass(frozen=True, slots=True)
class Rubric:
    name: str
    title: str
    """What is measured, in a word or two: "Empathy"."""
    language: str
    of: Shown
    instruction: str
    choose: str
    """The instruction for two at a time; empty: this rubric is for single ratings only."""
    scales: tuple[Scale, ...]
    words: Mapping[str, str] = field(default_factory=dict)
    """Only those that differ from ours."""

    @property
    def sha256(self) -> str:
        """Of all that a rater is told; the first 12 hex digits."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()[:12]

    @property
    def said(self) -> Mapping[str, str]:
        return {**WORDS, **self.words}

    @property
    def one_word(self) -> bool:
        """Whether an answer is one word: a single scale whose every value has one for a label. Then the instruction
        says what the words mean, and the scale is not told again."""
        return in_one_word(self.scales)


def in_one_word(scales: Sequence[Scale]) -> bool:
    if len(scales) != 1:
        return False
    (scale,) = scales
    named = len(scale.anchors) == scale.high - scale.low + 1
    return named and all(label.isalpha() for _, label in scale.anchors)


def to_json(rubric: Rubric) -> str:
    """What raters are told, in one order: the rubric as a file of a run."""
    body = {
        "language": rubric.language,
        "of": rubric.of,
        "instruction": rubric.instruction,
        "choose": rubric.choose,
        "scales": [
            [scale.key, scale.text, scale.low, scale.high, [list(anchor) for anchor in scale.anchors], scale.reverse]
            for scale in rubric.scales
        ],
        "words": dict(rubric.words),
    }
    return json.dumps(body, ensure_ascii=False, sort_keys=True)


def from_json(text: str, name: str = "", title: str = "") -> Rubric:
    body: dict[str, Any] = json.loads(text)
    scales = tuple(
        Scale(key, said, low, high, tuple((value, label) for value, label in anchors), reverse)
        for key, said, low, high, anchors, reverse in body["scales"]
    )
    return Rubric(name, title, body["language"], body["of"], body["instruction"], body["choose"], scales, body["words"])


def parse_rubric(content: bytes, path: str) -> Rubric:
    """A rubric's file; raises DataError with all that is wrong, every problem with its line and key."""
    return read_toml(decoded(content, path), path, _TOP, _rubric, _HINT)


def _rubric(top: Section) -> Rubric:
    scales = read_scales(top)
    if not scales and isinstance(top.values.get("scale", []), list):
        top.wrong("scale", "is missing (begin each scale with a line [[scale]])")
    if len(scales) > _MOST:
        top.wrong("scale", f"is there {len(scales)} times (write {_MOST} at most: nobody tells more apart)")
    words = top.table("words", tuple(WORDS))
    own = {key: words.text(key) for key in words.values if key in WORDS}
    if "feels" in own and "{emotion}" not in own["feels"]:
        words.wrong("feels", "does not say where the emotion goes (write {emotion} in it)")
    return Rubric(
        top.text("name"),
        top.text("title"),
        top.text("language", "en"),
        cast(Shown, top.choice("of", ("reply", "talk"), "reply")),
        top.text("instruction"),
        top.text("choose", ""),
        scales,
        {key: text for key, text in own.items() if text != WORDS[key]},
    )

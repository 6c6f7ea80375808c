"""Prompts to reply to: this project's own (TOML) and the published study's, in one shape; and batches of them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from eqlab.benchmarks.empathy.emotions import EMOTIONS
from eqlab.benchmarks.empathy.published import Prompt
from eqlab.core.errors import UsageError
from eqlab.core.item_file import instruction, read_items
from eqlab.core.toml_section import Section

OPEN_PATH = "empathy.toml"


@dataclass(frozen=True, slots=True)
class EmpathyItem:
    """Somebody's story and what they say first."""

    id: str
    emotion: str
    valence: str
    plutchik: str
    situation: str
    utterance: str
    reply: str
    """A person's reply: the published listener's, or the author's own for open prompts."""
    instruction: str = ""
    """A user's own words to the model, with places for utterance and situation; empty: ours."""


_KEYS = ("id", "emotion", "valence", "plutchik", "situation", "utterance", "reply")


def parse_open(content: bytes, path: str = OPEN_PATH) -> list[EmpathyItem]:
    """Our own prompts, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, _KEYS, _item)


def _item(one: Section, top: Section) -> EmpathyItem:
    item = EmpathyItem(**{key: one.text(key) for key in _KEYS})
    emotion = EMOTIONS.get(item.emotion)
    if item.emotion and emotion is None:
        one.wrong("emotion", f"'{item.emotion[:40]}' is not one of the 32 emotions (there are: {', '.join(EMOTIONS)})")
    elif emotion is not None:
        for key, right in (("valence", emotion.valence), ("plutchik", emotion.plutchik)):
            if one.has(key) and getattr(item, key) != right:
                one.wrong(key, f'does not belong to {item.emotion} (write "{right}")')
    return item


_OWN = ("id", "utterance", "situation", "emotion", "valence", "plutchik", "reply", "language")
NOT_SAID = "not said"
"""The emotion of a user's own prompt that names none."""


def parse_own(content: bytes, path: str) -> list[EmpathyItem]:
    """A user's own prompts: an id and what the speaker says; everything else may be left out."""
    return read_items(content, path, _OWN, _own_item, text_as="utterance")


def _own_item(section: Section, top: Section) -> EmpathyItem:
    named = section.choice("emotion", tuple(EMOTIONS), NOT_SAID) if section.has("emotion") else NOT_SAID
    known = EMOTIONS.get(named)
    return EmpathyItem(
        section.text("id"),
        named,
        known.valence if known else section.text("valence", NOT_SAID),
        known.plutchik if known else section.text("plutchik", NOT_SAID),
        section.text("situation", "", may_be_empty=True),
        section.text("utterance"),
        section.text("reply", "", may_be_empty=True),
        instruction(top, ("utterance",), ("situation",)),
    )


def from_published(prompts: Sequence[Prompt]) -> list[EmpathyItem]:
    return [
        EmpathyItem(
            prompt.id,
            prompt.emotion,
            prompt.valence,
            prompt.plutchik,
            prompt.situation.strip(),
            prompt.utterance.strip(),
            prompt.human_reply.strip(),
        )
        for prompt in prompts
    ]


T = TypeVar("T")


def balanced_batches(items: Sequence[T], emotion_of: Sequence[str], size: int = 10, seed: int = 0) -> list[list[T]]:
    """Batches in which emotions repeat as little as they can, by seed: items are dealt emotion by emotion, shuffled
    inside each, round the batches; then each batch is shuffled. Sizes differ by one at most."""
    if size < 1:
        raise UsageError("A batch needs at least one item.")
    draw = random.Random(seed)
    by_emotion: dict[str, list[T]] = {}
    for item, emotion in zip(items, emotion_of, strict=True):
        by_emotion.setdefault(emotion, []).append(item)
    names = sorted(by_emotion)
    draw.shuffle(names)
    dealt: list[T] = []
    for name in names:
        draw.shuffle(by_emotion[name])
        dealt.extend(by_emotion[name])
    count = -(-len(items) // size)
    batches: list[list[T]] = [dealt[start::count] for start in range(count)]
    for batch in batches:
        draw.shuffle(batch)
    draw.shuffle(batches)
    return batches

"""Prompts to reply to, the 32 emotions that they are about, and batches of prompts."""

from dataclasses import dataclass
from typing import Literal, TypeVar

from eqlab.core.item_file import instruction, read_items
from eqlab.core.toml_file import Section

Valence = Literal["positive", "negative"]
VALENCES: tuple[Valence, ...] = ("positive", "negative")


@dataclass(frozen=True, slots=True)
class Emotion:
    """A label of EmpatheticDialogues with the valence and the Plutchik group that the study gave it. Facts of the
    published file, its oddities included: nostalgic and sentimental count as negative, surprised as positive, and the
    group of impressed and surprised is spelled "surprised"."""

    name: str
    valence: Valence
    plutchik: str


_POSITIVE = {
    "anticipating": "anticipation",
    "caring": "love",
    "confident": "trust",
    "content": "joy",
    "excited": "joy",
    "faithful": "submission",
    "grateful": "trust",
    "hopeful": "anticipation",
    "impressed": "surprised",
    "joyful": "joy",
    "prepared": "anticipation",
    "proud": "optimism",
    "surprised": "surprised",
    "trusting": "trust",
}
_NEGATIVE = {
    "afraid": "fear",
    "angry": "anger",
    "annoyed": "anger",
    "anxious": "fear",
    "apprehensive": "fear",
    "ashamed": "disapproval",
    "devastated": "sadness",
    "disappointed": "sadness",
    "disgusted": "disgust",
    "embarrassed": "disapproval",
    "furious": "anger",
    "guilty": "remorse",
    "jealous": "aggressiveness",
    "lonely": "sadness",
    "nostalgic": "sadness",
    "sad": "sadness",
    "sentimental": "sadness",
    "terrified": "fear",
}

EMOTIONS: dict[str, Emotion] = {
    emotion.name: emotion
    for emotion in sorted(
        [
            *(Emotion(name, "positive", group) for name, group in _POSITIVE.items()),
            *(Emotion(name, "negative", group) for name, group in _NEGATIVE.items()),
        ],
        key=lambda emotion: emotion.name,
    )
}
"""By name, in alphabetical order."""

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

    @property
    def about(self) -> dict[str, str]:
        """What a trial's key says of it."""
        return {name: getattr(self, name) for name in ("emotion", "valence", "plutchik", "situation", "utterance")}


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


T = TypeVar("T")

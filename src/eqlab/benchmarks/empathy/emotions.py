"""The 32 emotion labels of EmpatheticDialogues with the valence and the Plutchik group that the study gave them.

Facts of the published file, its oddities included: nostalgic and sentimental count as negative, surprised as positive,
and the group of impressed and surprised is spelled "surprised"."""

from dataclasses import dataclass
from typing import Literal

Valence = Literal["positive", "negative"]
VALENCES: tuple[Valence, ...] = ("positive", "negative")


@dataclass(frozen=True, slots=True)
class Emotion:
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

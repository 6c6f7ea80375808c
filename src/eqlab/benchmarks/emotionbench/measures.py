"""The study's map (eight emotions, their 36 factors in the order of its files, two kinds of control), and scored
administrations in columns: what all statistics of this benchmark take, whoever answered."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.core.grouping import grouped
from eqlab.core.values import dataclass

Kind = Literal["negative", "neutral", "positive"]
KINDS: tuple[Kind, ...] = ("negative", "neutral", "positive")

FACTOR_ROWS = list(csv.DictReader(Path(__file__).with_name("factors.csv").read_text("utf-8").splitlines()))
"""The study's factors in its order, and how far their situations changed the mood of its people."""
FACTORS = {
    emotion: tuple(names) for emotion, names in grouped((r["emotion"], r["factor"]) for r in FACTOR_ROWS).items()
}
EMOTIONS = tuple(FACTORS)
CONTROLS: dict[str, Kind] = {"Neutral": "neutral", "Positive": "positive"}
"""The two names that controls have in the place of an emotion."""


def kind_of(emotion: str) -> Kind:
    return CONTROLS.get(emotion, "negative")


def factor_name(emotion: str, index: int) -> str:
    """The name of a factor; a number the study does not know keeps its number."""
    names = FACTORS.get(emotion, ())
    return names[index] if index < len(names) else f"{emotion}-{index + 1}"


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

Level = Literal["default", "factor", "emotion", "overall"]
DEFAULT = -1
"""The place of a default measure: no situation."""


@dataclass(frozen=True, slots=True)
class MeasurePlace:
    """A situation and where it belongs."""

    emotion: str
    factor_index: int
    factor: str
    situation: str

    @property
    def kind(self) -> Kind:
        return kind_of(self.emotion)


@dataclass(frozen=True, slots=True)
class Measures:
    """One subject with one instrument: every administration's scores, NaN where one could not be scored."""

    source: str
    questionnaire: str
    places: tuple[MeasurePlace, ...]
    where: IntArray
    """Per administration the index into `places`, or DEFAULT."""
    scores: Mapping[str, FloatArray]

    def only(self, rows: BoolArray) -> "Measures":
        """The same with some of the administrations."""
        return replace(
            self, where=self.where[rows], scores={name: values[rows] for name, values in self.scores.items()}
        )

    def default(self, subscale: str) -> FloatArray:
        return defined(self.scores[subscale][self.where == DEFAULT])


@dataclass(frozen=True, slots=True)
class People:
    """Respondents, each measured before and after imagining one situation."""

    places: tuple[MeasurePlace, ...]
    where: IntArray
    before: Mapping[str, FloatArray]
    after: Mapping[str, FloatArray]

    def change(self, subscale: str) -> FloatArray:
        return self.after[subscale] - self.before[subscale]


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """A row of the published tables: a factor, an emotion or all situations, as indices of places."""

    level: Level
    emotion: str
    factor_index: int | None
    factor: str
    members: IntArray
    inside: BoolArray
    """Of each place whether it is a member; and for DEFAULT, which is −1, a last one that is none."""

    def rows(self, where: IntArray) -> BoolArray:
        return np.asarray(self.inside[where])


def defined(values: FloatArray) -> FloatArray:
    return np.asarray(values[~np.isnan(values)])


def ordered(places: Sequence[MeasurePlace]) -> list[str]:
    """The emotions that occur: the study's in its order, then others."""
    names = dict.fromkeys(place.emotion for place in places)
    return [*(name for name in EMOTIONS if name in names), *(name for name in names if name not in EMOTIONS)]


def groups(places: Sequence[MeasurePlace], *, overall: bool = True) -> tuple[MeasureGroup, ...]:
    """Factors, each emotion after its factors, all negative situations, and controls last, each kind as one."""
    return _groups(tuple(places), overall)


@lru_cache(maxsize=8)
def _groups(places: tuple[MeasurePlace, ...], overall: bool) -> tuple[MeasureGroup, ...]:
    """Kept: many subjects answer the same questions."""
    return tuple(_grouped(places, overall))


def _grouped(places: Sequence[MeasurePlace], overall: bool) -> Iterator[MeasureGroup]:
    by_emotion = {name: [i for i, place in enumerate(places) if place.emotion == name] for name in ordered(places)}
    controls = {name: indices for name, indices in by_emotion.items() if name in CONTROLS}
    for emotion, indices in by_emotion.items():
        if emotion in controls:
            continue
        for number, name in sorted({(places[index].factor_index, places[index].factor) for index in indices}):
            members = [index for index in indices if places[index].factor_index == number]
            yield _group(places, members, "factor", emotion, number, name)
        yield _group(places, indices, "emotion", emotion)
    negative = [index for index, place in enumerate(places) if place.kind == "negative"]
    if overall and negative:
        yield _group(places, negative, "overall", "Overall")
    for emotion, control in controls.items():
        yield _group(places, control, "emotion", emotion)


def _group(
    places: Sequence[MeasurePlace], members: Sequence[int], level: Level, emotion: str,
    number: int | None = None, factor: str = "",
) -> MeasureGroup:  # fmt: skip
    inside = np.zeros(len(places) + 1, dtype=bool)
    inside[members] = True
    return MeasureGroup(level, emotion, number, factor, np.array(members), inside)

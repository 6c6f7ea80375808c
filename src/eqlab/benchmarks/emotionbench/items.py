"""Situations: this project's own (TOML), the study's 428 (JSON), and the 175 of them that were really put to people
and models, whose texts are in row 1 of the result files (22 are not, or not so, in the JSON)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.benchmarks.emotionbench.measures import CONTROLS, EMOTIONS, FACTORS, Kind, MeasurePlace, factor_name, kind_of
from eqlab.benchmarks.emotionbench.published import EmotionResultFile
from eqlab.benchmarks.options import Options, option
from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_file import instruction, read_items
from eqlab.core.toml_file import Section
from eqlab.instruments.catalogue import INSTRUMENTS

OPEN = "emotionbench.toml"
SITUATIONS = "emotionbench/situations.json"
TESTED = "emotionbench/results/PANAS Test/gpt-3.5-turbo-PANAS-testing.csv"
"""The tested texts are the same in every result file; this one is complete."""

_FETCH = "Run 'eqlab data verify', then 'eqlab data fetch emotionbench'."
_AUTO = ("auto", "yes", "no")
_QUOTED = re.compile(r'(?P<lead>.*?)"(?P<text>.*)"\s*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class EmotionBenchOptions(Options):
    """A user may write "auto"; a run stores what it became."""

    instrument: str = option("PANAS", "the questionnaire", tuple(INSTRUMENTS))
    emotion: str = option("all", "only situations of one emotion", ("all", *(name.lower() for name in EMOTIONS)))
    factor: str = option("all", "only situations of one factor, by name or number (Anger-2)")
    situations: str = option("tested", "published items: the 175 that were tested, or all 428", ("tested", "all"))
    controls: str | bool = option("auto", "add positive and neutral controls (auto: with PANAS)", _AUTO)
    people: str | bool = option("auto", "compare with people; needs published data (auto: with published items)", _AUTO)
    wording: str = option("auto", "prompt: ours or the study's (auto: as the items)", ("auto", "own", "published"))
    defaults: str | int = option("profile", "number of default runs (full 50, quick 3)")
    repeats: str | int = option("profile", "repeats per situation, each in a fresh order (full 10, quick 1)")


@dataclass(frozen=True, slots=True)
class Situation:
    id: str
    emotion: str
    """One of the eight, or Neutral or Positive for a control."""
    factor_index: int
    factor: str
    text: str
    instruction: str = ""
    """A user's own words to the model, with places for situation and items; empty: ours."""
    before: str = ""
    """The same for the measure before any situation."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.emotion)

    @property
    def place(self) -> MeasurePlace:
        return MeasurePlace(self.emotion, self.factor_index, self.factor, self.id)


def parse_open(content: bytes, path: str = OPEN) -> list[Situation]:
    """Our own situations, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, ("id", "emotion", "factor", "text"), _situation)


def _situation(one: Section, top: Section) -> Situation:
    emotion, factor = one.text("emotion"), one.text("factor", "", may_be_empty=True)
    index = 0
    if emotion and emotion not in CONTROLS and emotion not in FACTORS:
        one.wrong("emotion", f"'{emotion[:40]}' is not known (there are: {', '.join((*FACTORS, *CONTROLS))})")
    elif emotion in FACTORS and factor not in FACTORS[emotion]:
        one.wrong("factor", f"'{factor[:40]}' is not a factor of {emotion} (there are: {', '.join(FACTORS[emotion])})")
    elif emotion in FACTORS:
        index = FACTORS[emotion].index(factor)
    return Situation(one.text("id"), emotion, index, factor, one.text("text"))


OWN_FACTOR = "own situations"


def parse_own(content: bytes, path: str) -> list[Situation]:
    """A user's own situations: an id, a text and the emotion it should evoke; the factor may be left out."""
    keys = ("id", "text", "emotion", "factor", "language")
    return read_items(content, path, keys, _own_situation, about=("instruction_before",))


def _own_situation(section: Section, top: Section) -> Situation:
    emotion = section.choice("emotion", (*FACTORS, *CONTROLS))
    factor, index = OWN_FACTOR, 0
    if section.has("factor") and emotion in FACTORS:
        factor = section.choice("factor", FACTORS[emotion])
        index = FACTORS[emotion].index(factor)
    told = instruction(top, ("situation", "items"), ("low", "high"))
    before = instruction(top, ("items",), ("low", "high"), key="instruction_before")
    if bool(told) != bool(before):
        top.wrong("instruction", "belongs together with instruction_before (write both: the second has no situation)")
    return Situation(section.text("id"), emotion, index, factor, section.text("text"), told, before)


def parse_published(content: bytes, path: str = SITUATIONS) -> list[Situation]:
    """All 428 situations."""
    found = []
    try:
        for emotion in json.loads(content)["emotions"]:
            for f, factor in enumerate(emotion["factors"]):
                for s, text in enumerate(factor["scenarios"]):
                    place = (str(emotion["name"]), f, factor_name(emotion["name"], f))
                    found.append(Situation(f"{emotion['name']}-{f}-{s}", *place, str(text).strip()))
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a file of situations ({type(error).__name__}: {error}).", _FETCH) from error
    return found


def situations_tested(results: EmotionResultFile) -> list[Situation]:
    """The situations that were really tested, with the words that were used."""
    return [
        Situation(f"tested-{p.situation}", p.emotion, p.factor_index, p.factor, _split(text)[1])
        for p, text in zip(results.places, results.texts, strict=True)
    ]


def lead_sentence(results: EmotionResultFile) -> str:
    """The published sentence that introduces a situation."""
    return _split(results.texts[0])[0]


def _split(said: str) -> tuple[str, str]:
    match = _QUOTED.fullmatch(said)
    if match is None:
        raise DataError("A tested situation is not in quotes in row 1 of the result file.", _FETCH)
    return match["lead"].strip(), match["text"].strip()


def chosen(situations: Sequence[Situation], emotion: str, factor: str) -> list[Situation]:
    """Situations of one emotion or factor; a factor by its name or as `Anger-2`. "all" stands for all."""
    found = [s for s in situations if emotion in ("all", s.emotion.casefold())]
    wanted = factor.casefold()
    found = [s for s in found if wanted in ("all", s.factor.casefold(), f"{s.emotion}-{s.factor_index + 1}".casefold())]
    if not found:
        raise UsageError(
            f"There is no situation of emotion '{emotion}' and factor '{factor}'.",
            "Factors are named as in the study, or by number: '-o factor=Anger-2'.",
        )
    return found

"""Situations: this project's own (TOML), the study's 428 (JSON), and the 175 of them that were really put to people and
models, whose texts are in row 1 of the result files (22 are not, or not so, in the JSON).

The study's own files: results of models, and the answers of people.

A result file has one column per administration, one row per item, the situations in row 1. Columns `order-k` say
which item stands in which row for the columns that end in the same order; the released files hold one order only. An
administration without an answer (a refusal, an error) is a column of blanks: kept as NaN. A column may be missing
altogether. Files of other models in the same form are read just so.

People's workbook has one *column* per respondent, whose labels repeat (one label per situation, 1-based, with two
emotions under other names). Personal details are not read."""

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eqlab.benchmarks.emotionbench.measures import (
    CONTROLS,
    DEFAULT,
    EMOTIONS,
    FACTORS,
    FloatArray,
    IntArray,
    Kind,
    MeasurePlace,
    Measures,
    People,
    factor_name,
    kind_of,
)
from eqlab.benchmarks.options import Options, option
from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_file import instruction, read_items
from eqlab.core.plural import many
from eqlab.core.toml_file import Section
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import INSTRUMENTS, OVERALL, PANAS, Instrument, score_columns

_FILE = re.compile(rf"(?P<model>.+)-(?P<questionnaire>{'|'.join(INSTRUMENTS)})(?:-testing)?\.csv")
_DEFAULT = re.compile(r"General_test-\d+_order-(\d+)")
_EVOKED = re.compile(r"([A-Za-z]+)-(\d+)_scenario-(\d+)_test-\d+_order-(\d+)")
_ORDER = re.compile(r"order-(\d+)")
_VERIFY = "Run 'eqlab data verify', or remove the file."

CROWD = "emotionbench/results/PANAS Test/crowd.xlsx"
"""People's workbook."""
_LABEL = re.compile(r"([A-Za-z]+)_F(\d+)S(\d+)")
_OTHER_NAMES = {"Angry": "Anger", "Jealous": "Jealousy"}
_BEFORE, _AFTER = "of your current feeling in", "of your feeling in"


@dataclass(frozen=True, slots=True)
class EmotionResultFile:
    source: str
    instrument: Instrument
    places: tuple[MeasurePlace, ...]
    texts: tuple[str, ...]
    """What was asked in each place: the sentence that introduces the situation and the situation in quotes."""
    where: IntArray
    answers: FloatArray
    """Items in the instrument's order × administrations; NaN where there is no answer within the range."""

    @property
    def n_blank(self) -> int:
        return int(np.isnan(self.answers).any(axis=0).sum())


def name_parts(file_name: str) -> tuple[str, Instrument] | None:
    """(model, instrument) of a result file's name; None for a file of another kind."""
    match = _FILE.fullmatch(file_name)
    return (match["model"], INSTRUMENTS[match["questionnaire"]]) if match else None


def read_results(content: bytes, source: str, instrument: Instrument, path: str) -> EmotionResultFile:
    header, texts, rows = _table(content, instrument, path)
    places: dict[tuple[str, int, int], int] = {}
    said: dict[int, str] = {}
    columns, where = [], []
    numbers = _item_numbers(header, rows, instrument, path)
    cells = np.array([[_number(cell, instrument) for cell in row] for row in rows])
    for column, name in enumerate(header):
        if match := _DEFAULT.fullmatch(name):
            where.append(DEFAULT)
        elif match := _EVOKED.fullmatch(name):
            place = places.setdefault((match[1], int(match[2]), int(match[3])), len(places))
            said.setdefault(place, texts[column])
            where.append(place)
        else:
            continue
        columns.append(cells[numbers[int(match[match.re.groups])], column])
    if DEFAULT not in where or not places:
        raise DataError(f"{path} has no default or no evoked measures in its header.", _VERIFY)
    return EmotionResultFile(
        source,
        instrument,
        _places(places),
        tuple(said[index] for index in range(len(places))),
        np.array(where),
        np.array(columns).T,
    )


def measures_of_file(results: EmotionResultFile, *, keyed: bool = True, whole: bool = False) -> Measures:
    """A file's scores. `whole` adds the sum over all items where the instrument defines none."""
    parts = results.instrument.scores_and_total(OVERALL) if whole else results.instrument.scores
    scores = {part.name: score_columns(results.instrument, results.answers, part, keyed=keyed) for part in parts}
    return Measures(results.source, results.instrument.key, results.places, results.where, scores)


def _places(found: Iterable[tuple[str, int, int]]) -> tuple[MeasurePlace, ...]:
    """From emotion, factor and situation, numbered from 0."""
    return tuple(MeasurePlace(emotion, f, factor_name(emotion, f), f"{emotion}-{f}-{s}") for emotion, f, s in found)


def _table(content: bytes, instrument: Instrument, path: str) -> tuple[list[str], list[str], list[list[str]]]:
    try:
        table = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a table of results: {error}.", _VERIFY) from error
    if len(table) != instrument.n_items + 2:
        wanted = instrument.n_items + 2
        raise DataError(f"{path} has {many(len(table), 'row')}; a {instrument.key} result has {wanted}.", _VERIFY)
    if any(len(row) != len(table[0]) for row in table):
        raise DataError(f"{path} has rows of different lengths.", _VERIFY)
    return table[0], table[1], table[2:]


def _item_numbers(header: list[str], rows: list[list[str]], instrument: Instrument, path: str) -> dict[int, IntArray]:
    """For each order: in which row each item of the instrument stands."""
    orders = {}
    for column, name in enumerate(header):
        if match := _ORDER.fullmatch(name):
            items = [row[column].strip().removesuffix(".0") for row in rows]
            if sorted(items) != sorted(str(number) for number in instrument.numbers):
                raise DataError(f"{path}: column {name} does not hold every item number once.", _VERIFY)
            orders[int(match[1])] = np.argsort([int(item) for item in items])
    if not orders:
        raise DataError(f"{path} has no column 'order-0'.", _VERIFY)
    measured = (_DEFAULT.fullmatch(name) or _EVOKED.fullmatch(name) for name in header)
    used = {int(match[match.re.groups]) for match in measured if match}
    if missing := used - orders.keys():
        raise DataError(f"{path} has no column 'order-{min(missing)}', which other columns refer to.", _VERIFY)
    return orders


def _number(cell: str, instrument: Instrument) -> float:
    """A cell's answer; NaN for a blank, a text or a value outside the scale."""
    try:
        value = float(cell)
    except ValueError:
        return np.nan
    return value if instrument.low <= value <= instrument.high else np.nan


def read_people(content: bytes, path: str = CROWD) -> People:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        rows = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_name("Raw").to_python()
    except (CalamineError, ValueError) as error:
        raise DataError(f"{path} cannot be read as the study's workbook: {error}.", _FETCH) from error
    return people_of(rows, path)


def people_of(rows: Sequence[Sequence[Any]], path: str = CROWD) -> People:
    """The sheet's rows as respondents."""
    columns = [(index, match) for index, label in enumerate(rows[0]) if (match := _LABEL.fullmatch(str(label)))]
    if not columns:
        raise DataError(f"{path}: the first row has no label like 'Angry_F1S1'.", _FETCH)
    places: dict[tuple[str, int, int], int] = {}
    where = []
    for _, match in columns:
        emotion = _OTHER_NAMES.get(match[1], match[1])
        if emotion not in FACTORS:
            raise DataError(f"{path}: the label {match[0]} names no emotion of the study.", _FETCH)
        where.append(places.setdefault((emotion, int(match[2]) - 1, int(match[3]) - 1), len(places)))
    chosen = [index for index, _ in columns]
    before, after = (_answers(rows, chosen, mark, path) for mark in (_BEFORE, _AFTER))
    return People(
        _places(places),
        np.array(where),
        {part.name: score_columns(PANAS, before, part) for part in PANAS.scores},
        {part.name: score_columns(PANAS, after, part) for part in PANAS.scores},
    )


def _answers(rows: Sequence[Sequence[Any]], columns: Sequence[int], mark: str, path: str) -> FloatArray:
    """Items × respondents of one of the two measures; rows are found by the item's word, in whatever order."""
    given = {}
    for row in rows:
        question = str(row[1])
        word = question.rpartition(" - ")[2].strip().lower()
        if mark in question and word in PANAS.item_keys:
            given[word] = [row[column] for column in columns]
    missing = [word for word in PANAS.item_keys if word not in given]
    if missing:
        raise DataError(f"{path}: no row '{mark} …' for {', '.join(missing)}.", _FETCH)
    answers = [[float(cell) if isinstance(cell, int | float) else np.nan for cell in given[w]] for w in PANAS.item_keys]
    return np.array(answers)


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
    situations = []
    try:
        for emotion in json.loads(content)["emotions"]:
            for f, factor in enumerate(emotion["factors"]):
                for s, text in enumerate(factor["scenarios"]):
                    place = (str(emotion["name"]), f, factor_name(emotion["name"], f))
                    situations.append(Situation(f"{emotion['name']}-{f}-{s}", *place, str(text).strip()))
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a file of situations ({type(error).__name__}: {error}).", _FETCH) from error
    return situations


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


def is_chosen(place: Situation | MeasurePlace, emotion: str, factor: str) -> bool:
    names = ("all", place.factor.casefold(), f"{place.emotion}-{place.factor_index + 1}".casefold())
    return emotion in ("all", place.emotion.casefold()) and factor.casefold() in names


def chosen(situations: Sequence[Situation], emotion: str, factor: str) -> list[Situation]:
    """Situations of one emotion or factor; a factor by its name or as `Anger-2`. "all" stands for all."""
    found = [situation for situation in situations if is_chosen(situation, emotion, factor)]
    if not found:
        raise UsageError(
            f"There is no situation of emotion '{emotion}' and factor '{factor}'.",
            "Factors are named as in the study, or by number: '-o factor=Anger-2'.",
        )
    return found

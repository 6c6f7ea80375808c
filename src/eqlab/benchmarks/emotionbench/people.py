"""The people of the published study: a workbook with one *column* per respondent, whose labels repeat (one label per
situation, 1-based, with two emotions under other names). Personal details are not read."""

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from eqlab.benchmarks.emotionbench.factors import FACTORS, factor_name
from eqlab.benchmarks.emotionbench.measures import FloatArray, MeasurePlace, People
from eqlab.core.errors import DataError
from eqlab.instruments.catalogue import PANAS
from eqlab.instruments.score import score_columns

CROWD = "emotionbench/results/PANAS Test/crowd.xlsx"
"""The workbook among the published files."""

_LABEL = re.compile(r"([A-Za-z]+)_F(\d+)S(\d+)")
_OTHER_NAMES = {"Angry": "Anger", "Jealous": "Jealousy"}
_BEFORE, _AFTER = "of your current feeling in", "of your feeling in"
_HINT = "Run 'eqlab data verify', then 'eqlab data fetch emotionbench'."


def read_people(content: bytes, path: str = CROWD) -> People:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        rows = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_name("Raw").to_python()
    except (CalamineError, ValueError) as error:
        raise DataError(f"{path} cannot be read as the study's workbook: {error}.", _HINT) from error
    return people_of(rows, path)


def people_of(rows: Sequence[Sequence[Any]], path: str = CROWD) -> People:
    """The sheet's rows as respondents."""
    columns = [(index, match) for index, label in enumerate(rows[0]) if (match := _LABEL.fullmatch(str(label)))]
    if not columns:
        raise DataError(f"{path}: the first row has no label like 'Angry_F1S1'.", _HINT)
    places: dict[tuple[str, int, int], int] = {}
    where = []
    for _, match in columns:
        emotion = _OTHER_NAMES.get(match[1], match[1])
        if emotion not in FACTORS:
            raise DataError(f"{path}: the label {match[0]} names no emotion of the study.", _HINT)
        where.append(places.setdefault((emotion, int(match[2]) - 1, int(match[3]) - 1), len(places)))
    chosen = [index for index, _ in columns]
    before, after = (_answers(rows, chosen, mark, path) for mark in (_BEFORE, _AFTER))
    return People(
        tuple(MeasurePlace(emotion, f, factor_name(emotion, f), f"{emotion}-{f}-{s}") for emotion, f, s in places),
        np.array(where),
        {part.name: score_columns(PANAS, before, part) for part in PANAS.scores},
        {part.name: score_columns(PANAS, after, part) for part in PANAS.scores},
    )


def _answers(rows: Sequence[Sequence[Any]], columns: Sequence[int], mark: str, path: str) -> FloatArray:
    """Items × respondents of one of the two measures; rows are found by the item's word, in whatever order."""
    found = {}
    for row in rows:
        question = str(row[1])
        word = question.rpartition(" - ")[2].strip().lower()
        if mark in question and word in PANAS.item_keys:
            found[word] = [row[column] for column in columns]
    missing = [word for word in PANAS.item_keys if word not in found]
    if missing:
        raise DataError(f"{path}: no row '{mark} …' for {', '.join(missing)}.", _HINT)
    answers = [[float(cell) if isinstance(cell, int | float) else np.nan for cell in found[w]] for w in PANAS.item_keys]
    return np.array(answers)

"""EmotionBench's published tables, recomputed from every result file that is there and from the raw answers of people,
each cell beside what the paper prints and, where they differ, why."""

import csv
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from eqlab.analysis.two_samples import describe
from eqlab.benchmarks.emotionbench.measures import Measures, People, defined
from eqlab.benchmarks.emotionbench.published import (
    CROWD,
    EmotionResultFile,
    measures_of_file,
    name_parts,
    read_people,
    read_results,
)
from eqlab.benchmarks.emotionbench.views import PublishedCell, cells, people_cells
from eqlab.core.errors import DataError
from eqlab.data import published
from eqlab.instruments.catalogue import OVERALL, PANAS
from eqlab.reproduce.emotionbench_notes import explanation
from eqlab.reproduce.emotionbench_tables import findings, tables
from eqlab.reproduce.emotionbench_views import views

__all__ = ["findings", "reproduce", "rows_of", "tables"]

HUMAN = "human"
_PATTERN = "emotionbench/results/**/*.csv"
_PRINTED_NAMES = {"Behavioral Jealousy": "Bahavioral Jealousy"}
"""Subscales whose name the published questionnaire file spells in its own way."""
_NO_OVERALL = "a sum the paper prints; the instrument itself has no overall score"
_RAW = "raw sum as printed: no item reversed, nothing doubled"
_EPSILON = 1e-9

Row = dict[str, Any]


def reproduce(data: Path | None) -> dict[str, Any]:
    folder = published.published_folder(data)
    results = [_read(path, folder) for path in published.find(_PATTERN, folder) if name_parts(path.name)]
    crowd = read_people(published.read(CROWD, folder)) if (folder / CROWD).is_file() else None
    if not results and crowd is None:
        raise DataError(
            f"There are no EmotionBench result files in {folder}.",
            "Get them with 'eqlab data fetch emotionbench', or name a folder that has them with --data DIR.",
        )
    panas = [result for result in results if result.instrument is PANAS]
    others = [result for result in results if result.instrument is not PANAS]
    rows = [row for result in panas for row in _panas_rows(result)]
    rows += _people_rows(crowd) if crowd else []
    rows += [row for result in others for row in _challenging_rows(result)]
    return {"rows": rows, "summary": _summary(rows, results, crowd)}


def rows_of(report: dict[str, Any]) -> list[Row]:
    return list(report["rows"])


def _read(path: Path, folder: Path) -> EmotionResultFile:
    model, instrument = name_parts(path.name) or ("", PANAS)
    name = path.relative_to(folder).as_posix()
    return read_results(published.read(name, folder), model, instrument, name)


def _panas_rows(result: EmotionResultFile) -> Iterator[Row]:
    scored = measures_of_file(result)
    for subscale in scored.scores:
        yield _default_row(scored, subscale, subscale, "", None)
        for cell in cells(scored, subscale):
            yield _row(result.source, "PANAS", subscale, cell, None)


def _challenging_rows(result: EmotionResultFile) -> Iterator[Row]:
    """The paper's raw total first, then every score as its instrument is keyed."""
    emotions = {place.emotion for place in result.places}
    emotion = min(emotions) if len(emotions) == 1 else ""
    for keyed in (False, True):
        scored = measures_of_file(result, keyed=keyed, whole=True)
        keying = "keyed" if keyed else "raw"
        for subscale in scored.scores if keyed else (OVERALL,):
            name = _PRINTED_NAMES.get(subscale, subscale)
            note = _NO_OVERALL if subscale == OVERALL and not result.instrument.overall else ""
            yield _default_row(scored, subscale, name, emotion, keying, note)
            for cell in cells(scored, subscale, overall=len(emotions) > 1):
                yield _row(result.source, result.instrument.key, name, cell, keying, note)


def _people_rows(people: People) -> Iterator[Row]:
    for subscale in people.before:
        sample = describe(defined(people.before[subscale]))
        row = _blank(HUMAN, "PANAS", subscale, "default", "", "", None)
        yield _judged(row | {"n": sample.n, "mean": sample.mean, "sd": sample.sd}, None)
        for cell in people_cells(people, subscale):
            yield _row(HUMAN, "PANAS", subscale, cell, None)


def _blank(
    source: str, questionnaire: str, subscale: str, level: str, emotion: str, factor: str, keying: str | None
) -> Row:
    return {
        "source": source,
        "questionnaire": questionnaire,
        "subscale": subscale,
        "level": level,
        "emotion": emotion,
        "factor": factor,
        "n": 0,
        "mean": None,
        "sd": None,
        "default_mean": None,
        "diff": None,
        "p": None,
        "direction": None,
        "printed": None,
        "printed_direction": None,
        "agrees": None,
        "note": "",
        "keying": keying,
    }


def _default_row(scored: Measures, subscale: str, name: str, emotion: str, keying: str | None, note: str = "") -> Row:
    sample = describe(scored.default(subscale))
    row = _blank(scored.source, scored.questionnaire, name, "default", emotion, "", keying)
    return _judged(row | {"n": sample.n, "mean": sample.mean, "sd": sample.sd}, None, note)


def _row(
    source: str, questionnaire: str, subscale: str, cell: PublishedCell, keying: str | None, note: str = ""
) -> Row:
    row = _blank(source, questionnaire, subscale, cell.level, cell.emotion, cell.factor, keying)
    asked = cell.evoked.n + cell.n_missing + cell.n_absent
    blanks = f"{cell.n_missing} of {asked} administrations have no answer and are left out" if cell.n_missing else ""
    absent = f"{cell.n_absent} of {asked} administrations are not in the file" if cell.n_absent else ""
    note = "; ".join(part for part in (note, blanks, absent) if part)
    number = None if cell.factor_index is None else cell.factor_index + 1
    return _judged(
        row
        | {
            "n": cell.evoked.n,
            "mean": cell.evoked.mean,
            "sd": cell.evoked.sd,
            "default_mean": cell.default.mean,
            "diff": cell.comparison.difference,
            "p": cell.comparison.p,
            "direction": cell.direction,
        },
        number,
        note,
    )


def _judged(row: Row, factor: int | None, note: str = "") -> Row:
    """The row beside print: the value to its printed digits and, where there is one, the arrow."""
    printed = None if row["keying"] == "keyed" else _printed().get(_cell_key(row, factor))
    notes = [_RAW] if row["keying"] == "raw" and row["level"] == "default" else []
    if note:
        notes.append(note)
    if printed is not None:
        value, arrow = printed
        row["printed"], row["printed_direction"] = value if "±" in value else float(value), arrow
        same_value = _same_value(row, value)
        row["agrees"] = same_value and arrow in (None, row["direction"])
        if not row["agrees"]:
            notes.insert(0, explanation(row, factor))
    row["note"] = "; ".join(notes)
    return row


def _same_value(row: Row, printed: str) -> bool:
    mean, _, sd = printed.partition("±")
    pairs = [(row["mean"], mean), (row["sd"], sd)] if sd else [(row["diff"], mean)]
    return all(ours is not None and abs(ours - float(theirs)) <= 0.05 + _EPSILON for ours, theirs in pairs)


def _cell_key(row: Row, factor: int | None) -> tuple[str, ...]:
    emotion = "" if row["level"] == "overall" else row["emotion"]
    names = (row["source"], row["questionnaire"], row["subscale"], row["level"])
    return *names, emotion, "" if factor is None else str(factor)


@cache
def _printed() -> dict[tuple[str, ...], tuple[str, str | None]]:
    """What the paper prints (Tables 2, 3, 5, 8–11), by cell: value and arrow."""
    text = files("eqlab.reproduce").joinpath("emotionbench_printed.csv").read_text(encoding="utf-8")
    arrows = {"-": "none", "": None}
    return {tuple(row[:6]): (row[6], arrows.get(row[7], row[7])) for row in list(csv.reader(text.splitlines()))[1:]}


def _summary(rows: list[Row], results: list[EmotionResultFile], crowd: People | None) -> dict[str, Any]:
    compared = [row for row in rows if row["agrees"] is not None]
    cells_ = [row for row in compared if row["level"] != "default"]
    differing = Counter(row["note"].split(";")[0] for row in compared if not row["agrees"])
    return {
        "rows": len(rows),
        "compared": len(compared),
        "agree": sum(row["agrees"] for row in compared),
        "cells_compared": len(cells_),
        "values_equal": sum(_same_value(row, str(row["printed"])) for row in cells_),
        "arrows_equal": sum(row["direction"] == row["printed_direction"] for row in cells_),
        "differences": dict(differing.most_common()),
        "files": [
            {
                "source": result.source,
                "questionnaire": result.instrument.key,
                "administrations": len(result.where),
                "without_answer": result.n_blank,
                "situations": len(result.places),
            }
            for result in results
        ],
        "people": len(crowd.where) if crowd else 0,
        "views": views([measures_of_file(result) for result in results if result.instrument is PANAS], crowd),
    }

"""EmotionBench's published tables (arXiv 2308.03656), recomputed from every result file that is there and from the raw
answers of people: each cell beside what the paper prints and, where they differ, why; then the same tables under
stricter rules. The claims are `emotionbench_printed.csv` (Tables 2, 3, 5, 8–11) and, for what is wrong in print,
`emotionbench_differs.csv`: the first line that covers a cell explains it, and an empty field covers all."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path

import numpy as np

from eqlab.analysis.correlation import pearson
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.two_samples import Sample, describe
from eqlab.benchmarks.emotionbench.items import (
    CROWD,
    EmotionResultFile,
    measures_of_file,
    name_parts,
    read_people,
    read_results,
)
from eqlab.benchmarks.emotionbench.measures import FloatArray, Measures, People, defined
from eqlab.benchmarks.emotionbench.tables import ARROWS
from eqlab.benchmarks.emotionbench.views import (
    ALPHA,
    MoodChange,
    Norms,
    PublishedCell,
    agreement,
    cells,
    norms,
    people_cells,
    repeats_alike,
    situation_changes,
)
from eqlab.core.errors import DataError
from eqlab.core.grouping import grouped
from eqlab.core.results import Table
from eqlab.data import published
from eqlab.instruments.catalogue import OVERALL, PANAS
from eqlab.reproduce.claims import (
    UNEXPLAINED,
    Claim,
    Compared,
    Report,
    Row,
    Study,
    compare,
    most_frequent,
    printed_rows,
    table_of,
    to_digits,
)

HUMAN = "human"
_PATTERN = "emotionbench/results/**/*.csv"
_PRINTED_NAMES = {"Behavioral Jealousy": "Bahavioral Jealousy"}
"""Subscales whose name the published questionnaire file spells in its own way."""
_NO_OVERALL = "a sum the paper prints; the instrument itself has no overall score"
_RAW = "raw sum as printed: no item reversed, nothing doubled"
_VERDICTS = {True: "agrees", False: "differs", None: "not printed"}


def reproduce(data: Path | None) -> Report:
    folder = published.published_folder(data)
    results = [_read(path, folder) for path in published.find(_PATTERN, folder) if name_parts(path.name)]
    crowd = read_people(published.read(CROWD, folder)) if (folder / CROWD).is_file() else None
    if not results and crowd is None:
        raise DataError(
            f"There are no EmotionBench result files in {folder}.",
            "Get them with 'eqlab data fetch emotionbench', or name a folder that has them with --data DIR.",
        )
    panas = [result for result in results if result.instrument is PANAS]
    rows = [row for result in panas for row in _panas_rows(result)]
    rows += _people_rows(crowd) if crowd else []
    rows += [row for result in results if result.instrument is not PANAS for row in _challenging_rows(result)]
    return {"rows": rows, "summary": _summary(rows, results, crowd)}


def _read(path: Path, folder: Path) -> EmotionResultFile:
    model, instrument = name_parts(path.name) or ("", PANAS)
    name = path.relative_to(folder).as_posix()
    return read_results(published.read(name, folder), model, instrument, name)


def _panas_rows(result: EmotionResultFile) -> Iterator[Row]:
    scored = measures_of_file(result)
    for subscale in scored.scores:
        yield _row((result.source, "PANAS", subscale), describe(scored.default(subscale)))
        for cell in cells(scored, subscale):
            yield _row((result.source, "PANAS", subscale), cell)


def _people_rows(people: People) -> Iterator[Row]:
    for subscale in people.before:
        yield _row((HUMAN, "PANAS", subscale), describe(defined(people.before[subscale])))
        for cell in people_cells(people, subscale):
            yield _row((HUMAN, "PANAS", subscale), cell)


def _challenging_rows(result: EmotionResultFile) -> Iterator[Row]:
    """The paper's raw total first, then every score as its instrument is keyed."""
    emotions = {place.emotion for place in result.places}
    emotion = min(emotions) if len(emotions) == 1 else ""
    for keying in ("raw", "keyed"):
        scored = measures_of_file(result, keyed=keying == "keyed", whole=True)
        for subscale in scored.scores if keying == "keyed" else (OVERALL,):
            whose = (result.source, result.instrument.key, _PRINTED_NAMES.get(subscale, subscale))
            note = _NO_OVERALL if subscale == OVERALL and not result.instrument.overall else ""
            yield _row(whose, describe(scored.default(subscale)), keying, note, emotion)
            for cell in cells(scored, subscale, overall=len(emotions) > 1):
                yield _row(whose, cell, keying, note)


def _row(
    whose: tuple[str, str, str],
    cell: Sample | PublishedCell,
    keying: str | None = None,
    note: str = "",
    emotion: str = "",
) -> Row:
    """A default measure, or a cell of the published tables, beside print. `whose`: source, questionnaire, score."""
    source, questionnaire, subscale = whose
    default = isinstance(cell, Sample)
    sample = cell if isinstance(cell, Sample) else cell.evoked
    change = None if isinstance(cell, Sample) else cell
    row: Row = {
        "source": source,
        "questionnaire": questionnaire,
        "subscale": subscale,
        "level": change.level if change else "default",
        "emotion": change.emotion if change else emotion,
        "factor": change.factor if change else "",
        "n": sample.n,
        "mean": sample.mean,
        "sd": sample.sd,
        "default_mean": change.default.mean if change else None,
        "diff": change.comparison.difference if change else None,
        "p": change.comparison.p if change else None,
        "direction": change.direction if change else None,
        "printed": None,
        "printed_direction": None,
        "agrees": None,
    }
    notes = [_RAW] if keying == "raw" and default else []
    notes += [part for part in (note, *(_lost(change) if change else ())) if part]
    place = _place(row, None if change is None or change.factor_index is None else change.factor_index + 1)
    if keying != "keyed" and place in printed_values():
        row["printed"], row["printed_direction"] = printed_values()[place]
        row["agrees"] = all(compared.agrees for compared in _beside_print(row))
        if not row["agrees"]:
            notes.insert(0, _explanation(place))
    return row | {"note": "; ".join(notes), "keying": keying}


def _lost(cell: PublishedCell) -> Iterator[str]:
    asked = cell.evoked.n + cell.n_missing + cell.n_absent
    if cell.n_missing:
        yield f"{cell.n_missing} of {asked} administrations have no answer and are left out"
    if cell.n_absent:
        yield f"{cell.n_absent} of {asked} administrations are not in the file"


def _beside_print(row: Row) -> list[Compared]:
    """A cell's claims: mean and standard deviation of a default, or the change; and the arrow, where there is one."""
    if isinstance(row["printed"], str):
        mean, _, sd = row["printed"].partition("±")
        values = {"mean": float(mean), "sd": float(sd)}
    else:
        values = {"diff": row["printed"]}
    claims = [Claim({"quantity": name}, value, itemgetter(name), to_digits(1)) for name, value in values.items()]
    if row["printed_direction"] is not None:
        claims.append(Claim({"quantity": "direction"}, row["printed_direction"], itemgetter("direction")))
    return compare(claims, row)


def _place(row: Row, factor: int | None) -> tuple[str, ...]:
    emotion = "" if row["level"] == "overall" else row["emotion"]
    names = (row["source"], row["questionnaire"], row["subscale"], row["level"])
    return *names, emotion, "" if factor is None else str(factor)


@cache
def printed_values() -> dict[tuple[str, ...], tuple[str | float, str | None]]:
    """By place: "mean±SD" or the change, and the arrow."""
    arrows = {"-": "none", "": None}
    return {
        tuple(place): (value if "±" in value else float(value), arrows.get(arrow, arrow))
        for *place, value, arrow in map(dict.values, printed_rows("emotionbench_printed.csv"))
    }


@cache
def _slips() -> list[tuple[list[list[str]], str]]:
    """Errors in print: per column of a place the values that are covered (none: all), and what is wrong."""
    rows = map(dict.values, printed_rows("emotionbench_differs.csv"))
    return [([field.split("|") for field in fields], why) for *fields, why in rows]


def _explanation(place: Sequence[str]) -> str:
    for covered, why in _slips():
        if all(values == [""] or value in values for value, values in zip(place, covered, strict=True)):
            return why
    return UNEXPLAINED


def _summary(rows: list[Row], results: list[EmotionResultFile], crowd: People | None) -> Row:
    compared = [row for row in rows if row["agrees"] is not None]
    changes = [row for row in compared if row["level"] != "default"]
    differing = Counter(row["note"].split(";")[0] for row in compared if not row["agrees"])
    return {
        "rows": len(rows),
        "compared": len(compared),
        "agree": sum(row["agrees"] for row in compared),
        "cells_compared": len(changes),
        "values_equal": sum(_beside_print(row)[0].agrees for row in changes),
        "arrows_equal": sum(row["direction"] == row["printed_direction"] for row in changes),
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


def views(models: Sequence[Measures], people: People | None) -> Row:
    """The tables under stricter rules, per model: significant factor cells under four rules, how alike repeats are, and
    how its changes go with people's; without the people's workbook everything that needs them is None."""
    human = norms(people) if people else None
    return {
        "people_reliability": dict(human.reliability) if human else None,
        "models": [_model(model, people, human) for model in models],
    }


def _model(model: Measures, people: People | None, human: Norms | None) -> Row:
    subscales = list(model.scores)
    as_published = [cell for name in subscales for cell in cells(model, name) if cell.level == "factor"]
    honest = situation_changes(model, subscales)
    factors = [change for change in honest if change.level == "factor"]
    corrected = holm([cell.comparison.p for cell in as_published])
    return {
        "source": model.source,
        "factor_cells": len(as_published),
        "significant_as_published": sum(cell.direction != "none" for cell in as_published),
        "significant_holm": _significant(corrected),
        "significant_situation_as_unit": _significant(change.p_fixed_default for change in factors),
        "significant_honest": _significant(change.p_holm for change in factors),
        "subscales": {name: _subscale(model, name, people, human, honest) for name in subscales},
    }


def _significant(p_values: Iterable[float | None]) -> int:
    return sum(p is not None and p <= ALPHA for p in p_values)


def _subscale(
    model: Measures, name: str, people: People | None, human: Norms | None, honest: Sequence[MoodChange]
) -> Row:
    alike = repeats_alike(model, name)
    found: Row = {"icc": alike.icc, "design_effect": alike.design_effect, "correlation": None, "mae": None}
    if people is None or human is None:
        return found
    ours, theirs = _shared_factors(cells(model, name), people_cells(people, name))
    compared = agreement(honest, human, name)
    r = pearson("", ours, theirs)
    return found | {
        "correlation": r.value,
        "correlation_low": r.low,
        "correlation_high": r.high,
        "mae": float(abs(ours - theirs).mean()) if len(ours) else None,
        "mean_gap": compared.mean_gap.value,
        "mean_gap_low": compared.mean_gap.low,
        "mean_gap_high": compared.mean_gap.high,
        "p_equivalent": compared.p_equivalent,
    }


def _shared_factors(*samples: Iterable[PublishedCell]) -> tuple[FloatArray, FloatArray]:
    """Published differences of the factors that both have."""
    ours, theirs = (
        {
            (cell.emotion, cell.factor_index): cell.comparison.difference
            for cell in sample
            if cell.level == "factor" and cell.comparison.difference is not None
        }
        for sample in samples
    )
    both = [place for place in ours if place in theirs]
    return np.array([ours[place] for place in both]), np.array([theirs[place] for place in both])


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    return [
        f"{summary['agree']} of {summary['compared']} printed cells agree. "
        f"Of the {summary['cells_compared']} changes {summary['values_equal']} values and "
        f"{summary['arrows_equal']} arrows are as printed.",
        *most_frequent(summary["differences"]),
    ]


def tables(report: Report) -> list[Table]:
    """One table of cells per source and questionnaire, the differences with their reasons, and the stricter views."""
    by_file = grouped((f"{row['source']}, {row['questionnaire']}", _shown(row)) for row in report["rows"])
    shown = [table_of(name, _CELLS, rows) for name, rows in by_file.items()]
    differing = [_shown(row) for row in report["rows"] if row["agrees"] is False]
    shown.append(table_of("Where the paper and its raw data differ", _DIFFERENCES, differing))
    if report["summary"]["views"]["models"]:
        shown.append(_views_table(report["summary"]["views"]))
    return shown


_CELLS = (
    "subscale: scale | keying | row | n | before: default | evoked | sd: SD | diff: change | p | arrow | "
    "printed | verdict | note"
)
_DIFFERENCES = "source | questionnaire | subscale: scale | row | printed | recomputed | note: why"


def _shown(row: Row) -> Row:
    """A row with the cells that its readers see."""
    default = row["level"] == "default"
    names = {"factor": f"{row['emotion']}: {row['factor']}", "emotion": row["emotion"]}
    printed = row["printed"]
    if isinstance(printed, float):
        printed = _with_arrow(printed, row["printed_direction"])
    elif printed is None:
        printed = ""
    recomputed = "undefined"
    if default and row["sd"] is not None:
        recomputed = f"{row['mean']:.1f}±{row['sd']:.1f}"
    elif row["diff"] is not None:
        recomputed = _with_arrow(row["diff"], row["direction"])
    without = dict.fromkeys(("evoked", "diff", "p"), "") if default else {"evoked": row["mean"]}
    return {
        **row,
        **without,
        "keying": row["keying"] or "",
        "row": names.get(row["level"], row["level"]),
        "before": row["mean"] if default else row["default_mean"],
        "arrow": ARROWS.get(row["direction"], ""),
        "printed": printed,
        "recomputed": recomputed,
        "verdict": _VERDICTS[row["agrees"]],
    }


def _with_arrow(change: float, direction: str | None) -> str:
    return f"{ARROWS.get(direction or '', '')} {change:+.1f}".strip()


def _views_table(row: Row) -> Table:
    rules = ("as_published", "holm", "situation_as_unit", "honest")
    measures = ("design_effect", "correlation", "mae")
    reliability = row["people_reliability"]
    ceiling = (
        "People's split-half reliability, the ceiling of the correlations: "
        + ", ".join(f"{name} {value:.2f}" for name, value in reliability.items() if value is not None)
        + "."
        if reliability
        else "The people's workbook is not there: no comparison with people."
    )
    return Table(
        "EmotionBench under stricter rules (significant factor cells at 0.01, of 72)",
        (
            *("model", "as published", "with Holm", "situation as unit", "situation as unit, Holm"),
            *("design effect P", "design effect N", "r with people P", "r with people N", "MAE P", "MAE N"),
        ),
        tuple(
            (
                model["source"],
                *(model[f"significant_{rule}"] for rule in rules),
                *(part[name] for name in measures for part in model["subscales"].values()),
            )
            for model in row["models"]
        ),
        note=ceiling,
    )


STUDY = Study("EmotionBench, recomputed", reproduce, findings, tables)

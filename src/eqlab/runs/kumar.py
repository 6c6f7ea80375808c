"""The ratings of Kumar et al. 2025 (arXiv 2506.10150), and a judge's examination by them: talks on up to four
frameworks, each rated on the framework's own scales (which ship as rubrics) by three experts, a crowd and three
models. A judge's place among them is the agreement of each with two experts at a time. Talks are known by a hash of
their id, and joined by it: every file has its own order, and some ids belong to people."""

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eqlab.analysis.agreement import distance_kappa, pair_rows
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import DataError
from eqlab.core.results import Cell, Estimate, Result, Table, goodness
from eqlab.data import published

EXPERTS = ("expert1", "expert2", "expert3")
MODELS = ("gemini", "gpt", "claude")
CROWD = "crowd"
RATERS = (*EXPERTS, *MODELS, CROWD)
MODEL_NAMES = {"gemini": "Gemini 2.5 Pro", "gpt": "GPT-4o", "claude": "Claude 3.7 Sonnet"}
_FETCH = "Get it again with 'eqlab data fetch kumar'."
_SEEKER, _SUPPORTER = "Seeker", "Supporter"


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    """The folder of its ratings."""
    title: str
    low: int
    high: int
    ids: tuple[str, ...]
    """Columns that say which talk it is, the first in every file."""
    talks: str = ""
    """The file with the talks; empty where the study released none."""


FRAMEWORKS = (
    Framework("empatheticdialogues", "Empathetic Dialogues", 1, 5, ("conv_id",), "sample_empatheticdialogues.csv"),
    Framework("epitome", "EPITOME", 0, 2, ("sp_id", "rp_id"), "sample_epitome.csv"),
    Framework("lend_an_ear", "Lend an Ear", 1, 5, ("conversation_id",), "sample_lend_an_ear_conversations.csv"),
    Framework("perceived_empathy", "Perceived Empathy", 1, 7, ("id",)),
)
LESS_IS_BETTER = ("advice_giving", "self_oriented", "dismissing_emotions")
_NOT_SCALES = ("", "Unnamed: 0", "full_conversation", "response_length")


@dataclass(frozen=True, slots=True)
class Ratings:
    """One framework: every rater's value of every talk, scale by scale."""

    framework: Framework
    talks: tuple[str, ...]
    scales: tuple[str, ...]
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    """By rater, then by scale, in the order of the talks."""


def framework_of(name: str) -> Framework:
    found = [one for one in FRAMEWORKS if one.name == name]
    if not found:
        raise DataError(
            f"Kumar et al. have no framework '{name}'.", f"There are: {', '.join(f.name for f in FRAMEWORKS)}."
        )
    return found[0]


def read_all(folder: Path) -> tuple[list[Ratings], list[str]]:
    """The frameworks whose ratings are in the folder, and the names of those that are not."""
    there = [one for one in FRAMEWORKS if all((folder / _file(one, rater)).is_file() for rater in RATERS)]
    missing = [one.name for one in FRAMEWORKS if one not in there]
    if not there:
        read_ratings(FRAMEWORKS[0], folder)  # raises, and says how to get the files
    return [read_ratings(one, folder) for one in there], missing


def read_ratings(framework: Framework, folder: Path) -> Ratings:
    rows = {rater: _by_talk(_csv_rows(_file(framework, rater), folder), framework, rater) for rater in RATERS}
    talks = tuple(talk for talk in rows[EXPERTS[0]] if all(talk in own for own in rows.values()))
    if len(talks) < 2:
        raise DataError(f"The raters of {framework.name} have {len(talks)} talks in common.", _FETCH)
    first = [next(iter(own.values())) for own in rows.values()]
    unused = (*_NOT_SCALES, *framework.ids)
    scales = tuple(name for name in first[0] if name not in unused and all(name in row for row in first))
    values = {
        rater: {scale: tuple(_number(own[talk][scale], framework, rater, scale) for talk in talks) for scale in scales}
        for rater, own in rows.items()
    }
    return Ratings(framework, talks, scales, values)


def read_talks(framework: Framework, folder: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Of every talk its lines as (who, text), who being "Seeker" or "Supporter"."""
    if not framework.talks:
        raise DataError(f"The study released no talks of {framework.title}.", "Its ratings can still be recomputed.")
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in _csv_rows(f"kumar/original_data/{framework.talks}", folder):
        if "full_conversation" in row:
            lines = _lines(row["full_conversation"])
        else:
            lines = ((_SEEKER, row["seeker_post"].strip()), (_SUPPORTER, row["response_post"].strip()))
        found.setdefault(_hashed(row[framework.ids[0]]), lines)
    return found


def _lines(text: str) -> tuple[tuple[str, str], ...]:
    parts = re.split(rf"^\s*({_SEEKER}|{_SUPPORTER}): ?", text.replace("_comma_", ", "), flags=re.MULTILINE)
    return tuple((who, said.strip()) for who, said in zip(parts[1::2], parts[2::2], strict=True))


def _file(framework: Framework, rater: str) -> str:
    return f"kumar/annotations/{framework.name}/{rater}_ratings.csv"


def _csv_rows(name: str, folder: Path) -> Sequence[Mapping[str, str]]:
    text = published.read(name, folder).decode("utf-8-sig", "replace")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _by_talk(rows: Sequence[Mapping[str, str]], framework: Framework, rater: str) -> dict[str, Mapping[str, str]]:
    key = framework.ids[0]
    if not rows or key not in rows[0]:
        raise DataError(f"{_file(framework, rater)} has no column {key}.", _FETCH)
    return {_hashed(row[key]): row for row in rows}


def _hashed(talk: str) -> str:
    """Ids are texts: those of twenty digits do not fit into a number."""
    return hashlib.sha256(talk.strip().encode()).hexdigest()[:12]


def _number(text: str, framework: Framework, rater: str, scale: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{_file(framework, rater)}: {scale} is '{text}', not a number.", _FETCH) from None


PREFIX = "kumar:"
_ARM = "listener"
_DRAWS = 2_000
_NAMES = {"Seeker": "A", "Supporter": "B"}


def asked_framework(against: str) -> Framework | None:
    """The framework that `--against kumar:NAME` names; None where it names something else."""
    return framework_of(against.removeprefix(PREFIX)) if against.startswith(PREFIX) else None


def rubric_name(framework: Framework) -> str:
    return f"kumar-{framework.name}"


def expert_replies(framework: Framework, data: Path | None) -> list[ReplyRow]:
    """Every talk whose text is there, with the three experts' ratings."""
    folder = published.published_folder(data)
    ratings, talks = read_ratings(framework, folder), read_talks(framework, folder)
    rows = []
    for place, talk in enumerate(ratings.talks):
        if talk in talks:
            text = "\n".join(f"{_NAMES[who]}: {said}" for who, said in talks[talk])
            given = tuple(
                (expert, scale, int(ratings.values[expert][scale][place] + 0.5))
                for expert in EXPERTS
                for scale in ratings.scales
            )
            rows.append(ReplyRow(_ARM, talk, text, human_scales=given))
    return rows


def beside_experts(framework: Framework, data: Path | None, result: Result) -> Table:
    """The judge, each expert, the crowd and the published models: kappa with two experts, scale by scale and in the
    median over scales; what an expert has with the two others is the mark to reach."""
    ratings = read_ratings(framework, published.published_folder(data))
    judge = _judged(result, ratings)
    who: dict[str, Mapping[str, Sequence[float]]] = {"this judge": judge} if judge else {}
    who |= {rater: ratings.values[rater] for rater in (*EXPERTS, CROWD, *MODELS)}
    places = _common(judge, ratings)
    middle = {rater: _kappas(rater, values, ratings, places) for rater, values in who.items()}
    order = sorted(who, key=lambda rater: goodness(middle[rater].value, "higher"), reverse=True)
    rows: list[tuple[Cell, ...]] = []
    for rater in order:
        found = [_kappa(rater, who[rater][scale], ratings, scale, places) for scale in ratings.scales]
        rows.append((MODEL_NAMES.get(rater, rater), middle[rater], *found))
    columns = ("who", "median over scales", *(scale.replace("_", " ") for scale in ratings.scales))
    note = (
        "Kappa over squared distances, with the middle of two experts: an expert with the two others, everybody else "
        f"with each two of the three, averaged. Intervals over the {len(places)} talks; a constant answer has 0."
    )
    return Table("As good as an expert among experts?", columns, rows, note)


def _judged(result: Result, ratings: Ratings) -> dict[str, list[float]]:
    """The judge's mean rating of each talk, NaN where it gave none."""
    given: dict[tuple[str, str], list[float]] = {}
    for item in result.items:
        for scale in ratings.scales:
            value = item.values.get(scale)
            if isinstance(value, int | float):
                given.setdefault((item.item, scale), []).append(float(value))
    if not given:
        return {}
    return {
        scale: [float(np.mean(given[talk, scale])) if (talk, scale) in given else np.nan for talk in ratings.talks]
        for scale in ratings.scales
    }


def _common(judge: Mapping[str, Sequence[float]], ratings: Ratings) -> list[int]:
    """The talks that all have rated, so that all are compared on the same."""
    every = range(len(ratings.talks))
    return [place for place in every if all(np.isfinite(own[place]) for own in judge.values())]


def _rows(rater: str, values: Sequence[float], ratings: Ratings, scale: str, places: Sequence[int]) -> Floats:
    left_out = [rater] if rater in EXPERTS else EXPERTS
    experts = {expert: np.array(ratings.values[expert][scale])[list(places)] for expert in EXPERTS}
    own = np.array(values)[list(places)].tolist()
    pairs = [[experts[expert] for expert in EXPERTS if expert != out] for out in left_out]
    return np.hstack([pair_rows(own, ((a + b) / 2).tolist()) for a, b in pairs])


def _mean(totals: Floats) -> Floats:
    return np.asarray(distance_kappa(totals.reshape(*totals.shape[:-1], -1, 6)).mean(axis=-1))


def _kappa(rater: str, values: Sequence[float], ratings: Ratings, scale: str, places: Sequence[int]) -> Estimate:
    if len(places) < 2:
        return Estimate("kappa", None, len(places))
    rows = _rows(rater, values, ratings, scale, places)
    found = interval([rows], lambda totals: _mean(totals[0]), totals=shared_totals([rows], _DRAWS))
    return Estimate("kappa", found.value, len(rows), None, found.low, found.high)


def _kappas(rater: str, values: Mapping[str, Sequence[float]], ratings: Ratings, places: Sequence[int]) -> Estimate:
    if len(places) < 2:
        return Estimate("median kappa", None, len(places))
    rows = np.hstack([_rows(rater, values[scale], ratings, scale, places) for scale in ratings.scales])
    scales = len(ratings.scales)

    def median(totals: Sequence[Floats]) -> Floats:
        own = np.asarray(totals[0])
        return np.asarray(np.nanmedian(_mean(own.reshape(*own.shape[:-1], scales, -1)), axis=-1))

    found = interval([rows], median, totals=shared_totals([rows], _DRAWS))
    return Estimate("median kappa", found.value, len(rows), None, found.low, found.high)

"""The talks of Kumar et al. 2025 as a judge's examination: three experts rated them on scales that ship as rubrics,
and so did a crowd and three models. How a judge stands among them: agreement of each with two experts at a time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eqlab.analysis.agreement import distance_kappa, pair_rows
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.core.benchmark import ReplyRow
from eqlab.core.results import Cell, Estimate, Result, Table, goodness
from eqlab.data import published
from eqlab.data.kumar import (
    CROWD,
    EXPERTS,
    MODEL_NAMES,
    MODELS,
    Framework,
    Ratings,
    framework_of,
    read_ratings,
    read_talks,
)

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

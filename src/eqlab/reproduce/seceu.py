"""SECEU (Wang et al. 2023, arXiv 2307.09042), recomputed from its files: the EQ of every model and prompt, what the
norm says of the order of the words, and what answers earn that read nothing, or that know only part of it."""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from eqlab.benchmarks.seceu import (
    ANCHORS,
    MEAN,
    NORM,
    PEOPLE,
    SD,
    TOTAL,
    WORDS,
    eq,
    read_norm,
)
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass
from eqlab.data import office, published
from eqlab.reproduce.claims import Claim, Report, Row, Study, compare, printed_rows, summary, table_of, to_digits

Array = NDArray[np.float64]
_TABLE = "seceu/static/Results/LLMs’ EQ and representational patterns.xlsx"
_ALPHA = 0.94
_R_MEAN, _R_SD = 0.199, 0.166
"""People's pattern similarity, each against the template without the person."""
_VARIANTS = {
    name: tuple(map(json.loads, printed)) for name, *printed in map(dict.values, printed_rows("seceu_printed.csv"))
}
"""Score, EQ, % of people below, r, % below in r of 12 of the supplement's 16 prompt variants. They are in no released
file and were taken over from the project's own list of reference values: only EQ, which follows from the score, is a
check."""
_DRAWS, _SEED = 20_000, 20261116
_INPUT = "input: no raw answers released"
_BETWEEN = "interpolated between printed pairs"
_PRINTED_ORDER = "order of the file"


@dataclass(frozen=True, slots=True)
class Data:
    norm: Array
    template: Array
    models: dict[str, tuple[float, float, float, float, float]]


def read(folder: Path | None) -> Data:
    where = published.published_folder(folder)
    norm, template = read_norm(published.read(NORM, where))
    return Data(np.array(norm), np.array(template), read_table(published.read(_TABLE, where)))


def read_table(content: bytes, path: str = _TABLE) -> dict[str, tuple[float, float, float, float, float]]:
    """(score, EQ, % of people below, pattern similarity r, % of people below in r) by model; without the failed."""
    models: dict[str, tuple[float, float, float, float, float]] = {}
    for row in office.rows(content, path)[1:]:
        numbers = [row.get(column, "").rstrip("*") for column in "BCDEF"]
        if all(re.fullmatch(r"-?[\d.]+", number) for number in numbers):
            score, quotient, below, r, below_in_r = map(float, numbers)
            models[row["A"].rstrip("# ")] = (
                round(score, 2),
                quotient,
                round(100 * below),
                round(r, 2),
                round(100 * below_in_r),
            )
    if not models:
        raise published.broken(path, "a table of models with their scores")
    return models


def claims(data: Data) -> Iterator[Claim]:
    for kind, subjects in (("table 1", data.models), ("tables S1, S2", _VARIANTS)):
        for name, printed in subjects.items():
            yield from _model(kind, name, *printed)
    yield from _of_the_norm(data)
    for distance, share in ANCHORS.items():
        rule = "every printed pair (Tables 1, S1, S2); interpolate linearly between them"
        yield _found("percentile anchors", f"{distance:g}", "percent of people below", share, rule)
    for trivial in no_skill(data):
        yield from _baseline(trivial, data)
    rule = "2.79 / sqrt(3): averaging alone, no skill added; EQ 122"
    yield _found("baseline", "mean of three independent people", "SECEU score, approximate", MEAN / math.sqrt(3), rule)
    for fill, name in ((_fixed((2.5,) * WORDS), "2.5 each"), (_fixed((4, 3, 2, 1)), "4, 3, 2, 1")):
        for item, distance in enumerate(distances(fill(data.norm), data.norm), start=1):
            yield _found("item", str(item), f"distance of {name}", float(distance))


def _found(kind: str, name: str, quantity: str, value: float | str | Estimate, rule: str = "") -> Claim:
    return Claim({"kind": kind, "name": name, "quantity": quantity}, None, lambda _: value, rule=rule)


# -- what is printed of models ---------------------------------------------------------------------------------------


def _model(
    kind: str, name: str, score: float, quotient: float, below: float, r: float, below_r: float
) -> Iterator[Claim]:
    def key(quantity: str) -> dict[str, str]:
        return {"kind": kind, "name": name, "quantity": quantity}

    low, high = rounding_allows(score)
    yield Claim(key("SECEU score"), score, None, rule=_INPUT)
    yield Claim(
        key("EQ"),
        quotient,
        lambda _: Estimate("EQ", eq(score), 0, low=low, high=high),
        lambda value: abs(value - quotient) <= to_digits(0) or (low <= quotient + 0.5 and quotient - 0.5 <= high),
        rule=f"100 + 15 (2.79 - score) / 0.822; roundings allow {low:.2f} to {high:.2f}",
    )
    empirical = "the printed share is counted among the 541 people, this one is the normal curve's"
    yield Claim(
        key("percent of people below"),
        below,
        lambda _: 100 * NormalDist(MEAN, SD).cdf(2 * MEAN - score),
        to_digits(0),
        rule="normal curve through M and SD; the printed one is empirical, so they differ",
        differs=empirical,
    )
    yield Claim(key("pattern similarity r"), r, None, rule=_INPUT)
    yield Claim(
        key("percent of people below in r"),
        below_r,
        lambda _: 100 * NormalDist(_R_MEAN, _R_SD).cdf(r),
        to_digits(0),
        rule="normal curve through .199 and .166",
        differs=empirical,
    )


def rounding_allows(score: float) -> tuple[float, float]:
    """The EQs that a score, M and SD can have given that round to what is printed."""
    corners = [eq(score + ds, MEAN + dm, SD + dsd) for ds in (-0.005, 0.005) for dm in (-0.005, 0.005)
               for dsd in (-0.0005, 0.0005)]  # fmt: skip
    return min(corners), max(corners)


# -- what the norm says ----------------------------------------------------------------------------------------------


def _of_the_norm(data: Data) -> Iterator[Claim]:
    norm, template = data.norm, data.template
    sums = norm.sum(axis=1)
    found = partial(_found, "norm")
    yield found("all items", "sum of the four values, least", float(sums.min()),
                "rounding of two decimals: renormalise or not, say which")  # fmt: skip
    yield found("all items", "sum of the four values, greatest", float(sums.max()), "the same")
    for quantity, printed, value, rule in (
        ("M", 2.79, template.mean(), "mean of the 40 values of the pattern template"),
        ("smallest item mean", 2.19, template.min(), "template"),
        ("largest item mean", 3.32, template.max(), "template"),
    ):
        key = {"kind": "norm", "name": "people", "quantity": quantity}
        yield Claim(key, printed, lambda _, value=float(value): value, to_digits(2), rule)  # type: ignore[misc]
    error = math.sqrt(1 - _ALPHA)
    yield found("people", "standard error of measurement (score)", SD * error,
                "SD sqrt(1 - alpha), alpha .94: one test result is good to 1.96 of these")  # fmt: skip
    yield found("people", "standard error of measurement (EQ)", 15 * error, "15 sqrt(1 - alpha)")
    for place in range(WORDS):
        name = f"place {place + 1}"
        yield found(name, "mean of the norm", float(norm[:, place].mean()), _PRINTED_ORDER)
        strongest, weakest = norm.argmax(axis=1) == place, norm.argmin(axis=1) == place
        yield found(name, "items whose strongest emotion stands here", int(strongest.sum()), _PRINTED_ORDER)
        yield found(name, "items whose weakest emotion stands here", int(weakest.sum()), _PRINTED_ORDER)
    falling = (np.diff(norm, axis=1) <= 0).all(axis=1)
    yield found("all items", "items in falling order of the norm", int(falling.sum()), "1 >= 2 >= 3 >= 4")


# -- no-skill baselines, and what takes part of the skill ------------------------------------------------------------

Fill = Callable[[Array], Array]
"""Answers to all items: item × draw × word, or item × word where nothing is drawn."""


@dataclass(frozen=True, slots=True)
class Answering:
    name: str
    rule: str
    answers: Array
    skill: bool = False
    """Whether it knows something of what people answered to each item."""


def no_skill(data: Data) -> list[Answering]:
    norm = data.norm
    draw = np.random.default_rng(_SEED)
    count = len(norm)
    ways = np.array([way for way in np.ndindex(*(TOTAL + 1,) * WORDS) if sum(way) == TOTAL], dtype=float)
    simplex = draw.dirichlet(np.ones(WORDS), (_DRAWS, count)) * TOTAL
    uniform = draw.random((_DRAWS, count, WORDS))
    uniform *= TOTAL / uniform.sum(axis=2, keepdims=True)
    median = geometric_median(norm)
    ranks = norm.argsort(axis=1)[:, ::-1].argsort(axis=1)
    exaggerated = np.maximum(2.5 + 2 * (norm - 2.5), 0)

    def always(values: Sequence[float] | Array) -> Array:
        return _fixed(values)(norm)

    def drawn(ways: Array) -> Array:
        return np.broadcast_to(ways, (count, *ways.shape))

    def by_rank(*values: float) -> Array:
        return np.array(values, dtype=float)[ranks]

    return [
        Answering("2.5 to each", "flat", always((2.5,) * WORDS)),
        Answering("4, 3, 2, 1 by place", _PRINTED_ORDER, always((4, 3, 2, 1))),
        Answering("4, 3, 2, 1, order shuffled", "expectation: all 24 orders",
                  drawn(np.array(list(permutations((4.0, 3.0, 2.0, 1.0)))))),
        Answering("1, 2, 3, 4 by place", _PRINTED_ORDER, always((1, 2, 3, 4))),
        Answering("mean of the norm by place", "knows the norm's means, not the stories", always(norm.mean(axis=0))),
        Answering("best fixed answer by place",
                  f"geometric median of the 40 norms: {' '.join(f'{value:.3f}' for value in median)}", always(median)),
        Answering("10 to the first", _PRINTED_ORDER, always((10, 0, 0, 0))),
        Answering("10 to one at random", "expectation", drawn(TOTAL * np.eye(WORDS))),
        Answering("no answer (0, 0, 0, 0)", "the paper's rule for a missing answer", always((0,) * WORDS)),
        Answering("random whole numbers", "expectation over all 286 ways to give 10 points in whole numbers",
                  drawn(ways)),
        Answering("random on the simplex", "20,000 draws, seed 20261116; error of the mean below .002",
                  simplex.swapaxes(0, 1)),
        Answering("four uniform numbers normalised", "four uniform numbers divided by their sum, 20,000 draws",
                  uniform.swapaxes(0, 1)),
        Answering("right order, 4, 3, 2, 1", "knows people's order, not their strengths", by_rank(4, 3, 2, 1), True),
        Answering("right order, 7, 3, 0, 0", "the same, outspoken", by_rank(7, 3, 0, 0), True),
        Answering("10 to the strongest", "knows the strongest emotion of each item", by_rank(10, 0, 0, 0), True),
        Answering("halfway from flat to the norm", "understands, but timid", 2.5 + (norm - 2.5) / 2, True),
        Answering("the norm exaggerated twofold",
                  "understands, but outspoken (negative values cut, not renormalised)", exaggerated, True),
    ]  # fmt: skip


def _fixed(values: Sequence[float] | Array) -> Fill:
    return lambda norm: np.broadcast_to(np.array(values, dtype=float), norm.shape)


def geometric_median(points: Array) -> Array:
    """The point with the least mean distance (Weiszfeld's iteration)."""
    median = points.mean(axis=0)
    for _ in range(1000):
        weights = 1 / np.maximum(np.linalg.norm(points - median, axis=1), 1e-12)
        median = (points * weights[:, None]).sum(axis=0) / weights.sum()
    return np.asarray(median)


def distances(answers: Array, norm: Array) -> Array:
    """By item, averaged over what is drawn."""
    if answers.ndim == 2:
        answers = answers[:, None]
    return np.asarray(np.linalg.norm(answers - norm[:, None], axis=2).mean(axis=1))


def shape(answers: Array, norm: Array) -> float:
    """Centred answer times centred norm, over the product of their lengths, all items and draws together."""
    if answers.ndim == 2:
        answers = answers[:, None]
    own = answers - answers.mean(axis=2, keepdims=True)
    theirs = np.broadcast_to((norm - norm.mean(axis=1, keepdims=True))[:, None], own.shape)
    lengths = math.sqrt(float((own**2).sum()) * float((theirs**2).sum()))
    return round(float((own * theirs).sum()) / lengths, 9) + 0.0 if lengths else 0.0  # −0.0 is 0


def _baseline(trivial: Answering, data: Data) -> Iterator[Claim]:
    apart = distances(trivial.answers, data.norm)
    score, error = float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(len(apart))
    found = partial(_found, "baseline", trivial.name)
    score_estimate = Estimate("score", score, len(apart), error, score - 1.96 * error, score + 1.96 * error)
    yield found("SECEU score", score_estimate, trivial.rule)
    yield found("standard error over items", error, "SD of the 40 distances / sqrt(40)")
    yield found("EQ", eq(score), "published formula")
    yield found("percent of people below", people_below(score), _BETWEEN)
    beaten = sum(model[0] > score for model in data.models.values())
    yield found(f"published models (of {len(data.models)}) it beats", beaten, "smaller is better")
    nearer = int((apart < data.template).sum())
    yield found("items nearer to the norm than the mean person", nearer, "against the template")
    yield found("pattern similarity r", float(np.corrcoef(apart, data.template)[0, 1]),
                "40 distances against the template")  # fmt: skip
    yield found("shape", shape(trivial.answers, data.norm),
                "sum of centred answer times centred norm over the product of their lengths, all items together; "
                "0 for a flat answer")  # fmt: skip


def people_below(score: float) -> float | str | Estimate:
    """Between two printed pairs: on the line between them, and between their shares; beyond all: no more than that."""
    distances_known = sorted(ANCHORS)
    if score < distances_known[0]:
        return f"> {ANCHORS[distances_known[0]]:g}"
    if score > distances_known[-1]:
        return f"< {ANCHORS[distances_known[-1]]:g}"
    share = float(np.interp(score, distances_known, [ANCHORS[distance] for distance in distances_known]))
    low = ANCHORS[min(distance for distance in distances_known if distance >= score)]
    high = ANCHORS[max(distance for distance in distances_known if distance <= score)]
    return Estimate("percent of people below", share, PEOPLE, low=low, high=high, of="people")


def reproduce(folder: Path | None) -> Report:
    data = read(folder)
    compared = compare(claims(data), data)
    best = min((one for one in no_skill(data) if not one.skill),
               key=lambda one: float(distances(one.answers, data.norm).mean()))  # fmt: skip
    score = float(distances(best.answers, data.norm).mean())
    beaten = sum(model[0] > score for model in data.models.values())
    told = {"best_no_skill": {"name": best.name, "score": score, "eq": eq(score), "models_beaten": beaten,
                              "models": len(data.models)}}  # fmt: skip
    return {"rows": [one.row() for one in compared], "summary": {**summary(compared), **told}}


def findings(report: Report) -> list[str]:
    earned = {(row["name"], row["quantity"]): row["recomputed"] for row in report["rows"] if row["kind"] == "baseline"}
    eqs = [row for row in report["rows"] if row["quantity"] == "EQ" and row["printed"] is not None]
    exact = sum(abs(row["recomputed"] - row["printed"]) <= to_digits(0) for row in eqs)
    best, models = report["summary"]["best_no_skill"], report["summary"]["best_no_skill"]["models"]
    place, flat = "4, 3, 2, 1 by place", "2.5 to each"
    beats = f"published models (of {models}) it beats"
    return [
        f"{exact} of {len(eqs)} printed EQs follow exactly from the printed scores, the others within their rounding.",
        f'"{place}" earns EQ {earned[place, "EQ"]:.1f} and beats {earned[place, beats]} of {models} models; "{flat}" '
        f"earns {earned[flat, 'EQ']:.1f} and beats {earned[flat, beats]}; the best answer that reads nothing earns "
        f"{best['eq']:.1f}.",
        f'Who knows the order of all four words in every item and says 7, 3, 0, 0 earns EQ '
        f'{earned["right order, 7, 3, 0, 0", "EQ"]:.1f}: distance from a mean rewards mild answers.',
        "Scores, pattern similarities, SD, alpha and the experts need raw answers, which were not released.",
    ]  # fmt: skip


def tables(report: Report) -> list[Table]:
    """The models, the answers without skill, and what the norm says; every single row is in --json and --csv."""
    wide: dict[tuple[str, str], Row] = {}
    for row in report["rows"]:
        own = wide.setdefault((row["kind"], row["name"]), {"kind": row["kind"], "name": row["name"]})
        value = row["recomputed"] if isinstance(row["recomputed"], str) else row
        own[row["quantity"].split(" (of")[0]] = value
    for own in wide.values():
        for quantity, row in list(own.items()):
            if isinstance(row, dict):
                own[quantity] = row["printed"] if row["recomputed"] is None else row["recomputed"]
                own[f"printed {quantity}"] = row["printed"]
    models = [own for (kind, _), own in wide.items() if kind.startswith("table")]
    trivial = [own for (kind, _), own in wide.items() if kind == "baseline" and "EQ" in own]
    norm = [row for row in report["rows"] if row["kind"] == "norm"]
    return [
        table_of(
            "Models, as printed, and the EQ that follows from the score",
            "kind: table | name | SECEU score: score | printed EQ | EQ: EQ recomputed | "
            "printed percent of people below: people below, % | pattern similarity r: r",
            models,
        ),
        table_of(
            "What answers earn that read nothing, or know only part",
            "name: answer | SECEU score: score | standard error over items: SE | EQ | "
            "percent of people below: people below, % | published models: models beaten | "
            "pattern similarity r: r | shape",
            trivial,
            "Below 'four uniform numbers' the answers know people's order, or more. Shape is 0 for a flat answer.",
        ),
        table_of("The norm", "name | quantity | printed | recomputed | rule", norm),
    ]


STUDY = Study("SECEU, recomputed", reproduce, findings, tables)

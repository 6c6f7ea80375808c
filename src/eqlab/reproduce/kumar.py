"""Kumar et al. 2025 (arXiv 2506.10150), recomputed: how far experts, a crowd and three models agree on the scales of
four frameworks of empathic talk. Both weightings of kappa stand side by side, the three models apart, every value with
an interval over talks; what is printed for "the LLM" and "the models" gets its right name."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from eqlab.analysis.agreement import (
    confusion,
    distance_kappa,
    interval_alpha,
    kappa_error,
    pair_rows,
    places,
    spearman,
    unit_rows,
)
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.analysis.intervals import fisher, mean_estimate, proportion_bounds
from eqlab.core.results import Estimate, Table
from eqlab.data import published
from eqlab.reproduce.claims import (
    Claim,
    Compared,
    Report,
    Row,
    Study,
    compare,
    printed_rows,
    summary,
    table_of,
    tables,
    to_digits,
)
from eqlab.runs.kumar import (
    CROWD,
    EXPERTS,
    MODEL_NAMES,
    MODELS,
    RATERS,
    Ratings,
    kappa_with_two,
    read_all,
    rows_with_two,
)

DRAWS = 2_000
PANEL = "experts"
"""The median of the three experts."""
RANKS, DISTANCES = "kappa, quadratic over ranks", "kappa, quadratic over distances"
_PUBLISHED = (
    *(("expert1", "expert2"), ("expert2", "expert3"), ("expert3", "expert1")),
    *((PANEL, CROWD), (PANEL, "gemini"), ("gemini", CROWD)),
)
_FURTHER = (
    *((PANEL, "gpt"), (PANEL, "claude"), ("gpt", CROWD), ("claude", CROWD)),
    *(("gemini", "gpt"), ("gpt", "claude"), ("claude", "gemini")),
)
Key = tuple[str, str, str, str]


def reproduce(data: Path | None) -> Report:
    ratings, missing = read_all(published.published_folder(data))
    compared = compare(claims(ratings), ratings)
    return {"rows": [one.row() for one in compared], "summary": _summary(compared, ratings, missing)}


def claims(ratings: Sequence[Ratings]) -> Iterator[Claim]:
    printed = _printed()
    for rating in ratings:
        for scale in rating.scales:
            columns = _columns(rating, scale)
            for who, quantity, value, rule, digits in _values(rating, scale, columns):
                text = printed.get((rating.framework.name, scale, who, quantity))
                yield Claim(
                    {"framework": rating.framework.name, "scale": scale, "who": who, "quantity": quantity},
                    None if text is None else float(text),
                    partial(_call, value),
                    to_digits(digits),
                    rule,
                )


def _call(value: Callable[[], Estimate | float | None], _: Sequence[Ratings]) -> Estimate | float | None:
    return value()


def _printed() -> dict[Key, str]:
    """What the authors' tables print, for the frameworks whose tables we have seen."""
    rows = printed_rows("kumar_printed.csv")
    return {(row["framework"], row["scale"], row["who"], row["quantity"]): row["printed"] for row in rows}


def _columns(ratings: Ratings, scale: str) -> dict[str, Floats]:
    """Every rater's values to hundredths, as published, and the experts' median."""
    columns = {rater: np.round(np.array(ratings.values[rater][scale]), 2) for rater in RATERS}
    columns[PANEL] = np.median([columns[expert] for expert in EXPERTS], axis=0)
    return columns


Value = tuple[str, str, Callable[[], Estimate | float | None], str, int]
"""Who, quantity, how it is had, by which rule, and the digits that print has."""


def _values(ratings: Ratings, scale: str, columns: Mapping[str, Floats]) -> Iterator[Value]:
    for pair in (*_PUBLISHED, *_FURTHER):
        yield from _agreement(pair, columns, published_pair=pair in _PUBLISHED)
    yield from _alphas(columns)
    yield from _left_out(columns)
    yield from _same_number(columns)
    ends = f"scale {ratings.framework.low} to {ratings.framework.high}"
    for rater in RATERS:
        yield rater, "mean", partial(mean_estimate, "", ratings.values[rater][scale]), ends, 2


def _agreement(pair: tuple[str, str], columns: Mapping[str, Floats], *, published_pair: bool) -> Iterator[Value]:
    who, (x, y) = ", ".join(pair), (columns[pair[0]].tolist(), columns[pair[1]].tolist())
    by_place = places(x, y)
    n = len(x)
    ranks = "as published: places among the distinct values of both (after rounding to hundredths)"
    distances = "squared differences on the scale: what the words say; the same where all values occur"
    yield who, RANKS, lambda: _kappa(*by_place), ranks, 2
    yield who, DISTANCES, lambda: _kappa(x, y), distances, 2
    yield who, "standard error of that", lambda: kappa_error(x, y), f"large sample, {n} talks", 4
    yield who, "Spearman", lambda: _spearman(x, y), "", 2
    if published_pair:
        yield who, "kappa z", lambda: _z(*by_place), "kappa over ranks / its large-sample error", 3
        rule = f"Fisher, n {n}"
        yield who, "Spearman interval, lower", lambda: _fisher_end(x, y, -1), rule, 2
        yield who, "Spearman interval, upper", lambda: _fisher_end(x, y, 1), rule, 2


def _kappa(x: Sequence[float], y: Sequence[float]) -> Estimate:
    return _drawn([pair_rows(x, y)], lambda totals: distance_kappa(totals[0]), len(x))


def _drawn(samples: Sequence[Floats], statistic: Callable[[Sequence[Floats]], Floats], n: int) -> Estimate:
    found = interval(samples, statistic, totals=shared_totals(samples, DRAWS))
    return Estimate("", found.value, n, None, found.low, found.high)


def _z(x: Sequence[float], y: Sequence[float]) -> float | None:
    value, error = float(distance_kappa(pair_rows(x, y).sum(axis=0))), kappa_error(x, y)
    return None if not math.isfinite(value) or not error else value / error


def _spearman(x: Sequence[float], y: Sequence[float]) -> Estimate:
    first, second = ([place + 1 for place in own] for own in places(x, y))
    r = float(spearman(confusion(first, second, max(*first, *second))))
    if not math.isfinite(r):
        return Estimate("", None, len(x))
    return Estimate("", r, len(x), None, *fisher(r, len(x)))


def _fisher_end(x: Sequence[float], y: Sequence[float], side: int) -> float | None:
    """With 1.96, as published."""
    r = _spearman(x, y).value
    return None if r is None or abs(r) >= 1 else math.tanh(math.atanh(r) + side * 1.96 / math.sqrt(len(x) - 3))


def _alphas(columns: Mapping[str, Floats]) -> Iterator[Value]:
    named = "printed as if of three models: the notebook looks for 'gemini', which is called 'llm' in its file"
    groups = (
        ("three experts", EXPERTS, ""),
        ("gpt, claude", ("gpt", "claude"), named),
        ("gemini, gpt, claude", MODELS, "what the printed one was meant to be"),
    )
    for who, raters, rule in groups:
        rows = unit_rows([columns[rater].tolist() for rater in raters])
        alpha = partial(_drawn, [rows], lambda totals: interval_alpha(totals[0]), len(rows))
        yield who, "alpha, interval", alpha, rule, 3


def _left_out(columns: Mapping[str, Floats]) -> Iterator[Value]:
    """Everybody against two experts at a time, so that an expert and another rater are compared alike."""
    quantity = "kappa with two experts"
    rule = "over distances, with the middle of the two others; for who is no expert, the mean over the three pairs"
    for rater in RATERS:
        rows = rows_with_two(rater, columns[rater], columns)
        yield rater, quantity, partial(_drawn, [rows], lambda totals: kappa_with_two(totals[0]), len(rows)), rule, 2


def _kappas(totals: Floats) -> Floats:
    """Of columns that hold several pairs, one kappa each."""
    return distance_kappa(totals.reshape(*totals.shape[:-1], -1, 6))


def _same_number(columns: Mapping[str, Floats]) -> Iterator[Value]:
    quantity, experts = "agreement with the experts' median", _whole(columns[PANEL])
    commonest = _commonest(experts)
    rule = f"always {commonest:g}; kappa 0 by definition"
    yield "constant answer", quantity, lambda: _share(experts == commonest), rule, 4
    for rater in (*MODELS, CROWD):
        same = _whole(columns[rater]) == experts
        rule = f"share of {len(same)} talks with the same whole number; averages rounded half up"
        yield rater, quantity, partial(_share, same), rule, 4


def same_as_experts(ratings: Ratings) -> dict[str, Floats]:
    """Of the constant answer, the models and the crowd: by talk and scale, whether it is the experts' median."""
    same: dict[str, list[Floats]] = {}
    for scale in ratings.scales:
        columns = _columns(ratings, scale)
        experts = _whole(columns[PANEL])
        same.setdefault("constant", []).append(experts == _commonest(experts))
        for rater in (*MODELS, CROWD):
            same.setdefault(rater, []).append(_whole(columns[rater]) == experts)
    return {who: np.array(hits, dtype=float) for who, hits in same.items()}


def _commonest(values: Floats) -> float:
    different, counts = np.unique(values, return_counts=True)
    return float(different[int(np.argmax(counts))])


def _whole(values: Floats) -> Floats:
    return np.asarray(np.floor(values + 0.5))


def _share(hits: Floats) -> Estimate:
    p, n = float(np.mean(hits)), len(hits)
    low, high = proportion_bounds(p, n)
    return Estimate("", p, n, None, low, high)


# -- over the scales -------------------------------------------------------------------------------------------------


def _summary(compared: Sequence[Compared], ratings: Sequence[Ratings], missing: Sequence[str]) -> Row:
    scales = sum(len(rating.scales) for rating in ratings)
    moves = [abs(ranks - distances) for ranks, distances in _pairs(compared)]
    moved = [move for move in moves if move > 0.005]
    return {
        **summary(compared),
        "frameworks": [rating.framework.name for rating in ratings],
        "missing_frameworks": list(missing),
        "scales": scales,
        "talks": sum(len(rating.talks) for rating in ratings),
        "kappas_published": len(_PUBLISHED) * scales,
        "kappas_moved_by_distances": len(moved),
        "largest_move": max(moved, default=None),
        "medians": _medians(ratings),
        "differences_of_medians": _differences(ratings),
        "severities": _severities(ratings),
    }


def _pairs(compared: Sequence[Compared]) -> Iterator[tuple[float, float]]:
    """Both kappas of every published pair."""
    published_pairs = {", ".join(pair) for pair in _PUBLISHED}
    found = {tuple(one.claim.key.values()): one.recomputed for one in compared}
    for (framework, scale, who, quantity), ranks in found.items():
        if quantity == RANKS and who in published_pairs:
            distances = found[framework, scale, who, DISTANCES]
            if ranks.value is not None and distances.value is not None:
                yield ranks.value, distances.value


def _stacked(ratings: Sequence[Ratings], pairs: Sequence[tuple[str, str]]) -> list[Floats]:
    """Of every framework one row a talk, with the columns of all its scales and these pairs: a drawn talk brings them
    all along."""
    stacked = []
    for rating in ratings:
        columns = [_columns(rating, scale) for scale in rating.scales]
        stacked.append(
            np.hstack([pair_rows(column[a].tolist(), column[b].tolist()) for column in columns for a, b in pairs])
        )
    return stacked


def _median_kappa(totals: Sequence[Floats]) -> Floats:
    return np.asarray(np.nanmedian(np.concatenate([_kappas(total) for total in totals], axis=-1), axis=-1))


def _medians(ratings: Sequence[Ratings]) -> list[Row]:
    """The median kappa (distances) over all scales."""
    groups = {"pairs of experts": _PUBLISHED[:3]} | {f"{PANEL}, {who}": ((PANEL, who),) for who in (*MODELS, CROWD)}
    rows = []
    for framework in ("all", *(rating.framework.name for rating in ratings)):
        own = [rating for rating in ratings if framework in ("all", rating.framework.name)]
        for who, pairs in groups.items():
            estimate = _drawn(_stacked(own, pairs), _median_kappa, sum(len(one.scales) for one in own))
            rows.append({"framework": framework, "who": who, **_bounds(estimate)})
    return rows


def _differences(ratings: Sequence[Ratings]) -> list[Row]:
    rows = []
    for first, second in (("gemini", "gpt"), ("gemini", "claude"), ("gpt", "claude"), ("gemini", CROWD)):
        one, other = (_stacked(ratings, ((PANEL, who),)) for who in (first, second))
        both = [np.hstack(pair) for pair in zip(one, other, strict=True)]
        found = interval(both, _difference, totals=shared_totals(both, DRAWS))
        rows.append({"first": first, "second": second, "difference": found.value, "low": found.low, "high": found.high})
    return rows


def _difference(totals: Sequence[Floats]) -> Floats:
    halves = [np.split(total, 2, axis=-1) for total in totals]
    return np.asarray(_median_kappa([half[0] for half in halves]) - _median_kappa([half[1] for half in halves]))


def _severities(ratings: Sequence[Ratings]) -> list[Row]:
    """How far above the experts' median a rater lies on average, in shares of the scale: over all scales."""
    rows = []
    for rater in RATERS:
        gaps = []
        for rating in ratings:
            width = rating.framework.high - rating.framework.low
            for scale in rating.scales:
                columns = _columns(rating, scale)
                gaps.append(float((columns[rater] - columns[PANEL]).mean()) / width)
        rows.append({"who": rater, "mean": fmean(gaps), "lowest": min(gaps), "highest": max(gaps)})
    return rows


def _bounds(estimate: Estimate) -> Row:
    return {"kappa": estimate.value, "low": estimate.low, "high": estimate.high, "scales": estimate.n}


# -- what is shown ---------------------------------------------------------------------------------------------------


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    sentences = [
        f"{summary['agree']} of {summary['compared']} printed numbers come out: kappas, z, Spearman's rho with its "
        "interval, alphas."
    ]
    if summary["missing_frameworks"]:
        sentences.append(
            f"Not here: the ratings of {', '.join(summary['missing_frameworks'])} ('eqlab data fetch kumar'); the rest "
            "is computed without them."
        )
    sentences.append(
        "Print weights kappa by places among the distinct values that occur. With distances on the scale "
        f"{summary['kappas_moved_by_distances']} of the {summary['kappas_published']} published kappas move by more "
        f"than rounding{_largest(summary)}."
    )
    middle = {row["who"]: row for row in summary["medians"] if row["framework"] == "all"}
    listed = ", ".join(f"{_name(who)} {_with_bounds(row)}" for who, row in middle.items())
    sentences.append(
        f'The printed "LLM" is {MODEL_NAMES["gemini"]} alone. Median kappa over {summary["scales"]} scales: {listed}.'
    )
    sentences.append('The printed alphas of "three models" are of two, GPT-4o and Claude 3.7 Sonnet.')
    constant = [row["recomputed"] for row in report["rows"] if row["who"] == "constant answer"]
    sentences.append(
        f"An answer that is always the same has kappa 0 and the experts' own number in {100 * min(constant):.0f} to "
        f"{100 * max(constant):.0f} % of talks: agreement in per cent is no evidence."
    )
    return sentences


def _largest(row: Row) -> str:
    return "" if row["largest_move"] is None else f", by {row['largest_move']:.3f} at most"


def _name(who: str) -> str:
    other = who.removeprefix(f"{PANEL}, ")
    return who if other == who else f"{MODEL_NAMES.get(other, 'the crowd')} with the experts' median"


def _with_bounds(row: Row) -> str:
    return f"{row['kappa']:.2f}" + ("" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})")


def all_tables(report: Report) -> list[Table]:
    found = report["summary"]
    shown = [
        {**row, "interval": Estimate("", row["kappa"], row["scales"], None, row["low"], row["high"])}
        for row in found["medians"]
    ]
    gaps = [
        {**row, "interval": Estimate("", row["difference"], found["scales"], None, row["low"], row["high"])}
        for row in found["differences_of_medians"]
    ]
    columns = "who | mean: mean gap to the experts' median | lowest | highest"
    return [
        table_of(
            "Median kappa (distances) over scales",
            "framework | who | interval: median kappa | scales",
            shown,
            "Intervals: talks drawn again, with all their scales. A median of three experts is easier to agree with "
            'than a single one: "kappa with two experts", below, compares alike.',
        ),
        table_of("Whose median kappa is higher", "first | second | interval: difference", gaps),
        table_of("Severity", columns, found["severities"], "In shares of the scale; lowest and highest over scales."),
        _by_pair(report["rows"]),
        _by_rater(report["rows"]),
        *tables("", report)[1:],
    ]


def _by_pair(rows: Sequence[Row]) -> Table:
    shown = [
        {
            **_first(own),
            "printed": _text(own[RANKS]["printed"]),
            "ranks": own[RANKS]["recomputed"],
            "distances": _shown(own[DISTANCES]),
            "rho_printed": _text(own["Spearman"]["printed"]),
            "rho": _shown(own["Spearman"]),
        }
        for own in _grouped(rows).values()
        if RANKS in own
    ]
    columns = (
        "framework | scale | who | printed: printed kappa | ranks: over ranks | distances: over distances | "
        "rho_printed: printed rho | rho: Spearman's rho"
    )
    note = "Ranks: places among the distinct values of both, as published. Distances: squared differences on the scale."
    return table_of("Agreement of two", columns, shown, note)


def _by_rater(rows: Sequence[Row]) -> Table:
    names = {
        "alpha, interval": "alpha",
        "kappa with two experts": "two",
        "agreement with the experts' median": "same",
        "mean": "mean",
    }
    shown = [
        {**_first(own), "printed": _text(own.get("alpha, interval", {}).get("printed"))}
        | {short: _shown(own[name]) for name, short in names.items() if name in own}
        for own in _grouped(rows).values()
        if not own.keys().isdisjoint(names)
    ]
    columns = (
        "framework | scale | who | mean | two: kappa with two experts | same: same number as the experts' median | "
        "printed: printed alpha | alpha"
    )
    note = "Kappa with two experts: an expert with the middle of the two others, another rater with each two of them."
    return table_of("Rater by rater", columns, shown, note)


def _grouped(rows: Sequence[Row]) -> dict[tuple[str, str, str], dict[str, Row]]:
    groups: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        groups.setdefault((row["framework"], row["scale"], row["who"]), {})[row["quantity"]] = row
    return groups


def _first(own: Mapping[str, Row]) -> Row:
    row = next(iter(own.values()))
    return {name: row[name] for name in ("framework", "scale", "who")}


def _shown(row: Row) -> Estimate:
    return Estimate("", row["recomputed"], row["n"] or 0, None, row["low"], row["high"])


def _text(printed: float | None) -> str:
    return "" if printed is None else f"{printed:g}"


STUDY = Study("Kumar et al. 2025, recomputed", reproduce, findings, all_tables)

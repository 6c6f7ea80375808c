"""How much of a talk's end is the listener's, the persona's, the simulator's; and how many personas and simulators a
score needs before its interval is ±5."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from eqlab.analysis.generalizability import needed, planned
from eqlab.analysis.reml import RESIDUAL, Variances, variances
from eqlab.reproduce.sage_talks import Cell

MODEL, PERSONA, SIMULATOR = "model", "persona", "simulator"
HALF_WIDTH = 5.0
PERSONAS = 100
"""As many as the study has."""
WIDEST = 50.0
"""An interval that covers a scale of 100 points says nothing."""
_SIMULATORS = (1, 2, 3, 5, 10, 20, 40)
_PERSONAS = (*range(5, 100, 5), *range(100, 500, 10), *range(500, 2001, 50))
"""Looked at one by one: with few simulators more personas can widen an interval, as degrees of freedom are lost."""


def variance_report(cells: Sequence[Cell]) -> dict[str, Any]:
    """Shares of the variance of one talk's final emotion, all factors random and crossed (cells may be missing), and
    the designs that follow from them. Undefined, with the reason, where the files cannot tell the factors apart."""
    talks = [(talk.final, cell.listener, talk.persona, cell.simulator) for cell in cells for talk in cell.talks]
    finals, *labels = (list(column) for column in zip(*talks, strict=True)) if talks else ([], [], [], [])
    factors = dict(zip((MODEL, PERSONA, SIMULATOR), labels, strict=True))
    counts = {name: len(set(values)) for name, values in factors.items()}
    fitted = _fit(finals, {name: values for name, values in factors.items() if counts[name] > 1})
    report: dict[str, Any] = {"n": len(finals), "levels": counts, "shares": None, "terms": [], "designs": []}
    if fitted is None:
        return report | {"note": "too few models, personas or simulators are shared to tell their effects apart"}
    report["terms"] = [_term(fitted, name) for name in fitted.variance]
    report["shares"] = _shares(fitted)
    report["note"] = _note(counts, fitted)
    if PERSONA in fitted.variance:
        report["designs"] = designs(fitted.variance)
    return report


def _fit(finals: Sequence[Any], factors: Mapping[str, Sequence[Any]]) -> Variances | None:
    """With all crossings of two factors, or with as many as the cells that are there allow."""
    if len(set(finals)) < 2 or MODEL not in factors or PERSONA not in factors:
        return None
    crossings = [":".join(pair) for pair in combinations(factors, 2)]
    for terms in ([*factors, *crossings], [*factors, f"{MODEL}:{PERSONA}"], [*factors], [MODEL, PERSONA]):
        fitted = variances(finals, factors, terms)
        if fitted is not None:
            return fitted
    return None


def _term(fitted: Variances, name: str) -> dict[str, Any]:
    bounds = fitted.interval(name) or (None, None)
    share = fitted.share[name]
    return {
        "term": name,
        "levels": fitted.levels.get(name),
        "variance": fitted.variance[name],
        "low": bounds[0],
        "high": bounds[1],
        "share_percent": None if share is None else 100 * share,
    }


def _shares(fitted: Variances) -> dict[str, float | None]:
    """In percent; the rest is crossings and chance."""
    share = fitted.share
    shares: dict[str, float | None] = {
        name: None if share.get(name) is None else 100 * (share[name] or 0.0) for name in (MODEL, PERSONA, SIMULATOR)
    }
    return shares | {"rest": 100 - sum(value for value in shares.values() if value is not None)}


def _note(counts: Mapping[str, int], fitted: Variances) -> str:
    if SIMULATOR not in fitted.variance:
        if counts[SIMULATOR] < 2:
            return "one simulator: what another would change is unknown"
        return "no model was met by two simulators: their effect cannot be told from the models'"
    if counts[SIMULATOR] < 5:
        return f"from {counts[SIMULATOR]} simulators: their variance is a guess of the order of magnitude"
    return ""


def designs(variance: Mapping[str, float]) -> list[dict[str, Any]]:
    """Half widths with 100 personas, and the personas for ±5, by the number of simulators; the first row keeps to one
    simulator and speaks of it alone. None: wider than the scale, or not within 2,000 personas."""
    known = SIMULATOR in variance
    return [_design(variance, 1, alone=True)] + ([_design(variance, n) for n in _SIMULATORS] if known else [])


def _design(variance: Mapping[str, float], simulators: int, *, alone: bool = False) -> dict[str, Any]:
    sizes = {PERSONA: PERSONAS, SIMULATOR: simulators}
    grid = {PERSONA: _PERSONAS, SIMULATOR: (simulators,)}
    fixed = (SIMULATOR,) if alone else ()
    row: dict[str, Any] = {"simulators": simulators, "holds_for": "this simulator" if alone else "any simulator"}
    for name, difference in (("score", False), ("difference", True)):
        width = planned(variance, sizes, subject=MODEL, difference=difference, fixed=fixed).half_width
        enough = needed(variance, HALF_WIDTH, grid, subject=MODEL, difference=difference, fixed=fixed)
        row[f"half_width_of_{name}"] = width if width < WIDEST else None
        row[f"personas_for_{name}"] = None if enough is None else enough.sizes[PERSONA]
    return row


def rest_of(terms: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The terms that are counted as rest."""
    return [term for term in terms if ":" in term["term"] or term["term"] == RESIDUAL]

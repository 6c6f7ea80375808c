"""How much of a talk's end is the listener's, the persona's, the simulator's; and how many personas and simulators a
score needs before its interval is ±5: the dialogue benchmark's own statistics, in SAGE's words."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.analysis.reml import Variances
from eqlab.benchmarks.dialogue.facets import (
    HALF_WIDTH,
    LISTENER,
    PERSONA,
    SPEAKER,
    Cell,
    Design,
    designs,
    facets,
    note,
)
from eqlab.reproduce.sage_talks import TalkCell

__all__ = ["HALF_WIDTH", "PERSONAS", "variance_report"]

PERSONAS = 100
"""As many as the study has."""
_NAMES = {LISTENER: "model", PERSONA: "persona", SPEAKER: "simulator"}


def variance_report(cells: Sequence[TalkCell]) -> dict[str, Any]:
    """Shares of the variance of one talk's final emotion, all factors random and crossed (cells may be missing), and
    the designs that follow from them. Undefined, with the reason, where the files cannot tell the factors apart."""
    found = facets(
        [Cell(cell.listener, talk.persona, cell.simulator, talk.final) for cell in cells for talk in cell.talks]
    )
    levels = {name: found.levels[factor] for factor, name in _NAMES.items()}
    report: dict[str, Any] = {"n": found.n, "levels": levels, "shares": None, "terms": [], "designs": []}
    fitted = found.fitted
    if fitted is None or LISTENER not in fitted.variance:
        return report | {"note": "too few models, personas or simulators are shared to tell their effects apart"}
    report["terms"] = [_term(fitted, name) for name in fitted.variance]
    report["shares"] = _shares(fitted)
    report["note"] = note(found, "models", "simulator")
    report["designs"] = [_design(one) for one in designs(fitted.variance, PERSONAS)]
    return report


def _term(fitted: Variances, term: str) -> dict[str, Any]:
    bounds = fitted.interval(term) or (None, None)
    share = fitted.share[term]
    return {
        "term": ":".join(_NAMES.get(part, part) for part in term.split(":")),
        "levels": fitted.levels.get(term),
        "variance": fitted.variance[term],
        "low": bounds[0],
        "high": bounds[1],
        "share_percent": None if share is None else 100 * share,
    }


def _shares(fitted: Variances) -> dict[str, float | None]:
    """In percent; the rest is crossings and chance."""
    share: Mapping[str, float | None] = fitted.share
    shares: dict[str, float | None] = {
        name: None if share.get(factor) is None else 100 * (share[factor] or 0.0) for factor, name in _NAMES.items()
    }
    return shares | {"rest": 100 - sum(value for value in shares.values() if value is not None)}


def _design(one: Design) -> dict[str, Any]:
    return {
        "simulators": one.speakers,
        "holds_for": "this simulator" if one.alone else "any simulator",
        "half_width_of_score": one.score,
        "personas_for_score": one.personas_for_score,
        "half_width_of_difference": one.difference,
        "personas_for_difference": one.personas_for_difference,
    }

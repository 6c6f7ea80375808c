"""A calibration in tables and in one sentence."""

import math
from collections.abc import Sequence

from eqlab.benchmarks.rating.calibration import CEILING, Calibration, still_missing
from eqlab.core.results import Estimate, Result, Table

REACHES = (0.1, 0.05)
"""Half-widths that a calibration is planned for."""


def tables(found: Calibration) -> tuple[Table, ...]:
    basis = f"{found.pairs} pairs of a judge's and a person's rating; bootstrap over whole raters ({found.raters})."
    top = found.ceiling
    measures = [
        (name, one, top, _against_ceiling(one, top))
        if name == CEILING and top is not None and top.value is not None
        else (name, one, "not known", "")
        for name, one in found.measures.items()
    ]
    labels = dict(found.scale.anchors) if len(found.scale.anchors) == len(found.confusion) else {}
    values = [(value, labels.get(value, str(value))) for value in range(found.scale.low, found.scale.high + 1)]
    family_row = () if found.own_family is None else ((found.own_family.name, found.own_family),)
    return (
        Table(
            "Calibration: agreement with people",
            ("measure", "judge with people", "two people", "reading"),
            tuple(measures),
            f"{basis} {_of_ceiling(found.ceiling)}",
        ),
        size_table(found),
        Table(
            "Calibration: bias by whose replies",
            ("replies by", "judge − people, scale points"),
            tuple(found.bias.items()),
            "A judge that agrees with people as they agree with each other can still favour one model.",
        ),
        Table(
            "Calibration: what the judge adds to differences",
            ("difference", "scale points"),
            (*((one.name, one) for one in found.distortion.values()), *family_row),
            f"0: differences between models are as people see them. {found.own_family_note}",
        ),
        Table(
            "Calibration: length",
            ("Spearman's correlation within each model's replies", "value"),
            tuple(found.length.items()),
            "Above 0: longer replies are rated better. The difference is the judge's own preference for length.",
        ),
        Table(
            "Calibration: judge (rows) against people (columns)",
            ("judge says", *(label for _, label in values)),
            tuple((label, *map(int, found.confusion[value - found.scale.low])) for value, label in values),
        ),
    )


def size_table(found: Calibration, reaches: Sequence[float] = REACHES) -> Table:
    """Bias and slope, and how many human ratings a narrower interval takes."""
    rows = []
    named = {
        "bias: mean of judge − people": found.measures.get("mean difference"),
        "slope of people on judge": found.slope,
    }
    for name, one in (*named.items(), (CEILING, found.measures[CEILING])):
        if one is not None:
            rows.append((name, one, *(still_missing(one, reach) for reach in reaches)))
    return Table(
        "Calibration: bias, slope, and what is missing",
        ("measure", "value", *(f"human ratings still missing for ±{reach:g}" for reach in reaches)),
        tuple(rows),
        "Slope 1: a point of the judge's is a point of people's; 0: it says nothing of people. Errors shrink with the "
        "root of the number of raters, each rating as many replies as now.",
    )


def _of_ceiling(ceiling: Estimate | None) -> str:
    if ceiling is None or ceiling.value is None:
        return "What two people reach is not known: no reply has ratings of two."
    bounds = "" if ceiling.low is None else f" ({ceiling.low:.2f} to {ceiling.high:.2f})"
    where = ceiling.note or f"from {ceiling.n} pairs of people's ratings of one reply"
    return f"Two people reach a weighted kappa of {ceiling.value:.2f}{bounds}: {where}."


def _against_ceiling(kappa: Estimate, ceiling: Estimate) -> str:
    """Both have an error: the difference's interval from the two (MOVER, Zou & Donner 2008)."""
    if kappa.value is None or ceiling.value is None:
        return "undefined"
    low, high = _bounds(kappa, kappa.value)
    floor, top = _bounds(ceiling, ceiling.value)
    gap = kappa.value - ceiling.value
    if gap + math.hypot(high - kappa.value, ceiling.value - floor) < 0:
        reading = "below two people"
    elif gap - math.hypot(kappa.value - low, top - ceiling.value) > 0:
        reading = "above two people"
    else:
        reading = "cannot be told apart from two people"
    return reading if low > 0 else f"{reading}; not shown to be better than chance"


def _bounds(one: Estimate, value: float) -> tuple[float, float]:
    return (value, value) if one.low is None or one.high is None else (one.low, one.high)


def verdict(found: Calibration) -> str:
    """The calibration in one sentence."""
    kappa = found.measures[CEILING]
    if kappa.value is None:
        return "Agreement with people is undefined: the ratings do not vary."
    bounds = "" if kappa.low is None else f" (95 % interval {kappa.low:.2f} to {kappa.high:.2f})"
    text = f"With people the judge reaches a quadratic kappa of {kappa.value:.2f}{bounds}"
    top = found.ceiling
    known = top is not None and top.value is not None
    text += f", where two people reach {top.value:.2f}: {_against_ceiling(kappa, top)}." if top and known else "."
    shifted = [one for one in found.distortion.values() if one.low is not None and one.high is not None]
    sure = [one for one in shifted if (one.low or 0) > 0 or (one.high or 0) < 0]
    if sure:
        worst = max(sure, key=lambda one: abs(one.value or 0))
        text += f" It distorts the difference {worst.name} by {worst.value:+.2f} scale points."
    liking = found.length["judge − people"]
    if liking.low is not None and liking.low > 0:
        text += " It likes longer replies better than people do."
    elif liking.high is not None and liking.high < 0:
        text += " It likes longer replies less than people do."
    return text


_PLANNED = (CEILING, "mean difference", "slope", "bias, judge − people", "slope of people on judge")


def missing_table(result: Result, reach: float) -> Table:
    """What a calibration lacks for intervals of ± `reach`: of bias, slope and agreement, scale by scale."""
    rows = []
    for one in result.estimates:
        scale, _, name = one.name.rpartition(": ")
        if name in _PLANNED:
            rows.append((scale or "rating", name, one, still_missing(one, reach)))
    return Table(
        f"Human ratings still missing for ±{reach:g}",
        ("scale", "measure", "now", "still missing"),
        tuple(rows),
        "Errors shrink with the root of the number of raters, each rating as many replies as now. Empty: none yet.",
    )

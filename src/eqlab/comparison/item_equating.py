"""Two sets of items on one scale through the models that answered both, and which model does too well on the second:
`eqlab items report --equate`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from eqlab.analysis.equating import Equated, equate
from eqlab.analysis.intervals import FEWEST
from eqlab.comparison.correlate import match
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, Table

Points = Mapping[str, Mapping[str, float]]
SHOWN = 10


@dataclass(frozen=True, slots=True)
class EquatedSets:
    sentence: str
    found: Equated
    tables: tuple[Table, ...]


def equate_sets(first: Points, second: Points, draws: int = 2000) -> EquatedSets:
    """`first` and `second`: by model, its points by item. Models are matched by name, or by its end after '/'."""
    names, _ = match(list(first), list(second))
    if len(names) < FEWEST:
        raise UsageError(
            f"{len(names)} models answered both sets; equating needs {FEWEST}.",
            f"The first set has {', '.join(list(first)[:4])}, …; the second {', '.join(list(second)[:4])}, …",
        )
    a, b = (
        np.array([[own.get(item, np.nan) for item in items] for own in chosen], dtype=float)
        for chosen, items in (
            ([first[name] for name in names], _items(first)),
            ([second[other] for other in names.values()], _items(second)),
        )
    )
    found = equate(a, b, list(names), draws)
    suspects = [one.model for one in found.models if one.p_holm < 0.05]
    honest = np.array([name not in suspects for name in names])
    if suspects and honest.sum() >= FEWEST:  # they would bend the line for everybody
        line = equate(a[honest], b[honest], [name for name in names if name not in suspects], draws)
        found = replace(line, models=found.models)
    return EquatedSets(_sentence(found, len(suspects)), found, (_line(found), _gaps(found)))


def _items(points: Points) -> list[str]:
    return list(dict.fromkeys(item for own in points.values() for item in own))


def _sentence(found: Equated, suspects: int) -> str:
    easier = "easier" if found.shift > 0 else "harder"
    bounds = (found.shift_low, found.shift_high) if found.shift > 0 else (-found.shift_high, -found.shift_low)
    said = (
        f"Through {found.n} models that answered both: the second set is {abs(found.shift):.1f} points {easier} (95 % "
        f"interval {bounds[0]:.1f} to {bounds[1]:.1f}); a point on the first is {found.slope:.2f} "
        f"({found.slope_low:.2f} to {found.slope_high:.2f}) on the second."
    )
    left = len(found.models) - found.n
    said = said.replace("answered both:", f"answered both, {left} suspected left out:") if left else said
    who = "No model scores" if not suspects else "1 model scores" if suspects == 1 else f"{suspects} models score"
    return f"{said} {who} more on the second set than the first says, at 5 % over all models."


def _line(found: Equated) -> Table:
    true = "" if found.true_correlation is None else f"{found.true_correlation:.2f}"
    rows = (
        ("points that the second set is easier", _estimate(found.shift, found.shift_low, found.shift_high, found.n)),
        ("slope, second on first", _estimate(found.slope, found.slope_low, found.slope_high, found.n)),
        ("correlation of the two scores", f"{found.correlation:.2f}"),
        ("… without the error of items", true),
        ("scatter about the line beyond items, points", f"{found.error:.1f}"),
    )
    note = "Deming's line: both scores have errors, known from their items. Intervals draw models and items again."
    return Table("The two sets on one scale", ("", "value"), rows, note)


def _gaps(found: Equated) -> Table:
    worst = sorted(found.models, key=lambda one: one.p_holm)[:SHOWN]
    rows = tuple((one.model, _estimate(one.gap, one.low, one.high, found.n), f"{one.p_holm:.3g}") for one in worst)
    note = (
        "Above what the first set says, by the line of the other models. Far above on a public set: it has probably "
        "seen it. p one-sided, Holm over all models."
    )
    return Table("Who does better on the second set", ("model", "points above the line", "p, corrected"), rows, note)


def _estimate(value: float, low: float, high: float, n: int) -> Estimate:
    return Estimate("", value, n, None, low, high)

"""How many items, ways of asking and repeats does a score need? A generalizability study of the answers at hand, and
the designs that would reach a given precision. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from eqlab.analysis.components import RESIDUAL, Components, PlannedPrecision, components, needed, planned
from eqlab.analysis.equating import Equated, equate
from eqlab.analysis.intervals import FEWEST
from eqlab.comparison.correlate import match
from eqlab.comparison.item_points import ItemPoint
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass

SUBJECT, ITEM, WORDING, REPEAT = "subject", "item", "wording", "repeat"
WIDTH = 2.0
"""± points that designs are looked for."""
_ITEMS = (*range(10, 600, 10), *range(600, 1500, 25), *range(1500, 3001, 50))
_FEW = (1, 2, 3, 4, 5, 8, 10)


@dataclass(frozen=True, slots=True)
class ItemDesigns:
    """Variances by term, and what designs would reach."""

    variance: Mapping[str, float]
    n: int
    asked: Mapping[str, int]
    """How many items, ways of asking and repeats there are."""
    now: PlannedPrecision
    score: PlannedPrecision | None
    """The cheapest design with a score within ± `width`; None if none of the grid has one."""
    same_items: PlannedPrecision | None
    """The same with no more items than there are."""
    difference: PlannedPrecision | None
    """The same for a difference of two subjects; None too with one subject."""
    width: float
    subjects: int
    spreads: tuple[float, ...] = ()
    """Each subject's SD over items against that of all: a design that is right on average is too small for who scatters
    more."""
    gaps: tuple[float, ...] = ()
    """The same of every two subjects' differences."""
    most: PlannedPrecision | None = None
    """The cheapest design with a score within ± `width` for nine of ten subjects; its own width is the average's."""


_MOST = 0.9
"""The share of subjects for whom the larger design holds."""


def item_designs(points: Sequence[ItemPoint], width: float = WIDTH) -> ItemDesigns | None:
    """None where the parts cannot be told apart: one answer an item of one subject."""
    subjects = {point.subject for point in points}
    wordings = {point.wording for point in points}
    repeats = max((point.repeat for point in points), default=0) + 1
    terms = [ITEM]
    if len(wordings) > 1:
        terms += [WORDING, f"{ITEM}:{WORDING}"]
    if len(subjects) > 1:
        terms = [SUBJECT, *terms, *(f"{SUBJECT}:{term}" for term in terms)]
    cells = {(point.subject, point.item, point.wording) for point in points}
    if len(cells) == len(points):
        terms = terms[:-1]  # nobody was asked the same twice: the last crossing is the rest
    found = _fit(points, terms)
    if found is None:
        return None
    variance = found.variance
    if len(cells) == len(points):
        # repeats could not be told from the crossing: they must not look as if they would help
        variance = {**variance, _last(len(subjects) > 1, len(wordings) > 1): variance[RESIDUAL], RESIDUAL: 0.0}
    asked = {ITEM: len({point.item for point in points}), WORDING: len(wordings), REPEAT: repeats}
    grid = {
        ITEM: _ITEMS,
        WORDING: _FEW if len(wordings) > 1 else (1,),
        REPEAT: _FEW if variance[RESIDUAL] > 0 else (1,),
    }
    spreads, gaps = _spreads(points)
    more = float(np.quantile(spreads, _MOST, method="higher")) ** 2 if spreads else None
    wider = {term: value if term == SUBJECT else value * (more or 1.0) for term, value in variance.items()}
    large = needed(wider, width, grid, subject=SUBJECT) if more else None
    return ItemDesigns(
        variance,
        len(points),
        asked,
        planned(variance, asked, subject=SUBJECT),
        needed(variance, width, grid, subject=SUBJECT),
        needed(variance, width, {**grid, ITEM: (asked[ITEM],)}, subject=SUBJECT),
        needed(variance, width, grid, subject=SUBJECT, difference=True) if len(subjects) > 1 else None,
        width,
        len(subjects),
        spreads,
        gaps,
        planned(variance, large.sizes, subject=SUBJECT) if large else None,
    )


def _spreads(points: Sequence[ItemPoint]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of each subject with enough items, and of every two that share enough; empty for fewer than five subjects."""
    own: dict[str, dict[str, list[float]]] = {}
    for point in points:
        own.setdefault(point.subject, {}).setdefault(point.item, []).append(point.points)
    items = {item: place for place, item in enumerate(dict.fromkeys(item_point.item for item_point in points))}
    table = np.full((len(own), len(items)), np.nan)
    for row, answers in enumerate(own.values()):
        for item, values in answers.items():
            table[row, items[item]] = sum(values) / len(values)
    if len(table) < FEWEST:
        return (), ()
    between = [table[j] - table[k] for j, k in combinations(range(len(table)), 2)]
    return _relative(list(table)), _relative(between)


def _relative(rows: Sequence[npt.NDArray[np.float64]]) -> tuple[float, ...]:
    known = [row[np.isfinite(row)] for row in rows]
    sds = np.array([row.std(ddof=1) for row in known if len(row) >= FEWEST])
    whole = float(np.sqrt((sds**2).mean())) if len(sds) else 0.0
    return tuple((sds / whole).tolist()) if whole > 0 else ()


def _last(several: bool, wordings: bool) -> str:
    return ":".join([*([SUBJECT] if several else []), ITEM, *([WORDING] if wordings else [])])


def _fit(points: Sequence[ItemPoint], terms: Sequence[str]) -> Components | None:
    """With all terms, else without the crossings that the answers cannot tell apart, the highest first."""
    labels = {SUBJECT: "subject", ITEM: "item", WORDING: "wording"}
    for count in range(len(terms), 0, -1):
        factors = {
            term: ["\t".join(str(getattr(point, labels[part])) for part in term.split(":")) for point in points]
            for term in terms[:count]
        }
        found = components([point.points for point in points], factors)
        if found is not None:
            return found
    return None


def designs_table(found: ItemDesigns) -> tuple[Table, ...]:
    total = sum(found.variance.values())
    parts = tuple(
        (_named(term), value**0.5, f"{100 * value / total:.0f} %" if total > 0 else "") for term, value in
        sorted(found.variance.items(), key=lambda pair: -pair[1]) if value > 0
    )  # fmt: skip
    each = bool(found.spreads)
    wanted: list[tuple[str, PlannedPrecision | None, tuple[float, ...]]] = [("as asked", found.now, found.spreads)]
    if found.subjects > 1:
        now = planned(found.variance, found.asked, subject=SUBJECT, difference=True)
        wanted.append(("as asked, two compared", now, found.gaps))
    wanted += [
        (f"a score ±{found.width:g}", found.score, found.spreads),
        *([("… for nine of ten", found.most, found.spreads)] if found.most else []),
        (f"… with these {many(found.asked[ITEM], 'item')}", found.same_items, found.spreads),
        *([(f"a difference ±{found.width:g}", found.difference, found.gaps)] if found.subjects > 1 else []),
    ]
    rows: list[tuple[str | int | float | Estimate | None, ...]] = []
    for name, precision, spreads in wanted:
        row = (name, *_row(precision)) if precision else (f"{name}: none found", None, None, None, None, "")
        rows.append((*row, _holds_for(precision, found.width, spreads)) if each else row)
    note = (
        "Half of a 95 % interval, t with the degrees of freedom that the design leaves, at the spread of all together."
    )
    if each:
        note += (
            f" Holds for: the share of those asked (of every two) whose own spread leaves it within ±{found.width:g}."
        )
    if found.asked[REPEAT] < 2:
        note += " Nobody was asked the same twice: what repeats would bring is not known."
    if found.asked[WORDING] < 2:
        note += " One wording: what others would change is not in it (-o perturb asks in several)."
    return (
        Table("Where points come from", ("part", "SD, points", "share"), parts, f"{many(found.n, 'answer')}."),
        Table(
            f"How many of each for ±{found.width:g}",
            ("design", "items", "wordings", "repeats", "±", "most of it from", *(("holds for",) if each else ())),
            tuple(rows),
            note,
        ),
    )


def _row(precision: PlannedPrecision) -> tuple[int, int, int, float, str]:
    return (
        precision.sizes[ITEM],
        precision.sizes[WORDING],
        precision.sizes[REPEAT],
        precision.half_width,
        _named(precision.dominant),
    )


def _holds_for(precision: PlannedPrecision | None, width: float, spreads: tuple[float, ...]) -> str:
    if precision is None or not spreads:
        return ""
    return f"{100 * sum(precision.half_width * spread <= width for spread in spreads) / len(spreads):.0f} %"


def _named(term: str) -> str:
    return "asking again" if term == RESIDUAL else term.replace(SUBJECT, "who").replace(":", " × ")


# Two sets of items on one scale through the models that answered both, and which model does too well on the second:
# `eqlab research items --equate`. Pure.
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
            f"{many(len(names), 'model')} answered both sets; equating needs {FEWEST}.",
            f"The first set has {', '.join(list(first)[:4])}, …; the second {', '.join(list(second)[:4])}, …",
        )
    a, b = (
        np.array([[own.get(item, np.nan) for item in items] for own in chosen], dtype=float)
        for chosen, items in (
            ([first[name] for name in names], _items(first)),
            ([second[other] for other in names.values()], _items(second)),
        )
    )
    equated = equate(a, b, list(names), draws)
    suspects = [off.model for off in equated.models if off.p_holm < 0.05]
    honest = np.array([name not in suspects for name in names])
    if suspects and honest.sum() >= FEWEST:  # they would bend the line for everybody
        line = equate(a[honest], b[honest], [name for name in names if name not in suspects], draws)
        equated = replace(line, models=equated.models)
    return EquatedSets(_sentence(equated, len(suspects)), equated, (_line(equated), _gaps(equated)))


def _items(points: Points) -> list[str]:
    return list(dict.fromkeys(item for point in points.values() for item in point))


def _sentence(found: Equated, suspects: int) -> str:
    easier = "easier" if found.shift > 0 else "harder"
    bounds = (found.shift_low, found.shift_high) if found.shift > 0 else (-found.shift_high, -found.shift_low)
    said = (
        f"Through {many(found.n, 'model')} that answered both: the second set is {abs(found.shift):.1f} "
        f"points {easier} (95 % "
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


def _gaps(equated: Equated) -> Table:
    worst = sorted(equated.models, key=lambda one: one.p_holm)[:SHOWN]
    rows = tuple((off.model, _estimate(off.gap, off.low, off.high, equated.n), f"{off.p_holm:.3g}") for off in worst)
    note = (
        "Above what the first set says, by the line of the other models. Far above on a public set: it has probably "
        "seen it. p one-sided, Holm over all models."
    )
    return Table("Who does better on the second set", ("model", "points above the line", "p, corrected"), rows, note)


def _estimate(value: float, low: float, high: float, n: int) -> Estimate:
    return Estimate("", value, n, None, low, high)

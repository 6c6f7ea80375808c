"""How many items, ways of asking and repeats does a score need? A generalizability study of the answers at hand, and
the designs that would reach a given precision. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eqlab.analysis.components import RESIDUAL, Components, PlannedPrecision, components, needed, planned
from eqlab.comparison.item_points import ItemPoint
from eqlab.core.results import Estimate, Table

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


def item_designs(points: Sequence[ItemPoint], width: float = WIDTH) -> ItemDesigns | None:
    """None where the parts cannot be told apart: one answer an item of one subject."""
    subjects = {one.subject for one in points}
    wordings = {one.wording for one in points}
    repeats = max((one.repeat for one in points), default=0) + 1
    terms = [ITEM]
    if len(wordings) > 1:
        terms += [WORDING, f"{ITEM}:{WORDING}"]
    if len(subjects) > 1:
        terms = [SUBJECT, *terms, *(f"{SUBJECT}:{one}" for one in terms)]
    cells = {(one.subject, one.item, one.wording) for one in points}
    if len(cells) == len(points):
        terms = terms[:-1]  # nobody was asked the same twice: the last crossing is the rest
    found = _fit(points, terms)
    if found is None:
        return None
    variance = found.variance
    if len(cells) == len(points):
        # repeats could not be told from the crossing: they must not look as if they would help
        variance = {**variance, _last(len(subjects) > 1, len(wordings) > 1): variance[RESIDUAL], RESIDUAL: 0.0}
    asked = {ITEM: len({one.item for one in points}), WORDING: len(wordings), REPEAT: repeats}
    grid = {
        ITEM: _ITEMS,
        WORDING: _FEW if len(wordings) > 1 else (1,),
        REPEAT: _FEW if variance[RESIDUAL] > 0 else (1,),
    }
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
    )


def _last(several: bool, wordings: bool) -> str:
    return ":".join([*([SUBJECT] if several else []), ITEM, *([WORDING] if wordings else [])])


def _fit(points: Sequence[ItemPoint], terms: Sequence[str]) -> Components | None:
    """With all terms, else without the crossings that the answers cannot tell apart, the highest first."""
    labels = {SUBJECT: "subject", ITEM: "item", WORDING: "wording"}
    for count in range(len(terms), 0, -1):
        factors = {
            term: ["\t".join(str(getattr(one, labels[part])) for part in term.split(":")) for one in points]
            for term in terms[:count]
        }
        found = components([one.points for one in points], factors)
        if found is not None:
            return found
    return None


def designs_table(found: ItemDesigns) -> tuple[Table, ...]:
    total = sum(found.variance.values())
    parts = tuple(
        (_named(term), value**0.5, f"{100 * value / total:.0f} %" if total > 0 else "") for term, value in
        sorted(found.variance.items(), key=lambda pair: -pair[1]) if value > 0
    )  # fmt: skip
    rows: list[tuple[str | int | float | Estimate | None, ...]] = [("as asked", *_row(found.now))]
    if found.subjects > 1:
        now = planned(found.variance, found.asked, subject=SUBJECT, difference=True)
        rows.append(("as asked, two compared", *_row(now)))
    wanted = [
        (f"a score ±{found.width:g}", found.score),
        (f"… with these {found.asked[ITEM]} items", found.same_items),
        *([(f"a difference ±{found.width:g}", found.difference)] if found.subjects > 1 else []),
    ]
    for name, one in wanted:
        rows.append((name, *_row(one)) if one else (f"{name}: none found", None, None, None, None, ""))
    note = "Half of a 95 % interval, t with the degrees of freedom that the design leaves."
    if found.asked[REPEAT] < 2:
        note += " Nobody was asked the same twice: what repeats would bring is not known."
    if found.asked[WORDING] < 2:
        note += " One wording: what others would change is not in it (--perturb asks in several)."
    return (
        Table("Where points come from", ("part", "SD, points", "share"), parts, f"{found.n} answers."),
        Table(
            f"How many of each for ±{found.width:g}",
            ("design", "items", "wordings", "repeats", "±", "most of it from"),
            tuple(rows),
            note,
        ),
    )


def _row(one: PlannedPrecision) -> tuple[int, int, int, float, str]:
    return one.sizes[ITEM], one.sizes[WORDING], one.sizes[REPEAT], one.half_width, _named(one.dominant)


def _named(term: str) -> str:
    return "asking again" if term == RESIDUAL else term.replace(SUBJECT, "who").replace(":", " × ")

"""What each item of a benchmark is worth, from the points of many subjects: as tables. Pure."""

from collections.abc import Mapping, Sequence

import numpy as np

from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_quality import ItemQuality, information_curve, item_quality
from eqlab.analysis.item_response import copies
from eqlab.comparison.item_points import People, between_families, between_people
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass

SHOWN = 10
ENOUGH = 20
"""Subjects on an item from which on its information is told: a model of ability fitted to fewer is far too sure."""
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class ItemReport:
    sentence: str
    subjects: int
    items: tuple[tuple[str, ItemQuality], ...]
    """By item id."""
    tables: tuple[Table, ...]


def item_report(
    points: Mapping[str, Mapping[str, float]],
    families: Mapping[str, str],
    shown: int = SHOWN,
    people: People | None = None,
) -> ItemReport:
    """`points`: by model, its points by item; `families`: by model, empty where unknown; `people`: their points. With
    fewer than five models the items are judged by people."""
    people = people or {}
    judges, what = (points, "models") if len(points) >= FEWEST or len(people) < FEWEST else (people, "people")
    items = list(dict.fromkeys(item for judge in judges.values() for item in judge))
    if len(judges) < FEWEST or len(items) < FEWEST:
        raise UsageError(
            f"It takes many models or people to judge items: there are {len(judges)} {what} and "
            f"{many(len(items), 'item')}.",
            f"Name runs of at least {FEWEST} models on the same items, a study of people, or 'published'.",
        )
    table = np.array([[judge.get(item, np.nan) for item in items] for judge in judges.values()])
    table, items = _answered(table, items)
    qualities = item_quality(table)
    named = tuple((items[quality.item], quality) for quality in qualities)
    sentence = (
        f"{len(judges)} {what}, {many(len(items), 'item')}. {_said(qualities)}{_without_copies(table, list(judges))}"
    )
    tables = (
        _items(named, shown),
        _curve(table),
        *(between_families(table, items, [families.get(s, "") for s in judges]) if what == "models" else ()),
        *between_people(points, people, items),
    )
    return ItemReport(sentence, len(judges), named, tables)


def _answered(table: Floats, items: Sequence[str]) -> tuple[Floats, list[str]]:
    """Items that at least four subjects answered: of the others nothing can be said."""
    enough = np.isfinite(table).sum(axis=0) >= 4
    if enough.sum() < FEWEST:
        raise UsageError(
            f"Only {many(int(enough.sum()), 'item was', 'items were')} answered by four models or people.",
            "Name more runs of these items.",
        )
    return table[:, enough], [item for item, kept in zip(items, enough.tolist(), strict=True) if kept]


def _said(qualities: Sequence[ItemQuality]) -> str:
    below, known = _negative(qualities, "rest")
    said = f"{below} of {many(known, 'item')} {'correlates' if below == 1 else 'correlate'} negatively with the rest"
    (upper, among), (lower, below_them) = _negative(qualities, "upper"), _negative(qualities, "lower")
    if not among or not below_them:
        return f"{said}; too few to look at their upper and lower half."
    halves = f"among the better half {upper} of {among}, among the weaker half {lower} of {below_them}"
    return f"{said}; {halves}."


def _without_copies(table: Floats, names: Sequence[str]) -> str:
    """The same with near copies of one subject taken together, as the mean of their points."""
    groups = np.array(copies(table, names))
    kept = list(dict.fromkeys(groups.tolist()))
    if not FEWEST <= len(kept) < len(names):
        return ""
    alone = np.array([_mean(table[groups == group]) for group in kept])
    if np.isfinite(alone).sum(axis=0).min() < 4:
        return ""
    below, known = _negative(item_quality(alone), "upper")
    return f" With near copies of one model taken together ({len(kept)} left): {below} of {known}."


def _mean(rows: Floats) -> Floats:
    """By column, of what there is."""
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    return np.where(count > 0, np.where(known, rows, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def _negative(qualities: Sequence[ItemQuality], part: str) -> tuple[int, int]:
    known = [value for quality in qualities if (value := getattr(quality, part)) is not None]
    return sum(value < 0 for value in known), len(known)


def _items(named: Sequence[tuple[str, ItemQuality]], shown: int) -> Table:
    """Worst first: those that agree least with the rest among the better subjects."""

    def order(pair: tuple[str, ItemQuality]) -> float:
        own = pair[1].rest if pair[1].upper is None else pair[1].upper
        return 2.0 if own is None else own

    rows = tuple(
        (
            name,
            quality.n,
            quality.difficulty,
            quality.discrimination,
            Estimate("r", quality.rest, quality.n, None, quality.rest_low, quality.rest_high),
            quality.upper,
            quality.lower,
            quality.information if quality.n >= ENOUGH else None,
        )
        for name, quality in sorted(named, key=order)[:shown]
    )
    return Table(
        f"Items, the worst {len(rows)} of {len(named)}",
        (
            *("item", "n", "difficulty (mean)", "discrimination", "with the rest"),
            *("… upper half", "… lower half", "information"),
        ),
        rows,
        "With the rest: correlation with the mean of the other items. Below 0 in the upper half: the better ones do "
        "worse on it. Near copies of one model make items look better than they are.",
    )


def _curve(table: Floats) -> Table:
    title, columns = "Where the items tell most", ("score", "standard error of ability, SD")
    if np.median(np.isfinite(table).sum(axis=0)) < ENOUGH:
        return Table(title, columns, (), f"It takes {ENOUGH} answers an item, and there are fewer.")
    rows = tuple((score, error) for score, error in information_curve(table))
    return Table(title, columns, rows, "Where the error rises, the items tell apart least.")

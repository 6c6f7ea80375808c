"""What each item of a benchmark is worth, from the points of many subjects: as tables. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_quality import ItemQuality, differential, information_curve, item_quality
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, Table

SHOWN = 10


@dataclass(frozen=True, slots=True)
class ItemReport:
    sentence: str
    subjects: int
    items: tuple[tuple[str, ItemQuality], ...]
    """By item id."""
    tables: tuple[Table, ...]


def item_report(
    points: Mapping[str, Mapping[str, float]], families: Mapping[str, str], shown: int = SHOWN
) -> ItemReport:
    """`points`: by subject, its points by item; `families`: by subject, empty where unknown."""
    subjects = list(points)
    items = list(dict.fromkeys(item for own in points.values() for item in own))
    if len(subjects) < FEWEST or len(items) < FEWEST:
        raise UsageError(
            f"Items are judged by many subjects: there are {len(subjects)} subjects and {len(items)} items.",
            f"Name runs of at least {FEWEST} models on the same items, or 'published'.",
        )
    table = np.array([[points[one].get(item, np.nan) for item in items] for one in subjects])
    found = item_quality(table)
    named = tuple((items[one.item], one) for one in found)
    negative = {part: _negative(found, part) for part in ("rest", "upper", "lower")}
    sentence = (
        f"{len(subjects)} subjects, {len(items)} items. {negative['rest'][0]} of {negative['rest'][1]} items correlate "
        f"negatively with the rest; among the upper half of the subjects {negative['upper'][0]} of "
        f"{negative['upper'][1]}, among the lower half {negative['lower'][0]} of {negative['lower'][1]}."
    )
    tables = (_items(named, shown), _curve(table), *_families(table, items, [families.get(s, "") for s in subjects]))
    return ItemReport(sentence, len(subjects), named, tables)


def _negative(found: Sequence[ItemQuality], part: str) -> tuple[int, int]:
    known = [value for one in found if (value := getattr(one, part)) is not None]
    return sum(value < 0 for value in known), len(known)


def _items(named: Sequence[tuple[str, ItemQuality]], shown: int) -> Table:
    """Worst first: those that agree least with the rest among the better subjects."""

    def order(pair: tuple[str, ItemQuality]) -> float:
        return pair[1].upper if pair[1].upper is not None else 2.0

    rows = tuple(
        (
            name,
            one.n,
            one.difficulty,
            one.discrimination,
            Estimate("r", one.rest, one.n, None, one.rest_low, one.rest_high),
            one.upper,
            one.lower,
            one.information,
        )
        for name, one in sorted(named, key=order)[:shown]
    )
    return Table(
        f"Items, the worst {len(rows)} of {len(named)}",
        (
            *("item", "n", "difficulty (mean)", "discrimination", "with the rest"),
            *("… upper half", "… lower half", "information"),
        ),
        rows,
        "With the rest: correlation with the mean of the other items. Below 0 in the upper half: better subjects do "
        "worse on it. Near copies of one model make items look better than they are.",
    )


def _curve(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Table:
    rows = tuple((score, error) for score, error in information_curve(table))
    return Table(
        "Where the items tell most",
        ("score", "standard error of ability, SD"),
        rows,
        "Where the error rises, the items tell subjects apart least.",
    )


def _families(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], items: Sequence[str], groups: Sequence[str]
) -> tuple[Table, ...]:
    """Items that are harder for one family than its ability says: the two largest families."""
    large = [name for name, count in Counter(name for name in groups if name).most_common(2) if count >= FEWEST]
    if len(large) < 2:
        return ()
    found = differential(table, list(groups), *large)
    flagged = sorted((one for one in found if one.p_adjusted < 0.05), key=lambda one: one.p)
    rows = tuple(
        (items[one.item], Estimate("gap", one.gap, len(groups), None, one.low, one.high), f"{one.p_adjusted:.3g}")
        for one in flagged[:SHOWN]
    )
    counts = Counter(groups)
    return (
        Table(
            f"Items that differ between {large[0]} and {large[1]} at equal ability",
            ("item", f"{large[0]} − {large[1]}, points", "p, corrected"),
            rows,
            f"{len(flagged)} of {len(found)} items at 5 % after Benjamini and Hochberg; {counts[large[0]]} and "
            f"{counts[large[1]]} subjects.",
        ),
    )

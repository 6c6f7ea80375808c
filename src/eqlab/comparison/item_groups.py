"""Items that are harder for one kind of subject than its ability says: between two families of models, and between
people and models. As tables. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_quality import Differential, against, differential
from eqlab.core.results import Estimate, Table

SHOWN = 10
MODELS = "models"
People = Mapping[str, Mapping[str, float]]


def between_families(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], items: Sequence[str], groups: Sequence[str]
) -> tuple[Table, ...]:
    """The two largest families; none where one of them has fewer than five."""
    counts = Counter(name for name in groups if name)
    large = [name for name, count in counts.most_common(2) if count >= FEWEST]
    if len(large) < 2:
        return ()
    found = differential(table, list(groups), *large)
    return (_table(found, items, (large[0], counts[large[0]]), (large[1], counts[large[1]])),)


def between_people(points: People, people: People, items: Sequence[str]) -> tuple[Table, ...]:
    """People against models. None without five of each; a person need not have answered all items."""
    if len(people) < FEWEST or len(points) < FEWEST:
        return ()
    everybody = [*points.values(), *people.values()]
    table = np.array([[own.get(item, np.nan) for item in items] for own in everybody], dtype=float)
    groups = [MODELS] * len(points) + ["people"] * len(people)
    answered = [index for index in range(len(items)) if np.isfinite(table[:, index]).any()]
    found = against(table[:, answered], groups, "people", MODELS)
    named = [items[index] for index in answered]
    made = _table(found, named, ("people", len(people)), (MODELS, len(points)))
    if found:
        return (made,)
    few = f"No item was answered by {FEWEST} people and by {FEWEST} models."
    return (Table(made.title, made.columns, (), few),)


def _table(
    found: Sequence[Differential], items: Sequence[str], first: tuple[str, int], second: tuple[str, int]
) -> Table:
    flagged = sorted((one for one in found if one.p_adjusted < 0.05), key=lambda one: one.p)
    n = first[1] + second[1]
    rows = tuple(
        (items[one.item], Estimate("gap", one.gap, n, None, one.low, one.high, digits=1), f"{one.p_adjusted:.3g}")
        for one in flagged[:SHOWN]
    )
    return Table(
        f"Items that differ between {first[0]} and {second[0]} at equal ability",
        ("item", f"{first[0]} − {second[0]}, points", "p, corrected"),
        rows,
        f"{len(flagged)} of {len(found)} items at 5 % after Benjamini and Hochberg, from {first[1]} of {first[0]} "
        f"and {second[1]} of {second[0]}.",
    )

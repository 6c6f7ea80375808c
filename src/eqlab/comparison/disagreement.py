"""Where subjects disagree most: the items on which their scores lie furthest apart, and, for one subject, the items
on which it lies furthest from people."""

from collections.abc import Mapping

from eqlab.core.plural import many
from eqlab.core.results import Result, Table, field_of
from eqlab.core.values import dataclass

MOST = 10
"""Items listed."""
MOST_NAMES = 6
"""Subjects with a column of their own."""


@dataclass(frozen=True, slots=True)
class Apart:
    """One item and the points of those who answered it."""

    item: str
    title: str
    points: Mapping[str, float]

    @property
    def range(self) -> float:
        return max(self.points.values()) - min(self.points.values())


def furthest_apart(scores: Mapping[str, Mapping[str, float]], titles: Mapping[str, str] | None = None) -> list[Apart]:
    """Items that at least two subjects answered, largest range first. `scores`: points on the scale of the headline, by
    subject, then by item."""
    items = list(dict.fromkeys(item for score in scores.values() for item in score))
    disagreements = [
        Apart(item, (titles or {}).get(item, ""), {name: own[item] for name, own in scores.items() if item in own})
        for item in items
    ]
    return sorted((apart for apart in disagreements if len(apart.points) > 1), key=lambda one: -one.range)


def disagreement(scores: Mapping[str, Mapping[str, float]], titles: Mapping[str, str] | None = None) -> Table | None:
    """The items on which subjects lie furthest apart; None with fewer than two subjects that share items."""
    apart = furthest_apart(scores, titles)
    if not apart:
        return None
    names = list(scores)[:MOST_NAMES]
    everybody = all(len(one.points) == len(scores) for one in apart[:MOST])
    rows = tuple(
        (
            f"{one.title} ({one.item})" if one.title else one.item,
            *(one.points.get(name) for name in names),
            one.range,
            *(() if everybody else (len(one.points),)),
        )
        for one in apart[:MOST]
    )
    left_out = f" The first {MOST_NAMES} of {len(scores)} have columns." if len(scores) > MOST_NAMES else ""
    chosen = f"All {len(rows)} shared items, the largest range first."
    if len(apart) > len(rows):
        chosen = (
            f"The {len(rows)} of {many(len(apart), 'shared item')} with the largest range, chosen because they are "
            "extreme: look at them, but do not count them as evidence."
        )
    return Table(
        "Where they disagree most",
        ("item", *names, "range, points", *(() if everybody else ("answered by",))),
        rows,
        f"{chosen}{left_out}",
    )


def against_reference(result: Result, who: str) -> Table | None:
    """The items on which a subject lies furthest from what is known of people; None where no item has a reference."""
    gaps: dict[str, tuple[str, str, float, float]] = {}
    columns = (field_of(result.items, name) for name in ("item", "title", "values", "reference"))
    for item, title, values, reference in zip(*columns, strict=True):
        for key, level in reference.items():
            value = values.get(key)
            if isinstance(value, int | float) and isinstance(level, int | float):
                own = gaps.get(item)
                if own is None or abs(value - level) > abs(own[2] - own[3]):
                    gaps[item] = (title, str(key), float(value), float(level))
    if not gaps:
        return None
    chosen = sorted(gaps.items(), key=lambda pair: -abs(pair[1][2] - pair[1][3]))[:MOST]
    return Table(
        f"Furthest from {who}",
        ("item", "scale", "score", who, "difference"),
        tuple(
            (f"{title} ({item})" if title else item, key, value, level, value - level)
            for item, (title, key, value, level) in chosen
        ),
        (
            f"The {len(chosen)} of {many(len(gaps), 'item')} with the largest difference, each on the scale "
            "where it is largest."
        ),
    )

"""What is compared: one subject's points item by item, whatever the benchmark, and what became of its other answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.intervals import mean_estimate
from eqlab.core.results import Estimate, ItemScore, Result

Floats = npt.NDArray[np.float64]
Missing = Literal["drop", "zero"]
"""What becomes of an item whose answers could not be used: left out, or 0 points."""


@dataclass(frozen=True, slots=True)
class Source:
    """A result and where it is from."""

    result: Result
    origin: str
    """"run 0123456789" or "published"."""
    item_set: str
    """Hash of the item files: items are the same if they have the same id in the same files."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    origin: str
    item_set: str
    result: Result
    score: Estimate
    counts: Mapping[str, int]
    items: tuple[str, ...]
    """Ids of the items with points."""
    points: Floats
    """Items × repeats, NaN where there is no answer that counts."""
    unused: int
    """Answers, or items whose repeats are scored together, that could not be used."""
    trials: tuple[tuple[str, ...], ...]
    """Items × repeats: which trial it was; another trial of the same item is another order or wording."""

    @property
    def means(self) -> dict[str, float]:
        """Points per item, averaged over repeats; items without any are left out."""
        if not self.items:
            return {}
        known = np.isfinite(self.points)
        sums = np.where(known, self.points, 0.0).sum(axis=1) / known.sum(axis=1)
        return dict(zip(self.items, sums.tolist(), strict=True))

    @property
    def repeats(self) -> int:
        """Columns of `points`."""
        return int(self.points.shape[1]) if self.points.size else 0

    @property
    def asked(self) -> int:
        """How often each item was asked, where its repeats are scored together too."""
        said = self.result.rules.get("repeats")
        return said if self.repeats == 1 and isinstance(said, int) else self.repeats


def entries(sources: Iterable[Source], missing: Missing = "drop") -> tuple[list[Entry], list[tuple[str, str]]]:
    """(what can be compared, (name, why not) of the rest). Names are made unique by where they are from."""
    found: list[Entry] = []
    undefined: list[tuple[str, str]] = []
    for source in sources:
        for group in dict.fromkeys(item.group for item in source.result.items):
            own = [item for item in source.result.items if item.group == group]
            entry = _entry(source, group, own, missing)
            if entry.items:
                found.append(entry)
            else:
                undefined.append((entry.name, why_undefined(source.result)))
        if not source.result.items:
            undefined.append((_name(source.result.subject, ""), "it has no answers yet"))
    twice = {name for name, count in Counter(entry.name for entry in found).items() if count > 1}
    return [
        replace(entry, name=f"{entry.name} ({entry.origin})") if entry.name in twice else entry for entry in found
    ], undefined


def why_undefined(result: Result) -> str:
    if result.why_no_points:
        return result.why_no_points
    if result.headline.value is None:
        return result.headline.note or "it has no score"
    return f"'{result.headline.name}' is no mean of item scores in which more is better"


def _entry(source: Source, group: str, own: Sequence[ItemScore], missing: Missing) -> Entry:
    result = source.result
    together = len({item.item for item in own}) == len(own)  # one line per item, its repeats scored together
    repeats = [0] if together else sorted({item.repeat for item in own})
    column = {item.repeat: 0 if together else repeats.index(item.repeat) for item in own}
    defined = any(item.points is not None for item in own)
    rows: dict[str, list[float]] = {}
    trials: dict[str, list[str]] = {}
    for item in own:
        points = item.points
        if points is None and missing == "zero" and defined and item.status is not None:
            points = 0.0
        values = rows.setdefault(item.item, [np.nan] * len(repeats))
        trials.setdefault(item.item, [""] * len(repeats))[column[item.repeat]] = item.trial
        if points is not None:
            values[column[item.repeat]] = points
    kept = [name for name, values in rows.items() if np.isfinite(values).any()]
    table = np.array([rows[name] for name in kept], dtype=float).reshape(len(kept), len(repeats))
    whole = not group and missing == "drop"
    entry = Entry(
        name=_name(result.subject, group),
        origin=source.origin,
        item_set=source.item_set,
        result=result,
        score=result.headline,
        counts=result.counts if not group else _counts(own),
        items=tuple(kept),
        points=table,
        unused=sum(item.points is None and item.status is not None for item in own),
        trials=tuple(tuple(trials[name]) for name in kept),
    )
    if whole:
        return entry
    name = result.headline.name if not group else "P(Good)"
    return replace(entry, score=mean_estimate(name, list(entry.means.values()), digits=result.headline.digits))


def _counts(own: Sequence[ItemScore]) -> dict[str, int]:
    counts: Counter[str] = Counter(item.status or "unanswered" for item in own)
    return {"planned": len(own), **counts}


def _name(subject: str, group: str) -> str:
    who = subject.removeprefix("model:")
    return f"{group} (rated by {who.removeprefix('judge:')})" if group else who

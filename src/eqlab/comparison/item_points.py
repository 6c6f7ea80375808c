"""Points answer by answer, for judging items: every subject, each person by themselves, every repeat and every way of
asking, from runs, studies and the published board."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

import numpy as np

from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_quality import Differential, Factors, against, differential, one_factor, one_scale, otherwise
from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Scored
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Cell, Estimate, Table
from eqlab.core.runs import PERSON, BenchmarkConfig
from eqlab.core.values import dataclass
from eqlab.runs.published_results import PublishedReader, is_published
from eqlab.store.access import open_reader
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.cells import p_text

PLAIN = "as always"
PERTURBATION = "perturbation"
"""The key of a trial under which a benchmark says that an item was asked otherwise than usual."""


@dataclass(frozen=True, slots=True)
class ItemPoint:
    """What one answer is worth."""

    subject: str
    item: str
    wording: str
    repeat: int
    points: float

    @property
    def person(self) -> bool:
        return self.subject.startswith(PERSON)


@dataclass(frozen=True, slots=True)
class AskedItems:
    """Everybody's points on the items of one benchmark and item set."""

    benchmark: str
    items: str
    """Hash of the item files."""
    points: tuple[ItemPoint, ...]

    def means(self, *, people: bool) -> dict[str, dict[str, float]]:
        """By subject, the mean of each item's plain answers; of people, or of models."""
        found: dict[str, dict[str, list[float]]] = {}
        for point in self.points:
            if point.person == people and point.wording == PLAIN:
                found.setdefault(point.subject, {}).setdefault(point.item, []).append(point.points)
        return {who: {item: fmean(own) for item, own in items.items()} for who, items in found.items()}


def read_items(names: Sequence[str], store: str = "", data: Path | None = None, benchmark: str = "") -> AskedItems:
    """From run ids, `last`, and `published` (the EQ-Bench board) or `published:MODEL`; of one benchmark."""
    found: list[tuple[str, str, list[ItemPoint]]] = []
    opened: Reader | None = None
    with ExitStack() as closing:
        for name in names:
            if is_published(name):
                wanted = name.partition(":")[2]
                found += _published(PublishedReader(data), [wanted] if wanted else [])
                continue
            opened = opened or closing.enter_context(open_reader(store))
            found += list(_run(opened, opened.find_run(name)))
    found = [one for one in found if one[2] and benchmark in ("", one[0])]
    if not found:
        raise UsageError("None of these results has item scores.", "Name runs that were answered, or 'published'.")
    benchmarks = sorted({benchmark for benchmark, _, _ in found})
    if len(benchmarks) > 1:
        raise UsageError(f"The runs cover several benchmarks: {', '.join(benchmarks)}.", "Name one with --benchmark.")
    if len({items for _, items, _ in found}) > 1:
        raise UsageError(
            "The runs asked different items.", "Name runs of one set of items; --equate puts two sets on one scale."
        )
    return AskedItems(found[0][0], found[0][1], tuple(point for _, _, own in found for point in own))


def _published(reader: PublishedReader, wanted: Sequence[str]) -> Iterator[tuple[str, str, list[ItemPoint]]]:
    for result in reader.results(wanted):
        points = [
            ItemPoint(result.model, item.item, PLAIN, item.repeat, item.points)
            for item in result.result.items
            if item.points is not None
        ]
        yield result.result.benchmark, result.run.items_sha256, points


def _run(store: Reader, stored: StoredRun) -> Iterator[tuple[str, str, list[ItemPoint]]]:
    for subject, config in stored.config.pairs():
        points = [
            point
            for scored in store.scored(stored.id, subject, config.name)
            for point in _points(subject, config, scored)
        ]
        yield config.name, config.items_sha256, points


def _points(subject: str, config: BenchmarkConfig, scored: Scored) -> Iterator[ItemPoint]:
    if not scored.attempts:
        return
    line = load(config.name).item(scored, config.options)
    who = scored.attempts[0].subject
    if line.points is not None and not line.group:
        name = who if who.startswith(PERSON) else subject.removeprefix("model:")
        wording = str(scored.trial.key.get(PERTURBATION, "")) or PLAIN
        yield ItemPoint(name, line.item, wording, scored.repeat, line.points)


# Items that are harder for one kind of subject than its ability says: between two families of models, and between
# people and models. As tables. Pure.
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
    differentials = differential(table, list(groups), *large)
    return (_table(differentials, items, (large[0], counts[large[0]]), (large[1], counts[large[1]])),)


def between_people(points: People, people: People, items: Sequence[str]) -> tuple[Table, ...]:
    """People against models. None without five of each; a person need not have answered all items."""
    if len(people) < FEWEST or len(points) < FEWEST:
        return ()
    everybody = [*points.values(), *people.values()]
    table = np.array([[own.get(item, np.nan) for item in items] for own in everybody], dtype=float)
    groups = [MODELS] * len(points) + ["people"] * len(people)
    answered = [index for index in range(len(items)) if np.isfinite(table[:, index]).any()]
    differentials = against(table[:, answered], groups, "people", MODELS)
    named = [items[index] for index in answered]
    made = _table(differentials, named, ("people", len(people)), (MODELS, len(points)))
    if differentials:
        factors = {MODELS: one_factor(table[: len(points)]), "people": one_factor(table[len(points) :])}
        return made, scale_table(f"people and {MODELS}", differentials, factors)
    few = f"No item was answered by {FEWEST} people and by {FEWEST} models."
    return (Table(made.title, made.columns, (), few),)


def asked_otherwise(first: People, second: People) -> tuple[Table, ...]:
    """The same models on the same items, asked in two ways: free text and JSON, or two languages."""
    names = [name for name in first if name in second]
    items = [item for item in _items(first) if item in set(_items(second))]
    if len(names) < FEWEST or len(items) < FEWEST:
        raise UsageError(
            f"{many(len(names), 'model')} and {many(len(items), 'item is', 'items are')} in both; it takes "
            f"{FEWEST} of each.",
            "Name runs of the same models on the same items, asked in another mode or language.",
        )
    tables = [
        np.array([[own[name].get(item, np.nan) for item in items] for name in names], dtype=float)
        for own in (first, second)
    ]
    differentials = otherwise(*tables)
    ways = "the first way of asking", "the second"
    table = _table(differentials, items, (ways[0], len(names)), (ways[1], len(names)))
    factors = {way: one_factor(own) for way, own in zip(ways, tables, strict=True)}
    return table, scale_table(" and ".join(ways), differentials, factors)


def _items(points: People) -> list[str]:
    return list(dict.fromkeys(item for point in points.values() for item in point))


def scale_table(between: str, differentials: Sequence[Differential], factors: Mapping[str, Factors | None]) -> Table:
    """Whether the two are measured on one scale: do the items keep their places, and is it one ability?"""
    rows: list[tuple[Cell, ...]] = []
    whole = one_scale(differentials)
    if whole:
        said = "items shift beyond chance" if whole.p < 0.05 else "no shift of items is shown"
        rows.append(
            ("shifts of items, SD beyond error", f"{whole.spread:.1f} points", f"{said} (p = {p_text(whole.p)})")
        )
        off = whole.spread / whole.items**0.5
        rows.append((f"what that does to a mean over {whole.items}", f"± {1.96 * off:.1f} points", "at equal ability"))
        rows.append(("error of one item's shift", f"{whole.typical:.1f} points", "smaller shifts cannot be seen"))
    for name, one in factors.items():
        if one is None:
            rows.append((f"one ability among {name}", "", "too few answered the same items to say"))
            continue
        said = "one factor will do" if one.second <= one.chance else "more than one factor"
        share = f"{100 * one.first:.0f} %, the next {100 * one.second:.0f} % (chance: {100 * one.chance:.0f} %)"
        rows.append((f"first factor among {name}", share, said))
    note = (
        "A difference between the two is one of ability only where items keep their places. Factors: shares of the "
        "variance of standardised items; chance is what the next has in 95 of 100 tables with one factor."
    )
    return Table(f"One scale for {between}?", ("what", "found", "says"), rows, note, key="one_scale")


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
        f"{len(flagged)} of {many(len(found), 'item')} at 5 % after Benjamini and Hochberg, from {first[1]} of "
        f"{first[0]} and {second[1]} of {second[0]}.",
    )

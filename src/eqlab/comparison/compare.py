"""Every two subjects of one benchmark: difference, Holm's correction over all pairs, ranks as ranges, the parts of the
spread. Pure: entries in, a comparison out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from eqlab.analysis.comparison import Difference, items_needed, paired, ranges, unpaired
from eqlab.analysis.components import Components, Design, beyond_chance, designs, difference_designs
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.repeatability import AGREEMENT, CV, item_agreement, score_variation
from eqlab.comparison.entries import Entry
from eqlab.core.results import Estimate

ALPHA = 0.05
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Pair:
    """A has the higher score of the two."""

    a: Entry
    b: Entry
    difference: Difference
    shared: int
    """Items that both have points for."""
    p_holm: float | None = None
    needed: int | None = None
    """Items that would separate them at the strictest level of Holm's procedure, with a power of 80 %; None if they
    are separated, or no number would."""
    designs: tuple[Design, ...] = ()
    """Standard errors of the difference under other designs; empty unless both were asked repeatedly."""

    @property
    def separated(self) -> bool | None:
        """None: there is no test."""
        return None if self.p_holm is None else self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class Standing:
    """One subject among the others."""

    entry: Entry
    rank: tuple[int, int]
    variation: Estimate | None
    agreement: Estimate | None
    """Repeatability; None if it was asked once."""
    components: Components | None
    designs: tuple[Design, ...] = ()
    order_apart: bool = False
    """Whether orders could be told apart from repeats."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All entries of one benchmark, best first."""

    benchmark: str
    title: str
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    undefined: tuple[tuple[str, str], ...] = ()


def compare(entries: Sequence[Entry], undefined: Sequence[tuple[str, str]] = ()) -> list[Comparison]:
    """One comparison per benchmark and version, in the order in which they come up."""
    kinds = dict.fromkeys((entry.result.benchmark, entry.result.title) for entry in entries)
    found = [_compare(kind, [e for e in entries if (e.result.benchmark, e.result.title) == kind]) for kind in kinds]
    if found and undefined:
        found[0] = replace(found[0], undefined=tuple(undefined))
    return found


def _compare(kind: tuple[str, str], own: Sequence[Entry]) -> Comparison:
    ordered = sorted(own, key=lambda entry: -(_mean(entry) or 0.0))
    means = [entry.means for entry in ordered]
    pairs = [_pair(ordered[i], ordered[j], means[i], means[j]) for i, j in combinations(range(len(own)), 2)]
    adjusted = holm([pair.difference.p for pair in pairs])
    pairs = [_tested(pair, p, ALPHA / len(pairs)) for pair, p in zip(pairs, adjusted, strict=True)]
    above = np.zeros((len(own), len(own)), dtype=bool)
    for (i, j), pair in zip(combinations(range(len(own)), 2), pairs, strict=True):
        if pair.separated:
            gap = pair.difference.value or 0.0
            above[(i, j) if gap > 0 else (j, i)] = True
    standings = [_standing(entry, rank) for entry, rank in zip(ordered, ranges(above), strict=True)]
    parts = {standing.entry.name: standing.components for standing in standings}
    pairs = [_with_designs(pair, parts[pair.a.name], parts[pair.b.name]) for pair in pairs]
    return Comparison(*kind, tuple(standings), tuple(pairs))


def _mean(entry: Entry) -> float | None:
    values = list(entry.means.values())
    return float(np.mean(values)) if values else None


def _pair(a: Entry, b: Entry, one: dict[str, float], other: dict[str, float]) -> Pair:
    """Paired if half of the items of the smaller side are shared; otherwise all items of both sides count, and the
    few that are shared are taken into account."""
    shared = [item for item in one if item in other] if a.item_set == b.item_set else []
    first, second = np.array([one[i] for i in shared]), np.array([other[i] for i in shared])
    if len(shared) >= max(2, min(len(one), len(other)) / 2):
        difference = paired(first, second)
    else:
        overlap = (first, second) if shared else None
        difference = unpaired(list(one.values()), list(other.values()), overlap=overlap)
    return Pair(a, b, difference, len(shared))


def _tested(pair: Pair, p_holm: float | None, alpha: float) -> Pair:
    tested = replace(pair, p_holm=p_holm)
    return tested if tested.separated else replace(tested, needed=items_needed(pair.difference, alpha, POWER))


def _standing(entry: Entry, rank: tuple[int, int]) -> Standing:
    own = {estimate.name: estimate for estimate in entry.result.estimates}
    if entry.repeats < 2:  # a benchmark that averages repeats inside an item says itself how alike they are
        return Standing(entry, rank, own.get(CV), own.get(AGREEMENT), None)
    known = np.isfinite(entry.points)
    if (known.sum(axis=0) > 0).sum() < 2:
        return Standing(entry, rank, None, None, None)
    scores = [float(entry.points[known[:, k], k].mean()) for k in range(entry.repeats) if known[:, k].any()]
    found, apart = _components(entry)
    return Standing(
        entry,
        rank,
        score_variation(scores),
        item_agreement(entry.points),
        found,
        tuple(designs(found, len(entry.items))) if found else (),
        apart,
    )


def _components(entry: Entry) -> tuple[Components | None, bool]:
    """Items, repeats and, where an item was put in several orders more than once each, orders."""
    row, column = np.nonzero(np.isfinite(entry.points))
    values = entry.points[row, column]
    factors = {"item": row, "repeat": column}
    trials = np.array([entry.trials[i][k] for i, k in zip(row.tolist(), column.tolist(), strict=True)])
    if len(set(trials.tolist())) > len(set(row.tolist())):
        found, _ = beyond_chance(values, {**factors, "order": trials}, "repeat")
        if found is not None:
            return found, True
    return beyond_chance(values, factors, "repeat")[0], False


def _with_designs(pair: Pair, one: Components | None, other: Components | None) -> Pair:
    difference = pair.difference
    if one is None or other is None or difference.method != "paired" or not difference.se:
        return pair
    spread = difference.se * difference.n**0.5
    asked = [(found, found.n / found.levels["item"]) for found in (one, other)]
    return replace(pair, designs=tuple(difference_designs(spread, asked, difference.n)))

"""The one verdict on a table: who may be first, which ranks each may have, who is better than whom.

Each statement is made for what it claims, at 95 %:
- a pair (`pair`): this difference by itself, whoever else is compared;
- a rank range: the rank of any one contender that you look at (Mogstad, Romano, Shaikh & Wilhelm 2024);
- may be first: the truly best one is among these, which are those whose range begins with 1;
- joint ranges, on request: all ranks at once.
None is claimed that the pair itself does not bear out: nobody loses a rank to one whom it cannot be told apart from.
And none that rests on answers which were not given: who is better must be so with its own refused, unreadable or
failed answers as the worst that their forms allow (`Pair.leads`, ranks `at_worst`), so that refusing is no gain."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import field, replace
from functools import cached_property
from itertools import combinations
from itertools import pairwise as pairwise_of

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, codes
from eqlab.analysis.comparison import Difference, cluster_points, items_needed, paired, unpaired
from eqlab.analysis.components import MeasurementDesign
from eqlab.analysis.intervals import FEWEST, difference_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.pairwise import Pairwise, comparable, one_against, pairwise
from eqlab.analysis.ranks import Keeper, adjusted_p, rank_sets
from eqlab.analysis.special import ndtr
from eqlab.comparison.contender import Contender
from eqlab.core.results import Estimate, Rank, goodness
from eqlab.core.text import is_number
from eqlab.core.values import dataclass

# Is one better than the other? The one rule of separation, the same whoever else is compared. Paired over the
# items that both have; unpaired where they were asked other items; from the two displayed intervals where a score
# is no mean over items. Told apart: two-sided p below 5 %, so the difference's 95 % interval leaves out 0.
ALPHA = 0.05
POWER = 0.8
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Pair:
    """A minus B."""

    a: Contender
    b: Contender
    difference: Difference
    shared: int
    """Items that both have points for."""
    separated: bool | None
    """By itself, not corrected for other pairs; None: nothing can be said."""
    why: str = ""
    """Why nothing can be said, or why the two are taken for alike whatever the interval."""
    needed: int | None = None
    """Items that would separate them with a power of 80 % if the difference seen is the true one; None if they are
    separated, or no number would."""
    needed_range: tuple[int, int] | None = None
    """The same if the true difference is a standard error larger, and smaller: what can be said of it. None where the
    difference lies within its error, so that nothing can."""
    p_jointly: float | None = None
    """Corrected for all pairs that were compared together."""
    designs: tuple[MeasurementDesign, ...] = ()
    """Standard errors of the difference under other designs; empty unless both were asked repeatedly."""
    leads: Contender | None = None
    """Who is better on what it answered, and not with its lost answers as the worst: then the two are not separated."""
    at_worst: Difference | None = None
    """A minus B with the lost answers of the better one as the worst; None where it lost none that the other has."""

    def turned(self) -> "Pair":
        """B minus A."""
        at_worst = None if self.at_worst is None else turned(self.at_worst)
        return replace(self, a=self.b, b=self.a, difference=turned(self.difference), at_worst=at_worst)

    @property
    def better(self) -> Contender | None:
        """None if the two cannot be told apart."""
        if not self.separated or not self.difference.value:
            return None
        return self.a if goodness(self.difference.value, self.a.better) > 0 else self.b

    @property
    def gain(self) -> Difference:
        """How much better A is than B: the difference, or its opposite where a lower score is better."""
        return self.difference if self.a.better == "higher" else self.turned().difference


def turned(gap: Difference) -> Difference:
    """B minus A."""
    return replace(
        gap,
        value=None if gap.value is None else -gap.value,
        low=None if gap.high is None else -gap.high,
        high=None if gap.low is None else -gap.low,
        probability=None if gap.probability is None else 1 - gap.probability,
        effect=None if gap.effect is None else -gap.effect,
        superiority=None if gap.superiority is None else 1 - gap.superiority,
        skew=None if gap.skew is None else -gap.skew,
    )


def pair(a: Contender, b: Contender) -> Pair:
    """A minus B on what both answered; who is better there must be so with its lost answers as the worst too."""
    found = _answered(a, b)
    first, second = (a, b) if found.better is a else (b, a)
    if found.better is None or not _loses(first, second):
        return found
    less = _answered(first.at_worst, second)
    gap = less.difference if first is a else turned(less.difference)
    if less.better is not None and less.better is not second:
        return replace(found, at_worst=gap)
    return replace(found, separated=False, why=NOT_GIVEN, leads=first, at_worst=gap)


NOT_GIVEN = "one of them leads by answers that it did not give"


def _loses(contender: Contender, other: Contender) -> bool:
    """Whether it has no answer, or not all, where the other has."""
    return contender.lost is not None and not other.points.keys().isdisjoint(contender.lost.items)


def _answered(a: Contender, b: Contender) -> Pair:
    if not (a.points and b.points):
        return _judged(a, b, from_intervals(a.compared or a.score, b.compared or b.score), 0)
    # in one order, so that the same two have the same difference to the last digit wherever they are compared
    shared = sorted(item for item in a.points if item in b.points) if a.item_set == b.item_set else []
    one, other = np.array([a.points[i] for i in shared]), np.array([b.points[i] for i in shared])
    if are_paired(len(shared), len(a.points), len(b.points)):
        clusters = [a.clusters.get(i, i) for i in shared] if a.clusters else None
        return _judged(a, b, paired(one, other, clusters=clusters), len(shared))
    overlap = (one, other) if shared else None
    difference = unpaired(list(a.points.values()), list(b.points.values()), overlap=overlap)
    return _judged(a, b, difference, len(shared))


def paired_on(a: Contender, b: Contender) -> int:
    """How many items the two are compared on, one by one; 0 where they are compared in another way."""
    shared = len(a.points.keys() & b.points.keys()) if a.item_set == b.item_set else 0
    return shared if are_paired(shared, len(a.points), len(b.points)) else 0


def are_paired(shared: int, one: int, other: int) -> bool:
    """Half of the items of the smaller side must be shared; else all items of both sides count, and the few that are
    shared are taken into account."""
    return shared >= max(2, min(one, other) / 2)


def from_intervals(a: Estimate, b: Estimate) -> Difference:
    """From both intervals, taken for independent, which is cautious where they answered the same items. p: from the
    same distance, on the normal scale."""
    n = a.n + b.n
    if a.value is None or b.value is None or not (is_number(a.value) and is_number(b.value)):
        return Difference(None, n, "unpaired")
    gap, bounds = a.value - b.value, difference_bounds(a, b)
    if bounds is None:
        return Difference(gap, n, "unpaired")
    low, high = bounds
    reach = gap - low if gap > 0 else high - gap
    p = 1.0 if gap == 0 else 2 * float(ndtr(-_Z * abs(gap) / reach)) if reach > 0 else None
    return Difference(gap, n, "unpaired", low=low, high=high, p=p)


def _judged(a: Contender, b: Contender, gap: Difference, shared: int) -> Pair:
    if gap.value is None:
        return Pair(a, b, gap, shared, None, "one of them has no score")
    if a.bounds and a.bounds == b.bounds and gap.low is not None and gap.high is not None:
        widest = a.bounds[1] - a.bounds[0]
        gap = replace(gap, low=max(gap.low, -widest), high=min(gap.high, widest))
    sizes = (gap.n,) if gap.method == "paired" else (len(a.points), len(b.points)) if a.points and b.points else ()
    if sizes and min(sizes) < FEWEST:
        bare = replace(gap, se=None, low=None, high=None, p=None, probability=None, effect=None)
        return Pair(a, b, bare, shared, None, f"too few for a comparison: at least {FEWEST} are needed")
    if gap.p is None:
        return Pair(a, b, gap, shared, None, "neither varies, so there is nothing to test the difference with")
    if gap.p < ALPHA:
        return Pair(a, b, gap, shared, True)
    if gap.differ is not None:  # too few for an interval
        return Pair(a, b, gap, shared, False, f"they differ on {gap.differ} of {gap.n}")
    if gap.method == "paired" and gap.se == 0 and gap.value == 0:
        bare = replace(gap, p=None, probability=None)
        return Pair(a, b, bare, shared, False, "they are the same")
    if not (a.points and b.points):
        return Pair(a, b, gap, shared, False)
    return Pair(a, b, gap, shared, False, needed=items_needed(gap, ALPHA, POWER), needed_range=_needed_range(gap))


def _needed_range(gap: Difference) -> tuple[int, int] | None:
    if not gap.se or gap.value is None or abs(gap.value) <= gap.se:
        return None
    ends = (items_needed(replace(gap, value=abs(gap.value) + away), ALPHA, POWER) for away in (gap.se, -gap.se))
    low, high = ends
    return (low, high) if low is not None and high is not None else None


Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standing:
    contender: Contender
    rank: Rank | None
    """Best and worst rank of this one; None if it has none."""
    may_be_first: bool = False
    jointly: Rank | None = None
    """The range that holds together with those of all others; None unless asked for."""
    at_worst: Rank | None = None
    """The range with all lost answers as the worst that their forms allow; None where nobody has lost any."""


class NamedPairs(Set[tuple[str, str]]):
    """A set of pairs of names, kept as a byte for every possible pair: of 4,000 names 16 MB, where a set of tuples
    may take a gigabyte."""

    __hash__ = Set._hash

    def __init__(self, names: Sequence[str] = (), flags: Flags | None = None) -> None:
        self.flags = np.zeros((len(names), len(names)), dtype=bool) if flags is None else flags
        self._names = tuple(names)
        self._place = {name: place for place, name in enumerate(names)}

    @classmethod
    def _from_iterable(cls, pairs: Iterable[tuple[str, str]]) -> Set[tuple[str, str]]:  # type: ignore[override]
        return frozenset(pairs)

    def __contains__(self, pair: object) -> bool:
        if not isinstance(pair, tuple) or len(pair) != 2:
            return False
        one, other = self._place.get(pair[0]), self._place.get(pair[1])
        return one is not None and other is not None and bool(self.flags[one, other])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for one, row in zip(self._names, self.flags, strict=True):
            for other in np.flatnonzero(row):
                yield one, self._names[other]

    def __len__(self) -> int:
        return int(np.count_nonzero(self.flags))

    def __repr__(self) -> str:
        return f"{set(self)}"

    def among(self, names: Sequence[str], flags: Flags) -> "NamedPairs":
        """Those of them that these flags, by these names, have too."""
        places = [self._place[name] for name in names]
        return NamedPairs(names, self.flags[np.ix_(places, places)] & flags)


@dataclass(frozen=True)
class Verdict:
    standings: tuple[Standing, ...]
    """Ranked ones first, by the score that refusing cannot raise (`Contender.certain`), best first; then the others."""
    apart: NamedPairs = field(default_factory=NamedPairs)
    """(better, worse) by name: every two of the ranked ones that `pair` tells apart."""
    leads: NamedPairs = field(default_factory=NamedPairs)
    """(first, second) by name: first is better on what it answered, and not with its lost answers as the worst."""

    @cached_property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(standing for standing in self.standings if standing.rank)

    @cached_property
    def first(self) -> tuple[Contender, ...]:
        """Who may be first."""
        return tuple(standing.contender for standing in self.ranked if standing.may_be_first)

    @cached_property
    def _by_name(self) -> dict[str, Standing]:
        return {standing.contender.name: standing for standing in self.standings}

    @cached_property
    def jointly_apart(self) -> NamedPairs:
        """(better, worse) by name: those of `apart` that hold all at once with 95 %, as sentences about all must."""
        contenders = [standing.contender for standing in self.ranked]
        if len(contenders) <= 2:
            return self.apart
        table = _table(contenders)
        above = (
            rank_sets(table, claim="all", first=False).above if table is not None else _holm_all(_alone(contenders).p)
        )
        return self.apart.among([contender.name for contender in contenders], above)

    def of(self, name: str) -> Standing:
        return self._by_name[name]

    def pair(self, a: str, b: str) -> Pair:
        """A minus B, by name; people included."""
        return pair(self._by_name[a].contender, self._by_name[b].contender)

    def neighbours(self) -> list[Pair]:
        """Each ranked one against the next."""
        contenders = [standing.contender for standing in self.ranked]
        return [pair(a, b) for a, b in pairwise_of(contenders)]

    def pairs(self) -> list[Pair]:
        """Every two that are ranked, the better score first, with p corrected for all of them: by the largest t where
        all are paired (Westfall & Young 1993), else by Holm."""
        contenders = [standing.contender for standing in self.ranked]
        found = [pair(a, b) for a, b in combinations(contenders, 2)]
        table = _table(contenders) if len(contenders) > 2 else None
        p: list[float | None] = [None if one.separated is None else one.difference.p for one in found]
        if table is None:
            adjusted = holm(p)
        else:
            matrix = adjusted_p(table)
            whole = [float(matrix[j, k]) for j, k in combinations(range(len(contenders)), 2)]
            adjusted = [None if np.isnan(one) else max(one, alone or 0.0) for one, alone in zip(whole, p, strict=True)]
        return [replace(one, p_jointly=known) for one, known in zip(found, adjusted, strict=True)]


def rank(
    contenders: Sequence[Contender], *, joint: bool = False, keeper: Callable[[str], Keeper | None] = lambda _: None
) -> Verdict:
    """The verdict on some contenders with different names. `keeper`: of what was drawn for the ranks as scored, and at
    worst."""
    ranked = sorted((contender for contender in contenders if contender.ranked), key=_order)
    found: list[Rank] = []
    apart = leads = NamedPairs()
    together: Sequence[Rank | None] = [None] * len(ranked)
    less: Sequence[Rank | None] = [None] * len(ranked)
    given = np.array([contender.lost is None for contender in ranked], dtype=bool)
    if ranked:
        alone = _alone(ranked)
        names = [contender.name for contender in ranked]
        apart, leads = NamedPairs(names, alone.above), NamedPairs(names, alone.leads)
        found = _each(alone, None if given.all() else given, keeper("as-scored"))
        together = _jointly(alone) if joint else together
        del alone  # as large as all pairs
    if not given.all():
        less = _each(_alone([contender.at_worst for contender in ranked]), given, keeper("at-worst"))
    standings = [
        Standing(one, rank, rank[0] == 1, whole, worst)
        for one, rank, whole, worst in zip(ranked, found, together, less, strict=True)
    ]
    rest = sorted((contender for contender in contenders if not contender.ranked), key=_order)
    return Verdict((*standings, *(Standing(contender, None) for contender in rest)), apart, leads)


def _order(contender: Contender) -> tuple[bool, float, str]:
    return contender.certain is None, -goodness(contender.certain or 0.0, contender.better), contender.name


@dataclass(frozen=True, slots=True, eq=False)
class _Alone:
    """Every two by themselves, as matrices."""

    above: Flags
    """above[j, k]: j is better than k."""
    p: npt.NDArray[np.float64]
    leads: Flags
    """leads[j, k]: j is better than k on what it answered, and not with its lost answers as the worst."""
    table: Floats | None = None
    """The points, if all of them can be paired."""
    pairs: Pairwise | None = None
    """What was found from them."""


def _alone(ranked: Sequence[Contender]) -> _Alone:
    """A few matrix products, if all of them can be paired."""
    table = _table(ranked)
    if table is not None:
        found = pairwise(table)
        above = comparable(table, found) & (found.p < ALPHA) & (found.difference > 0)
        leads = above & ~_stands(ranked, table, above)
        return _Alone(above & ~leads, found.p, leads, table, found)
    size = len(ranked)
    above, p = np.zeros((size, size), dtype=bool), np.full((size, size), np.nan)
    leads = above.copy()
    for j, k in combinations(range(size), 2):
        one = pair(ranked[j], ranked[k])
        p[j, k] = p[k, j] = np.nan if one.difference.p is None or one.separated is None else one.difference.p
        if one.better is not None:
            above[(j, k) if one.better is ranked[j] else (k, j)] = True
        if one.leads is not None:
            leads[(j, k) if one.leads is ranked[j] else (k, j)] = True
    return _Alone(above, p, leads)


def _stands(ranked: Sequence[Contender], table: npt.NDArray[np.float64], above: Flags) -> Flags:
    """stands[j, k]: of those where j is above k, whether it would be with its lost answers as the worst; True where it
    lost none."""
    stands = np.ones(above.shape, dtype=bool)
    items = _items(ranked)
    sign = 1.0 if ranked[0].better == "higher" else -1.0
    for j, contender in enumerate(ranked):
        if contender.lost is None or not above[j].any():
            continue
        row = sign * _units(ranked, items, np.array([contender.lost.worst.get(item, np.nan) for item in items]))
        touched = [k for k in np.flatnonzero(above[j]).tolist() if _loses(contender, ranked[k])]
        gap, p = one_against(row, table[touched])
        stands[j, touched] = (p < ALPHA) & (gap > 0)
    return stands


def _items(ranked: Sequence[Contender]) -> list[str]:
    return sorted({item for contender in ranked for item in contender.points})


def _table(ranked: Sequence[Contender]) -> npt.NDArray[np.float64] | None:
    """Contenders × items (or clusters of them), more is better, NaN where there is no score; None unless every two
    share enough items (`are_paired`)."""
    if not all(contender.points for contender in ranked) or len({contender.item_set for contender in ranked}) > 1:
        return None
    items = _items(ranked)
    table = np.array([[contender.points.get(item, np.nan) for item in items] for contender in ranked], dtype=float)
    known = np.isfinite(table).astype(float)
    shared, sizes = known @ known.T, known.sum(axis=1)
    smaller = np.minimum(sizes[:, None], sizes[None, :])
    if not np.all(shared >= np.maximum(2, smaller / 2)):
        return None
    return _units(ranked, items, table if ranked[0].better == "higher" else -table)


def _units(ranked: Sequence[Contender], items: Sequence[str], points: Floats) -> Floats:
    """Points by cluster, where items come in some; else by item."""
    clusters = next((contender.clusters for contender in ranked if contender.clusters), {})
    return cluster_points(points, codes([clusters.get(item, item) for item in items])) if clusters else points


def _each(alone: _Alone, elsewhere: Flags | None = None, keeper: Keeper | None = None) -> list[Rank]:
    """`elsewhere`: those of them who stand in another table with the same points."""
    size = len(alone.above)
    if size <= 2:  # one pair: nothing to correct for
        up, down = alone.above, alone.above.T
    elif alone.table is not None:
        sets = rank_sets(alone.table, found=alone.pairs, first=False, elsewhere=elsewhere, keeper=keeper)
        up, down = sets.above & alone.above, sets.below & alone.above.T
    else:
        certain = np.array([_holm_row(alone.p[k]) for k in range(size)]).T  # certain[j, k]: in k's own family
        up, down = certain & alone.above, certain & alone.above.T
    # the best one has rank 1, which its range holds with 95 %: so it is among those whose range begins with 1
    return [(1 + int(above), size - int(below)) for above, below in zip(up.sum(axis=0), down.sum(axis=0), strict=True)]


def _jointly(alone: _Alone) -> list[Rank]:
    size = len(alone.above)
    above = alone.above
    if size > 2 and alone.table is not None:
        above = above & rank_sets(alone.table, claim="all", found=alone.pairs, first=False).above
    elif size > 2:
        above = above & _holm_all(alone.p)
    return [(1 + int(above[:, k].sum()), size - int(above[k].sum())) for k in range(size)]


def _holm_row(p: npt.NDArray[np.float64]) -> list[bool]:
    return [one is not None and one < ALPHA for one in holm([None if np.isnan(one) else float(one) for one in p])]


def _holm_all(p: npt.NDArray[np.float64]) -> Flags:
    first, second = np.triu_indices(len(p), 1)
    apart = np.zeros(p.shape, dtype=bool)
    apart[first, second] = _holm_row(p[first, second])
    return np.asarray(apart | apart.T)

"""The one verdict on a table: who may be first, which ranks each may have, who is better than whom.

Each statement is made for what it claims, at 95 %:
- a pair (`pair`): this difference by itself, whoever else is compared;
- a rank range: the rank of any one contender that you look at (Mogstad, Romano, Shaikh & Wilhelm 2024);
- may be first: the truly best one is among these, which are those whose range begins with 1;
- joint ranges, on request: all ranks at once.
None is claimed that the pair itself does not bear out: nobody loses a rank to one whom it cannot be told apart from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from itertools import pairwise as pairwise_of

import numpy as np
import numpy.typing as npt

from eqlab.analysis.multiplicity import holm
from eqlab.analysis.pairs import comparable, pairwise
from eqlab.analysis.ranks import adjusted_p, rank_sets
from eqlab.comparison.contender import Contender
from eqlab.comparison.pair import ALPHA, Pair, pair
from eqlab.core.results import Rank, goodness

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standing:
    contender: Contender
    rank: Rank | None
    """Best and worst rank of this one; None if it has none."""
    may_be_first: bool = False
    jointly: Rank | None = None
    """The range that holds together with those of all others; None unless asked for."""


@dataclass(frozen=True)
class Verdict:
    standings: tuple[Standing, ...]
    """Ranked ones first, by the score that is displayed, best first; then the others."""
    apart: frozenset[tuple[str, str]] = frozenset()
    """(better, worse) by name: every two of the ranked ones that `pair` tells apart."""

    @cached_property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(one for one in self.standings if one.rank)

    @cached_property
    def first(self) -> tuple[Contender, ...]:
        """Who may be first."""
        return tuple(one.contender for one in self.ranked if one.may_be_first)

    @cached_property
    def _by_name(self) -> dict[str, Standing]:
        return {one.contender.name: one for one in self.standings}

    def of(self, name: str) -> Standing:
        return self._by_name[name]

    def pair(self, a: str, b: str) -> Pair:
        """A minus B, by name; people included."""
        return pair(self._by_name[a].contender, self._by_name[b].contender)

    def neighbours(self) -> list[Pair]:
        """Each ranked one against the next."""
        own = [one.contender for one in self.ranked]
        return [pair(a, b) for a, b in pairwise_of(own)]

    def pairs(self) -> list[Pair]:
        """Every two that are ranked, the better score first, with p corrected for all of them: by the largest t where
        all are paired (Westfall & Young 1993), else by Holm."""
        own = [one.contender for one in self.ranked]
        found = [pair(a, b) for a, b in combinations(own, 2)]
        table = _table(own) if len(own) > 2 else None
        p: list[float | None] = [None if one.separated is None else one.difference.p for one in found]
        if table is None:
            adjusted = holm(p)
        else:
            matrix = adjusted_p(table)
            whole = [float(matrix[j, k]) for j, k in combinations(range(len(own)), 2)]
            adjusted = [None if np.isnan(one) else max(one, alone or 0.0) for one, alone in zip(whole, p, strict=True)]
        return [replace(one, p_jointly=known) for one, known in zip(found, adjusted, strict=True)]


def judge(contenders: Sequence[Contender], *, joint: bool = False) -> Verdict:
    """The verdict on some contenders with different names."""
    ranked = sorted((one for one in contenders if one.ranked), key=_order)
    found: list[Rank] = []
    apart: frozenset[tuple[str, str]] = frozenset()
    together: Sequence[Rank | None] = [None] * len(ranked)
    if ranked:
        alone, table = _alone(ranked)
        apart = frozenset((ranked[j].name, ranked[k].name) for j, k in np.argwhere(alone.above).tolist())
        found = _each(len(ranked), alone, table)
        together = _jointly(alone, table) if joint else together
    standings = [
        Standing(one, rank, rank[0] == 1, whole) for one, rank, whole in zip(ranked, found, together, strict=True)
    ]
    rest = sorted((one for one in contenders if not one.ranked), key=_order)
    return Verdict((*standings, *(Standing(one, None) for one in rest)), apart)


def _order(one: Contender) -> tuple[bool, float, str]:
    return one.score.value is None, -goodness(one.score.value or 0.0, one.better), one.name


@dataclass(frozen=True, slots=True, eq=False)
class _Alone:
    """Every two by themselves, as matrices."""

    above: Flags
    """above[j, k]: j is better than k."""
    p: npt.NDArray[np.float64]


def _alone(ranked: Sequence[Contender]) -> tuple[_Alone, npt.NDArray[np.float64] | None]:
    """With the table of points, if all of them can be paired: then it takes a few matrix products."""
    table = _table(ranked)
    if table is not None:
        found = pairwise(table)
        apart = comparable(table, found) & (found.p < ALPHA)
        return _Alone(apart & (found.difference > 0), found.p), table
    size = len(ranked)
    above, p = np.zeros((size, size), dtype=bool), np.full((size, size), np.nan)
    for j, k in combinations(range(size), 2):
        one = pair(ranked[j], ranked[k])
        p[j, k] = p[k, j] = np.nan if one.difference.p is None or one.separated is None else one.difference.p
        if one.better is not None:
            above[(j, k) if one.better is ranked[j] else (k, j)] = True
    return _Alone(above, p), None


def _table(ranked: Sequence[Contender]) -> npt.NDArray[np.float64] | None:
    """Contenders × items, more is better, NaN where there is no score; None unless every two share enough items
    (`are_paired`)."""
    if not all(one.points for one in ranked) or len({one.item_set for one in ranked}) > 1:
        return None
    items = sorted({item for one in ranked for item in one.points})
    table = np.array([[one.points.get(item, np.nan) for item in items] for one in ranked], dtype=float)
    known = np.isfinite(table).astype(float)
    shared, sizes = known @ known.T, known.sum(axis=1)
    smaller = np.minimum(sizes[:, None], sizes[None, :])
    if not np.all(shared >= np.maximum(2, smaller / 2)):
        return None
    return table if ranked[0].better == "higher" else -table


def _each(size: int, alone: _Alone, table: npt.NDArray[np.float64] | None) -> list[Rank]:
    if size <= 2:  # one pair: nothing to correct for
        up, down = alone.above, alone.above.T
    elif table is not None:
        sets = rank_sets(table)
        up, down = sets.above & alone.above, sets.below & alone.above.T
    else:
        certain = np.array([_holm_row(alone.p[k]) for k in range(size)]).T  # certain[j, k]: in k's own family
        up, down = certain & alone.above, certain & alone.above.T
    # the best one has rank 1, which its range holds with 95 %: so it is among those whose range begins with 1
    return [(1 + int(up[:, k].sum()), size - int(down[:, k].sum())) for k in range(size)]


def _jointly(alone: _Alone, table: npt.NDArray[np.float64] | None) -> list[Rank]:
    size = len(alone.above)
    above = alone.above
    if size > 2:
        above = above & (rank_sets(table, claim="all").above if table is not None else _holm_all(alone.p))
    return [(1 + int(above[:, k].sum()), size - int(above[k].sum())) for k in range(size)]


def _holm_row(p: npt.NDArray[np.float64]) -> list[bool]:
    return [one is not None and one < ALPHA for one in holm([None if np.isnan(one) else float(one) for one in p])]


def _holm_all(p: npt.NDArray[np.float64]) -> Flags:
    first, second = np.triu_indices(len(p), 1)
    apart = np.zeros(p.shape, dtype=bool)
    apart[first, second] = _holm_row(p[first, second])
    return np.asarray(apart | apart.T)

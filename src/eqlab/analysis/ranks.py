"""Many models on the same items: all pairs of them, each model's rank as a range, and who may be first. Arrays are
models × items, higher is better, NaN is missing.

A model's best rank is 1 + how many lie certainly above it, its worst the number of models minus how many lie certainly
below (Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91:476). What "certainly" means is the claim:

- `each` (the default): for any one model that you look at, its true rank is in its range with 95 %: its own differences
  to all others are tested together;
- `all`: all true ranks are in their ranges at once with 95 %: all pairs are tested together, so ranges are wider;
- `may be first`: the truly best model is in the set with 95 % (multiple comparisons with the best: Hsu 1981; Edwards &
  Hsu 1983): one-sided, each model against all others.

Tested by the largest t over the pairs in question, stepping down (Romano & Wolf 2005), by a bootstrap-t over items."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import pairwise as pairs_of
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Flags, Floats
from eqlab.analysis.pairwise import THREADS, Pairwise, as_matrix, comparable, in_threads, pairwise
from eqlab.analysis.special import stdtr, stdtrit
from eqlab.core.values import dataclass

Float32s = npt.NDArray[np.float32]
Index = slice | npt.NDArray[np.intp]
Places = npt.NDArray[np.integer]
Claim = Literal["each", "all"]
DRAWS = 2000
_AT_ONCE = 20_000_000
"""Numbers in memory at once."""
_BLOCK = 128
"""Models whose t are computed together: with 1,000 draws they stay in the processor's cache."""
_TOGETHER = 1000
"""Draws of them."""
_SIDE = 512
"""Models on each side of a product of one draw: it stays in the cache."""
_FEWEST_DRAWS = 250
"""Of a thread."""
_STAGES = 4
"""Parts of the draws, after each of which floors rise."""
_SAMPLE = 256
"""Pairs of a model, at most, that its first floor is taken from."""
_LARGE = 250
"""New models from which on draws are looked at one by one."""
_ROUNDING = np.float32(1e-5)
"""Of a product in single precision, more than it can be."""
_NOTHING = np.float32(1e-14)
"""Added to a squared difference, so that two that are alike on all items drawn have a t of 0."""
_MARGIN = np.float32(1e-4)
"""Taken off a floor, so that nothing is lost by rounding."""
_NEAR, _FEW, _OPEN = 5e-4, 0.1, (0.05, 0.3)
"""Pairs whose p is not below this may give a model its floor; pairs that are open at the start."""
_MANY = 600
"""Items from which on normal weights do (the central limit theorem has set in); they cost less."""
CLAIMS: dict[str, str] = {
    "each": "For any one model, its true rank among these lies in its range with {level:.0%} confidence.",
    "all": "All true ranks lie in their ranges at once, with {level:.0%} confidence.",
    "first": "The truly best model is among these with {level:.0%} confidence.",
}


@dataclass(frozen=True, slots=True, eq=False)
class RankSets:
    """Ranges by model, in the order of the rows."""

    ranges: tuple[tuple[int, int], ...]
    first: tuple[bool, ...]
    """Who may be first."""
    above: Flags
    """above[j, k]: in the test behind k's range (claim `each`), or of all pairs (claim `all`), j is better than k."""
    below: Flags
    """below[j, k]: j is worse than k in the test behind j's … k's range; with claim `all` the transpose of `above`."""
    claim: Claim
    level: float

    @property
    def sentence(self) -> str:
        return CLAIMS[self.claim].format(level=self.level)


@dataclass(frozen=True, slots=True, eq=False)
class LargeShares:
    """The shares of draws that can be a bound, one by one: `share` of `model` and `other` in `draw`, each pair twice,
    ordered by model."""

    model: Places
    other: Places
    draw: Places
    share: Float32s

    @classmethod
    def joined(cls, parts: Iterable["LargeShares"], floors: Float32s) -> "LargeShares":
        """Without those below the floor of their model."""
        none = cls(*_narrow([], [], [], np.zeros(0, np.float32)))
        every = [none, *(part._of(part.share >= floors[part.model]) for part in parts)]
        columns = [np.concatenate([getattr(part, name) for part in every]) for name in cls.__slots__]
        del every
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))

    def _of(self, some: Index | Flags) -> "LargeShares":
        return LargeShares(self.model[some], self.other[some], self.draw[some], self.share[some])

    def named(self, places: npt.NDArray[np.intp]) -> "LargeShares":
        """Of a table whose rows stand at these places of another."""
        return LargeShares(*_narrow(places[self.model], places[self.other], self.draw, self.share))

    def by_model(self, models: int) -> list["LargeShares"]:
        ends = np.searchsorted(self.model, np.arange(models + 1))
        return [self._of(slice(start, end)) for start, end in pairs_of(ends.tolist())]

    def bound(self, among: Flags, draws: int, place: int) -> float:
        """The `place`-th largest over draws of the largest share among some of these pairs; 0 if not so many are
        here."""
        most = np.zeros(draws, dtype=np.float32)
        np.maximum.at(most, self.draw[among], self.share[among])
        return _largest(most, place) or 0.0


@dataclass(frozen=True, slots=True, eq=False)
class KeptShares:
    """What was drawn of a table. One with more models needs only the pairs of these beside it."""

    drawn: tuple[int, int, int, int]
    """Items, draws, seed and which of the largest is the bound: what makes the draws and the floors."""
    rows: tuple[str, ...]
    """The scores of each model, as a hash."""
    tested: Flags
    floors: Float32s
    """By model, the share that its bounds are not below."""
    lasting: Flags
    """Models whose floor holds beside more models too."""
    large: LargeShares
    """All shares from the floors on."""


class Keeper(Protocol):
    def get(self) -> KeptShares | None: ...

    def put(self, kept: KeptShares) -> None: ...


def rank_sets(
    matrix: npt.ArrayLike,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    claim: Claim = "each",
    found: Pairwise | None = None,
    first: bool = True,
    elsewhere: Flags | None = None,
    keeper: Keeper | None = None,
) -> RankSets:
    """Ranges under one claim, and who may be first, for a models × items array (NaN: missing; higher is better). A
    model without scores may have any rank; a pair with too few items is never separated, and near copies by the signs
    of their few gaps. `found`: pairs tested elsewhere, where more than the items varies (judges, say). `first`: whether
    to ask who may be first, which takes as long again. `elsewhere`: the rows that the next table has too, in the same
    order; what is drawn of them is kept for it. `keeper`: what was drawn of an earlier table, whose pairs are not drawn
    again if all its rows are here, and who keeps what is drawn now.

    Memory: of M models and D draws 4·M·D bytes, of each of the last two tables; and of every pair some 50 bytes."""
    scores = as_matrix(matrix)
    found = pairwise(scores) if found is None else found
    tested, by_signs = _testable(scores, found)
    models, alpha = len(scores), 1 - level
    given = _Given(scores, tested, found.p.astype(np.float32), draws, seed, _place(draws, alpha), elsewhere, keeper)
    drawn = _drawn(given)
    large = drawn.kept.large.by_model(models)
    above, below = np.zeros((models, models), dtype=bool), np.zeros((models, models), dtype=bool)
    may_lead = np.ones(models if first else 0, dtype=bool)
    up = _upward(given) if first else None
    if claim == "all":
        certain = _all_pairs(drawn, found, tested, by_signs, alpha)
        above, below = certain & (found.difference > 0), certain & (found.difference < 0)

    def look_at(rows: range) -> None:
        for model in rows:
            if not (tested[model].any() or by_signs[model].any()):
                continue
            if up is not None:
                may_lead[model] = not _beaten(
                    drawn.bootstrap, up[model], found, tested[model], by_signs[model], model, alpha
                )
            if claim == "each":
                certain_row = _one_row(drawn, large[model], found, tested[model], by_signs[model], model, alpha)
                above[:, model] = certain_row & (found.difference[model] < 0)
                below[:, model] = certain_row & (found.difference[model] > 0)

    parts = THREADS if models > _BLOCK else 1
    in_threads(look_at, [range(start, models, parts) for start in range(parts)])
    bounds = tuple(
        (1 + int(up), models - int(down)) for up, down in zip(above.sum(axis=0), below.sum(axis=0), strict=True)
    )
    return RankSets(bounds, tuple(may_lead.tolist()), above, below, claim, level)


def rank_ranges(
    matrix: npt.ArrayLike, level: float = 0.95, draws: int = DRAWS, seed: int = 0, *, claim: Claim = "each"
) -> list[tuple[int, int]]:
    """The ranges of `rank_sets` alone."""
    return list(rank_sets(matrix, level, draws, seed, claim=claim, first=False).ranges)


def ranges(above: Flags | Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Rank ranges from `above[j, k]`: row j is certainly better than row k."""
    flags = np.asarray(above, dtype=bool)
    models = len(flags)
    best, worst = 1 + flags.sum(axis=0), models - flags.sum(axis=1)
    return [(int(low), int(high)) for low, high in zip(best, worst, strict=True)]


def adjusted_p(matrix: npt.ArrayLike, draws: int = DRAWS, seed: int = 0) -> Floats:
    """By pair the two-sided p adjusted for all pairs: the chance that the largest t over the pairs not yet separated is
    as large if no two models differ (Westfall & Young 1993, step-down). Below α exactly for the pairs that the claim
    `all` separates. NaN where a pair cannot be tested."""
    scores = as_matrix(matrix)
    found = pairwise(scores)
    return _adjusted(BootstrapT(scores, draws, seed), found, *_testable(scores, found))


class BootstrapT:
    """t* of all pairs under `draws` bootstrap samples of items, each pair once, from matrix products.

    Items are drawn again with replacement and *every* t is studentised anew in each draw (bootstrap-t: Efron 1981;
    Romano & Wolf 2005), so that few items, skew and heavy tails widen the bound, as they must: with normal weights and
    40 skewed items the largest of 780 t values exceeds its 5 % bound far too often (docs/evidence/coverage.md). A
    missing score counts as its model's mean: the bound needs only the shape of the distribution, the pairs themselves
    are tested on shared items.

    Of each t only its share is computed: q = ḡ²/(mean of g²) of a pair's gaps g, with the sign of ḡ. It grows with t,
    since t² = (n − 1)·q/(1 − q), so the largest share is that of the largest t, and only this is turned into one."""

    def __init__(self, scores: Floats, draws: int, seed: int) -> None:
        known = np.isfinite(scores)
        self.draws = draws
        self.n = int(known.any(axis=0).sum())
        scores, known = scores[:, known.any(axis=0)], known[:, known.any(axis=0)]
        counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
        means = np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / counts
        rest = np.where(known, scores - means, 0.0)
        largest = np.abs(rest).max(initial=0.0)
        self._rest: Float32s = (rest / largest if largest > 0 else rest).astype(np.float32)
        random = np.random.default_rng(seed)
        self._plain = self.n > _MANY
        if self._plain:
            self._weights: Float32s = random.standard_normal((draws, self.n), dtype=np.float32)
        else:
            chosen = random.integers(0, max(self.n, 1), size=(draws, self.n))
            flat = chosen + np.arange(draws)[:, None] * self.n
            counted = np.bincount(flat.ravel(), minlength=draws * self.n).reshape(draws, self.n)
            self._weights = counted.astype(np.float32)
        self._means: Float32s = (self._rest @ self._weights.T / max(self.n, 1)).astype(np.float32)

    def of(self, models: npt.NDArray[np.intp]) -> "BootstrapT":
        """The same draws of some models, in this order."""
        made = copy(self)
        made._rest, made._means = self._rest[models], self._means[models]
        return made

    def t(self, share: npt.ArrayLike) -> Floats:
        """t from its share; infinite where a draw has a gap and no spread."""
        size = np.abs(np.asarray(share, dtype=float))
        if self._plain:
            return np.asarray(np.copysign(np.sqrt(size * self.n), share))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.sqrt((self.n - 1) * size / np.maximum(1 - size, 0.0))
        return np.asarray(np.copysign(np.where(size >= 1 - 1e-6, np.inf, t), share))

    def share(self, t: float) -> float:
        return t * t / self.n if self._plain else t * t / (t * t + self.n - 1)

    def _shares(self, model: int, others: Index, gap: Float32s, weights: Float32s, signed: bool = False) -> Float32s:
        """others × draws: of every other model minus this one, without a sign unless `signed`. `gap`: the differences
        of their means in the draws; they become the shares. `weights`: items × draws."""
        squares = self._rest[others] - self._rest[model]
        squares *= squares
        squares += _NOTHING
        squares /= np.float32(max(self.n, 1))
        spread = squares.sum(axis=1, keepdims=True) if self._plain else squares @ weights
        gap *= np.abs(gap) if signed else gap
        gap /= spread
        return gap

    def row(self, model: int, others: npt.NDArray[np.intp], draws: slice) -> Floats:
        """others × draws: t* of these models minus this one."""
        means = self._means[:, draws]
        gap = means[others] - means[model]
        return self.t(self._shares(model, others, gap, self._weights[draws].T, signed=True))

    def _blocks(
        self, pairs: Flags, draws: npt.NDArray[np.intp], signed: bool = False
    ) -> Iterator[tuple[int, slice, Float32s]]:
        """(model, others after it, their shares) of all models in blocks with a pair in question; 0 for other pairs."""
        weights, means = np.ascontiguousarray(self._weights[draws].T), np.ascontiguousarray(self._means[:, draws])
        room = np.empty((_BLOCK, len(draws)), dtype=np.float32)
        for model in range(len(means)):
            for start in range(model + 1, len(means), _BLOCK):
                others = slice(start, min(len(means), start + _BLOCK))
                wanted = pairs[model, others]
                if not wanted.any():
                    continue
                gap = np.subtract(means[others], means[model], out=room[: others.stop - start])
                share = self._shares(model, others, gap, weights, signed)
                if not wanted.all():
                    share[~wanted] = 0.0
                yield model, others, share

    def floors(self, models: npt.NDArray[np.intp], p: Float32s, tested: Flags, place: int) -> Float32s:
        """By model, a share that none of its bounds is below: 0 where nothing is known.

        A bound over fewer pairs is never larger. If the bound over some pairs leaves all of them open, they are open at
        the end of the steps as well, where the bound is over them and others. So is that over those left open by it."""
        floors = np.zeros(len(models), dtype=np.float32)
        middle = self._means.mean(axis=0)

        def of_some(part: range) -> None:
            for at in part:
                model = models[at]
                near = np.flatnonzero(tested[model] & (p[model] >= _NEAR))
                near = near[:: max(1, -(-len(near) // _SAMPLE))]
                if not len(near):
                    continue
                draws = np.argsort(-np.abs(self._means[model] - middle))[: 3 * place]  # where its gaps are large
                gap = self._means[near[:, None], draws] - self._means[model, draws]
                shares, own = self._shares(model, near, gap, self._weights[draws].T), p[model, near]

                def bound(least: float, shares: Float32s = shares, own: Float32s = own) -> float:
                    some = shares[own >= least]
                    return (_largest(some.max(axis=0), place) or 0.0) if len(some) else 0.0

                for least in _OPEN:
                    floor = bound(least)
                    if floor and _p_bound(self, floor) <= least:
                        break
                else:
                    continue
                while (higher := bound(_p_bound(self, floor * (1 - float(_MARGIN))))) > floor:
                    floor = higher
                floors[at] = floor

        in_threads(of_some, [range(start, len(models), THREADS) for start in range(THREADS)])
        return np.asarray(floors * (1 - _MARGIN))

    def large(self, floors: Float32s, new: Flags, tested: Flags, draws: npt.NDArray[np.intp]) -> LargeShares:
        """Of the pairs of new models, with each other and with the rest, all shares of these draws from the floors
        on."""
        by_draw = new.sum() >= _LARGE and not self._plain
        found = self._by_draw(floors, new, draws) if by_draw else self._all(floors, new, tested, draws)
        once = [LargeShares(*columns)._of(tested[columns[0], columns[1]]) for columns in found]
        turned = [LargeShares(part.other, part.model, part.draw, part.share) for part in once]
        return LargeShares.joined([*once, *turned], floors)

    def _all(self, floors: Float32s, new: Flags, tested: Flags, draws: npt.NDArray[np.intp]) -> "_Found":
        order = np.argsort(~new, kind="stable")
        pairs = (tested & (new[:, None] | new))[np.ix_(order, order)]
        for model, others, share in self.of(order)._blocks(pairs, draws):
            at, draw = np.nonzero(share > min(floors[order[model]], floors[order[others]].min()))
            yield _narrow(np.full(len(at), order[model]), order[others][at], draws[draw], share[at, draw])

    def _by_draw(self, floors: Float32s, new: Flags, draws: npt.NDArray[np.intp]) -> "_Found":
        """A product of the items drawn, which are two thirds of all, tells of every pair whether its share may reach
        the smaller floor of the two; only then is it computed."""
        order = np.argsort(floors, kind="stable")  # the smaller floor of a pair is that of the first
        rest, floor, fresh = self._rest[order], floors[order], new[order]
        sides = ((np.flatnonzero(fresh), np.arange(len(order))), (np.flatnonzero(~fresh), np.flatnonzero(fresh)))
        for draw in draws:
            drawn, mean = np.flatnonzero(self._weights[draw]), self._means[order, draw]
            scores = rest.take(drawn, axis=1)
            scores *= np.sqrt(self._weights[draw, drawn] / np.float32(self.n))
            left, right = _factors(scores, mean - mean.mean(), floor)
            hits = [hit for rows, columns in sides for hit in _above_0(left[rows], right[columns], rows, columns)]
            one, other = np.concatenate([np.zeros((2, 0), np.intp), *hits], axis=1)
            squares = np.empty(len(one), dtype=np.float32)
            for start in range(0, len(one), _BLOCK):
                some = slice(start, start + _BLOCK)
                gaps = scores.take(one[some], axis=0)
                gaps -= scores.take(other[some], axis=0)
                squares[some] = np.einsum("ij,ij->i", gaps, gaps)
            share = (mean[one] - mean[other]) ** 2 / (squares + _NOTHING)
            large = share >= floor[one]
            one, other = order[one[large]], order[other[large]]
            yield _narrow(one, other, np.full(len(one), draw), share[large])

    def upward(self, pairs: Flags) -> Float32s:
        """Models × draws: the largest share of another one minus this, of these pairs; 0 where there is none above."""
        up = np.zeros(self._means.shape, dtype=np.float32)

        def among(draws: npt.NDArray[np.intp]) -> None:
            own = up[:, int(draws[0]) : int(draws[-1]) + 1]
            for model, others, share in self._blocks(pairs, draws, signed=True):
                np.maximum(own[model], share.max(axis=0), out=own[model])
                np.negative(share, out=share)
                np.maximum(own[others], share, out=own[others])

        in_threads(among, self._parts())
        return up

    def _parts(self) -> list[npt.NDArray[np.intp]]:
        return np.array_split(np.arange(self.draws), max(1, -(-self.draws // _TOGETHER)))


_Found = Iterator[tuple[Places, Places, Places, Float32s]]
"""(model, other, draw, share)"""


def _narrow(
    model: npt.ArrayLike, other: npt.ArrayLike, draw: npt.ArrayLike, share: Float32s
) -> tuple[Places, Places, Places, Float32s]:
    """Two bytes each, as long as no place is above 65,535: there are millions of them."""
    one, two, three = (np.asarray(places) for places in (model, other, draw))
    kind = np.uint16 if max(places.max(initial=0) for places in (one, two, three)) < 2**16 else np.int32
    return one.astype(kind), two.astype(kind), three.astype(kind), share


def _factors(scores: Float32s, mean: Float32s, floor: Float32s) -> tuple[Float32s, Float32s]:
    """Rows whose product is m² − q·s, with m the gap of two models' means, s their squared distance and q the floor of
    the first; and a little more, so that no share is lost by rounding."""
    means, squares, less = mean * mean, np.einsum("ij,ij->i", scores, scores), floor - _ROUNDING
    left, right = (np.empty((len(mean), scores.shape[1] + 4), dtype=np.float32) for _ in range(2))
    left[:, 0], left[:, 1] = (1 + _ROUNDING) * means - less * squares, 1 + _ROUNDING
    left[:, 2], left[:, 3], left[:, 4:] = -less, -2 * mean, (2 * floor)[:, None] * scores
    right[:, 0], right[:, 1], right[:, 2], right[:, 3], right[:, 4:] = 1, means, squares, mean, scores
    return left, right


def _above_0(
    left: Float32s, right: Float32s, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]
) -> Iterator[npt.NDArray[np.intp]]:
    """(row, later column) of what is above 0 in their product, which is made in parts that stay in the cache."""
    room = np.empty(_SIDE * _SIDE, dtype=np.float32)
    for start in range(0, len(rows), _SIDE):
        own = left[start : start + _SIDE]
        for begin in range(int(np.searchsorted(columns, rows[start])), len(columns), _SIDE):
            others = right[begin : begin + _SIDE]
            product = room[: len(own) * len(others)]
            np.matmul(own, others.T, out=product.reshape(len(own), len(others)))
            row, column = np.divmod(np.flatnonzero(product > 0), len(others))
            pair = np.stack([rows[start + row], columns[begin + column]])
            yield pair[:, pair[0] < pair[1]]


def _largest(values: npt.NDArray[np.floating], place: int) -> float | None:
    """The `place`-th largest; None if there are fewer."""
    return float(np.partition(values, len(values) - place)[len(values) - place]) if len(values) >= place else None


@dataclass(frozen=True, eq=False)
class _Given:
    """What is drawn, the same if its key is."""

    scores: Floats
    tested: Flags
    p: Float32s
    draws: int
    seed: int
    place: int
    elsewhere: Flags | None = None
    keeper: Keeper | None = None

    @cached_property
    def key(self) -> tuple[object, ...]:
        made = sha256(self.scores.tobytes())
        made.update(self.tested.tobytes())
        return self.scores.shape, made.digest(), self.draws, self.seed, self.place

    @cached_property
    def rows(self) -> tuple[str, ...]:
        return tuple(sha256(row.tobytes()).hexdigest() for row in self.scores)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Given) and self.key == other.key

    def of(self, rows: Flags) -> "_Given":
        both = np.ix_(rows, rows)
        return _Given(self.scores[rows], self.tested[both], self.p[both], self.draws, self.seed, self.place)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    bootstrap: BootstrapT
    kept: KeptShares


_last_drawn: dict[tuple[object, ...], _Drawn] = {}


def _drawn(given: _Given) -> _Drawn:
    """The last two are kept, because who asks for one claim often asks for the other next, and this is most of the
    work; not what they were drawn from, which is as large as all pairs."""
    drawn = _last_drawn.get(given.key)
    if drawn is None:
        for key in list(_last_drawn)[:-1]:
            _last_drawn.pop(key, None)
        drawn = _last_drawn[given.key] = _draw(given)
    return drawn


def _draw(given: _Given) -> _Drawn:
    """Pairs of rows that another table has too are drawn once."""
    bootstrap = BootstrapT(given.scores, given.draws, given.seed)
    models, items = len(given.scores), bootstrap.n
    new, floors, parts = np.ones(models, dtype=bool), np.zeros(models, dtype=np.float32), []
    known = _known_before(given, items) or _known_elsewhere(given, items)
    if known is not None:
        places, before = known
        new[places], floors[places] = ~before.lasting, before.floors
        parts.append(before.large.named(places))
        parts[0] = parts[0]._of(~(new[parts[0].model] | new[parts[0].other]))
    floors[new] = bootstrap.floors(np.flatnonzero(new), given.p, given.tested, given.place)
    lasting = _raised(bootstrap, floors, given)
    for stage in np.array_split(np.arange(given.draws), _STAGES if new.sum() >= _LARGE else 1):
        some: list[LargeShares] = []
        in_threads(
            lambda part: some.append(bootstrap.large(floors, new, given.tested, part)),  # noqa: B023
            np.array_split(stage, min(THREADS, -(-len(stage) // _FEWEST_DRAWS))),
        )
        parts = [LargeShares.joined([*parts, *some], floors)]
        for model, own in enumerate(parts[0].by_model(models)):
            if floor := float(floors[model]):
                open_pairs = given.p[model, own.other] >= _p_bound(bootstrap, floor)
                floors[model] = max(floor, own.bound(open_pairs, given.draws, given.place) * (1 - float(_MARGIN)))
    drawn = (items, given.draws, given.seed, given.place)
    kept = KeptShares(drawn, given.rows, given.tested, floors, lasting, LargeShares.joined(parts, floors))
    if given.keeper is not None:
        given.keeper.put(kept)
    return _Drawn(bootstrap, kept)


def _raised(bootstrap: BootstrapT, floors: Float32s, given: _Given) -> Flags:
    """A model with few others near it has a low floor. All bounds between the p of two pairs separate the same pairs:
    so its floor may rise to the next pair's, as long as no model comes between, and not above all others, which bound
    what is said of all pairs. Tells whose floor is as it was."""
    lasting, highest = np.ones(len(floors), dtype=bool), floors.max(initial=0.0)
    for model, floor in enumerate(floors.tolist()):
        least = _p_bound(bootstrap, floor) if floor else 1.0
        if least <= _FEW or not (further := given.tested[model] & (given.p[model] < least)).any():
            continue
        next_share = bootstrap.share(float(-stdtrit(max(bootstrap.n - 1, 1), given.p[model][further].max() / 2)))
        floors[model] = max(floor, min(highest, next_share * (1 - _MARGIN)))
        lasting[model] = floors[model] == floor
    return lasting


_Known = tuple[npt.NDArray[np.intp], KeptShares]
"""The places of some rows, and what was drawn of them."""


def _known_before(given: _Given, items: int) -> _Known | None:
    kept = given.keeper.get() if given.keeper is not None else None
    if kept is None or kept.drawn != (items, given.draws, given.seed, given.place):
        return None
    at: dict[str, list[int]] = {}
    for place, row in enumerate(given.rows):
        at.setdefault(row, []).append(place)
    if any(len(at.get(row, ())) < count for row, count in Counter(kept.rows).items()):
        return None  # a row is gone: nobody knows which floors rest on it
    places = np.array([at[row].pop(0) for row in kept.rows], dtype=np.intp)
    return (places, kept) if np.array_equal(kept.tested, given.tested[np.ix_(places, places)]) else None


def _known_elsewhere(given: _Given, items: int) -> _Known | None:
    if given.elsewhere is None or not given.elsewhere.any():
        return None
    shared = _shared(given.of(given.elsewhere))
    return (np.flatnonzero(given.elsewhere), shared.kept) if shared.bootstrap.n == items else None


@lru_cache(maxsize=1)
def _shared(given: _Given) -> _Drawn:
    return _draw(given)


@lru_cache(maxsize=2)
def _upward(given: _Given) -> Float32s:
    return BootstrapT(given.scores, given.draws, given.seed).upward(given.tested)


def _testable(scores: Floats, found: Pairwise) -> tuple[Flags, Flags]:
    """(pairs with a t statistic, pairs of which only signs can tell: the same gap on every item, or few gaps)."""
    enough = comparable(scores, found) & np.isfinite(found.p)
    constant = enough & ((found.se == 0) if found.few is None else (found.se == 0) | found.few)
    return enough & ~constant, constant & (found.difference != 0)


def _one_row(
    drawn: _Drawn, large: LargeShares, found: Pairwise, tested: Flags, by_signs: Flags, model: int, alpha: float
) -> Flags:
    """Which models are certainly apart from this one: step-down over its own pairs."""
    p, kept = found.p[model], drawn.kept
    certain = by_signs & (p < alpha / max(1, int((tested | by_signs).sum())))
    open_pairs, floor = tested.copy(), float(kept.floors[model])
    while open_pairs.any():
        share = max(floor, large.bound(open_pairs[large.other], drawn.bootstrap.draws, kept.drawn[-1]))
        new = open_pairs & (p < _p_bound(drawn.bootstrap, share))
        if not new.any():
            break
        certain |= new
        open_pairs &= ~new
    return np.asarray(certain)


def _all_pairs(drawn: _Drawn, found: Pairwise, tested: Flags, by_signs: Flags, alpha: float) -> Flags:
    """Which pairs are certainly apart, all at once: those whose adjusted p (`adjusted_p`) is below α, without those of
    the others. A pair is so if at most as many draws exceed it as its p may count. No bound of a model's own pairs is
    above that of all, so what is large among these is among its."""
    bootstrap, large = drawn.bootstrap, drawn.kept.large
    count = int(np.triu(tested | by_signs).sum())
    certain = by_signs & (found.p * count < alpha)
    open_pairs = tested.copy()
    place = int(np.ceil(alpha * (1 + bootstrap.draws) - 1))  # (1 + place − 1)/(1 + draws) < α, and not with one more
    if place < 1:
        return np.asarray(certain)
    while open_pairs.any():
        share = large.bound(open_pairs[large.model, large.other], bootstrap.draws, place)
        new = open_pairs & (found.p < _p_bound(bootstrap, share))
        if not new.any():
            break
        certain |= new
        open_pairs &= ~new
    return np.asarray(certain)


def _beaten(
    bootstrap: BootstrapT, up: Float32s, found: Pairwise, tested: Flags, by_signs: Flags, model: int, alpha: float
) -> bool:
    """Whether some model is certainly better than this one: one-sided, so half of a two-sided p."""
    better = found.difference[model] < 0
    p = found.p[model] / 2
    if (by_signs & better & (p < alpha / max(1, int((tested | by_signs).sum())))).any():
        return True
    if not (tested & better).any():
        return False
    bound = _p_bound(bootstrap, _largest(up, _place(len(up), alpha)) or 0.0) / 2
    return bool((p[tested & better] < bound).any())


def _adjusted(bootstrap: BootstrapT, found: Pairwise, tested: Flags, by_signs: Flags) -> Floats:
    models = len(found.p)
    out = np.full((models, models), np.nan)
    first, second = np.nonzero(np.triu(tested | by_signs))
    if not len(first):
        return out
    p = found.p[first, second]
    signs = by_signs[first, second]
    result = np.where(signs, np.minimum(1.0, p * len(p)), np.nan)  # Bonferroni: these have no t
    # on Student's scale with n − 1 degrees of freedom, so pairs that share fewer items are judged by their own
    size = np.asarray(-stdtrit(max(bootstrap.n - 1, 1), p[~signs] / 2))
    order = np.argsort(-size)
    kept = np.flatnonzero(~signs)[order]
    exceed = np.zeros(len(kept))
    step = max(1, _AT_ONCE // max(1, len(kept)))
    for start in range(0, bootstrap.draws if len(kept) else 0, step):
        part = slice(start, start + step)
        drawn = np.empty((len(kept), len(range(bootstrap.draws)[part])), dtype=np.float32)
        place = np.argsort(kept)  # pairs come model by model, as `kept` sorted back
        at = 0
        for model in np.unique(first[kept]):
            others = second[kept[place[at:]][first[kept[place[at:]]] == model]]
            drawn[place[at : at + len(others)]] = np.abs(bootstrap.row(int(model), others, part))
            at += len(others)
        largest = np.maximum.accumulate(drawn[::-1], axis=0)[::-1]
        exceed += (largest >= size[order][:, None]).sum(axis=1)
    result[kept] = np.maximum.accumulate((1 + exceed) / (1 + bootstrap.draws)) if len(kept) else []
    out[first, second] = out[second, first] = result
    return out


def _place(draws: int, alpha: float) -> int:
    """Which of the largest values over draws bounds them with 1 − α: NumPy's quantile of method `higher`."""
    return draws - int(np.quantile(np.arange(draws), 1 - alpha, method="higher"))


def _p_bound(bootstrap: BootstrapT, share: float) -> float:
    """The two-sided p, on Student's scale with n − 1 degrees of freedom, that the t of this share stays above: so pairs
    that share fewer items are judged by their own degrees of freedom."""
    bound = float(bootstrap.t(share))
    return 2 * float(stdtr(max(bootstrap.n - 1, 1), -bound)) if np.isfinite(bound) and bound > 0 else 0.0

"""Is one better than the other? The one rule of separation, the same whoever else is compared.

Paired over the items that both have; unpaired where they were asked other items; from the two displayed intervals where
a score is no mean over items. Told apart: two-sided p below 5 %, so the difference's 95 % interval leaves out 0."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from eqlab.analysis.comparison import Difference, items_needed, paired, unpaired
from eqlab.analysis.components import MeasurementDesign
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.pairs import DIFFER
from eqlab.comparison.contender import Contender
from eqlab.core.results import Estimate, goodness
from eqlab.core.text import is_number

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
    """Items that would separate them with a power of 80 %; None if they are separated, or no number would."""
    p_jointly: float | None = None
    """Corrected for all pairs that were compared together."""
    designs: tuple[MeasurementDesign, ...] = ()
    """Standard errors of the difference under other designs; empty unless both were asked repeatedly."""

    def turned(self) -> "Pair":
        """B minus A."""
        gap = self.difference
        other = replace(
            gap,
            value=None if gap.value is None else -gap.value,
            low=None if gap.high is None else -gap.high,
            high=None if gap.low is None else -gap.low,
            probability=None if gap.probability is None else 1 - gap.probability,
            effect=None if gap.effect is None else -gap.effect,
            superiority=None if gap.superiority is None else 1 - gap.superiority,
        )
        return replace(self, a=self.b, b=self.a, difference=other)

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


def pair(a: Contender, b: Contender) -> Pair:
    if not (a.points and b.points):
        return _judged(a, b, from_intervals(a.score, b.score), 0)
    # in one order, so that the same two have the same difference to the last digit wherever they are compared
    shared = sorted(item for item in a.points if item in b.points) if a.item_set == b.item_set else []
    one, other = np.array([a.points[i] for i in shared]), np.array([b.points[i] for i in shared])
    if are_paired(len(shared), len(a.points), len(b.points)):
        differ = int((one != other).sum())
        return _judged(a, b, paired(one, other), len(shared), differ)
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
    """d = a − b with d − √((a − l_a)² + (u_b − b)²) and d + √((u_a − a)² + (b − l_b)²): the method of variance
    estimates recovery (Zou & Donner 2008, Statistics in Medicine 27:1693). Takes both for independent, which is
    cautious where they answered the same items. p: from the same distance, on the normal scale."""
    n = a.n + b.n
    if a.value is None or b.value is None or not (is_number(a.value) and is_number(b.value)):
        return Difference(None, n, "unpaired")
    gap = a.value - b.value
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Difference(gap, n, "unpaired")
    down, up = math.hypot(a.value - a.low, b.high - b.value), math.hypot(a.high - a.value, b.value - b.low)
    reach = down if gap > 0 else up
    p = 1.0 if gap == 0 else 2 * float(ndtr(-_Z * abs(gap) / reach)) if reach > 0 else None
    return Difference(gap, n, "unpaired", low=gap - down, high=gap + up, p=p)


def _judged(a: Contender, b: Contender, gap: Difference, shared: int, differ: int | None = None) -> Pair:
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
    if differ is not None and differ < min(DIFFER, gap.n):  # too little is left for a t test
        bare = replace(gap, low=None, high=None, p=None, probability=None)
        return Pair(a, b, bare, shared, False, f"they differ on {differ} of {gap.n}" if differ else "they are the same")
    if gap.p < ALPHA:
        return Pair(a, b, gap, shared, True)
    return Pair(a, b, gap, shared, False, needed=items_needed(gap, ALPHA, POWER) if a.points and b.points else None)

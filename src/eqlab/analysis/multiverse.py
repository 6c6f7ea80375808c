"""Does a conclusion hang on who and what was left out? Every combination of exclusion rules, the same estimate each
time (Steegen et al. 2016)."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.arrays import Flags, Floats
from eqlab.analysis.special import ndtri
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """A share of answers with its cluster-robust standard error."""

    value: float | None
    se: float | None
    n: int
    clusters: int


@dataclass(frozen=True, slots=True)
class Universe:
    rules: tuple[str, ...]
    """The exclusion rules in force."""
    arm: Share
    reference: Share
    gap: float | None
    low: float | None
    high: float | None
    """95 % interval of the gap."""


def cluster_share(hits: Floats, clusters: NDArray[np.generic]) -> Share:
    """Mean of 0/1 (or any) values; the standard error by linearisation over clusters."""
    n = len(hits)
    if n == 0:
        return Share(None, None, 0, 0)
    _, index = np.unique(clusters, return_inverse=True)
    sums = np.bincount(index, hits - hits.mean())
    m = len(sums)
    se = math.sqrt(float((sums**2).sum()) * m / (m - 1)) / n if m > 1 else None
    return Share(float(hits.mean()), se, n, m)


def multiverse(
    hits: Floats,
    in_arm: Flags,
    clusters: NDArray[np.generic],
    rules: Mapping[str, Flags],
    *,
    at_most: int | None = None,
) -> list[Universe]:
    """The gap between arm and reference under every set of rules (of `at_most` rules at a time). A rule is the mask
    of the answers it leaves out."""
    names = tuple(rules)
    return [
        _universe(hits, in_arm, clusters, rules, chosen)
        for count in range((len(names) if at_most is None else at_most) + 1)
        for chosen in combinations(names, count)
    ]


def _universe(
    hits: Floats,
    in_arm: Flags,
    clusters: NDArray[np.generic],
    rules: Mapping[str, Flags],
    chosen: Sequence[str],
) -> Universe:
    kept = np.ones(len(hits), dtype=bool)
    for name in chosen:
        kept &= ~rules[name]
    arm = cluster_share(hits[kept & in_arm], clusters[kept & in_arm])
    reference = cluster_share(hits[kept & ~in_arm], clusters[kept & ~in_arm])
    if arm.value is None or reference.value is None:
        return Universe(tuple(chosen), arm, reference, None, None, None)
    gap = arm.value - reference.value
    if arm.se is None or reference.se is None:
        return Universe(tuple(chosen), arm, reference, gap, None, None)
    reach = float(ndtri(0.975)) * math.hypot(arm.se, reference.se)
    return Universe(tuple(chosen), arm, reference, gap, gap - reach, gap + reach)

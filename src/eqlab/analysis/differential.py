"""Is an item harder for one group of subjects than their ability says (differential item functioning)?

Two ways. Groups who answered alike, such as two families of models: covariance analysis. A group with gaps against one
without, such as people who had ten dialogues each against models that had all: their ability is known so badly that
covariance analysis would take too little of it out, so the item's slope is learned from the models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.item_quality import as_table, rest_of
from eqlab.analysis.multiplicity import benjamini_hochberg
from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Differential:
    """One item between two groups at equal ability."""

    item: int
    gap: float
    """Points that the first group scores more than the second, ability taken out."""
    low: float
    high: float
    p: float
    p_adjusted: float
    """Benjamini and Hochberg's, over all items."""


def differential(scores: npt.ArrayLike, groups: Sequence[str], first: str, second: str) -> list[Differential]:
    """Differential item functioning for continuous scores: score = b·rest + g·group + c, rest the mean of the other
    items (analysis of covariance; Mellenbergh 1994). Tested by t with the heteroscedastic HC3 variance, as weak
    subjects scatter more. Items that fewer than five of a group answered are left away."""
    table = as_table(scores)
    labels = np.array(groups, dtype=object)
    if len(labels) != len(table):
        raise UsageError("Every subject needs a group.")
    rows = (labels == first) | (labels == second)
    _enough(labels, first, second)
    table, member = table[rows], (labels[rows] == first).astype(float)
    found = []
    for item in range(table.shape[1]):
        rest = rest_of(table, item)
        known = np.isfinite(table[:, item]) & np.isfinite(rest)
        if min(member[known].sum(), (1 - member[known]).sum()) < FEWEST:
            continue
        x = np.column_stack([member[known], rest[known] - rest[known].mean(), np.ones(int(known.sum()))])
        gap, se = _hc3(x, table[known, item])
        df = int(known.sum()) - 3
        reach = float(stdtrit(df, 0.975)) * se
        p = 2 * float(stdtr(df, -abs(gap / se))) if se > 0 else 1.0
        found.append((item, gap, gap - reach, gap + reach, p))
    adjusted = benjamini_hochberg([one[-1] for one in found])
    return [Differential(*one, float(p or 0.0)) for one, p in zip(found, adjusted, strict=True)]


def against(scores: npt.ArrayLike, groups: Sequence[str], group: str, reference: str) -> list[Differential]:
    """Points that `group` scores more than `reference` on an item, their ability taken out with the slope that the
    reference has: (ȳ₁ − ȳ₂) − b·(r̄₁ − r̄₂), r the mean of the other items. What is unsure about r in a group with gaps
    then widens the interval and no longer shifts it. Variance: both means and, (r̄₁ − r̄₂)²·Var(b), the slope;
    Satterthwaite's t."""
    table = as_table(scores)
    labels = np.array(groups, dtype=object)
    if len(labels) != len(table):
        raise UsageError("Every subject needs a group.")
    _enough(labels, group, reference)
    one, other = labels == group, labels == reference
    found = []
    for item in range(table.shape[1]):
        rest = rest_of(table[one | other], item)
        own = table[one | other, item]
        known = np.isfinite(own) & np.isfinite(rest)
        first, second = known & one[one | other], known & other[one | other]
        if min(first.sum(), second.sum()) < FEWEST:
            continue
        slope, slope_variance = _slope(rest[second], own[second])
        left = [own[part] - slope * rest[part] for part in (first, second)]
        parts = [float(part.var(ddof=1)) / len(part) for part in left]
        away = float(rest[first].mean() - rest[second].mean())
        parts.append(away**2 * slope_variance)
        degrees = [len(left[0]) - 1, len(left[1]) - 1, len(left[1]) - 2]
        total = sum(parts)
        gap, se = float(left[0].mean() - left[1].mean()), math.sqrt(total)
        df = total**2 / sum(v**2 / n for v, n in zip(parts, degrees, strict=True)) if total > 0 else 1.0
        reach = float(stdtrit(df, 0.975)) * se
        p = 2 * float(stdtr(df, -abs(gap / se))) if se > 0 else 1.0
        found.append((item, gap, gap - reach, gap + reach, p))
    adjusted = benjamini_hochberg([one[-1] for one in found])
    return [Differential(*one, float(p or 0.0)) for one, p in zip(found, adjusted, strict=True)]


def _slope(x: Floats, y: Floats) -> tuple[float, float]:
    """Least squares with an intercept, and the slope's variance; 1 where x does not vary."""
    spread = float(((x - x.mean()) ** 2).sum())
    if spread <= 0:
        return 1.0, 0.0
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    left = y - y.mean() - slope * (x - x.mean())
    return slope, float((left**2).sum()) / max(1, len(x) - 2) / spread


def _enough(labels: npt.NDArray[np.object_], first: str, second: str) -> None:
    if (labels == first).sum() < FEWEST or (labels == second).sum() < FEWEST:
        raise UsageError(f"Differential functioning needs five subjects of {first!r} and of {second!r}.")


def _hc3(x: Floats, y: Floats) -> tuple[float, float]:
    """The first coefficient and its standard error (MacKinnon & White 1985)."""
    inverse = np.linalg.pinv(x.T @ x)
    beta = inverse @ (x.T @ y)
    leverage = np.clip(np.einsum("ij,jk,ik->i", x, inverse, x), 0.0, 0.999)
    pulled = x * ((y - x @ beta) / (1 - leverage))[:, None]
    return float(beta[0]), math.sqrt(float((inverse @ (pulled.T @ pulled) @ inverse)[0, 0]))

"""What is each question worth? Difficulty, discrimination, agreement with the rest, where it informs; and whether it is
harder for one group of subjects than their ability says (differential item functioning).

Scores are subjects × items, NaN is missing, higher is better. Near copies of one subject count as one: leave them out
first (item_response.copies), or a question looks good because five names of one model agree on it.

Groups who answered alike, such as two families of models, are compared by covariance analysis. A group with gaps
against one without, such as people who had ten dialogues each against models that had all, has an ability that is known
so badly that covariance analysis would take too little of it out: there the item's slope is learned from the models."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats
from eqlab.analysis.components import alpha
from eqlab.analysis.intervals import FEWEST, fisher, t_bounds
from eqlab.analysis.item_response import fit
from eqlab.analysis.multiplicity import benjamini_hochberg
from eqlab.analysis.special import chdtrc, ndtri, stdtr
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ItemQuality:
    item: int
    n: int
    difficulty: float
    """Mean score; low is hard."""
    discrimination: float
    """Slope on ability: what one SD of ability adds (item_response.py)."""
    rest: float | None
    """Correlation with the mean of the other items, which holds no part of itself (corrected item–total)."""
    rest_low: float | None
    rest_high: float | None
    """95 % by Fisher's z."""
    upper: float | None
    lower: float | None
    """The same among the upper and the lower half of subjects by their score on the *other* items."""
    information: float
    """a²/σ²: what the item tells about ability (continuous scores: the same at every ability)."""


def item_quality(scores: npt.ArrayLike) -> list[ItemQuality]:
    table = as_table(scores)
    model = fit(table)
    found = []
    for item in range(table.shape[1]):
        rest = rest_of(table, item)
        own = table[:, item]
        known = np.isfinite(own) & np.isfinite(rest)
        r = _pearson(own[known], rest[known])
        low, high = fisher(r, int(known.sum())) if r is not None else (None, None)
        middle = np.median(rest[known]) if known.any() else np.nan
        halves = [known & (rest > middle), known & (rest <= middle)]
        upper, lower = (_pearson(own[half], rest[half]) for half in halves)
        found.append(
            ItemQuality(
                item,
                int(np.isfinite(own).sum()),
                float(np.nanmean(own)),
                float(model.slope[item]),
                r,
                low,
                high,
                upper,
                lower,
                float(model.slope[item] ** 2 / model.residual[item]),
            )
        )
    return found


def information_curve(scores: npt.ArrayLike, points: int = 9) -> list[tuple[float, float]]:
    """(score, standard error of ability in SDs) along the range of subjects: 1/√Σ a²/σ²(θ), with each item's residual
    variance at that ability from subjects near it (normal kernel of half an SD). Where it rises, the test tells
    little."""
    table = as_table(scores)
    model = fit(table)
    known = np.isfinite(table)
    weight = model.slope / model.residual
    ability = np.array([
        np.where(row, (values - model.difficulty) * weight, 0.0).sum() / (row @ (model.slope * weight))
        for row, values in zip(known, np.where(known, table, 0.0), strict=True)
    ])  # fmt: skip
    squares = np.where(known, table - model.difficulty - np.outer(ability, model.slope), np.nan) ** 2
    curve = []
    low, high = (float(one) for one in np.quantile(ability, [0.05, 0.95]))
    for at in np.linspace(low, high, points):
        near = np.exp(-0.5 * ((ability - at) / 0.5) ** 2)[:, None] * known
        # a tenth of the overall variance keeps an item that few answered alike from counting as certain
        variance = (np.where(known, squares, 0.0) * near).sum(axis=0) / near.sum(axis=0)
        information = float((model.slope**2 / np.maximum(variance, 0.1 * model.residual)).sum())
        curve.append((float((model.difficulty + model.slope * at).mean()), 1 / math.sqrt(information)))
    return curve


_LEAST_SURE = 0.5
"""A reliability of the reference below this is not taken out: its own error would do more harm."""


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
    se: float = 0.0


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
        found.append((item, gap, se, df))
    return _tested(found)


def against(scores: npt.ArrayLike, groups: Sequence[str], group: str, reference: str) -> list[Differential]:
    """Points that `group` scores more than `reference` on an item, their ability taken out with the slope that the
    reference has: (ȳ₁ − ȳ₂) − b·(r̄₁ − r̄₂), r the mean of the other items. What is unsure about r in a group with gaps
    then widens the interval and no longer shifts it. What is unsure about it in the reference flattens b, by its
    reliability there, which is taken out (Fuller 1987). Variance: both means and, (r̄₁ − r̄₂)²·Var(b), the slope;
    Satterthwaite's t."""
    table = as_table(scores)
    labels = np.array(groups, dtype=object)
    if len(labels) != len(table):
        raise UsageError("Every subject needs a group.")
    _enough(labels, group, reference)
    one, other = labels == group, labels == reference
    sure = max(alpha(table[other]) or 1.0, _LEAST_SURE)
    found = []
    for item in range(table.shape[1]):
        rest = rest_of(table[one | other], item)
        own = table[one | other, item]
        known = np.isfinite(own) & np.isfinite(rest)
        first, second = known & one[one | other], known & other[one | other]
        if min(first.sum(), second.sum()) < FEWEST:
            continue
        slope, slope_variance = _slope(rest[second], own[second])
        slope, slope_variance = slope / sure, slope_variance / sure**2
        left = [own[part] - slope * rest[part] for part in (first, second)]
        parts = [float(part.var(ddof=1)) / len(part) for part in left]
        away = float(rest[first].mean() - rest[second].mean())
        parts.append(away**2 * slope_variance)
        degrees = [len(left[0]) - 1, len(left[1]) - 1, len(left[1]) - 2]
        total = sum(parts)
        gap, se = float(left[0].mean() - left[1].mean()), math.sqrt(total)
        df = total**2 / sum(v**2 / n for v, n in zip(parts, degrees, strict=True)) if total > 0 else 1.0
        found.append((item, gap, se, df))
    return _tested(found)


def otherwise(first: npt.ArrayLike, second: npt.ArrayLike) -> list[Differential]:
    """The same subjects (rows) on the same items asked in two ways, another mode or language: what the first way adds
    to an item beyond what it adds to the others, paired over subjects, Student's t."""
    gaps = as_table(np.asarray(first, dtype=float) - np.asarray(second, dtype=float))
    found = []
    for item in range(gaps.shape[1]):
        own = gaps[:, item] - rest_mean(gaps, item)
        own = own[np.isfinite(own)]
        if len(own) >= FEWEST:
            found.append((item, float(own.mean()), float(own.std(ddof=1)) / math.sqrt(len(own)), float(len(own) - 1)))
    return _tested(found)


@dataclass(frozen=True, slots=True)
class OneScale:
    """Whether items keep their places between two groups, or two ways of asking."""

    items: int
    spread: float
    """Standard deviation of the items' shifts beyond their errors, in points; 0 where they are no larger than these."""
    typical: float
    """Root mean square of those errors: what could not have been seen."""
    p: float
    """Against "no item shifts": the sum of the squared normal scores of the items' tests."""


def one_scale(differentials: Sequence[Differential]) -> OneScale | None:
    """None for fewer than five items. A mean over k items is off by spread/√k between the two, whatever the ability."""
    tested = [one for one in differentials if one.se > 0]
    if len(tested) < FEWEST:
        return None
    errors = float(np.mean([one.se**2 for one in tested]))
    shifts = np.array([one.gap for one in tested])
    spread = math.sqrt(max(0.0, float(shifts.var(ddof=1)) - errors))
    scores = np.array([float(ndtri(max(one.p, 1e-300) / 2)) for one in tested])
    return OneScale(len(tested), spread, math.sqrt(errors), float(chdtrc(len(tested) - 1, float((scores**2).sum()))))


@dataclass(frozen=True, slots=True)
class Factors:
    """Shares of the variance of standardised items that the first two factors carry."""

    n: int
    items: int
    first: float
    second: float
    chance: float
    """What the second would have at most in 95 of 100 tables with one factor."""


def one_factor(scores: npt.ArrayLike, draws: int = 200, seed: int = 0) -> Factors | None:
    """Principal components of the items that all subjects have; None for fewer than ten subjects or five items. Chance:
    the largest component of what the first leaves, its signs drawn at random, which keeps who scatters more (a parallel
    analysis: Horn 1965; random signs: Landa, Zhang & Kluger 2022)."""
    table = as_table(scores)
    table = table[np.isfinite(table).mean(axis=1) >= 0.5]
    table = table[:, np.isfinite(table).all(axis=0)]
    table = table[:, table.std(axis=0) > 0] if len(table) else table
    if len(table) < 2 * FEWEST or table.shape[1] < FEWEST:
        return None
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    left, sizes, right = np.linalg.svd(standard, full_matrices=False)
    total = float((sizes**2).sum())
    rest = standard - sizes[0] * np.outer(left[:, 0], right[0])
    random, first = np.random.default_rng(seed), left[:, :1]
    drawn = []
    for _ in range(draws):
        turned = rest * random.choice([-1.0, 1.0], rest.shape)
        turned -= turned.mean(axis=0)
        turned -= first @ (first.T @ turned)  # it has as little room as what is left, and as much variance
        drawn.append(_largest(turned) / float((turned**2).sum()) * float((rest**2).sum()) / total)
    one, next_one = (float(size) ** 2 / total for size in sizes[:2])
    return Factors(len(table), table.shape[1], one, next_one, float(np.quantile(drawn, 0.95)))


def _largest(table: Floats) -> float:
    """The largest squared singular value."""
    small = table @ table.T if len(table) <= table.shape[1] else table.T @ table
    return float(np.linalg.eigvalsh(small)[-1])


def _hc3(x: Floats, y: Floats) -> tuple[float, float]:
    """The first coefficient and its standard error (MacKinnon & White 1985)."""
    inverse = np.linalg.pinv(x.T @ x)
    beta = inverse @ (x.T @ y)
    leverage = np.clip(np.einsum("ij,jk,ik->i", x, inverse, x), 0.0, 0.999)
    pulled = x * ((y - x @ beta) / (1 - leverage))[:, None]
    return float(beta[0]), math.sqrt(float((inverse @ (pulled.T @ pulled) @ inverse)[0, 0]))


def _tested(found: Sequence[tuple[int, float, float, float]]) -> list[Differential]:
    """From (item, gap, standard error, degrees of freedom): intervals and tests by t, adjusted over all items."""
    p_values = [2 * float(stdtr(df, -abs(gap / se))) if se > 0 else 1.0 for _, gap, se, df in found]
    adjusted = benjamini_hochberg(p_values)
    return [
        Differential(item, gap, *t_bounds(gap, se, df), p, float(over_all or 0.0), se)
        for (item, gap, se, df), p, over_all in zip(found, p_values, adjusted, strict=True)
    ]


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


def rest_of(table: Floats, item: int) -> Floats:
    """Each subject's mean over the other items, each item as a deviation from its own mean so that gaps do no harm."""
    return rest_mean(table - np.nanmean(table, axis=0), item)


def rest_mean(table: Floats, item: int) -> Floats:
    """Each row's plain mean over the other columns."""
    others = np.delete(table, item, axis=1)
    known = np.isfinite(others)
    counts = known.sum(axis=1)
    return np.asarray(np.where(counts > 0, np.where(known, others, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan))


def as_table(scores: npt.ArrayLike) -> Floats:
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UsageError("Item quality needs a table: one row per subject, one column per item.")
    return table


def _pearson(x: Floats, y: Floats) -> float | None:
    if len(x) < FEWEST or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])

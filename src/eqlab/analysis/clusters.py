"""Answers that come in clusters are not independent: how alike they are, what that costs, and the mean over people who
answered different questions.

Repeats of one item: ICC(1) from the one-way analysis of variance (Shrout & Fleiss 1979), the design effect
1 + (m − 1)·ICC (Kish 1965), and how much a score varies when a subject is asked again."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, codes, count_levels
from eqlab.analysis.intervals import t_bounds
from eqlab.core.results import FEWEST, Estimate
from eqlab.core.values import dataclass

# repeats of one item agree.
CV = "repeatability: variation of the score over repeats"
AGREEMENT = "repeatability: agreement of an item's repeats (ICC)"


@dataclass(frozen=True, slots=True)
class Clustering:
    n: int
    n_clusters: int
    size: float
    """Mean number of values per cluster, corrected for unequal sizes."""
    icc: float | None
    design_effect: float | None
    """By how much the variance of a mean is larger than if the values were independent; at least 1."""


def clustering(values: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64]) -> Clustering:
    labels, index = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(index, minlength=len(labels)).astype(float)
    n, k = len(values), len(labels)
    if k < 2 or n <= k:
        return Clustering(n, k, n / k if k else 0.0, None, None)
    means = np.bincount(index, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (k - 1)
    within = float(((values - means[index]) ** 2).sum()) / (n - k)
    size = float((n - (sizes**2).sum() / n) / (k - 1))
    total = between + (size - 1) * within
    icc = None if total == 0 else (between - within) / total
    effect = None if icc is None else max(1.0, 1 + (n / k - 1) * icc)
    return Clustering(n, k, size, icc, effect)


def reliability_of_means(name: str, found: Clustering) -> Estimate:
    """ICC(1,k) = 1 − 1/F, the reliability of the clusters' means, with its 95 % interval from the F distribution
    (Shrout & Fleiss 1979): exact where clusters are equally large and values normal, near it elsewhere."""
    if found.icc is None or found.icc >= 1:
        return Estimate(name, None, found.n_clusters)
    from eqlab.analysis.special import fdtri

    ratio = (1 + (found.size - 1) * found.icc) / (1 - found.icc)
    if ratio <= 0:
        return Estimate(name, None, found.n_clusters)
    between, within = found.n_clusters - 1, found.n - found.n_clusters
    low = 1 - float(fdtri(between, within, 0.975)) / ratio
    high = 1 - 1 / (ratio * float(fdtri(within, between, 0.975)))
    return Estimate(name, 1 - 1 / ratio, found.n_clusters, None, low, high)


def cluster_means(values: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """One mean per cluster that has values, in the order of the cluster numbers, which begin at 0."""
    sizes = np.bincount(cluster)
    there = sizes > 0
    return np.asarray(np.bincount(cluster, weights=values)[there] / sizes[there])


def score_variation(scores: npt.ArrayLike) -> Estimate:
    """CV in percent of the scores that single repeats give."""
    from eqlab.analysis.special import chdtri

    each = np.asarray(scores, dtype=float)
    if len(each) < 2:
        return Estimate(CV, None, len(each), unit="%", note="undefined: fewer than two repeats have a score")
    mean, sd, df = float(each.mean()), float(each.std(ddof=1)), len(each) - 1
    if mean <= 0:
        return Estimate(CV, None, len(each), unit="%", note="undefined: the mean score is not above 0")
    cv = 100 * sd / mean
    note = f"CV, standard deviation {sd:.2f} points; n counts repeats"
    if len(each) < FEWEST:  # from two repeats the interval would reach from half the value to thirty times it
        return Estimate(CV, cv, len(each), unit="%", note=note)
    low, high = (cv * math.sqrt(df / float(chdtri(df, tail))) for tail in (0.025, 0.975))
    return Estimate(CV, cv, len(each), None, low, high, "%", note)


def item_agreement(matrix: npt.ArrayLike) -> Estimate:
    """ICC(1) of an items × repeats array; items with fewer than two values do not count."""
    from eqlab.analysis.special import fdtri

    table = np.asarray(matrix, dtype=float)
    again = table[np.isfinite(table).sum(axis=1) >= 2]
    known = np.isfinite(again)
    sizes = known.sum(axis=1).astype(float)
    n, k = float(sizes.sum()), len(again)
    if k < 2:
        return Estimate(AGREEMENT, None, k, note="undefined: fewer than two items were asked again")
    means = np.nanmean(again, axis=1)
    grand = float((sizes * means).sum() / n)
    between = float((sizes * (means - grand) ** 2).sum()) / (k - 1)
    within = float(np.where(known, again - means[:, None], 0.0).ravel() @ np.where(known, again, 0.0).ravel()) / (n - k)
    size = (n - float((sizes**2).sum()) / n) / (k - 1)
    if between + (size - 1) * within <= 1e-12:
        return Estimate(AGREEMENT, None, k, note="undefined: no score differs from another")
    if within <= 1e-12 * between:
        return Estimate(AGREEMENT, 1.0, k, None, 1.0, 1.0, note="every repeat gave the same scores")
    icc = (between - within) / (between + (size - 1) * within)
    ratio = between / within
    scaled = ratio / float(fdtri(k - 1, n - k, 0.975)), ratio * float(fdtri(n - k, k - 1, 0.975))
    low, high = ((f - 1) / (f + size - 1) for f in scaled)
    return Estimate(AGREEMENT, icc, k, None, low, high, note="n counts items")


def crossed_mean(
    name: str,
    values: Floats,
    person: Sequence[object],
    question: Sequence[object],
    *,
    note: str = "",
    of: str = "people",
    most: float = math.inf,
) -> Estimate:
    """The mean over people of each person's mean, θ, with its interval, cut to the `most` a score can be; no interval
    with fewer than two people or two questions. With the two exchanged it is the mean over questions.

    Both people and questions are samples, so both count. With u = w·(y − θ), where w is an answer's weight in θ,

        V = V_people + V_questions − V_answers,   V_by = G/(G − 1) · Σ over G clusters of (Σ u in the cluster)²

    (two-way clustering: Cameron, Gelbach & Miller 2011, JBES 29:238), which needs no complete crossing: people may have
    had other questions, and several people the same. V is never taken below V_people or V_questions alone, of which it
    can fall short by chance (MacKinnon, Nielsen & Webb 2021). Student's t with min(people, questions) − 1 degrees of
    freedom. Where everybody had questions of their own, V = V_people, the plain standard error over people."""
    who, which = codes(person), codes(question)
    people, questions = count_levels(who), count_levels(which)
    if not people:
        return Estimate(name, None, 0, note=note, of=of)
    mean = float(cluster_means(values, who).mean())
    if people < 2 or questions < 2:
        return Estimate(name, mean, people, note=note, of=of)
    weighted = (values - mean) / (people * np.bincount(who)[who])
    by_person, by_question = _variance(weighted, who), _variance(weighted, which)
    both = by_person + by_question - _variance(weighted, codes(list(zip(who, which, strict=True))))
    se = math.sqrt(max(both, by_person, by_question))
    if se <= 1e-12 * float(np.abs(values).max()):  # all alike but for rounding, which is no certainty
        return Estimate(name, mean, people, 0.0, note=note, of=of)
    low, high = t_bounds(mean, se, min(people, questions) - 1)
    return Estimate(name, mean, people, se, low, min(high, most), note=note, of=of)


def crossed_statistic(
    name: str,
    rows: Floats,
    statistic: Callable[[Floats], Floats],
    first: Sequence[object],
    second: Sequence[object],
    *,
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
    unit: str = "",
) -> Estimate:
    """A `statistic` of the rows' totals with an interval for other people and other things than these: each row belongs
    to one of the `first` (people) and one of the `second` (prompts), and the variance is put together as
    `crossed_mean`'s, each part by leaving out one cluster after the other (jackknife: few clusters with much weight
    count in full). Between `ends` the interval is made on the logit scale, on which it cannot leave them. None where
    nothing varies, there are fewer than two of each, or one cluster alone makes the statistic."""
    total = rows.sum(axis=0)
    value = float(statistic(total))
    if not math.isfinite(value):
        return Estimate(name, None, len(rows), unit=unit)
    alone = Estimate(name, value, len(rows), unit=unit)
    who, which = codes(first), codes(second)
    if min(count_levels(who), count_levels(which)) < 2:
        return alone
    cells = codes(list(zip(who, which, strict=True)))
    by_first, by_second, by_cell = (_left_out(rows, statistic, cluster) for cluster in (who, which, cells))
    both = max(by_first + by_second - by_cell, by_first, by_second)
    se = math.sqrt(both) if both > 0 else 0.0
    if not 1e-9 < se < math.inf:
        return alone
    df = min(count_levels(who), count_levels(which)) - 1
    if ends is None:
        low, high = t_bounds(value, se, df, confidence)
    else:
        bottom, top = ends
        if not bottom < value < top:
            return alone
        place = (value - bottom) / (top - bottom)
        logits = t_bounds(math.log(place / (1 - place)), se / (top - bottom) / (place * (1 - place)), df, confidence)
        low, high = (bottom + (top - bottom) / (1 + math.exp(-bound)) for bound in logits)
    return Estimate(name, value, len(rows), se, low, high, unit)


def _left_out(rows: Floats, statistic: Callable[[Floats], Floats], cluster: Ints) -> float:
    sums = np.zeros((count_levels(cluster), rows.shape[1]))
    np.add.at(sums, cluster, rows)
    without = statistic(rows.sum(axis=0) - sums)
    return (len(sums) - 1) / len(sums) * float(((without - without.mean()) ** 2).sum())


def _variance(weighted: Floats, cluster: Ints) -> float:
    sums = np.bincount(cluster, weighted)
    return len(sums) / (len(sums) - 1) * float((sums**2).sum())

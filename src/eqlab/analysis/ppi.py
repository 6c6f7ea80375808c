"""Prediction-powered inference: many judge scores and few human ratings together, for a mean and for a difference.

θ̂ = mean over the rated of h − λ·(f − mean f over the judged) (Angelopoulos et al. 2023), with the λ that promises
least variance (PPI++: Angelopoulos, Duchi & Zrnic 2023), learned on other raters than those it is applied to
(cross-fitted), so that it cannot flatter itself. Raters and prompts are both samples: two-way clustered variance
(Cameron, Gelbach & Miller 2011), Student's t with the degrees of freedom of those the error comes from. A judge that
says nothing gets a weight near 0; with few raters the weight is uncertain and the interval may be a little wider than
people's alone."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.arrays import Floats, Ints, Labels, codes
from eqlab.analysis.special import stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

_FOLDS = 10


@dataclass(frozen=True, slots=True)
class PpiMean:
    value: float
    se: float
    low: float
    high: float
    """95 % interval by Student's t."""
    weight: float
    """λ, the mean over folds: 0 uses people only, 1 is the first PPI."""
    human_only: float
    human_only_se: float
    gain: float
    """How many times as many human ratings the judge is worth: variance of people alone over this one. Below 1 it cost
    something."""
    n_rated: int
    n_judged: int
    df: float = math.inf
    """Degrees of freedom: raters or prompts minus 1, whichever the error comes from."""


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One arm's data: rated replies with what the judge said of them, and judged replies nobody rated."""

    human: Floats
    judge: Floats
    judge_only: Floats
    raters: Labels | None = None
    """Who gave each human rating; None: each by somebody else."""
    prompts: Labels | None = None
    """Of each rated reply; None: each its own."""
    judge_prompts: Labels | None = None
    """Of each reply that was judged only; the same names as `prompts`."""


def ppi_mean(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    *,
    clusters: Labels | None = None,
    prompts: Labels | None = None,
    judge_clusters: Labels | None = None,
    weight: float | None = None,
) -> PpiMean:
    """`human` and `judge` are paired, `judge_only` are judged replies nobody rated. `clusters` is the rater and
    `prompts` the prompt of each pair, `judge_clusters` the prompt of each judged reply. `weight` fixes λ."""
    return _combine([(1.0, Arm(human, judge, judge_only, clusters, prompts, judge_clusters))], weight)


def ppi_difference(arm: Arm, other: Arm, *, weight: float | None = None) -> PpiMean:
    """One arm's mean minus the other's. Raters and prompts that both arms share (same names) are paired: what they have
    in common cancels. `n_rated` and `n_judged` are of both arms together, `weight` the mean of the two."""
    return _combine([(1.0, arm), (-1.0, other)], weight)


def ppi_wins(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    *,
    raters: Labels | None = None,
    prompts: Labels | None = None,
    judge_prompts: Labels | None = None,
) -> PpiMean:
    """The share of prompts on which people prefer A to B, from verdicts coded 1 (A), 0.5 (tie), 0 (B): the average of
    both orders first, if each pair was shown in both. Its interval stays within 0 and 1."""
    for values in (human, judge, judge_only):
        if ((np.asarray(values) < 0) | (np.asarray(values) > 1)).any():
            raise UsageError("A verdict lies between 0 (B wins) and 1 (A wins).")
    mean = _combine([(1.0, Arm(human, judge, judge_only, raters, prompts, judge_prompts))], None)
    return replace(mean, low=max(0.0, mean.low), high=min(1.0, mean.high))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """An estimate with what each row pulled at it."""

    value: float
    weight: float
    rated: Floats
    judged: Floats


def _combine(arms: Sequence[tuple[float, Arm]], weight: float | None) -> PpiMean:
    for _, arm in arms:
        _check(arm)
    parts = [_estimate(arm, weight) for _, arm in arms]
    alone = [_estimate(arm, 0.0) for _, arm in arms]
    variance, df = _variance(arms, parts)
    people, _ = _variance(arms, alone)
    value = sum(sign * part.value for (sign, _), part in zip(arms, parts, strict=True))
    se = math.sqrt(variance)
    reach = float(stdtrit(df, 0.975)) * se
    return PpiMean(
        value,
        se,
        value - reach,
        value + reach,
        sum(part.weight for part in parts) / len(parts),
        sum(sign * part.value for (sign, _), part in zip(arms, alone, strict=True)),
        math.sqrt(people),
        people / variance if variance > 0 else math.inf,
        sum(len(arm.human) for _, arm in arms),
        sum(len(arm.judge_only) for _, arm in arms),
        df,
    )


def _check(arm: Arm) -> None:
    if len(arm.human) != len(arm.judge) or len(arm.human) < 2 or len(arm.judge_only) < 2:
        raise UsageError("Prediction-powered inference needs two or more rated pairs and two or more judged replies.")
    for labels, rows in ((arm.raters, arm.human), (arm.prompts, arm.human), (arm.judge_prompts, arm.judge_only)):
        if labels is not None and len(labels) != len(rows):
            raise UsageError("Prediction-powered inference needs one rater and one prompt per rating.")
    if arm.raters is not None and len(set(np.asarray(arm.raters).tolist())) < 2:
        raise UsageError("All answers come from one cluster; a variance needs at least two.")


def _estimate(arm: Arm, weight: float | None) -> _Part:
    """With the weight of each fold learned on the others. Folds are whole raters, or without them whole prompts."""
    human, judge = np.asarray(arm.human, dtype=float), np.asarray(arm.judge, dtype=float)
    judged = np.asarray(arm.judge_only, dtype=float)
    centre = float(judged.mean())
    if weight is not None:
        weights = np.full(len(human), float(weight))
    else:
        by = arm.raters if arm.raters is not None else arm.prompts
        group = codes(by if by is not None else range(len(human)))
        folds = group % min(_FOLDS, int(group.max()) + 1)
        weights = np.empty(len(human))
        for fold in np.unique(folds):
            inside = folds == fold
            weights[inside] = _best_weight(human[~inside], judge[~inside], judged, group[~inside])
    corrected = human - weights * (judge - centre)
    value, mean = float(corrected.mean()), float(weights.mean())
    return _Part(value, mean, (corrected - value) / len(human), mean * (judged - centre) / len(judged))


def _best_weight(human: Floats, judge: Floats, judged: Floats, group: Ints) -> float:
    """The λ with the least variance, cut to [0, 1]: covariance of the two means over the judge's variances. How much
    its ratings vary, all of them show: of the few replies that it alone rated, the variance may be small by chance, or
    0, and the weight large."""
    if len(human) < 3 or len(np.unique(group)) < 2:
        return 0.0
    both = (_of_mean(human + judge, group) - _of_mean(human - judge, group)) / 4
    spread = _of_mean(judge, group) + float(np.concatenate([judge, judged]).var(ddof=1)) / len(judged)
    return min(1.0, max(0.0, both / spread)) if spread > 0 else 0.0


def _of_mean(values: Floats, group: Ints) -> float:
    sums = np.bincount(group, values - values.mean())
    clusters = len(np.unique(group))
    return float((sums**2).sum()) * clusters / (clusters - 1) / len(values) ** 2


def _variance(arms: Sequence[tuple[float, Arm]], parts: Sequence[_Part]) -> tuple[float, float]:
    """(V_raters + V_prompts − V_both, at least either alone; degrees of freedom). Judged replies are in prompts
    only."""
    pulls = [sign * part.rated for (sign, _), part in zip(arms, parts, strict=True)]
    judged = [sign * part.judged for (sign, _), part in zip(arms, parts, strict=True)]
    rater = _shared_codes([_named(arm.raters, len(arm.human), f"r{at}") for at, (_, arm) in enumerate(arms)])
    prompt = _shared_codes(
        [_named(arm.prompts, len(arm.human), f"p{at}") for at, (_, arm) in enumerate(arms)]
        + [_named(arm.judge_prompts, len(arm.judge_only), f"j{at}") for at, (_, arm) in enumerate(arms)]
    )
    rated_prompt, judged_prompt = np.concatenate(prompt[: len(arms)]), np.concatenate(prompt[len(arms) :])
    pull, extra, who = np.concatenate(pulls), np.concatenate(judged), np.concatenate(rater)
    by_rater = _clustered(pull, who)
    by_prompt = _clustered(np.concatenate([pull, extra]), np.concatenate([rated_prompt, judged_prompt]))
    rated_by_prompt = _clustered(pull, rated_prompt)
    both = _clustered(pull, who * (int(rated_prompt.max()) + 1) + rated_prompt)
    apart = _clustered(extra, judged_prompt)
    raters, prompts = len(np.unique(who)) - 1, len(np.unique(rated_prompt)) - 1
    over_raters, over_prompts = max(by_rater + by_prompt - both, by_rater + apart), max(by_prompt, rated_by_prompt)
    # where raters add nothing to what prompts explain, it is the prompts' variance and they are many
    if over_prompts >= over_raters:
        return over_prompts, float(max(1, prompts))
    return over_raters, float(max(1, min(raters, prompts)))


def _clustered(pull: Floats, cluster: Ints) -> float:
    labels, index = np.unique(cluster, return_inverse=True)
    if len(labels) < 2:
        return 0.0
    return float((np.bincount(index, pull) ** 2).sum()) * len(labels) / (len(labels) - 1)


def _named(labels: Labels | None, rows: int, kind: str) -> list[object]:
    """Without labels every row is alone, also beside other arms."""
    return [(kind, row) for row in range(rows)] if labels is None else np.asarray(labels).tolist()


def _shared_codes(columns: Sequence[Sequence[object] | NDArray[np.generic]]) -> list[Ints]:
    """Labels as numbers, the same label the same number in all columns."""
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return list(np.split(codes(label for column in columns for label in column), ends))

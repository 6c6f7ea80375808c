"""Prediction-powered inference for a mean: many judge scores and few human ratings together.

θ̂ = λ·mean(all judged, unrated) + mean(human − λ·judge) over the rated (Angelopoulos et al. 2023); the λ of PPI++
(Angelopoulos, Duchi & Zrnic 2023) never does worse than people alone, so a bad judge costs nothing."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from eqlab.core.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PpiMean:
    value: float
    se: float
    low: float
    high: float
    """95 % normal interval."""
    weight: float
    """λ: 0 uses people only, 1 is the first PPI."""
    human_only: float
    human_only_se: float
    gain: float
    """How many times as many human ratings the judge is worth: variance of people alone over this one."""
    n_rated: int
    n_judged: int


def ppi_mean(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    *,
    clusters: NDArray[np.generic] | None = None,
    judge_clusters: NDArray[np.generic] | None = None,
    weight: float | None = None,
) -> PpiMean:
    """`human` and `judge` are paired, `judge_only` are judged replies nobody rated. `clusters` (the rater of each
    pair) and `judge_clusters` (the prompt, say) make the variances cluster-robust. `weight` fixes λ."""
    if len(human) != len(judge) or len(human) < 2 or len(judge_only) < 2:
        raise UsageError("Prediction-powered inference needs two or more rated pairs and two or more judged replies.")
    if weight is None:
        weight = _best_weight(human, judge, judge_only, clusters, judge_clusters)
    value = weight * float(judge_only.mean()) + float((human - weight * judge).mean())
    variance = _variance(human - weight * judge, clusters) + weight**2 * _variance(judge_only, judge_clusters)
    alone = _variance(human, clusters)
    se = math.sqrt(variance)
    reach = float(ndtri(0.975)) * se
    return PpiMean(
        value,
        se,
        value - reach,
        value + reach,
        weight,
        float(human.mean()),
        math.sqrt(alone),
        alone / variance if variance > 0 else math.inf,
        len(human),
        len(judge_only),
    )


def _best_weight(
    human: Floats,
    judge: Floats,
    judge_only: Floats,
    clusters: NDArray[np.generic] | None,
    judge_clusters: NDArray[np.generic] | None,
) -> float:
    """The λ with the least variance, cut to [0, 1]: covariance of the two means over the judge's variances. For
    independent answers it is the plug-in λ of PPI++."""
    both = (_variance(human + judge, clusters) - _variance(human - judge, clusters)) / 4
    spread = _variance(judge, clusters) + _variance(judge_only, judge_clusters)
    return min(1.0, max(0.0, both / spread)) if spread > 0 else 0.0


def _variance(values: Floats, clusters: NDArray[np.generic] | None) -> float:
    """Of the mean: s²/n, or with clusters Σ(sum of residuals)²·m/(m − 1)/n² (linearisation)."""
    n = len(values)
    if clusters is None:
        return float(values.var(ddof=1)) / n
    _, index = np.unique(clusters, return_inverse=True)
    sums = np.bincount(index, values - values.mean())
    m = len(sums)
    if m < 2:
        raise UsageError("All answers come from one cluster; a variance needs at least two.")
    return float((sums**2).sum()) * m / (m - 1) / n**2

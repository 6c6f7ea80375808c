"""View 2, *honest*: the situation is the unit, because repeats of one situation answer alike. Change = mean of the
situations' means − mean of the default runs, with Welch's interval, an effect size and Holm's correction over all
factor cells; the clustering that the published view ignores is shown as ICC and design effect."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eqlab.analysis.clusters import Clustering, cluster_means, clustering
from eqlab.analysis.intervals import t_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.two_samples import Sample, describe, hedges_g, two_sided, welch_comparison
from eqlab.benchmarks.emotionbench.measures import DEFAULT, FloatArray, IntArray, Level, MeasureGroup, Measures, groups
from eqlab.core.results import Estimate


@dataclass(frozen=True, slots=True)
class MoodChange:
    """How far the situations of one group moved the subject from its default."""

    subscale: str
    level: Level
    emotion: str
    factor_index: int | None
    factor: str
    n_situations: int
    """Situations with at least one score."""
    n: int
    """Administrations behind them."""
    default: Sample
    change: Estimate
    effect: float | None
    """Hedges' g of the administrations against the default runs."""
    df: float | None
    p: float | None
    p_holm: float | None = None
    p_fixed_default: float | None = None
    """The same with the default taken as known without error: the rule behind the counts in the protocol."""


def changes(measures: Measures, subscales: Sequence[str]) -> list[MoodChange]:
    """Every group's change on every subscale; Holm's family is all factor cells of these subscales together."""
    own = groups(measures.places)
    defaults = {subscale: describe(measures.default(subscale)) for subscale in subscales}
    found = [_change(measures, subscale, group, defaults[subscale]) for subscale in subscales for group in own]
    factors = [index for index, cell in enumerate(found) if cell.level == "factor"]
    for index, p in zip(factors, holm([found[index].p for index in factors]), strict=True):
        found[index] = replace(found[index], p_holm=p)
    return found


def evoked(measures: Measures, subscale: str, group: MeasureGroup | None = None) -> tuple[FloatArray, IntArray]:
    """Scores and places of the evoked administrations that have a score."""
    scores = measures.scores[subscale]
    asked = measures.where != DEFAULT if group is None else group.rows(measures.where)
    rows = asked & ~np.isnan(scores)
    return scores[rows], measures.where[rows]


def repeats_alike(measures: Measures, subscale: str) -> Clustering:
    """How alike repeats inside one situation are, over all situations."""
    return clustering(*evoked(measures, subscale))


def _change(measures: Measures, subscale: str, group: MeasureGroup, default: Sample) -> MoodChange:
    scores, where = evoked(measures, subscale, group)
    means = cluster_means(scores, where) if len(scores) else scores
    situations = describe(means)
    test = welch_comparison(situations, default)
    low, high = (None, None)
    if test.difference is not None and test.se is not None and test.df is not None:
        low, high = t_bounds(test.difference, test.se, test.df)
    fixed = None
    if situations.sd and situations.mean is not None and default.mean is not None:
        t = (situations.mean - default.mean) / (situations.sd / situations.n**0.5)
        fixed = two_sided(t, situations.n - 1)
    return MoodChange(
        subscale=subscale,
        level=group.level,
        emotion=group.emotion,
        factor_index=group.factor_index,
        factor=group.factor,
        n_situations=situations.n,
        n=len(scores),
        default=default,
        change=Estimate(f"change in {subscale}", test.difference, situations.n, test.se, low, high, digits=1),
        effect=hedges_g(describe(scores), default),
        df=test.df,
        p=test.p,
        p_fixed_default=fixed,
    )

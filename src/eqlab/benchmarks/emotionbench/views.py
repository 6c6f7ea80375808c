"""Three views of how far situations move a subject from its default, for every factor, emotion and all situations.

*As published*: every administration counts as independent; F-test, then Student or Welch; α = 0.01; an arrow. People
are tested in pairs, each against their own default, which is what the published arrows follow.
*Honest*: the situation is the unit, because repeats of one situation answer alike, and the factor that of an
emotion; Holm over all factor cells.
*Against people*: the change minus people's change in the same factor, and the correlation over factors with people's
own reliability as its ceiling."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from eqlab.analysis.arrays import Ints, codes, count_levels
from eqlab.analysis.clusters import Clustering, cluster_means, clustering
from eqlab.analysis.correlation import pearson, split_half
from eqlab.analysis.intervals import mean_estimate, t_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.two_samples import (
    Sample,
    TwoSampleComparison,
    describe,
    hedges_g,
    paired_comparison,
    published_comparison,
    tost,
    two_sided,
    welch_comparison,
)
from eqlab.benchmarks.emotionbench.measures import (
    DEFAULT,
    FloatArray,
    IntArray,
    Level,
    MeasureGroup,
    MeasurePlace,
    Measures,
    People,
    defined,
    groups,
)
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

ALPHA = 0.01
MARGIN = 2.0
"""Points on one PANAS scale (10–50) below which a difference counts as none: a twentieth of its range."""
Direction = Literal["up", "down", "none"]


@dataclass(frozen=True, slots=True)
class ViewedCell:
    """What all views share: one score in one group of situations."""

    subscale: str
    group: MeasureGroup

    @property
    def level(self) -> Level:
        return self.group.level

    @property
    def emotion(self) -> str:
        return self.group.emotion

    @property
    def factor(self) -> str:
        return self.group.factor

    @property
    def factor_index(self) -> int | None:
        return self.group.factor_index

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The same cell has the same key in every view."""
        return self.subscale, self.level, self.emotion, self.factor


# View 1: as published


@dataclass(frozen=True, slots=True)
class PublishedCell(ViewedCell):
    """One cell of the published tables."""

    evoked: Sample
    default: Sample
    comparison: TwoSampleComparison
    n_missing: int = 0
    """Administrations that are there but have no score."""
    n_absent: int = 0
    """Administrations that other situations have and these lack altogether."""

    @property
    def direction(self) -> Direction:
        """The published arrow: none unless p ≤ α."""
        p, difference = self.comparison.p, self.comparison.difference
        if p is None or difference is None or p > ALPHA:
            return "none"
        return "up" if difference > 0 else "down"


def cells(measures: Measures, subscale: str, *, overall: bool = True) -> Iterator[PublishedCell]:
    """Factors, emotions and all situations; the emotion's and the overall row pool administrations, as published."""
    scores = measures.scores[subscale]
    default = describe(measures.default(subscale))
    repeats = np.bincount(measures.where[measures.where != DEFAULT], minlength=len(measures.places))
    for group in groups(measures.places, overall=overall):
        asked = scores[group.rows(measures.where)]
        evoked = describe(defined(asked))
        absent = int((repeats.max() - repeats[group.members]).sum())
        comparison = published_comparison(evoked, default, ALPHA)
        yield PublishedCell(subscale, group, evoked, default, comparison, len(asked) - evoked.n, absent)


def people_cells(people: People, subscale: str, *, overall: bool = True) -> Iterator[PublishedCell]:
    changes = people.change(subscale)
    for group in groups(people.places, overall=overall):
        rows = group.rows(people.where)
        complete = rows & ~np.isnan(changes)
        evoked, default = describe(people.after[subscale][complete]), describe(people.before[subscale][complete])
        comparison = paired_comparison(changes[complete])
        yield PublishedCell(subscale, group, evoked, default, comparison, int(rows.sum()) - evoked.n)


# View 2: honest


@dataclass(frozen=True, slots=True)
class MoodChange(ViewedCell):
    """How far the situations of one group moved the subject from its default."""

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


def situation_changes(measures: Measures, subscales: Sequence[str]) -> list[MoodChange]:
    """Every group's change on every subscale: mean of the situations' means − mean of the default runs, with Welch's
    interval."""
    defaults = {subscale: describe(measures.default(subscale)) for subscale in subscales}
    measure_groups = groups(measures.places)
    return with_holm(
        _change(measures, subscale, group, defaults[subscale]) for subscale in subscales for group in measure_groups
    )


def with_holm(changes: Iterable[MoodChange]) -> list[MoodChange]:
    """Holm's family is all factor cells together, of all subscales."""
    corrected = list(changes)
    factors = [index for index, change in enumerate(corrected) if change.level == "factor"]
    for index, p in zip(factors, holm([corrected[index].p for index in factors]), strict=True):
        corrected[index] = replace(corrected[index], p_holm=p)
    return corrected


def repeats_alike(measures: Measures, subscale: str) -> Clustering:
    """How alike repeats inside one situation are, over all situations: what the published view ignores."""
    return clustering(*_evoked(measures, subscale))


def _evoked(measures: Measures, subscale: str, group: MeasureGroup | None = None) -> tuple[FloatArray, IntArray]:
    """Scores and places of the evoked administrations that have a score."""
    scores = measures.scores[subscale]
    asked = measures.where != DEFAULT if group is None else group.rows(measures.where)
    rows = asked & ~np.isnan(scores)
    return scores[rows], measures.where[rows]


def units_of(places: Sequence[MeasurePlace]) -> Ints:
    """Of each situation the number of its unit: its factor, whose situations are alike, or itself where all are of one
    factor; a control is one by itself."""
    factor = codes([(place.emotion, place.factor_index) if place.kind == "negative" else place for place in places])
    return factor if factor.max(initial=0) else np.arange(len(places))


def by_factor(places: Sequence[MeasurePlace], where: IntArray, means: FloatArray) -> Sample:
    """The mean of the situations' means with the error that whole units give it: an SD that makes SD/√units the error
    clustered by unit (Liang & Zeger 1986)."""
    situations = describe(means)
    unit = units_of([places[place] for place in np.unique(where)])
    count = count_levels(unit)
    if count < 2 or situations.mean is None:
        return situations
    pulls = np.bincount(unit, means - situations.mean) / len(means)
    error = float((pulls**2).sum()) * count / (count - 1)
    return Sample(count, situations.mean, (error * count) ** 0.5)


def _change(measures: Measures, subscale: str, group: MeasureGroup, default: Sample) -> MoodChange:
    scores, where = _evoked(measures, subscale, group)
    means = cluster_means(scores, where) if len(scores) else scores
    units = by_factor(measures.places, where, means)
    test = welch_comparison(units, default)
    low, high = (None, None)
    if test.difference is not None and test.se is not None and test.df is not None:
        low, high = t_bounds(test.difference, test.se, test.df)
    fixed = None
    if units.sd and units.mean is not None and default.mean is not None:
        t = (units.mean - default.mean) / (units.sd / units.n**0.5)
        fixed = two_sided(t, units.n - 1)
    return MoodChange(
        subscale,
        group,
        n_situations=len(means),
        n=len(scores),
        default=default,
        change=Estimate(f"change in {subscale}", test.difference, len(means), test.se, low, high, digits=1),
        effect=hedges_g(describe(scores), default),
        df=test.df,
        p=test.p,
        p_fixed_default=fixed,
    )


# View 3: against people


@dataclass(frozen=True, slots=True)
class Norm:
    """People's change in one factor, in pairs within person, on one subscale."""

    emotion: str
    factor_index: int
    subscale: str
    n: int
    default: float
    change: float
    sd: float


@dataclass(frozen=True, slots=True)
class Norms:
    factors: tuple[Norm, ...]
    default: Mapping[str, Sample]
    """All people's default mood by subscale."""
    reliability: Mapping[str, float | None]
    """Split-half reliability of the factor means by subscale: what a second sample of people of this size would
    correlate with the first. A subject without any noise could reach its square root."""

    def of_factor(self, emotion: str, factor_index: int) -> list[Norm]:
        """One norm a subscale."""
        return [norm for norm in self.factors if (norm.emotion, norm.factor_index) == (emotion, factor_index)]


def norms(people: People) -> Norms:
    factors = []
    for subscale in people.before:
        changes = people.change(subscale)
        for group in groups(people.places, overall=False):
            if group.level == "factor" and group.factor_index is not None:
                rows = group.rows(people.where)
                sample = describe(defined(changes[rows]))
                if sample.mean is not None and sample.sd is not None:
                    default = float(defined(people.before[subscale][rows]).mean())
                    place = (group.emotion, group.factor_index)
                    factors.append(Norm(*place, subscale, sample.n, default, sample.mean, sample.sd))
    names = {place: index for index, place in enumerate({(p.emotion, p.factor_index): 0 for p in people.places})}
    factor = np.array([names[p.emotion, p.factor_index] for p in people.places])[people.where]
    return Norms(
        tuple(factors),
        {subscale: describe(defined(values)) for subscale, values in people.before.items()},
        {subscale: _reliability(people.change(subscale), factor) for subscale in people.before},
    )


def _reliability(changes: FloatArray, factor: Any) -> float | None:
    rows = ~np.isnan(changes)
    return split_half(changes[rows], factor[rows])


@dataclass(frozen=True, slots=True)
class Gap:
    """One factor: the subject's change minus people's."""

    change: MoodChange
    norm: Norm
    gap: Estimate
    p_equivalent: float | None
    """Small: the difference lies within ±MARGIN."""


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """One subscale over all factors that both have."""

    subscale: str
    gaps: tuple[Gap, ...]
    correlation: Estimate
    reliability: float | None
    mean_gap: Estimate
    """Signed, factors as units: above 0 the subject rises more (or falls less) than people."""
    p_equivalent: float | None


def agreement(changes: Iterable[MoodChange], norms: Norms, subscale: str) -> PeopleAgreement:
    by_place = {(norm.emotion, norm.factor_index): norm for norm in norms.factors if norm.subscale == subscale}
    gaps = []
    for change in changes:
        norm = by_place.get((change.emotion, change.factor_index if change.factor_index is not None else -1))
        if change.subscale == subscale and change.level == "factor" and norm and change.change.value is not None:
            gaps.append(_gap(change, norm))
    ours = np.array([gap.change.change.value for gap in gaps], dtype=float)
    theirs = np.array([gap.norm.change for gap in gaps], dtype=float)
    mean_gap = mean_estimate(f"{subscale}: mean difference to people", list(ours - theirs), digits=1)
    p = None
    if mean_gap.value is not None and mean_gap.se:
        p = tost(mean_gap.value, mean_gap.se, (-MARGIN, MARGIN), df=len(gaps) - 1).p
    correlation = pearson(f"{subscale}: correlation with people over factors", ours, theirs)
    return PeopleAgreement(subscale, tuple(gaps), correlation, norms.reliability.get(subscale), mean_gap, p)


def mean_gaps(agreements: Iterable[PeopleAgreement]) -> str:
    """How far each scale's changes lie from people's, in words."""
    gaps = [(one.subscale, one.mean_gap) for one in agreements if one.mean_gap.value is not None]
    said = " and ".join(f"{gap.value:+.1f} ({subscale}{_between(gap)})" for subscale, gap in gaps)
    return f"{said} points on average{' (95 % intervals)' if any(gap.low is not None for _, gap in gaps) else ''}"


def _between(gap: Estimate) -> str:
    return "" if gap.low is None else f", {gap.low:z.1f} to {gap.high:z.1f}"


def _gap(change: MoodChange, norm: Norm) -> Gap:
    """A model's units are situations and people's are persons; both sides vary, so both count (Welch)."""
    value = (change.change.value or 0.0) - norm.change
    name = f"{norm.emotion}-{norm.factor_index + 1}"
    se, df = change.change.se, change.df
    if se is None or df is None:
        return Gap(change, norm, Estimate(name, value, change.change.n, digits=1, of=change.change.of), None)
    theirs = norm.sd / norm.n**0.5
    total = (se**2 + theirs**2) ** 0.5
    df_total = total**4 / (se**4 / df + theirs**4 / (norm.n - 1))
    low, high = t_bounds(value, total, df_total)
    estimate = Estimate(name, value, change.change.n, total, low, high, digits=1, of=change.change.of)
    return Gap(change, norm, estimate, tost(value, total, (-MARGIN, MARGIN), df=df_total).p)

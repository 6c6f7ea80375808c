"""View 3, *against people*: the subject's change beside people's change in the same factor, with the interval of the
difference, the correlation over factors with people's own reliability as its ceiling, and a test of equivalence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.correlation import pearson, split_half
from eqlab.analysis.intervals import mean_estimate, t_bounds
from eqlab.analysis.two_samples import Sample, describe, tost
from eqlab.benchmarks.emotionbench.honest import MoodChange
from eqlab.benchmarks.emotionbench.measures import People, groups, known
from eqlab.core.results import Estimate

MARGIN = 2.0
"""Points on one PANAS scale (10–50) below which a difference counts as none: a twentieth of its range."""


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


def norms(people: People) -> Norms:
    found = []
    for subscale in people.before:
        changes = people.change(subscale)
        for group in groups(people.places, overall=False):
            if group.level == "factor" and group.factor_index is not None:
                rows = group.rows(people.where)
                sample = describe(known(changes[rows]))
                if sample.mean is not None and sample.sd is not None:
                    default = float(known(people.before[subscale][rows]).mean())
                    place = (group.emotion, group.factor_index)
                    found.append(Norm(*place, subscale, sample.n, default, sample.mean, sample.sd))
    names = {place: index for index, place in enumerate({(p.emotion, p.factor_index): 0 for p in people.places})}
    factor = np.array([names[p.emotion, p.factor_index] for p in people.places])[people.where]
    return Norms(
        tuple(found),
        {subscale: describe(known(values)) for subscale, values in people.before.items()},
        {subscale: _reliability(people.change(subscale), factor) for subscale in people.before},
    )


def _reliability(changes: Any, factor: Any) -> float | None:
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
    mean_absolute_gap: float | None
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
    return PeopleAgreement(
        subscale,
        tuple(gaps),
        pearson(f"{subscale}: correlation with people over factors", ours, theirs),
        norms.reliability.get(subscale),
        mean_gap,
        fmean(abs(ours - theirs)) if gaps else None,
        p,
    )


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

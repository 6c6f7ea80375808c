"""View 1, *as published*: every administration counts as independent; F-test, then Student or Welch; α = 0.01; an
arrow. People are tested in pairs, each against their own default, which is what the published arrows follow."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eqlab.analysis.two_samples import Sample, TwoSampleComparison, describe, paired_comparison, published_comparison
from eqlab.benchmarks.emotionbench.measures import DEFAULT, Level, MeasureGroup, Measures, People, groups, known

ALPHA = 0.01
Direction = Literal["up", "down", "none"]


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell of the published tables."""

    subscale: str
    level: Level
    emotion: str
    factor_index: int | None
    factor: str
    n_situations: int
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
        all_rows = scores[group.rows(measures.where)]
        evoked = describe(known(all_rows))
        absent = int((repeats.max() - repeats[group.members]).sum())
        comparison = published_comparison(evoked, default, ALPHA)
        yield _cell(subscale, group, evoked, default, comparison, len(all_rows), absent)


def people_cells(people: People, subscale: str, *, overall: bool = True) -> Iterator[PublishedCell]:
    changes = people.change(subscale)
    for group in groups(people.places, overall=overall):
        rows = group.rows(people.where)
        paired = known(changes[rows])
        complete = rows.copy()
        complete[rows] = changes[rows] == changes[rows]  # NaN is the only value that differs from itself
        evoked, default = describe(people.after[subscale][complete]), describe(people.before[subscale][complete])
        yield _cell(subscale, group, evoked, default, paired_comparison(paired), int(rows.sum()))


def _cell(
    subscale: str,
    group: MeasureGroup,
    evoked: Sample,
    default: Sample,
    comparison: TwoSampleComparison,
    n_asked: int,
    n_absent: int = 0,
) -> PublishedCell:
    return PublishedCell(
        subscale,
        group.level,
        group.emotion,
        group.factor_index,
        group.factor,
        len(group.members),
        evoked,
        default,
        comparison,
        n_asked - evoked.n,
        n_absent,
    )

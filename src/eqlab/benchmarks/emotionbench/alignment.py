"""The headline: do situations move the subject's mood in the direction in which they move people's?

Mood = Positive Affect − Negative Affect. A situation's change is its mean mood minus the mean mood of the default
runs. Right is: a negative situation lowers it and a positive one raises it by more than MARGIN, a neutral one moves
it by no more. With the share p of right situations of each kind

    alignment = 50 · (p_negative + p_neutral + p_positive − 1)

which is 100 if every situation is right and 0, in expectation, for *any* subject whose reaction does not depend on
the kind of situation: whatever the distribution of its changes, it falls into exactly one of the three classes, so
the three shares add up to one. (Youden's J for three classes, Youden 1950; docs/emotionbench-alignment.md.)"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.emotionbench.factors import KINDS, Kind
from eqlab.benchmarks.emotionbench.measures import DEFAULT, FloatArray, Measures
from eqlab.core.results import Estimate

MARGIN = 4.0
"""Points of mood (P − N, from −40 to 40) that count as no change: a twentieth of the range, and a quarter of
people's mean change in the published situations (−15.6)."""
POSITIVE, NEGATIVE = "Positive Affect", "Negative Affect"
NAME = "Alignment"
PUBLISHED_PEOPLE = Estimate(
    NAME,
    None,
    1266,
    note="people of the published study were asked negative situations only, and an alignment needs neutral and "
    "positive ones too. Of their 175 situations 161 lower the mean mood of 7 or 8 people by more than 4 points (92.0 "
    "%, 95 % CI 87.0 to 95.2): beside this stands a subject's own share of negative situations, on its page",
    digits=1,
    of="people",
)
"""What can be said of people without asking new ones; a test computes the numbers from the published answers."""


@dataclass(frozen=True, slots=True)
class Alignment:
    headline: Estimate
    shares: Mapping[Kind, Estimate]
    """Right situations of each kind, in percent."""
    moods: Mapping[str, float]
    """Change of mood by situation."""
    points: Mapping[str, float]
    """By situation 50·n/n_kind if it is right, else 0, less 50: their mean is the alignment."""


def right(kind: Kind, change: float, margin: float = MARGIN) -> bool:
    if kind == "neutral":
        return abs(change) <= margin
    return change < -margin if kind == "negative" else change > margin


def mood_changes(measures: Measures) -> dict[int, float]:
    """Change of mood by place; empty without default runs."""
    mood: FloatArray = measures.scores[POSITIVE] - measures.scores[NEGATIVE]
    readable = ~np.isnan(mood)
    default = mood[readable & (measures.where == DEFAULT)]
    rows = readable & (measures.where != DEFAULT)
    if not len(default) or not rows.any():
        return {}
    places = np.unique(measures.where[rows])
    means = cluster_means(mood[rows], measures.where[rows]) - default.mean()
    return {int(place): float(change) for place, change in zip(places, means, strict=True)}


def align(measures: Measures, margin: float = MARGIN) -> Alignment:
    changes = mood_changes(measures)
    shares = right_shares(measures, changes, margin)
    moods = {measures.places[place].situation: change for place, change in changes.items()}
    headline = combine(shares)
    return Alignment(headline, shares, moods, {} if headline.value is None else _points(measures, changes, margin))


def right_shares(measures: Measures, changes: Mapping[int, float], margin: float = MARGIN) -> dict[Kind, Estimate]:
    """Right situations of each kind, from the change of mood by place."""
    found: dict[Kind, list[bool]] = {kind: [] for kind in KINDS}
    for place, change in changes.items():
        kind = measures.places[place].kind
        found[kind].append(right(kind, change, margin))
    return {
        kind: proportion_estimate(f"{kind} situations that move it as they move people", sum(own), len(own))
        for kind, own in found.items()
    }


def _points(measures: Measures, changes: Mapping[int, float], margin: float) -> dict[str, float]:
    kinds = Counter(measures.places[place].kind for place in changes)
    return {
        measures.places[place].situation: 50.0 * len(changes) / kinds[kind] * right(kind, change, margin) - 50.0
        for place, change in changes.items()
        for kind in [measures.places[place].kind]
    }


def combine(shares: Mapping[Kind, Estimate]) -> Estimate:
    """50 · (Σ p − 1) with the interval of a sum of independent shares from their Wilson bounds (MOVER, Zou & Donner
    2008, Statistics in Medicine 27:1693); undefined unless there are situations of all three kinds."""
    n = sum(share.n for share in shares.values())
    total, below, above = -1.0, 0.0, 0.0
    for share in shares.values():
        if share.value is None or share.low is None or share.high is None:
            return Estimate(NAME, None, n, note="needs negative, neutral and positive situations", digits=1)
        total += share.value / 100
        below += ((share.value - share.low) / 100) ** 2
        above += ((share.high - share.value) / 100) ** 2
    low, high = 50 * (total - math.sqrt(below)), 50 * (total + math.sqrt(above))
    return Estimate(NAME, 50 * total, n, None, max(-50.0, low), min(100.0, high), digits=1)

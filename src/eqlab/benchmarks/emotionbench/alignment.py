"""The headline of 0.1, kept beside the new one: do situations move the subject's mood where they move people's?

Mood = Positive Affect − Negative Affect. A situation's change is its mean mood minus the mean mood of the default
runs. Right is: a negative situation lowers it and a positive one raises it by more than MARGIN, a neutral one moves
it by no more. With the share p of right situations of each kind

    alignment = 50 · (p_negative + p_neutral + p_positive − 1)

which is 100 if every situation is right and 0, in expectation, for *any* subject whose reaction does not depend on
the kind of situation: whatever the distribution of its changes, it falls into exactly one of the three classes, so
the three shares add up to one. (Youden's J for three classes, Youden 1950.) It is capped by the scale: a subject whose
default is the best possible mood can never be right on positive situations (docs/emotionbench-alignment.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.emotionbench.factors import KINDS, Kind
from eqlab.benchmarks.emotionbench.measures import DEFAULT, FloatArray, Measures
from eqlab.core.results import Estimate

MARGIN = 4.0
"""Points of mood (P − N, from −40 to 40) that count as no change: a twentieth of the range, and a quarter of
people's mean change in the published situations (−15.6)."""
TOP = 40.0
"""The best mood the scale has."""
POSITIVE, NEGATIVE = "Positive Affect", "Negative Affect"
NAME = "alignment (the headline of 0.1)"


@dataclass(frozen=True, slots=True)
class Alignment:
    headline: Estimate
    shares: Mapping[Kind, Estimate]
    """Right situations of each kind, in percent."""
    moods: Mapping[str, float]
    """Change of mood by situation."""
    best: float | None
    """The most that a subject with this default could get: 100 unless the scale ends too near."""


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
    if headline.value is None:
        return Alignment(headline, shares, moods, None)
    default, se = _default(measures)
    shifted = [
        combine(right_shares(measures, {place: change + shift for place, change in changes.items()}, margin)).value
        for shift in (-1.96 * se, 1.96 * se)
    ]
    return Alignment(_widened(headline, shifted), shares, moods, _best(default, margin))


def _default(measures: Measures) -> tuple[float, float]:
    """Mean of the default runs and its standard error, which shifts all changes together."""
    mood = measures.scores[POSITIVE] - measures.scores[NEGATIVE]
    own = mood[(measures.where == DEFAULT) & ~np.isnan(mood)]
    return float(own.mean()), float(own.std(ddof=1) / math.sqrt(len(own))) if len(own) > 1 else 0.0


def _widened(found: Estimate, shifted: Sequence[float | None]) -> Estimate:
    """The interval with the default's error: what the number becomes if the default is at its bounds, as an
    independent part (MOVER)."""
    if found.value is None or found.low is None or found.high is None:
        return found
    ends = [found.value, *(value for value in shifted if value is not None)]
    low = found.value - math.hypot(found.value - found.low, found.value - min(ends))
    high = found.value + math.hypot(found.high - found.value, max(ends) - found.value)
    return replace(found, low=max(-50.0, low), high=min(100.0, high))


def _best(default: float, margin: float) -> float:
    """A kind that the end of the scale puts out of reach costs its third of the shares, 50 points."""
    return 100.0 - 50.0 * (default + margin >= TOP) - 50.0 * (default - margin <= -TOP)


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

"""The mean over people who answered different questions: both people and questions are samples, so both count.

θ = mean over people of each person's mean. With u = w·(y − θ), where w is an answer's weight in θ, the variance is

    V = V_people + V_questions − V_answers,   V_by = G/(G − 1) · Σ over G clusters of (Σ u in the cluster)²

(two-way clustering: Cameron, Gelbach & Miller 2011, JBES 29:238), which needs no complete crossing: people may have
had other questions, and several people the same. V is never taken below V_people or V_questions alone, of which it can
fall short by chance (MacKinnon, Nielsen & Webb 2021). Interval by Student's t with min(people, questions) − 1 degrees
of freedom. Where everybody had questions of their own, V = V_people, the plain standard error over people."""

import math
from collections.abc import Sequence

import numpy as np

from eqlab.analysis.arrays import Floats, Ints, codes, count_levels
from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import t_bounds
from eqlab.core.results import Estimate


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
    """The mean over people with its interval, cut to the `most` a score can be; no interval with fewer than two people
    or two questions. With the two exchanged it is the mean over questions, each counted once."""
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
    if se == 0:  # all alike, which is no certainty
        return Estimate(name, mean, people, 0.0, note=note, of=of)
    low, high = t_bounds(mean, se, min(people, questions) - 1)
    return Estimate(name, mean, people, se, low, min(high, most), note=note, of=of)


def _variance(weighted: Floats, cluster: Ints) -> float:
    sums = np.bincount(cluster, weighted)
    return len(sums) / (len(sums) - 1) * float((sums**2).sum())

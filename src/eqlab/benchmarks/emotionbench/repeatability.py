"""Does a subject react alike when a situation is put to it again? The concordance of each repeat by itself, and how far
the moods after one situation agree."""

from collections.abc import Sequence

import numpy as np

from eqlab.analysis.clusters import item_agreement, score_variation
from eqlab.benchmarks.emotionbench.alignment import NEGATIVE, POSITIVE, mood_changes
from eqlab.benchmarks.emotionbench.measures import DEFAULT, Measures
from eqlab.benchmarks.emotionbench.score import Administration
from eqlab.benchmarks.emotionbench.three_numbers import concordance_alone
from eqlab.core.results import Estimate


def repeat_estimates(given: Sequence[Administration], measures: Measures) -> list[Estimate]:
    """Nothing if no situation was asked twice. Each repeat has a fresh order of the scales, so orders count as repeats;
    the default runs are the same for all repeats."""
    repeats = sorted({one.repeat for one in given if one.trial.condition != "default"})
    if len(repeats) < 2:
        return []
    repeat = np.array([one.repeat for one in given if one.status is not None])
    default = measures.where == DEFAULT
    moods = np.full((len(measures.places), len(repeats)), np.nan)
    alone = []
    for column, number in enumerate(repeats):
        own = ~default & (repeat == number)
        moods[measures.where[own], column] = measures.scores[POSITIVE][own] - measures.scores[NEGATIVE][own]
        again = measures.only(default | own)
        alone.append(concordance_alone(again, mood_changes(again)))
    return [score_variation([value for value in alone if value is not None]), item_agreement(moods)]

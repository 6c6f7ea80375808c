"""Does a subject react alike when a situation is put to it again? The alignment of each repeat by itself, and how far
the moods after one situation agree."""

import math
from collections.abc import Sequence

from eqlab.analysis.repeatability import item_agreement, score_variation
from eqlab.benchmarks.emotionbench.alignment import NEGATIVE, POSITIVE, align
from eqlab.benchmarks.emotionbench.score import Administration, measures_of
from eqlab.core.results import Estimate


def repeat_estimates(subject: str, given: Sequence[Administration]) -> list[Estimate]:
    """Nothing if no situation was asked twice. Each repeat has a fresh order of the scales, so orders count as repeats;
    the default runs are the same for all repeats."""
    defaults = [one for one in given if one.trial.condition == "default"]
    evoked = [one for one in given if one.trial.condition != "default"]
    repeats = sorted({one.repeat for one in evoked})
    if len(repeats) < 2:
        return []
    alone = [align(measures_of(subject, [*defaults, *(one for one in evoked if one.repeat == r)])) for r in repeats]
    moods: dict[str, dict[int, float]] = {}
    for one in evoked:
        high, low = one.scores.get(POSITIVE), one.scores.get(NEGATIVE)
        if high is not None and low is not None:
            moods.setdefault(one.trial.items[0], {})[one.repeat] = high - low
    return [
        score_variation([one.headline.value for one in alone if one.headline.value is not None]),
        item_agreement([[own.get(repeat, math.nan) for repeat in repeats] for own in moods.values()]),
    ]

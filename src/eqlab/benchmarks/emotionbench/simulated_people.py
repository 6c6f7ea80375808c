"""Simulated moods: people whose Negative Affect rises in a negative situation by what was put in."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.benchmarks.emotionbench.factors import kind_of
from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.studied import Truth
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import PANAS

_DEFAULT_MOOD = {"Negative Affect": 22.0, "Positive Affect": 29.0}
_MOOD_SD = 4.0
_CHANGE_SD = 4.0
"""With _MOOD_SD it makes the two measures of one person correlate at about 0.7."""


class Moods:
    def __init__(self, design: Design, truth: Truth) -> None:
        asked = {trial.key.get("instrument") for batch in design.batches for trial in batch.trials}
        if asked != {PANAS.key}:
            raise UsageError("Simulated people know the PANAS only.", 'Set instrument = "PANAS" under [options].')
        self._truth = truth

    def person(self, draw: random.Random) -> Mapping[str, float]:
        """The sum scores of the default measure."""
        return {name: draw.gauss(mean, _MOOD_SD) for name, mean in _DEFAULT_MOOD.items()}

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        """Sum scores first, then spread over the items, so that the mean change is what was put in."""
        change = dict.fromkeys(person, 0.0)
        if trial.condition == "evoked":
            way = {"negative": 1.0, "neutral": 0.0, "positive": -1.0}[kind_of(str(trial.key["emotion"]))]
            change = {name: draw.gauss(0.0, _CHANGE_SD) for name in person}
            change["Negative Affect"] += way * self._truth.effect
            change["Positive Affect"] -= way * self._truth.effect
        values: dict[str, Any] = {}
        for part in PANAS.subscales:
            keys = [PANAS.item_keys[number - 1] for number in part.items]
            values |= _spread(draw, person[part.name] + change[part.name], keys)
        return {key: values[key] for key in trial.form.keys}


def _spread(draw: random.Random, total: float, keys: Sequence[str]) -> dict[str, int]:
    """Whole answers from 1 to 5 whose sum is the total, rounded up or down by lot so that the mean stays."""
    whole = math.floor(total) + (draw.random() < total - math.floor(total))
    left = min(max(whole, len(keys)), 5 * len(keys)) - len(keys)
    given = dict.fromkeys(keys, 1)
    while left:
        key = draw.choice(keys)
        if given[key] < 5:
            given[key] += 1
            left -= 1
    return given

"""Simulated minds: how people would answer if a known effect were true. One latent model for each kind of study, so
that an analysis can be held against what was put in. Pure and seeded."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.emotionbench.factors import kind_of
from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Scale
from eqlab.core.study import Kind
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import PANAS

EFFECTS: Mapping[Kind, float] = {"rating": 0.7, "evoked": 5.0, "eqbench": 1.5}
"""What is put in unless told otherwise."""
EFFECT_WORDS: Mapping[Kind, str] = {
    "rating": "log-odds of a better rating, every arm against the reference",
    "evoked": "points of Negative Affect that a negative situation adds",
    "eqbench": "SD of people's error around the references, in points of the scale",
}
_THRESHOLDS = (-1.2, 0.3)
"""Of Bad|Okay and Okay|Good, in log-odds, for the reference arm and a middling rater and prompt."""
_DEFAULT_MOOD = {"Negative Affect": 22.0, "Positive Affect": 29.0}
_MOOD_SD = 4.0
_CHANGE_SD = 4.0
"""With _MOOD_SD it makes the two measures of one person correlate at about 0.7."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is put in."""

    effect: float
    rater_sd: float = 0.9
    prompt_sd: float = 0.5


@dataclass(frozen=True, slots=True)
class Mind:
    """One simulated person: what they are like, and the dice for every answer."""

    draw: random.Random
    leaning: float
    """rating: how much more generous than others, in log-odds."""
    trait: float
    """Of questionnaires about oneself, in SD."""
    mood: Mapping[str, float]
    """evoked: the sum scores of the default measure."""


class World:
    """A study's questions with the truth about them."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        self.kind = design.study.kind
        self.truth = truth
        self.reference = design.study.analysis.reference or design.arms[0]
        draw = random.Random(f"{seed} prompts")
        trials = [trial for batch in design.batches for trial in batch.trials]
        if self.kind == "evoked" and any(trial.key.get("instrument") != PANAS.key for trial in trials):
            raise UsageError("Simulated people know the PANAS only.", 'Set instrument = "PANAS" under [options].')
        prompts = dict.fromkeys(str(trial.key.get("prompt", "")) for trial in trials)
        self._prompts = {prompt: draw.gauss(0.0, truth.prompt_sd) for prompt in prompts}

    def mind(self, seed: str) -> Mind:
        draw = random.Random(seed)
        mood = {name: draw.gauss(mean, _MOOD_SD) for name, mean in _DEFAULT_MOOD.items()}
        return Mind(draw, draw.gauss(0.0, self.truth.rater_sd), draw.gauss(0.0, 1.0), mood)

    def answer(self, mind: Mind, trial: Trial) -> dict[str, Any]:
        """What an attentive person answers; the right thing where there is one."""
        if "right" in trial.key:
            return dict(trial.key["right"])
        if trial.benchmark == "rating":
            return {trial.form.keys[0]: self._rating(mind, trial)}
        if trial.benchmark == "emotionbench":
            return self._mood(mind, trial)
        if trial.benchmark == "eqbench":
            return self._reading(mind, trial)
        return {scale.key: _about_self(mind, scale) for scale in trial.form.scales}

    def _rating(self, mind: Mind, trial: Trial) -> int:
        """Cumulative logit: P(y ≤ k) = F(θ_k − effect − rater − prompt)."""
        effect = self.truth.effect if trial.key["arm"] != self.reference else 0.0
        eta = effect + mind.leaning + self._prompts[str(trial.key["prompt"])]
        share = mind.draw.random()
        latent = eta + math.log(share / (1.0 - share))
        return 1 + sum(latent > threshold for threshold in _THRESHOLDS)

    def _mood(self, mind: Mind, trial: Trial) -> dict[str, Any]:
        """Sum scores first, then spread over the items, so that the mean change is what was put in."""
        change = dict.fromkeys(mind.mood, 0.0)
        if trial.condition == "evoked":
            kind = kind_of(str(trial.key["emotion"]))
            way = {"negative": 1.0, "neutral": 0.0, "positive": -1.0}[kind]
            change = {name: mind.draw.gauss(0.0, _CHANGE_SD) for name in mind.mood}
            change["Negative Affect"] += way * self.truth.effect
            change["Positive Affect"] -= way * self.truth.effect
        values: dict[str, Any] = {}
        for part in PANAS.subscales:
            keys = [PANAS.item_keys[number - 1] for number in part.items]
            values |= _spread(mind.draw, mind.mood[part.name] + change[part.name], keys)
        return {key: values[key] for key in trial.form.keys}

    def _reading(self, mind: Mind, trial: Trial) -> dict[str, Any]:
        reference = trial.key["reference"]
        return {
            scale.key: _clip(scale, reference[scale.key] + mind.draw.gauss(0.0, self.truth.effect))
            for scale in trial.form.scales
        }


def _about_self(mind: Mind, scale: Scale) -> int:
    middle, width = (scale.low + scale.high) / 2, (scale.high - scale.low) / 4
    sign = -1.0 if scale.reverse else 1.0
    return _clip(scale, middle + width * (sign * (0.5 + mind.trait) * 0.8 + mind.draw.gauss(0.0, 0.8)))


def _clip(scale: Scale, value: float) -> int:
    return min(max(round(value), scale.low), scale.high)


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

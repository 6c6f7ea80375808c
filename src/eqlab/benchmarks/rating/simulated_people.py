"""Simulated raters under a known truth: a cumulative logit with raters, prompts and replies, for ratings; and
Davidson's model with a first place that counts for something, for replies in pairs."""

import math
import random
from collections.abc import Mapping
from typing import Any

from eqlab.core.design import Design
from eqlab.core.forms import Scale
from eqlab.core.studied import Truth
from eqlab.core.trials import Trial

_THREE = (-1.2, 0.3)
"""Of Bad|Okay and Okay|Good, in log-odds, for the reference arm and a middling rater and prompt."""
TIE = 0.6
"""Davidson's ν: how much of a tie equals give, against the geometric mean of their wins."""
FIRST_PLACE = 0.2
"""Log-odds that the first place is worth: what asking in both orders takes out."""


class Raters:
    """P(y ≤ k) = F(θ_k − effect − rater − prompt − reply), the same effect on every scale."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        named = [name for name, _ in design.study.arms] or list(design.arms)
        self.reference = design.study.analysis.reference or named[0]
        self._truth = truth
        draw = random.Random(f"{seed} prompts")
        trials = [trial for batch in design.batches for trial in batch.trials]
        prompts = dict.fromkeys(str(trial.key.get("prompt", "")) for trial in trials)
        self._prompts = {prompt: draw.gauss(0.0, truth.item_sd) for prompt in prompts}
        shown = sorted({(str(one.key["prompt"]), str(one.key["arm"])) for one in trials if "arm" in one.key})
        again = random.Random(f"{seed} replies")
        self._replies = {reply: again.gauss(0.0, truth.reply_sd) for reply in shown}

    def person(self, draw: random.Random) -> float:
        """How much more generous than others, in log-odds."""
        return draw.gauss(0.0, self._truth.person_sd)

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        if "arms" in trial.key:
            return {trial.form.keys[0]: self._choice(trial, draw)}
        effect = self._worth(trial.key["arm"])
        prompt = str(trial.key["prompt"])
        eta = effect + person + self._prompts[prompt] + self._replies[prompt, str(trial.key["arm"])]
        return {scale.key: _category(scale, eta, draw) for scale in trial.form.scales}

    def _worth(self, arm: str) -> float:
        return self._truth.effect if arm != self.reference else 0.0

    def _choice(self, trial: Trial, draw: random.Random) -> int:
        """Davidson (1970): first, tie and second as a : ν√(ab) : b. Without a tie among the answers, a : b."""
        first, second = (math.exp(self._worth(arm)) for arm in trial.key["arms"])
        first *= math.exp(FIRST_PLACE)
        (scale,) = trial.form.scales
        weights = [first, TIE * math.sqrt(first * second), second] if scale.high == 3 else [first, second]
        return draw.choices(range(1, scale.high + 1), weights)[0]


def _category(scale: Scale, eta: float, draw: random.Random) -> int:
    share = draw.random()
    latent = eta + math.log(share / (1.0 - share))
    better = sum(latent > threshold for threshold in _thresholds(scale.high - scale.low + 1))
    return scale.high - better if scale.reverse else scale.low + better


def _thresholds(count: int) -> tuple[float, ...]:
    """As many categories as the scale has, alike in share for the reference arm."""
    if count == 3:
        return _THREE
    return tuple(math.log(k / (count - k)) for k in range(1, count))

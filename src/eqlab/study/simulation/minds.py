"""Simulated minds: how people would answer if a known effect were true. The kind of study knows its own trials; what
every study asks (quiz, instructed items, questionnaires and questions about oneself) is answered here. Seeded."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eqlab.core.design import Design
from eqlab.core.forms import Scale
from eqlab.core.studied import Truth
from eqlab.core.trials import Trial
from eqlab.study.kinds.registry import find_kind

__all__ = ["Mind", "Truth", "World"]


@dataclass(frozen=True, slots=True)
class Mind:
    """One simulated person: what they are like, and the dice for every answer."""

    draw: random.Random
    person: Any
    """What the kind of study has drawn of them."""
    trait: float
    """Of questionnaires about oneself, in SD."""


class World:
    """A study's questions with the truth about them."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        kind = find_kind(design.study.kind)
        self._benchmark = kind.form().benchmark
        self._people = kind.simulated(design, truth, seed)

    def mind(self, seed: str) -> Mind:
        draw = random.Random(seed)
        return Mind(draw, self._people.person(draw), draw.gauss(0.0, 1.0))

    def answer(self, mind: Mind, trial: Trial) -> Mapping[str, Any]:
        """What an attentive person answers; the right thing where there is one."""
        if "right" in trial.key:
            return dict(trial.key["right"])
        if trial.benchmark == self._benchmark:
            return self._people.answer(mind.person, trial, mind.draw)
        return {scale.key: _about_self(mind, scale) for scale in trial.form.scales}


def _about_self(mind: Mind, scale: Scale) -> int:
    middle, width = (scale.low + scale.high) / 2, (scale.high - scale.low) / 4
    sign = -1.0 if scale.reverse else 1.0
    value = middle + width * (sign * (0.5 + mind.trait) * 0.8 + mind.draw.gauss(0.0, 0.8))
    return min(max(round(value), scale.low), scale.high)

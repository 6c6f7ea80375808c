"""Simulated minds: how people would answer if a known effect were true. The kind of study knows its own trials; what
every study asks (quiz, instructed items, questionnaires and questions about oneself) is answered here. Seeded."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Field, Number, Scale, Several, even_points
from eqlab.core.studied import TalkingPeople, Truth
from eqlab.core.trials import Trial
from eqlab.study.kinds.registry import find_kind

_SAID = ("I", "found", "it", "easy", "to", "follow", "and", "would", "take", "part", "again", "soon")
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
        self._asked = {trial.id: trial for batch in design.batches for trial in batch.trials}

    def mind(self, seed: str) -> Mind:
        draw = random.Random(seed)
        return Mind(draw, self._people.person(draw), draw.gauss(0.0, 1.0))

    def turn(self, mind: Mind, trial: Trial, heard: str) -> Mapping[str, Any]:
        """What somebody says in a talk to the words they heard last."""
        if not isinstance(self._people, TalkingPeople):
            raise UsageError("Simulated people of this kind of study do not talk.", "Simulate another kind.")
        return self._people.turn(mind.person, trial, heard, mind.draw)

    def answer(self, mind: Mind, trial: Trial) -> Mapping[str, Any]:
        """What an attentive person answers; the right thing where there is one."""
        if "right" in trial.key:
            return {**_middling(trial), **trial.key["right"]}
        if trial.benchmark == self._benchmark:
            return self._people.answer(mind.person, trial, mind.draw)
        if "accept" in trial.key:
            return {**_middling(trial), **{key: some[0] for key, some in trial.key["accept"].items()}}
        if "repeats" in trial.key:
            return self.answer(mind, self._asked[trial.key["repeats"]])
        if trial.benchmark == "question":
            return {one.key: _about_oneself(mind, one) for one in trial.form.fields}
        return {scale.key: _about_self(mind, scale) for scale in trial.form.scales}


def _middling(trial: Trial) -> dict[str, Any]:
    if trial.form.total is not None:
        return even_points(trial.form)
    return {scale.key: (scale.low + scale.high) // 2 for scale in trial.form.scales}


def _about_oneself(mind: Mind, one: Field) -> Any:
    """A fact about somebody: one is as likely as another."""
    if isinstance(one, Scale):
        return mind.draw.randint(one.low, one.high)
    if isinstance(one, Several):
        return sorted(mind.draw.sample(range(1, len(one.options) + 1), mind.draw.randint(1, len(one.options))))
    if isinstance(one, Number):
        return round(mind.draw.uniform(one.low, one.high))
    return " ".join(mind.draw.choices(_SAID, k=max(one.least_words, 5)))


def _about_self(mind: Mind, scale: Scale) -> int:
    middle, width = (scale.low + scale.high) / 2, (scale.high - scale.low) / 4
    sign = -1.0 if scale.reverse else 1.0
    value = middle + width * (sign * (0.5 + mind.trait) * 0.8 + mind.draw.gauss(0.0, 0.8))
    return min(max(round(value), scale.low), scale.high)

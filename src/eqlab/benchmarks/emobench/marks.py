"""Answers marked: which questions of a trial are right, and what became of those that were not answered."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.results import ItemScore
from eqlab.core.trials import Trial


@dataclass(frozen=True, slots=True)
class Mark:
    """One trial with the answer that counts."""

    trial: Trial
    repeat: int
    attempts: int
    answer: Answer | None
    right: Mapping[str, bool]
    """By question; empty without an answer that could be read."""

    @property
    def status(self) -> Status | None:
        return self.answer.status if self.answer else None

    @property
    def all_right(self) -> bool | None:
        """An item of understanding counts only if emotion and cause are both right; None without an answer."""
        return all(self.right.values()) if self.right else None

    @property
    def language(self) -> str:
        return str(self.trial.key["language"])

    @property
    def item(self) -> str:
        """The scenario; in another language than English it is another item, and named after it."""
        own = self.trial.items[0]
        return own if self.language == "en" else f"{own} ({self.language})"

    @property
    def by_chance(self) -> float:
        return by_chance(self.trial)


def by_chance(trial: Trial) -> float:
    """The share that guesses get right."""
    return 1 / math.prod(scale.high for scale in trial.form.scales)


def mark(one: Scored) -> Mark:
    answer = final(one.attempts)
    correct = one.trial.key["correct"]
    right: dict[str, bool] = {}
    if answer is not None and answer.status == "ok":
        right = {key: answer.values.get(key) == value for key, value in correct.items()}
    return Mark(one.trial, one.repeat, len(one.attempts), answer, right)


def shown(one: Mark) -> ItemScore:
    """As it stands in the list of items: in the words of the choices."""
    words = {scale.key: dict(scale.anchors) for scale in one.trial.form.scales}
    given = one.answer.values if one.answer and one.right else {}
    points = None if one.all_right is None else 100.0 * one.all_right
    return ItemScore(
        one.item,
        one.trial.id,
        one.repeat,
        one.status,
        points,
        title=f"{one.trial.condition}, {one.trial.key['category']}",
        text=one.answer.text if one.answer else "",
        values={key: words[key].get(value, value) for key, value in given.items()},
        reference={key: words[key][value] for key, value in one.trial.key["correct"].items()},
        attempts=one.attempts,
        points=points,
        shown=one.trial.stimulus,
    )

"""From a subject's answers to its measures: which attempt counts, the instrument's scores, and where each belongs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from eqlab.analysis.two_samples import Sample
from eqlab.benchmarks.emotionbench.measures import DEFAULT, MeasurePlace, Measures
from eqlab.benchmarks.emotionbench.views import Norm, Norms
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.results import ItemScore
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import INSTRUMENTS, check, defined, score_columns

WHOLE = "all items"
"""The sum over all items of an instrument that defines no overall score; labelled so wherever it is shown."""


class Administration(msgspec.Struct, frozen=True, gc=False):
    """One planned trial with the attempt that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None
    status: Status | None
    """None: not answered yet."""
    scores: Mapping[str, float | None]

    @property
    def shown(self) -> tuple[float, ...]:
        """The values of a readable answer in the order in which the items were shown; else none."""
        if self.answer is None or self.status != "ok":
            return ()
        return tuple(map(self.answer.values.__getitem__, self.trial.form.keys))


def administrations(scored: Iterable[Scored]) -> list[Administration]:
    """All of one instrument, scored together."""
    chosen = [(one, final(one.attempts)) for one in scored]
    if not chosen:
        return []
    instrument = INSTRUMENTS[chosen[0][0].trial.key["instrument"]]
    answered = (answer.values if answer and answer.status == "ok" else {} for _, answer in chosen)
    values = np.array([instrument.in_order(values_given) for values_given in answered], dtype=float)
    check(instrument, values)
    columns = {part.name: score_columns(instrument, values.T, part) for part in instrument.scores_and_total(WHOLE)}
    scores = zip(*(map(defined, column.tolist()) for column in columns.values()), strict=True)
    return [
        Administration(
            one.trial,
            one.repeat,
            len(one.attempts),
            answer,
            answer.status if answer else None,
            dict(zip(columns, score, strict=True)),
        )
        for (one, answer), score in zip(chosen, scores, strict=True)
    ]


def place_of(trial: Trial) -> MeasurePlace:
    return MeasurePlace(trial.key["emotion"], trial.key["factor_index"], trial.key["factor"], trial.items[0])


def measures_of(subject: str, given: Sequence[Administration]) -> Measures:
    """In columns; an administration that was asked but gave no readable answer is NaN, an unasked one is left out."""
    asked = [administration for administration in given if administration.status is not None]
    trials = {one.trial.items[0]: one.trial for one in asked if one.trial.condition != "default"}
    numbers = {item: number for number, item in enumerate(trials)}
    where = [DEFAULT if one.trial.condition == "default" else numbers[one.trial.items[0]] for one in asked]
    names = list(given[0].scores) if given else []
    return Measures(
        subject,
        given[0].trial.key["instrument"] if given else "",
        tuple(map(place_of, trials.values())),
        np.array(where, dtype=np.int64),
        {name: np.array([administration.scores[name] for administration in asked], dtype=float) for name in names},
    )


def norms_of(trials: Iterable[Trial]) -> Norms | None:
    """What the trials know about people; None if the run was planned without."""
    factors: dict[tuple[Any, ...], Sequence[Any]] = {}
    default: Mapping[str, Any] | None = None
    for trial in trials:
        of_people = trial.key.get("people")
        if of_people is None:
            continue
        if trial.condition == "default":
            default = of_people
            continue
        for subscale, *numbers in of_people:
            factors[trial.key["emotion"], trial.key["factor_index"], subscale] = numbers
    if not factors and default is None:
        return None
    mood = default or {"default": {}, "reliability": {}}
    return Norms(
        tuple(Norm(*cell, *numbers) for cell, numbers in factors.items()),
        {name: Sample(*sample) for name, sample in mood["default"].items()},
        dict(mood["reliability"]),
    )


def administration_shown(administration: Administration) -> ItemScore:
    """One answer by itself: what it scores on the instrument. A change needs the default runs, so there is no score."""
    key = administration.trial.key
    return ItemScore(
        item=administration.trial.items[0],
        trial=administration.trial.id,
        repeat=administration.repeat,
        status=administration.status,
        score=None,
        title=f"{key['emotion']}: {key['factor']}" if "factor" in key else "Default measure",
        text=administration.answer.text if administration.answer else "",
        values={name: value for name, value in administration.scores.items() if value is not None},
        attempts=administration.n_attempts,
    )

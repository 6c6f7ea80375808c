"""From a subject's answers to its measures: which attempt counts, the instrument's scores, and where each belongs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqlab.analysis.two_samples import Sample
from eqlab.benchmarks.emotionbench.against_people import Norm, Norms
from eqlab.benchmarks.emotionbench.measures import DEFAULT, Measures, Place
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.instruments.definition import OVERALL, Instrument
from eqlab.instruments.score import score, total

WHOLE = "all items"
"""The sum over all items of an instrument that defines no overall score; labelled so wherever it is shown."""


@dataclass(frozen=True, slots=True)
class Administration:
    """One planned trial with the attempt that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None
    scores: Mapping[str, float | None]

    @property
    def status(self) -> Status | None:
        """None: not answered yet."""
        return self.answer.status if self.answer else None


def administrations(scored: Iterable[Scored]) -> list[Administration]:
    return [_administration(one) for one in scored]


def _administration(one: Scored) -> Administration:
    answer = final(one.attempts)
    instrument = INSTRUMENTS[one.trial.key["instrument"]]
    good = answer is not None and answer.status == "ok"
    values = instrument.in_order(answer.values) if answer is not None and good else (None,) * instrument.n_items
    return Administration(one.trial, one.repeat, len(one.attempts), answer, all_scores(instrument, values))


def all_scores(instrument: Instrument, values: Sequence[float | None]) -> dict[str, float | None]:
    """The instrument's scores, and the sum of all items where it has no overall score (but not for PANAS, whose two
    scales must never be added)."""
    found = score(instrument, values)
    if OVERALL not in found and instrument.key != "PANAS":
        found = {WHOLE: total(instrument, values), **found}
    return found


def place_of(trial: Trial) -> Place:
    return Place(trial.key["emotion"], trial.key["factor_index"], trial.key["factor"], trial.items[0])


def measures_of(subject: str, given: Sequence[Administration]) -> Measures:
    """In columns; an administration that was asked but gave no readable answer is NaN, an unasked one is left out."""
    asked = [one for one in given if one.status is not None]
    places: dict[Place, int] = {}
    where = [
        DEFAULT if one.trial.condition == "default" else places.setdefault(place_of(one.trial), len(places))
        for one in asked
    ]
    names = list(given[0].scores) if given else []
    return Measures(
        subject,
        given[0].trial.key["instrument"] if given else "",
        tuple(places),
        np.array(where, dtype=np.int64),
        {name: np.array([_nan(one.scores[name]) for one in asked]) for name in names},
    )


def _nan(value: float | None) -> float:
    return np.nan if value is None else value


def norms_of(trials: Iterable[Trial]) -> Norms | None:
    """What the trials know about people; None if the run was planned without."""
    factors: dict[tuple[Any, ...], Norm] = {}
    default: Mapping[str, Any] | None = None
    for trial in trials:
        known = trial.key.get("people")
        if known is None:
            continue
        if trial.condition == "default":
            default = known
            continue
        for subscale, *numbers in known:
            place = (trial.key["emotion"], trial.key["factor_index"])
            factors[*place, subscale] = Norm(*place, subscale, *numbers)
    if not factors and default is None:
        return None
    mood = default or {"default": {}, "reliability": {}}
    return Norms(
        tuple(factors.values()),
        {name: Sample(*sample) for name, sample in mood["default"].items()},
        dict(mood["reliability"]),
    )

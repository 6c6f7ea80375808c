"""A result situation by situation: the mean change over its repeats, beside people's change in the same factor."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from eqlab.benchmarks.emotionbench.against_people import Norms
from eqlab.benchmarks.emotionbench.alignment import Alignment
from eqlab.benchmarks.emotionbench.score import Administration
from eqlab.benchmarks.emotionbench.three_numbers import ThreeNumbers
from eqlab.core.answers import STATUSES, Status
from eqlab.core.results import ItemScore


def situation_scores(
    given: Sequence[Administration], aligned: Alignment | None, three: ThreeNumbers | None, norms: Norms | None
) -> tuple[ItemScore, ...]:
    """One entry per situation, in the order asked; its score is the change of mood (PANAS) or of the overall score."""
    defaults = _means([one for one in given if one.trial.condition == "default"])
    by_item: dict[str, list[Administration]] = {}
    for one in given:
        if one.trial.condition != "default":
            by_item.setdefault(one.trial.items[0], []).append(one)
    people: dict[tuple[str, int], dict[str, float]] = {}
    for norm in norms.factors if norms else ():
        people.setdefault((norm.emotion, norm.factor_index), {})[norm.subscale] = round(norm.change, 2)
    return tuple(_item(item, own, defaults, aligned, three, people) for item, own in by_item.items())


def administration_shown(one: Administration) -> ItemScore:
    """One answer by itself: what it scores on the instrument. A change needs the default runs, so there is no score."""
    key = one.trial.key
    return ItemScore(
        item=one.trial.items[0],
        trial=one.trial.id,
        repeat=one.repeat,
        status=one.status,
        score=None,
        title=f"{key['emotion']}: {key['factor']}" if "factor" in key else "Default measure",
        text=one.answer.text if one.answer else "",
        values={name: value for name, value in one.scores.items() if value is not None},
        attempts=one.n_attempts,
    )


def _item(
    item: str,
    own: Sequence[Administration],
    defaults: Mapping[str, float],
    aligned: Alignment | None,
    three: ThreeNumbers | None,
    people: Mapping[tuple[str, int], Mapping[str, float]],
) -> ItemScore:
    trial = own[0].trial
    means = _means(own)
    values: dict[str, Any] = {name: round(means[name] - defaults[name], 2) for name in means if name in defaults}
    shown = next((one for one in own if one.status == "ok"), own[0])
    return ItemScore(
        item=item,
        trial=shown.trial.id,
        repeat=shown.repeat,
        status=_status(own),
        score=aligned.moods.get(item) if aligned else next(iter(values.values()), None),
        title=f"{trial.key['emotion']}: {trial.key['factor']}",
        text=shown.answer.text if shown.answer else "",
        values=values,
        reference=people.get((trial.key["emotion"], trial.key["factor_index"]), {}),
        attempts=sum(one.n_attempts for one in own),
        points=three.points.get(item) if three else None,
        topics=(str(trial.key["emotion"]),),
        shown=shown.trial.stimulus,
    )


def _means(own: Sequence[Administration]) -> dict[str, float]:
    """Mean scores over administrations, of the scores that at least one has."""
    names = own[0].scores if own else ()
    found = {name: [v for one in own if (v := one.scores[name]) is not None] for name in names}
    return {name: fmean(values) for name, values in found.items() if values}


def _status(own: Sequence[Administration]) -> Status | None:
    """The best that a repeat came to."""
    return next((status for status in STATUSES if any(one.status == status for one in own)), None)

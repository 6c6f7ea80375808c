"""Ratings as scoring gets them: who rated whose reply to which prompt, and how, scale by scale. Bad, Okay, Good is a
rubric with one scale of three; a pair is one scale of three over two replies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.rating.reply_rows import order_arms
from eqlab.benchmarks.rating.trials import PAIRWISE, SCALES
from eqlab.core import answers
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.forms import Scale
from eqlab.core.results import ItemScore
from eqlab.core.trials import Trial

GOOD = 3


@dataclass(frozen=True, slots=True)
class RatedReply:
    """One planned rating with the attempt that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None

    @property
    def status(self) -> Status | None:
        return self.answer.status if self.answer else None

    @property
    def value(self) -> int | None:
        """On the first scale, as it was given; None where there is no readable rating."""
        if self.answer is None or self.answer.status != "ok":
            return None
        return int(self.answer.values[self.trial.form.keys[0]])

    @property
    def values(self) -> Mapping[str, int]:
        """By scale, as far as it could be read: of an answer in which a scale is missing, the others."""
        if self.answer is None or self.answer.status not in ("ok", "unparseable"):
            return {}
        return {key: int(value) for key, value in self.answer.values.items() if key in self.trial.form.keys}

    def on(self, scale: Scale) -> int | None:
        """The rating on one scale, turned round where it is reverse-keyed: more is always better."""
        value = self.values.get(scale.key)
        return None if value is None else _turned(value, scale)

    def people_on(self, scale: Scale) -> list[tuple[str, int]]:
        """(rater, rating) of people who rated the same reply on the same scale; more is better."""
        return [(rater, _turned(value, scale)) for rater, value in self._people(scale)]

    def _people(self, scale: Scale) -> Iterator[tuple[str, int]]:
        if self.trial.condition == SCALES:
            return ((str(who), int(v)) for who, key, v in self.key.get("human_scales", ()) if key == scale.key)
        return ((str(who), int(v)) for who, v in self.key.get("human", ()))

    @property
    def overall(self) -> float | None:
        """The mean over the scales, each from 0 to 100, more being better; None unless all were read: a mean of some
        would compare replies on different things."""
        scales, values = self.trial.form.scales, self.values
        if any(scale.key not in values for scale in scales):
            return None
        return sum(_percent(values[scale.key], scale) for scale in scales) / len(scales)

    @property
    def first_points(self) -> float | None:
        """Of a pair: 1 where the first reply won, 0 where the second did, 0.5 for a tie."""
        if self.value is None:
            return None
        (scale,) = self.trial.form.scales
        return (scale.high - self.value) / (scale.high - scale.low)

    def points_for(self, arm: str) -> float | None:
        """Of a pair in which this arm is one of two."""
        points = self.first_points
        return points if points is None or self.key["arms"][0] == arm else 1 - points

    @property
    def key(self) -> Mapping[str, Any]:
        return self.trial.key

    @property
    def arm(self) -> str:
        return str(self.key["arm"])

    @property
    def prompt(self) -> str:
        return str(self.key["prompt"])

    @property
    def rater(self) -> str:
        return self.answer.subject if self.answer else ""

    @property
    def title(self) -> str:
        who = " then ".join(self.key["arms"]) if self.trial.condition == PAIRWISE else self.arm
        return f"Reply of {who} to: {self.key.get('utterance') or self.prompt}"


@dataclass(frozen=True, slots=True)
class GivenRating:
    """A rating that was given on one scale: plain values for statistics."""

    arm: str
    prompt: str
    rater: str
    value: int
    emotion: str
    valence: str
    words: int


def rated(scored: Iterable[Scored]) -> list[RatedReply]:
    return [RatedReply(one.trial, one.repeat, len(one.attempts), final(one.attempts)) for one in scored]


def given(ratings: Iterable[RatedReply], scale: Scale | None = None) -> list[GivenRating]:
    """What could be read on a scale; on the first, if none is named."""
    return [
        GivenRating(one.arm, one.prompt, one.rater, value, one.key["emotion"], one.key["valence"], one.key["words"])
        for one in ratings
        if (value := one.on(scale or one.trial.form.scales[0])) is not None
    ]


def arms_of(ratings: Sequence[RatedReply]) -> tuple[str, ...]:
    if ratings and ratings[0].trial.condition == PAIRWISE:
        return order_arms(arm for one in ratings for arm in one.key["arms"])
    return order_arms(one.arm for one in ratings)


def snapshots(ratings: Iterable[RatedReply]) -> Counter[str]:
    """Ratings by the model id of the reply; replies without one are not counted."""
    return Counter(answers.names_of(one.answer for one in ratings if one.answer is not None))


def item_of(one: RatedReply) -> ItemScore:
    """One rating for the report: the rater's own words, the rating, and people's where known."""
    scales, pairwise, on_scales = one.trial.form.scales, one.trial.condition == PAIRWISE, one.trial.condition == SCALES
    first = scales[0]
    if on_scales:
        score = points = one.overall
        values: Mapping[str, Any] = one.values
    else:
        score = None if one.value is None else float(one.value)
        points = None if one.value is None or pairwise else 100.0 * (one.value == GOOD)
        values = {} if one.value is None else {first.key: f"{one.value} ({dict(first.anchors)[one.value]})"}
    people = {} if pairwise else {scale.key: [value for _, value in one._people(scale)] for scale in scales}
    return ItemScore(
        item=one.prompt,
        trial=one.trial.id,
        repeat=one.repeat,
        status=one.status,
        score=score,
        title=one.title,
        text=one.answer.text if one.answer else "",
        values=values,
        reference={key: sum(given) / len(given) for key, given in people.items() if given},
        reasons={first.key: str(one.key["reply"])} if one.key.get("reply") else {},
        attempts=one.n_attempts,
        points=None if one.rater.startswith("person:") else points,
        group="" if pairwise else one.arm,
        topics=tuple(name for by in ("emotion", "valence") if (name := str(one.key.get(by) or ""))),
    )


def _percent(value: float, scale: Scale) -> float:
    """Where a value stands on its scale, from 0 to 100, more being better."""
    placed = 100 * (value - scale.low) / (scale.high - scale.low)
    return 100 - placed if scale.reverse else placed


def _turned(value: int, scale: Scale) -> int:
    return scale.low + scale.high - value if scale.reverse else value

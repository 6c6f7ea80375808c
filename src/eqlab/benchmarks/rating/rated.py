"""Ratings as scoring gets them: who rated whose reply to which prompt, and how."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eqlab.benchmarks.rating.reply_rows import order_arms
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.forms import Form, Scale
from eqlab.core.results import ItemScore
from eqlab.core.trials import Trial

LABELS = {1: "Bad", 2: "Okay", 3: "Good"}
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
        """1 to 3; None where there is no readable rating."""
        if self.answer is None or self.answer.status != "ok":
            return None
        return int(self.answer.values[self.trial.form.keys[0]])

    @property
    def values(self) -> Mapping[str, int]:
        """By scale, as far as it could be read: of an answer in which a scale is missing, the others."""
        if self.answer is None or self.answer.status not in ("ok", "unparseable"):
            return {}
        return {key: int(value) for key, value in self.answer.values.items() if key in self.trial.form.keys}

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
    def human(self) -> list[tuple[str, int]]:
        """(rater, rating) of people who rated the same reply."""
        return [(str(rater), int(value)) for rater, value in self.key.get("human", ())]


@dataclass(frozen=True, slots=True)
class GivenRating:
    """A rating that was given: plain values for statistics."""

    arm: str
    prompt: str
    rater: str
    value: int
    emotion: str
    valence: str
    words: int


def rated(scored: Iterable[Scored]) -> list[RatedReply]:
    return [RatedReply(one.trial, one.repeat, len(one.attempts), final(one.attempts)) for one in scored]


def given(ratings: Iterable[RatedReply]) -> list[GivenRating]:
    return [
        GivenRating(one.arm, one.prompt, one.rater, one.value, one.key["emotion"], one.key["valence"], one.key["words"])
        for one in ratings
        if one.value is not None
    ]


def on_scale(ratings: Iterable[RatedReply], scale: Scale) -> list[RatedReply]:
    """The same ratings on one scale alone, people's with them; turned round where it is reverse-keyed, so that more is
    always better. What could not be read on it has no value."""

    def turned(value: int) -> int:
        return scale.low + scale.high - value if scale.reverse else value

    found = []
    for one in ratings:
        human = [(who, turned(int(value))) for who, key, value in one.key.get("human_scales", ()) if key == scale.key]
        trial = replace(one.trial, form=Form((scale,)), key={**one.key, "human": human})
        value = one.values.get(scale.key)
        answer = one.answer
        if answer is not None and value is not None:
            answer = replace(answer, status="ok", values={scale.key: turned(value)})
        elif answer is not None and answer.status == "ok":
            answer = replace(answer, status="unparseable", values={})
        found.append(replace(one, trial=trial, answer=answer))
    return found


def arms_of(ratings: Sequence[RatedReply]) -> tuple[str, ...]:
    if ratings and ratings[0].trial.condition == "pairwise":
        return order_arms(arm for one in ratings for arm in one.key["arms"])
    return order_arms(one.arm for one in ratings)


def item_of(one: RatedReply) -> ItemScore:
    """One rating for the report: the rater's own words, the rating, and people's where known."""
    (scale,) = one.trial.form.scales
    labels = dict(scale.anchors)
    pairwise = one.trial.condition == "pairwise"
    who = " then ".join(one.key["arms"]) if pairwise else one.arm
    human = [value for _, value in one.human] if not pairwise else []
    shown: dict[str, Any] = {} if one.value is None else {scale.key: f"{one.value} ({labels[one.value]})"}
    return ItemScore(
        item=one.prompt,
        trial=one.trial.id,
        repeat=one.repeat,
        status=one.status,
        score=None if one.value is None else float(one.value),
        title=f"Reply of {who} to: {one.key.get('utterance') or one.prompt}",
        text=one.answer.text if one.answer else "",
        values=shown,
        reference={scale.key: sum(human) / len(human)} if human else {},
        reasons={scale.key: str(one.key["reply"])} if not pairwise and one.key.get("reply") else {},
        attempts=one.n_attempts,
        points=None
        if one.value is None or pairwise or one.rater.startswith("person:")
        else 100.0 * (one.value == GOOD),
        group="" if pairwise else one.arm,
        topics=tuple(name for by in ("emotion", "valence") if (name := str(one.key.get(by) or ""))),
    )

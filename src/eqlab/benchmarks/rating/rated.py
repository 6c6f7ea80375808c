"""Ratings as scoring gets them: who rated whose reply to which prompt, and how, scale by scale. Bad, Okay, Good is a
rubric with one scale of three; a pair is one scale of three over two replies.

A rating result put together: counts, validity, items and rules are the same whoever rated, on whichever form. What
there is to say about the replies comes from a maker (judge.py, people.py, pairs.py) as an `Outcome`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from eqlab.benchmarks.common.outcome import count_outcomes, flatness
from eqlab.benchmarks.rating.trials import ABSOLUTE, PAIRWISE, SCALES, condition_of, order_arms, words_of
from eqlab.core import answers
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.forms import Scale
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, ItemScore, OfOthers, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data.items import PUBLISHED, shipped

GOOD = 3
Reply = tuple[str, str, int]
"""What is rated: prompt, arm, and which of the arm's replies to the prompt, from 0."""


@dataclass(frozen=True, slots=True)
class RatedReply:
    """One planned rating with the attempt that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None

    @property
    def condition(self) -> str:
        """The form it was given on."""
        return condition_of(self.trial)

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
        return None if value is None else scale.turned(value)

    def people_on(self, scale: Scale) -> list[tuple[str, int]]:
        """(rater, rating) of people who rated the same reply on the same scale; more is better."""
        return [(rater, scale.turned(value)) for rater, value in self._people(scale)]

    def _people(self, scale: Scale) -> Iterator[tuple[str, int]]:
        if self.condition == SCALES:
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
    def reply(self) -> Reply:
        return self.prompt, self.arm, int(self.key.get("reply_repeat") or 0)

    @property
    def rater(self) -> str:
        return self.answer.subject if self.answer else ""

    @property
    def title(self) -> str:
        who = " then ".join(self.key["arms"]) if self.condition == PAIRWISE else self.arm
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
    reply_repeat: int = 0

    @property
    def reply(self) -> Reply:
        return self.prompt, self.arm, self.reply_repeat


def rated(scored: Iterable[Scored]) -> list[RatedReply]:
    return [RatedReply(one.trial, one.repeat, len(one.attempts), final(one.attempts)) for one in scored]


def given(ratings: Iterable[RatedReply], scale: Scale | None = None) -> list[GivenRating]:
    """What could be read on a scale; on the first, if none is named."""
    return [
        GivenRating(
            *(one.arm, one.prompt, one.rater, value, one.key["emotion"], one.key["valence"]),
            words_of(one.key),
            one.reply[-1],
        )
        for one in ratings
        if (value := one.on(scale or one.trial.form.scales[0])) is not None
    ]


def arms_of(ratings: Sequence[RatedReply]) -> tuple[str, ...]:
    if ratings and ratings[0].condition == PAIRWISE:
        return order_arms(arm for reply in ratings for arm in reply.key["arms"])
    return order_arms(reply.arm for reply in ratings)


def snapshots(ratings: Iterable[RatedReply]) -> Counter[str]:
    """Ratings by the model id of the reply; replies without one are not counted."""
    return Counter(answers.names_of(reply.answer for reply in ratings if reply.answer is not None))


def item_of(reply: RatedReply) -> ItemScore:
    """One rating for the report: the rater's own words, the rating, and people's where known."""
    scales, pairwise, on_scales = (
        reply.trial.form.scales,
        reply.condition == PAIRWISE,
        reply.condition == SCALES,
    )
    first = scales[0]
    if on_scales:
        score = points = reply.overall
        values: Mapping[str, Any] = reply.values
    else:
        score = None if reply.value is None else float(reply.value)
        points = None if reply.value is None or pairwise else 100.0 * (reply.value == GOOD)
        values = {} if reply.value is None else {first.key: f"{reply.value} ({dict(first.anchors)[reply.value]})"}
    people = {} if pairwise else {scale.key: [value for _, value in reply._people(scale)] for scale in scales}
    return ItemScore(
        item=reply.prompt,
        trial=reply.trial.id,
        repeat=reply.repeat,
        status=reply.status,
        score=score,
        title=reply.title,
        text=reply.answer.text if reply.answer else "",
        values=values,
        reference={key: sum(person) / len(person) for key, person in people.items() if person},
        reasons={first.key: str(reply.key["reply"])} if reply.key.get("reply") else {},
        attempts=reply.n_attempts,
        points=None if reply.rater.startswith("person:") else points,
        group="" if pairwise else reply.arm,
        topics=tuple(name for by in ("emotion", "valence") if (name := str(reply.key.get(by) or ""))),
    )


def _percent(value: float, scale: Scale) -> float:
    """Where a value stands on its scale, from 0 to 100, more being better."""
    placed = 100 * (value - scale.low) / (scale.high - scale.low)
    return 100 - placed if scale.reverse else placed


HUMAN = "human"
"""The arm of the empathy study whose replies people wrote."""
MIN_READABLE = 5 / 6
"""A smaller share of readable ratings makes a result invalid."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one kind of raters has to say on one kind of form."""

    title: str
    sentence: str
    headline: Estimate
    score_range: tuple[float, float]
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    caveats: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    others: OfOthers | None = None
    why_no_points: str = ""


def as_result(
    subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any], outcome: Outcome, condition: str
) -> Result:
    people, on_scales = is_people(subject), condition == SCALES
    counts = counted(ratings)
    asked = len(ratings) - counts["unanswered"]
    valid = asked > 0 and counts["ok"] >= MIN_READABLE * asked
    complete = (list(reply.values.values()) for reply in ratings if reply.overall is not None)
    flat = None if subject == PEOPLE else flatness(complete)
    unread = not valid and asked
    return Result(
        benchmark="rating",
        title=outcome.title,
        subject=subject,
        rules={**_rules(subject, ratings, options, condition), **outcome.rules},
        sentence=f"{outcome.sentence} But too few ratings could be read: not valid." if unread else outcome.sentence,
        headline=outcome.headline,
        score_range=outcome.score_range,
        estimates=(*outcome.estimates, *(flat.estimates if flat else ())),
        counts={"planned": counts["planned"], "ok": counts["ok"]} if people and on_scales else counts,
        items=tuple(item_of(reply) for reply in ratings),
        item_range=(0.0, 100.0) if on_scales else (1.0, 3.0),
        item_labels=((1.0, "Bad"), (2.0, "Okay"), (3.0, "Good")) if condition == ABSOLUTE else (),
        baselines=outcome.baselines,
        valid=valid,
        ranked=options["purpose"] == "calibration",
        caveats=(*(flat.caveats if flat else ()), *outcome.caveats),
        tables=outcome.tables,
        noun="items" if people and on_scales else "prompts",
        others=outcome.others,
        why_no_points=outcome.why_no_points,
    )


def is_people(subject: str) -> bool:
    return subject == PEOPLE or subject.startswith("person:")


def counted(ratings: Sequence[RatedReply]) -> dict[str, int]:
    """Ratings by status, with how many were planned and are not answered."""
    return count_outcomes(reply.status for reply in ratings)


def unread_caveats(ratings: Sequence[RatedReply], *, by_people: bool = False) -> tuple[str, ...]:
    """What is missing of the published form and of pairs. People may have left: then nothing more will come."""
    counts, said = counted(ratings), []
    lost = sum(counts[status] for status in ("unparseable", "refused", "error"))
    if lost:
        said.append(f"{lost} of {many(len(ratings), 'reply', 'replies')} got no readable rating; left out.")
    if counts["unanswered"]:
        missing = many(counts["unanswered"], "reply is", "replies are")
        left = f"{missing} not rated: raters are still at it, or have left."
        said.append(left if by_people else f"{missing} not rated yet; the result is preliminary.")
    return tuple(said)


def _rules(
    subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any], condition: str
) -> Mapping[str, Any]:
    if condition == SCALES and is_people(subject):
        return options
    rules = {**options, "mode": ratings[0].trial.mode if ratings else "text"}
    if subject.startswith("judge:"):
        sha256 = str(options.get("rubric_sha256") or shipped(PUBLISHED).sha256)
        rules |= {"rubric": options.get("rubric", PUBLISHED), "rubric_sha256": sha256}
    if subject != PEOPLE:
        rules["snapshot"] = ", ".join(sorted(snapshots(ratings))) or "not reported"
    return rules

"""What people's talks say: with people as listeners, the human level of the benchmark; with people as speakers, how
they felt with each model, how they left, and how they rated the whole."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from msgspec import structs

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.reml import variances
from eqlab.analysis.two_samples import adjusted_differences
from eqlab.benchmarks.common.people import corrected
from eqlab.benchmarks.dialogue import result as of_models
from eqlab.benchmarks.dialogue.talked import Talked, talks_of
from eqlab.core.answers import final
from eqlab.core.benchmark import Scored
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import Estimate, ItemScore, OfOthers, Result, Table
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.studied import Contrast
from eqlab.core.values import dataclass

RATED = "rated"
"""The condition of the page on which a person rates a talk."""
_BOUNDS = (0.0, 100.0)


@dataclass(frozen=True, slots=True)
class TalkRating:
    arm: str
    person: str
    scale: str
    value: int


def people_result(scored: Sequence[Scored], options: Mapping[str, Any], reference: str = "") -> Result:
    """Of everybody in a study who said something. `scored` may hold turns and ratings of talks in any order."""
    talks = talks_of(one for one in scored if one.attempts and one.trial.condition != RATED)
    felt = [talk for talk in talks if talk.final is not None]
    speaking = any(talk.speaker.startswith(PERSON) for talk in talks)
    arms = arm_names(talks, reference)
    base = of_models.result(PEOPLE, [], options)
    headline = level(felt)
    people = len({talk.person for talk in talks})
    ratings = ratings_of(scored)
    return replace(
        base,
        noun="talks",
        title="Talks with people" if speaking else "Dialogue",
        rules={**options, "people": people, "seat": "speaker" if speaking else "listener"},
        sentence=_sentence(talks, felt, people, speaking, headline),
        headline=headline,
        ranked=not speaking,
        valid=bool(felt),
        estimates=(
            *(level([talk for talk in felt if talk.arm == arm], f"final emotion, {arm}") for arm in arms),
            level(felt, of_models.CHANGE, lambda talk: float((talk.final or 0) - talk.start), (-100.0, 100.0)),
            *(estimate for estimate in of_models.estimates(talks, felt) if estimate.name != of_models.CHANGE),
        ),
        counts=of_models.counts(talks),
        items=tuple(_item(talk, place, speaking) for place, talk in enumerate(talks)),
        caveats=_caveats(talks, speaking),
        others=_of_models(felt, arms) if speaking else None,
        tables=(
            arm_table(talks, arms),
            *((course_table(felt, arms),) if felt and len(arms) > 1 else ()),
            *of_models.tables(*(_anonymous(some) for some in (talks, felt))),
            *((ratings_table(ratings, arms),) if ratings else ()),
        ),
        proviso="" if speaking or not felt else of_models.speaker_line(felt, of_models.no_facets(felt)),
        transcripts=tuple(
            structs.replace(of_models.transcript(talk), repeat=place) for place, talk in enumerate(talks) if talk.said
        ),
    )


def _item(talk: Talked, place: int, speaking: bool) -> ItemScore:
    """Where people speak, arms are compared over people, each of whom is one, however many talks they had: a talk by
    itself has no points."""
    item = structs.replace(of_models.item(talk, [talk.speaker]), repeat=place)
    return structs.replace(item, group=talk.arm, points=None) if speaking else item


def _of_models(felt: Sequence[Talked], arms: Sequence[str]) -> OfOthers:
    """Where people speak, their feeling is a word about the models that listened."""
    shares = tuple((arm, level([talk for talk in felt if talk.arm == arm])) for arm in arms)
    return OfOthers("Talks with people", "final emotion of people who talked with it, 0 to 100", shares)


def _anonymous(talks: Sequence[Talked]) -> list[Talked]:
    """People as one speaker: a table by speaker must not list everybody."""
    return [replace(talk, speaker=PEOPLE) if talk.speaker.startswith(PERSON) else talk for talk in talks]


def arm_names(talks: Sequence[Talked], reference: str) -> list[str]:
    """Those that occur, the reference first."""
    return sorted({talk.arm for talk in talks}, key=lambda arm: (arm != reference, arm))


def _final(talk: Talked) -> float:
    return float(talk.final or 0)


def level(
    felt: Sequence[Talked],
    name: str = of_models.FELT,
    measure: Callable[[Talked], float] = _final,
    bounds: tuple[float, float] = _BOUNDS,
) -> Estimate:
    """The mean over people, each with the mean of their talks. The interval is over people and personas as random, so
    that it holds for others of both: by REML where they are crossed, by two-way clusters where each person has one
    talk. It is no narrower than over people alone, where the end of the scale counts too."""
    people = group_means((talk.person, measure(talk)) for talk in felt)
    simple = structs.replace(mean_estimate(name, list(people.values()), digits=1, bounds=bounds), of="people")
    values = [measure(talk) for talk in felt]
    personas = {talk.persona for talk in felt}
    if len(personas) < 2 or len(set(values)) < 2 or simple.value is None:
        return simple
    factors = {"person": [talk.person for talk in felt], "persona": [talk.persona for talk in felt]}
    fitted = variances(values, factors) if len(felt) > len(people) else None
    effect = fitted.effect({"mean": 1.0}) if fitted else crossed_mean(name, np.array(values), *factors.values())
    if effect is None or effect.low is None or effect.high is None:
        return simple
    reach = (effect.high - effect.low) / 2
    low, high = max(bounds[0], simple.value - reach), min(bounds[1], simple.value + reach)
    if simple.low is not None and simple.high is not None:
        low, high = min(low, simple.low), max(high, simple.high)
    return structs.replace(simple, se=effect.se, low=low, high=high, note="over people and personas")


def contrasts(
    scored: Sequence[Scored], reference: str, planned: Sequence[str], alpha: float
) -> tuple[tuple[Contrast, ...], str]:
    """Final emotion of every planned arm against the reference: one value a person, adjusted for how they felt at the
    opening (analysis of covariance, HC3), with Holm's correction. And why some are not compared: an arm whose talks
    broke off must not take the others' comparison with it."""
    talks = talks_of(one for one in scored if one.attempts and one.trial.condition != RATED)
    people = grouped((talk.person, talk) for talk in talks if talk.final is not None)
    ends = Counter(talks[0].arm for talks in people.values())
    persons = [talks for talks in people.values() if talks[0].arm == reference or ends[talks[0].arm] > 1]
    differences = adjusted_differences(
        [fmean(float(talk.final or 0) for talk in talks) for talks in persons],
        [talks[0].arm for talks in persons],
        [fmean(float(talk.start) for talk in talks) for talks in persons],
        reference,
    )
    found = []
    for one in differences:
        low, high = one.bounds()
        name = f"final emotion, {one.group} − {reference}"
        estimate = Estimate(name, one.value, len(persons), one.se, low, high, digits=1, of="people")
        own_low, own_high = one.bounds(alpha)
        found.append(Contrast(one.group, reference, estimate, one.p, one.p, own_low, own_high))
    why = ""
    if few := [arm for arm in (reference, *planned) if ends[arm] < 2]:
        counted = ", ".join(f"{arm} ({many(ends[arm], 'person', 'people')})" for arm in few)
        why = f"An arm needs two people whose talks have an end: {counted}."
    elif len(found) < len(planned):
        why = "What people felt does not let the arms be compared: nothing varies, or one person decides a difference."
    return corrected(found, len(planned)), why


def arm_table(talks: Sequence[Talked], arms: Sequence[str]) -> Table:
    rows = []
    for arm in arms:
        of_arm = [talk for talk in talks if talk.arm == arm]
        over = [talk for talk in of_arm if talk.outcome]
        felt = [talk for talk in of_arm if talk.final is not None]
        rows.append(
            (
                arm,
                len({talk.person for talk in of_arm}),
                len(of_arm),
                of_models.mean_of_talks("opening", ((talk, talk.start) for talk in of_arm if talk.opened), _BOUNDS),
                level(felt),
                of_models.share_of_talks("success", over),
                of_models.share_of_talks("failure", over),
                of_models.mean_of_talks("replies", ((talk, talk.replies) for talk in of_arm)),
            )
        )
    columns = ("arm", "people", "talks", "emotion at the opening", "final emotion", "success", "failure", "replies")
    return Table(
        "Arm by arm: how people's talks went",
        columns,
        tuple(rows),
        "One value a person; success and failure are shares of talks.",
    )


def course_table(felt: Sequence[Talked], arms: Sequence[str]) -> Table:
    """The emotion on the way, side by side; one value a person, and a talk that is over stays where it ended."""
    rows: list[tuple[str | Estimate, ...]] = []
    for place in range(max(len(talk.course) for talk in felt)):
        cells = []
        for arm in arms:
            people = group_means(
                (talk.person, float(talk.course[min(place, len(talk.course) - 1)])) for talk in felt if talk.arm == arm
            )
            cells.append(mean_estimate("emotion", list(people.values()), digits=1, bounds=_BOUNDS))
        rows.append(("at the opening" if place == 0 else f"after reply {place}", *cells))
    note = "One value a person. A talk that is over stays where it ended, so that the bad ones do not drop out."
    return Table("The course of emotion, arm by arm", ("when", *arms), tuple(rows), note)


def ratings_of(scored: Sequence[Scored]) -> list[TalkRating]:
    ratings = []
    for one in scored:
        answer = final(one.attempts)
        if one.trial.condition != RATED or answer is None or answer.status != "ok":
            continue
        for scale in one.trial.form.scales:
            value = answer.values.get(scale.key)
            if isinstance(value, int):
                rating = TalkRating(str(one.trial.key["arm"]), answer.subject, scale.named, scale.turned(value))
                ratings.append(rating)
    return ratings


def ratings_table(ratings: Sequence[TalkRating], arms: Sequence[str]) -> Table:
    rows = []
    for scale in dict.fromkeys(talk_rating.scale for talk_rating in ratings):
        for arm in arms:
            people = group_means(
                (rating.person, rating.value) for rating in ratings if (rating.scale, rating.arm) == (scale, arm)
            )
            rows.append((scale, arm, mean_estimate("mean", list(people.values())), len(people)))
    note = "One value a person. A reverse-keyed scale is turned round: more is better."
    return Table("How people rated the whole", ("scale", "arm", "mean", "people"), tuple(rows), note)


def _sentence(talks: Sequence[Talked], felt: Sequence[Talked], people: int, speaking: bool, headline: Estimate) -> str:
    if headline.value is None:
        return (
            f"{many(people, 'person', 'people')} held {many(len(talks), 'talk')}; none of them has an end "
            "that counts yet."
        )
    over = [talk.outcome for talk in talks if talk.outcome]
    start = fmean(group_means((talk.person, float(talk.start)) for talk in felt).values())
    who = (
        f"{headline.n} {'person' if headline.n == 1 else 'people'} who talked with models felt"
        if speaking
        else f"Those who talked with people ({headline.n} listeners) felt"
    )
    return (
        f"{who} {headline.value:.1f} of 100 at the end of a talk ({start:.1f} at the opening); "
        f"{over.count('success')} of {many(len(over), 'talk')} succeeded, {over.count('failure')} failed."
    )


def _caveats(talks: Sequence[Talked], speaking: bool) -> tuple[str, ...]:
    said = []
    left = sum(talk.end == "left" for talk in talks)
    unfelt = sum(talk.end == "left" and talk.final is None for talk in talks)
    for end, words in (
        ("left", "were closed by the person without a word about it; "
                 + ("no feeling was told after a reply: no score" if unfelt == left else
                    "they count with the last feeling that was told"
                    + (f", but for {unfelt} in which none was told after a reply: no score" if unfelt else ""))),
        ("down", "ended because the model did not answer; they have no score"),
        ("silence", "ended because the model gave no reply that could be shown, or its provider refused; they count as "
                    "failures, with what the person felt then"),
        ("lost", "have no score: a turn of the simulated speaker was unreadable"),
        ("", "are not over"),
    ):  # fmt: skip
        count = sum(talk.end == end for talk in talks)
        if count:
            said.append(f"{count} of {many(len(talks), 'talk')} {words}.")
    if speaking:
        said.append(
            "No number sends a person away, as 10 and 100 do in talks with a simulated speaker: success and failure "
            "are how people left."
        )
    return tuple(said)

"""People's EmotionBench result: the change within each person from the default measure to that in a situation, tested
as the study did, beside the published people, and under the headline that models have."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eqlab.analysis.intervals import clustered_share, mean_estimate, proportion_estimate
from eqlab.analysis.moods import concordance
from eqlab.benchmarks.emotionbench import people_tables, tables
from eqlab.benchmarks.emotionbench.against_people import Norms, PeopleAgreement, agreement
from eqlab.benchmarks.emotionbench.alignment import NEGATIVE, POSITIVE, Alignment, align, mood_changes
from eqlab.benchmarks.emotionbench.factors import KINDS
from eqlab.benchmarks.emotionbench.honest import MoodChange
from eqlab.benchmarks.emotionbench.measures import known
from eqlab.benchmarks.emotionbench.people_paired import Paired, pair, paired_changes
from eqlab.benchmarks.emotionbench.result import (
    BASELINES,
    MIN_READABLE,
    companions,
    old_number,
    scale_headline,
    scale_range,
    verdict,
)
from eqlab.benchmarks.emotionbench.score import Administration, administrations, norms_of
from eqlab.benchmarks.emotionbench.three_numbers import ThreeNumbers, beside_people, three_numbers
from eqlab.core.answers import STATUSES
from eqlab.core.benchmark import Scored
from eqlab.core.results import Estimate, Result
from eqlab.core.runs import PEOPLE

FEW_EACH = 5
"""People in a situation below which their noise lowers the concordance noticeably."""


def people_result(scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    given = administrations(scored)
    found = pair(given)
    norms = norms_of(one.trial for one in given)
    panas = options["instrument"] == "PANAS"
    changes = paired_changes(found)
    agreements = [agreement(changes, norms, name) for name in found.people.before] if norms else []
    moved = align(found.changes_as_measures()) if panas and found.n_people else None
    measures = found.changes_as_measures()
    every = three_numbers(measures, mood_changes(measures)) if moved else None
    three = every if every and every.headline.value is not None else None
    headline = _headline(options["instrument"], found, changes, three)
    counts = Counter(one.status or "unanswered" for one in given)
    answered = len(given) - counts["unanswered"]
    valid = headline.value is not None and counts["ok"] >= MIN_READABLE * answered
    return Result(
        noun="situations",
        benchmark="emotionbench",
        title="EmotionBench" if panas else f"EmotionBench, {options['instrument']}",
        subject=PEOPLE,
        rules={
            **options,
            "mode": "form",
            "participants": found.n_people,
            "defaults": "one per person",
            "repeats": _each(found),
        },
        sentence=_sentence(headline, found, three, agreements, valid),
        headline=headline,
        score_range=(0.0, 100.0) if three else (-40.0, 40.0) if panas else scale_range(options["instrument"]),
        estimates=tuple(_estimates(given, found, changes, moved, every, agreements)),
        counts={
            "planned": len(given),
            **{status: counts.get(status, 0) for status in STATUSES},
            "unanswered": counts.get("unanswered", 0),
            "people": found.n_people,
            "people with the default measure only": found.n_dropped,
        },
        items=people_tables.situations_shown(given, found, moved, three, norms),
        item_range=(-40.0, 40.0) if panas else scale_range(options["instrument"]),
        baselines=BASELINES if three else (),
        valid=valid,
        caveats=_caveats(given, found, options, norms, three),
        tables=(
            *((beside_people(every, "these people"),) if every else ()),
            *_tables(given, found, changes, norms, agreements),
        ),
    )


def _headline(instrument: str, found: Paired, changes: Sequence[MoodChange], three: ThreeNumbers | None) -> Estimate:
    """The models' headline where people had situations of all three kinds, so that both may stand in one table; else
    the change of the scale itself. n is people in either case."""
    if three is not None:
        note = f"of {three.headline.n} situations by their people's mean change; the interval is over situations"
        return replace(three.headline, n=found.n_people, note=note, of="people")
    if instrument != "PANAS":
        return scale_headline(instrument, changes)
    whole = [one.change for one in changes if one.level == "overall" and one.subscale == NEGATIVE]
    note = "no concordance: it needs negative, neutral and positive situations; the interval is over people"
    nothing = Estimate(f"change in {NEGATIVE}", None, 0, digits=1, of="people")
    return replace(whole[0] if whole else nothing, note=note)


def _each(found: Paired) -> int:
    """Most people in one situation: what repeats are to a model."""
    return max(Counter(found.people.where.tolist()).values(), default=0)


def _estimates(
    given: Sequence[Administration],
    found: Paired,
    changes: Sequence[MoodChange],
    aligned: Alignment | None,
    three: ThreeNumbers | None,
    agreements: Sequence[PeopleAgreement],
) -> Iterable[Estimate]:
    if three:
        yield from (one for one in three.estimates if one.value is not None)
    if aligned and aligned.headline.value is not None:
        yield replace(_one_by_one(found), of="people")
        yield old_number(aligned)
        for kind in KINDS:
            share = aligned.shares[kind]
            yield replace(share, name=f"{kind} situations that move people on average as they should", of="situations")
    yield replace(proportion_estimate("people with both measures", found.n_people, found.n_began), of="people")
    answered = [one for one in given if one.status is not None]
    people = [one.answer.subject if one.answer else "" for one in answered]
    yield clustered_share("readable answers", [one.status == "ok" for one in answered], people)
    for name, values in found.people.before.items():
        yield replace(mean_estimate(f"default {name}", list(known(values)), digits=1), of="people")
    for change in changes:
        if change.level == "overall":
            yield replace(change.change, name=f"{change.subscale}: change")
    for one in agreements:
        reliability = (
            "" if one.reliability is None else f"the published people's own reliability is {one.reliability:.2f}"
        )
        others = people_tables.OTHERS
        yield replace(one.correlation, name=f"{one.subscale}: correlation with {others} over factors", note=reliability)
        yield replace(one.mean_gap, name=f"{one.subscale}: mean difference to {others}")


def _one_by_one(found: Paired) -> Estimate:
    """The concordance of every person's own change in place of the situation's mean; a person is one unit."""
    mood = found.people.change(POSITIVE) - found.people.change(NEGATIVE)
    kinds = [KINDS.index(found.people.places[place].kind) for place in found.people.where.tolist()]
    note = "each person's own change; one person is noisier than the mean of several"
    return replace(concordance(mood, kinds, found.person).all, name="Concordance of single people", note=note)


def _tables(
    given: Sequence[Administration],
    found: Paired,
    changes: Sequence[MoodChange],
    norms: Norms | None,
    agreements: Sequence[PeopleAgreement],
) -> Iterable[Any]:
    if not changes:
        return
    yield people_tables.profile(found, changes, norms)
    defaults = [
        (name, replace(mean_estimate(name, list(known(values)), digits=1), of="people"))
        for name, values in found.people.before.items()
    ]
    yield tables.default_mood(defaults, norms, "these people", people_tables.OTHERS)
    yield people_tables.views(found, changes, agreements)
    shown = [one.shown for one in given if one.status == "ok"]
    for table in (people_tables.alike(found), tables.order_effect(shown)):
        if table is not None:
            yield table


def _sentence(
    headline: Estimate,
    found: Paired,
    three: ThreeNumbers | None,
    agreements: Sequence[PeopleAgreement],
    valid: bool,
) -> str:
    if headline.value is None:
        return "People cannot be scored: nobody has both measures yet."
    bounds = "" if headline.low is None else f" (95 % interval {headline.low:.1f} to {headline.high:.1f})"
    who = f"{found.n_people} people" if found.n_people > 1 else "One person"
    if three is None:
        scale = headline.name.removeprefix("change in ")
        text = f"{who}: the situations change {scale} by {headline.value:+.1f} points{bounds}."
    else:
        text = (
            f"{who}: of two situations mood is better in the better one {headline.value:.1f} % of the time{bounds}; "
            f"{verdict(headline)}.{companions(three, 'On average they are')}"
        )
    said = " and ".join(
        f"{one.mean_gap.value:+.1f} ({one.subscale})" for one in agreements if one.mean_gap.value is not None
    )
    if said:
        text += f" Their changes differ from those of the published people by {said} points on average."
    return text if valid else f"{text} But too few answers could be read: the result is not valid."


def _caveats(
    given: Sequence[Administration],
    found: Paired,
    options: Mapping[str, Any],
    norms: Norms | None,
    three: ThreeNumbers | None,
) -> tuple[str, ...]:
    said = ["A questionnaire measures what people say of a situation they imagine, not what they would feel in it."]
    if norms is not None and options["item_set"] == "open":
        said.append("The published people had other texts of the same factors.")
    if norms is None and options["instrument"] == "PANAS":
        said.append(
            "Not compared with the published people: give the study the option people = yes (needs their data)."
        )
    each = len(found.people.where) / len(found.people.places) if found.people.places else 0.0
    if three and each < FEW_EACH:
        said.append(f"{each:.1f} people per situation are few: their noise lowers the concordance.")
    if 0 < found.n_people < 10:
        said.append(f"{found.n_people} people are few: intervals are wide and single factors say little.")
    if found.n_dropped:
        said.append(f"{found.n_dropped} of {found.n_began} people gave the default measure only; they are left out.")
    if found.n_without_default:
        said.append(f"{found.n_without_default} people have no readable default measure and are left out.")
    waiting = sum(one.status is None for one in given)
    if waiting:
        said.append(f"{waiting} planned pages are not answered: by people who left, or who are still at it.")
    return tuple(said)

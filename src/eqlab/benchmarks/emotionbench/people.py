"""People's EmotionBench result: the change within each person from the default measure to that in a situation, tested
as the study did, beside the published people, and under the headline that models have."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from msgspec import structs

from eqlab.analysis.arrays import count_levels
from eqlab.analysis.clusters import cluster_means, crossed_mean
from eqlab.analysis.intervals import clustered_share, mean_estimate, proportion_estimate
from eqlab.analysis.two_samples import describe, hedges_g, two_sided
from eqlab.benchmarks.common.outcome import count_outcomes, is_valid, pages_not_answered
from eqlab.benchmarks.emotionbench import tables
from eqlab.benchmarks.emotionbench.items import EmotionBenchOptions
from eqlab.benchmarks.emotionbench.measures import (
    DEFAULT,
    KINDS,
    IntArray,
    MeasureGroup,
    MeasurePlace,
    Measures,
    People,
    defined,
    groups,
)
from eqlab.benchmarks.emotionbench.moods import (
    NEGATIVE,
    POSITIVE,
    Alignment,
    ThreeNumbers,
    align,
    beside_people,
    concordance_of,
    kinds_of,
    mood_changes,
    norms_of_movement,
    three_numbers,
)
from eqlab.benchmarks.emotionbench.result import (
    BASELINES,
    chance,
    companions,
    old_number,
    scale_headline,
    scale_range,
    verdict,
)
from eqlab.benchmarks.emotionbench.score import Administration, administrations, norms_of, place_of
from eqlab.benchmarks.emotionbench.views import (
    MARGIN,
    MoodChange,
    Norms,
    PeopleAgreement,
    agreement,
    mean_gaps,
    people_cells,
    units_of,
    with_holm,
)
from eqlab.core.benchmark import Scored
from eqlab.core.plural import many
from eqlab.core.results import Column, Estimate, ItemScore, Result, Table
from eqlab.core.results import Norms as ScoreNorms
from eqlab.core.runs import PEOPLE
from eqlab.core.values import dataclass

FEW_EACH = 5
"""People in a situation below which their noise lowers the concordance noticeably."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One row per person and situation, with that person's default measure beside it."""

    people: People
    person: IntArray
    """Per row the number of the person; one number twice if somebody had two situations."""
    n_people: int
    n_began: int
    """Everybody with at least one readable measure."""
    n_dropped: int
    """Who gave the default measure and no other."""
    n_without_default: int

    def changes_as_measures(self) -> Measures:
        """The changes as measures of a subject whose default is 0, which is what they are to its three numbers."""
        scores = {name: np.concatenate(([0.0], self.people.change(name))) for name in self.people.before}
        where = np.concatenate(([DEFAULT], self.people.where)).astype(np.int64)
        return Measures(PEOPLE, "", self.people.places, where, scores)


def pair(given: Sequence[Administration]) -> Paired:
    """Pairs within person, in an order that does not depend on who came first."""
    names = list(given[0].scores) if given else []
    before: dict[str, list[Administration]] = {}
    after: list[tuple[str, Administration]] = []
    for administration in given:
        if administration.answer is not None and administration.status == "ok":
            if administration.trial.condition == "default":
                before.setdefault(administration.answer.subject, []).append(administration)
            else:
                after.append((administration.answer.subject, administration))
    after.sort(key=lambda pair: (pair[0], pair[1].trial.items, pair[1].repeat))
    rows = [(who, one) for who, one in after if who in before]
    persons = {who: number for number, who in enumerate(dict.fromkeys(who for who, _ in rows))}
    places = sorted({place_of(one.trial) for _, one in rows}, key=lambda p: (p.emotion, p.factor_index, p.situation))
    numbers: dict[MeasurePlace, int] = {place: number for number, place in enumerate(places)}
    moved = {who for who, _ in after}
    people = People(
        tuple(places),
        np.array([numbers[place_of(one.trial)] for _, one in rows], dtype=np.int64),
        {name: np.array([_mean(before[who], name) for who, _ in rows], dtype=float) for name in names},
        {name: np.array([_mean([one], name) for _, one in rows], dtype=float) for name in names},
    )
    return Paired(
        people,
        np.array([persons[who] for who, _ in rows], dtype=np.int64),
        len(persons),
        len(before.keys() | moved),
        len(before.keys() - moved),
        len(moved - before.keys()),
    )


def _mean(given: Sequence[Administration], name: str) -> float:
    scores = [value for administration in given if (value := administration.scores[name]) is not None]
    return fmean(scores) if scores else np.nan


def paired_changes(paired: Paired) -> list[MoodChange]:
    """Every group's mean change within person on every score, for other people and other situations than these: both
    are clusters, situations by their units. Holm's family is all factor cells together."""
    every = groups(paired.people.places)
    return with_holm(_change(paired, name, group) for name in paired.people.before for group in every)


def _change(paired: Paired, subscale: str, group: MeasureGroup) -> MoodChange:
    every = paired.people.change(subscale)
    rows = group.rows(paired.people.where) & ~np.isnan(every)
    situations, which = np.unique(paired.people.where[rows], return_inverse=True)
    unit = units_of([paired.people.places[situation] for situation in situations])[which]
    change = crossed_mean(f"change in {subscale}", every[rows], paired.person[rows].tolist(), unit.tolist())
    df = min(change.n, count_levels(unit)) - 1 if change.low is not None else None
    before, after = describe(paired.people.before[subscale][rows]), describe(paired.people.after[subscale][rows])
    return MoodChange(
        subscale,
        group,
        n_situations=len(situations),
        n=change.n,
        default=before,
        change=structs.replace(change, digits=1),
        effect=hedges_g(after, before) if before.n > 1 else None,
        df=df,
        p=two_sided(change.value / change.se, df) if df and change.value is not None and change.se else None,
    )


def people_result(scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    given = administrations(scored)
    paired = pair(given)
    norms = norms_of(administration.trial for administration in given)
    typed = EmotionBenchOptions.of(options)
    panas = typed.instrument == "PANAS"
    changes = paired_changes(paired)
    agreements = [agreement(changes, norms, name) for name in paired.people.before] if norms else []
    measures = paired.changes_as_measures()
    moved = align(measures) if panas and paired.n_people else None
    every = three_numbers(measures, mood_changes(measures)) if moved else None
    three = every if every and every.headline.value is not None else None
    headline = _headline(typed.instrument, paired, changes, three)
    counts = count_outcomes(administration.status for administration in given)
    valid = headline.value is not None and is_valid(counts)
    return Result(
        noun="situations",
        benchmark="emotionbench",
        title="EmotionBench" if panas else f"EmotionBench, {typed.instrument}",
        subject=PEOPLE,
        rules={
            **options,
            "mode": "form",
            "participants": paired.n_people,
            "defaults": "one per person",
            "repeats": _each(paired),
        },
        sentence=_sentence(headline, three, agreements, valid),
        headline=headline,
        score_range=(0.0, 100.0) if three else (-40.0, 40.0) if panas else scale_range(typed.instrument),
        estimates=tuple(_estimates(given, paired, changes, moved, every, agreements)),
        counts={**counts, "people": paired.n_people, "people with the default measure only": paired.n_dropped},
        items=_situations_shown(given, paired, moved, three, norms),
        item_range=(-40.0, 40.0) if panas else scale_range(typed.instrument),
        baselines=BASELINES if three else (),
        valid=valid,
        caveats=_caveats(given, paired, typed, norms, three),
        tables=(
            *((beside_people(every, "these people"),) if every else ()),
            *_tables(given, paired, changes, norms, agreements),
        ),
        norms=_movement(paired) if panas else None,
    )


def _movement(paired: Paired) -> ScoreNorms | None:
    """Each person's mean rise of negative affect over the negative situations they had."""
    if NEGATIVE not in paired.people.before:
        return None
    rises = paired.people.change(NEGATIVE)
    negative = np.array([place.kind == "negative" for place in paired.people.places], dtype=bool)
    rows = negative[paired.people.where] & ~np.isnan(rises)
    per_person = cluster_means(rises[rows], paired.person[rows]) if rows.any() else ()
    return norms_of_movement(list(per_person), "people of this study")


def _headline(instrument: str, paired: Paired, changes: Sequence[MoodChange], three: ThreeNumbers | None) -> Estimate:
    """The models' headline where people had situations of all three kinds, so that both may stand in one table; else
    the change of the scale itself. n is people in either case."""
    if three is not None:
        note = (
            f"of {many(three.headline.n, 'situation')} by their people's mean change; the interval is over situations"
        )
        return structs.replace(three.headline, n=paired.n_people, note=note, of="people")
    if instrument != "PANAS":
        return scale_headline(instrument, changes)
    whole = [change.change for change in changes if change.level == "overall" and change.subscale == NEGATIVE]
    note = (
        "no concordance: it needs negative, neutral and positive situations; the interval is over people and "
        "situations alike"
    )
    nothing = Estimate(f"change in {NEGATIVE}", None, 0, digits=1, of="people")
    return structs.replace(whole[0] if whole else nothing, note=note)


def _each(paired: Paired) -> int:
    """Most people in one situation: what repeats are to a model."""
    return max(Counter(paired.people.where.tolist()).values(), default=0)


def _estimates(
    given: Sequence[Administration],
    found: Paired,
    changes: Sequence[MoodChange],
    aligned: Alignment | None,
    three: ThreeNumbers | None,
    agreements: Sequence[PeopleAgreement],
) -> Iterable[Estimate]:
    if three:
        yield from (estimate for estimate in three.estimates if estimate.value is not None)
    if aligned and aligned.headline.value is not None:
        yield _one_by_one(found)
        yield old_number(aligned)
        for kind in KINDS:
            share = aligned.shares[kind]
            yield structs.replace(
                share, name=f"{kind} situations that move people on average as they should", of="situations"
            )
    yield structs.replace(proportion_estimate("people with both measures", found.n_people, found.n_began), of="people")
    answered = [administration for administration in given if administration.status is not None]
    people = [administration.answer.subject if administration.answer else "" for administration in answered]
    yield clustered_share("readable answers", [administration.status == "ok" for administration in answered], people)
    for name, values in found.people.before.items():
        yield structs.replace(mean_estimate(f"default {name}", list(defined(values)), digits=1), of="people")
    for change in changes:
        if change.level == "overall":
            yield structs.replace(change.change, name=f"{change.subscale}: change")
    for one in agreements:
        reliability = (
            "" if one.reliability is None else f"the published people's own reliability is {one.reliability:.2f}"
        )
        others = tables.OTHERS
        yield structs.replace(
            one.correlation, name=f"{one.subscale}: correlation with {others} over factors", note=reliability
        )
        yield structs.replace(one.mean_gap, name=f"{one.subscale}: mean difference to {others}")


def _one_by_one(found: Paired) -> Estimate:
    """The concordance of every person's own change in place of the situation's mean; its units are the headline's."""
    mood = found.people.change(POSITIVE) - found.people.change(NEGATIVE)
    places, where = found.people.places, found.people.where.tolist()
    every = concordance_of(places, where, mood, kinds_of(places, where)).all
    note = "each person's own change; one person is noisier than the mean of several"
    return structs.replace(every, name="Concordance of single people", n=found.n_people, note=note, of="people")


def _tables(
    given: Sequence[Administration],
    paired: Paired,
    changes: Sequence[MoodChange],
    norms: Norms | None,
    agreements: Sequence[PeopleAgreement],
) -> Iterable[Any]:
    if not changes:
        return
    yield tables.profile(changes, norms, of_people=True)
    defaults = [
        (name, structs.replace(mean_estimate(name, list(defined(values)), digits=1), of="people"))
        for name, values in paired.people.before.items()
    ]
    yield tables.default_mood(defaults, norms, "these people", tables.OTHERS)
    yield _views(paired, changes, agreements)
    shown = [administration.shown for administration in given if administration.status == "ok"]
    for table in (_alike(paired), tables.order_effect(shown)):
        if table is not None:
            yield table


def _sentence(
    headline: Estimate, three: ThreeNumbers | None, agreements: Sequence[PeopleAgreement], valid: bool
) -> str:
    if headline.value is None:
        return "People cannot be scored: nobody has both measures yet."
    bounds = "" if headline.low is None else f" (95 % interval {headline.low:z.1f} to {headline.high:z.1f})"
    who = f"{headline.n} people" if headline.n > 1 else "One person"
    if three is None:
        scale = headline.name.removeprefix("change in ")
        text = f"{who}: negative situations change {scale} by {headline.value:+.1f} points{bounds}."
    else:
        text = (
            f"{who}: given two situations, the better mood is reported in the better one {headline.value:.1f} % of the "
            f"time{chance(headline)}; "
            f"{verdict(headline)}.{companions(three, 'On average they are', 'the published people')}"
        )
    if any(one.mean_gap.value is not None for one in agreements):
        text += f" Their changes differ from those of the published people by {mean_gaps(agreements)}."
    return text if valid else f"{text} But too few answers could be read: the result is not valid."


def _caveats(
    given: Sequence[Administration],
    found: Paired,
    options: EmotionBenchOptions,
    norms: Norms | None,
    three: ThreeNumbers | None,
) -> tuple[str, ...]:
    said = ["A questionnaire measures what people say of a situation they imagine, not what they would feel in it."]
    if norms is not None and options.item_set == "open":
        said.append("The published people had other texts of the same factors.")
    if norms is None and options.instrument == "PANAS":
        said.append(
            "Compared with the published people over all factors only: for each factor by itself give the study the "
            "option people = yes (needs their data)."
        )
    each = len(found.people.where) / len(found.people.places) if found.people.places else 0.0
    if three and each < FEW_EACH:
        said.append(f"Few people per situation ({each:.1f}): their noise lowers the concordance.")
    if 0 < found.n_people < 10:
        said.append(
            f"{many(found.n_people, 'person is', 'people are')} few: intervals are wide and single factors say little."
        )
    if found.n_dropped:
        said.append(
            f"{found.n_dropped} of {many(found.n_began, 'person', 'people')} gave the default measure only; "
            "they are left out."
        )
    if found.n_without_default:
        said.append(
            f"{many(found.n_without_default, 'person has', 'people have')} no readable default measure and "
            "are left out."
        )
    return (*said, *pages_not_answered(sum(administration.status is None for administration in given)))


def _views(paired: Paired, changes: Sequence[MoodChange], agreements: Sequence[PeopleAgreement]) -> Table:
    """As published, honest, against the published people: side by side for every cell."""
    published = {cell.key: cell for name in paired.people.before for cell in people_cells(paired.people, name)}
    gaps = tables.gaps_by_cell(agreements)
    return Table(
        "Views of every cell",
        (
            *(
                "situations of",
                "scale",
                "people",
                "as published",
                Column("p_published", "p (as published)", "p"),
                Column("p_holm", "honest: p after Holm", "p"),
            ),
            *("Hedges' g", "honest: change", f"against {tables.OTHERS}: difference"),
            f"within ±{MARGIN:g} of them",
        ),
        tuple(
            (
                tables.row_name(change),
                change.subscale,
                change.n,
                tables.arrow(published[change.key]),
                published[change.key].comparison.p,
                change.p_holm,
                change.effect,
                change.change,
                *tables.beside(gaps.get(change.key)),
            )
            for change in changes
        ),
        "As published: paired t-test over persons, arrow at p ≤ 0.01. Honest: over people and situations (of several "
        "factors: factors) alike, which holds for other situations of the kind too; Holm over all factor cells.",
    )


def _alike(paired: Paired) -> Table | None:
    table = tables.repeats(paired.changes_as_measures())
    if table is None:
        return None
    return Table(
        "How alike people's changes in one situation are",
        ("scale", "people", "situations", "ICC(1)", "design effect"),
        table.rows,
        "A design effect of 1 means: all situations move people alike. The larger it is, the less would intervals "
        "over people alone hold for other situations.",
    )


def _situations_shown(
    given: Sequence[Administration],
    paired: Paired,
    moved: Alignment | None,
    three: ThreeNumbers | None,
    norms: Norms | None,
) -> tuple[ItemScore, ...]:
    """One entry per situation that somebody was to imagine: the mean change of its people."""
    trials = {
        administration.trial.items[0]: administration.trial
        for administration in sorted(given, key=lambda one: one.trial.id)
    }
    numbers = {place.situation: number for number, place in enumerate(paired.people.places)}
    shown = []
    for item, trial in sorted(trials.items()):
        if trial.condition == "default":
            continue
        rows = paired.people.where == numbers.get(item, -2)
        means = {name: defined(paired.people.change(name)[rows]) for name in paired.people.before}
        values = {name: round(float(mean.mean()), 2) for name, mean in means.items() if len(mean)}
        place = (trial.key["emotion"], trial.key["factor_index"])
        shown.append(
            ItemScore(
                item=item,
                trial=trial.id,
                repeat=0,
                status="ok" if rows.any() else None,
                score=moved.moods.get(item) if moved else next(iter(values.values()), None),
                title=f"{trial.key['emotion']}: {trial.key['factor']}",
                text=f"Mean change of {many(int(rows.sum()), 'person', 'people')}." if rows.any() else "",
                values=values,
                reference={norm.subscale: round(norm.change, 2) for norm in (norms.of_factor(*place) if norms else ())},
                attempts=int(rows.sum()),
                points=three.points.get(item) if three else None,
            )
        )
    return tuple(shown)

"""From a subject's administrations to its EmotionBench result: three numbers and what must be said with them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.outcome import FORCED, MIN_READABLE, count_outcomes, flatness, not_answered_yet
from eqlab.benchmarks.emotionbench import tables
from eqlab.benchmarks.emotionbench.items import EmotionBenchOptions
from eqlab.benchmarks.emotionbench.measures import KINDS, Measures
from eqlab.benchmarks.emotionbench.moods import (
    CAPPED,
    PUBLISHED_PEOPLE,
    Alignment,
    ThreeNumbers,
    align,
    beside_people,
    mood_changes,
    repeat_estimates,
    three_numbers,
)
from eqlab.benchmarks.emotionbench.score import WHOLE, Administration, administrations, measures_of, norms_of
from eqlab.benchmarks.emotionbench.trials import last_characters
from eqlab.benchmarks.emotionbench.views import (
    MoodChange,
    Norms,
    PeopleAgreement,
    agreement,
    mean_gaps,
    situation_changes,
)
from eqlab.core.answers import STATUSES, Answer, Status
from eqlab.core.benchmark import Scored
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, ItemScore, Result, Table
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import INSTRUMENTS, OVERALL

CHANCE = 50.0


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    given = administrations(scored)
    measures = measures_of(subject, given)
    norms = norms_of(administration.trial for administration in given)
    typed = EmotionBenchOptions.of(options)
    panas = typed.instrument == "PANAS"
    aligned = align(measures) if panas and measures.scores else None
    three = three_numbers(measures, mood_changes(measures)) if aligned else None
    changes = situation_changes(measures, list(measures.scores))
    agreements = [agreement(changes, norms, name) for name in measures.scores] if norms else []
    headline = three.headline if three else scale_headline(typed.instrument, changes)
    valid = headline.value is not None and _readable(given)
    shown = [administration.shown for administration in given if administration.status == "ok"]
    flat = flatness(shown)
    return Result(
        noun="situations",
        benchmark="emotionbench",
        title="EmotionBench" if panas else f"EmotionBench, {typed.instrument}",
        subject=subject,
        rules={**options, **_asked(given)},
        sentence=_sentence(subject, headline, three, agreements, valid),
        headline=headline,
        score_range=(0.0, 100.0) if panas else scale_range(typed.instrument),
        estimates=(
            *_estimates(given, measures, changes, aligned, three, agreements),
            *(repeat_estimates(given, measures) if aligned else ()),
            *(flat.estimates if flat else ()),
        ),
        counts=count_outcomes(administration.status for administration in given),
        items=situation_scores(given, aligned, three, norms),
        item_range=(-40.0, 40.0) if panas else scale_range(typed.instrument),
        baselines=BASELINES if aligned else (),
        valid=valid,
        caveats=(
            *(flat.caveats if flat else ()),
            *_caveats(given, typed, headline, norms, valid, three.cap if three else None),
        ),
        tables=(
            *((beside_people(three),) if three and changes else ()),
            *_tables(given, shown, measures, changes, norms, agreements),
        ),
        emotions=tables.by_emotion(changes, norms),
        beside_people=tables.beside_people(changes, norms),
        people=PUBLISHED_PEOPLE if aligned else None,
    )


def _asked(given: Sequence[Administration]) -> dict[str, Any]:
    """How often was asked, in numbers: the numbers depend on it, because repeats average noise out."""
    by_item = Counter(administration.trial.items[0] for administration in given)
    return {
        "mode": given[0].trial.mode if given else "text",
        "defaults": by_item.pop("default", 0),
        "repeats": max(by_item.values(), default=0),
    }


BASELINES = (
    Baseline("very negative whatever happens", 50.0),
    Baseline("never moved", 50.0),
    Baseline("random", 50.0),
)
"""Exact in expectation: a mood that does not depend on the kind of situation is as often above as below."""


def scale_headline(key: str, changes: Sequence[MoodChange]) -> Estimate:
    """Other instruments have no good or bad end: the change of their overall score over all situations asked."""
    whole = [c for c in changes if c.level == "overall" and c.subscale in (OVERALL, WHOLE)]
    if not whole:
        return Estimate(f"change in {key}", None, 0, digits=1)
    label = "" if whole[0].subscale == OVERALL else "sum of all items; the instrument has no overall score"
    return structs.replace(whole[0].change, name=f"change in {key}", note=label)


def scale_range(key: str) -> tuple[float, float]:
    instrument = INSTRUMENTS[key]
    span = float(instrument.factor * instrument.n_items * (instrument.high - instrument.low))
    return -span, span


def _readable(given: Sequence[Administration]) -> bool:
    """Whether enough of the default and of each kind of situation could be read; else the result is not valid."""
    asked, good = Counter[str](), Counter[str]()
    for (emotion, status), count in Counter((one.trial.key.get("emotion"), one.status) for one in given).items():
        asked[_kind(emotion)] += count
        good[_kind(emotion)] += count if status == "ok" else 0
    return all(good[kind] >= MIN_READABLE * asked[kind] for kind in asked)


def _kind(emotion: object) -> str:
    return "default" if emotion is None else str(emotion) if emotion in ("Neutral", "Positive") else "negative"


def _estimates(
    given: Sequence[Administration],
    measures: Measures,
    changes: Sequence[MoodChange],
    aligned: Alignment | None,
    three: ThreeNumbers | None,
    agreements: Sequence[PeopleAgreement],
) -> tuple[Estimate, ...]:
    places = [administration.trial.items for administration in given]  # a situation's repeats are alike
    by_rule = [one.status is not None and _by_published_rule(one.trial, one.answer) for one in given]
    lines = [
        *(three.estimates if three else ()),
        *((old_number(aligned),) if aligned else ()),
        *(aligned.shares[kind] for kind in KINDS if aligned),
        clustered_share("readable answers", [administration.status == "ok" for administration in given], places),
        clustered_share("refused", [administration.status == "refused" for administration in given], places),
        clustered_share("readable by the published last-character rule", by_rule, places),
        *(mean_estimate(f"default {n}", list(measures.default(n)), digits=1) for n in measures.scores),
        *(structs.replace(c.change, name=f"{c.subscale}: change") for c in changes if c.level == "overall"),
    ]
    for one in agreements:
        ceiling = "" if one.reliability is None else f"people's own reliability is {one.reliability:.2f}"
        lines += [structs.replace(one.correlation, note=ceiling), one.mean_gap]
    return tuple(lines)


def old_number(aligned: Alignment) -> Estimate:
    capped = aligned.best is not None and aligned.best < 100
    note = f"capped: with this default nobody can have more than {aligned.best:.0f}" if capped else ""
    return structs.replace(aligned.headline, note=aligned.headline.note or note)


def _by_published_rule(trial: Trial, answer: Answer | None) -> bool:
    return answer is not None and len(last_characters(answer.text)) == len(trial.form.scales)


def _tables(
    given: Sequence[Administration],
    shown: Sequence[Sequence[float]],
    measures: Measures,
    found: Sequence[MoodChange],
    norms: Norms | None,
    agreements: Sequence[PeopleAgreement],
) -> tuple[Table, ...]:
    if not found:
        return ()
    defaults = [(name, mean_estimate(name, list(measures.default(name)), digits=1)) for name in measures.scores]
    optional = (tables.repeats(measures), tables.order_effect(shown), tables.refusals(given))
    return (
        tables.profile(found, norms),
        tables.default_mood(defaults, norms),
        tables.three_views(measures, found, agreements),
        *(table for table in optional if table is not None),
    )


def _sentence(
    subject: str,
    headline: Estimate,
    three: ThreeNumbers | None,
    agreements: Sequence[PeopleAgreement],
    valid: bool,
) -> str:
    who = subject.removeprefix("model:")
    if headline.value is None:
        return f"{who} cannot be scored: {headline.note or 'no answer could be read'}."
    bounds = "" if headline.low is None else f" (95 % interval {headline.low:z.1f} to {headline.high:z.1f})"
    if three is None:
        text = (
            f"The situations change {who}'s score by {headline.value:+.1f} points{bounds}, "
            f"{many(headline.n, 'situation')}."
        )
    else:
        text = (
            f"Given two situations, {who} reports the better mood in the better one {headline.value:.1f} % of the time"
            f"{chance(headline)}; "
            f"{verdict(headline)}.{companions(three, 'It is')}"
        )
    if any(one.mean_gap.value is not None for one in agreements):
        text += f" Its changes differ from people's by {mean_gaps(agreements)}."
    return text if valid else f"{text} But too few answers could be read: the result is not valid."


def chance(headline: Estimate) -> str:
    """The interval, where there is one, and what a mood would reach that does not depend on what happens."""
    if headline.low is None or headline.high is None:
        return f" (chance: {CHANCE:.0f} %)"
    return f" (95 % interval {headline.low:z.1f} to {headline.high:z.1f}; chance: {CHANCE:.0f} %)"


def verdict(headline: Estimate) -> str:
    if headline.low is None or headline.high is None:
        return "too few situations to tell this from chance"
    if headline.low > CHANCE:
        return "this is better than chance"
    if headline.high < CHANCE:
        return "this is worse than chance"
    return "this cannot be told apart from chance"


def companions(three: ThreeNumbers, verb: str, people: str = "people") -> str:
    """The other two numbers in words; those that are undefined are left out."""
    said = []
    move, true = three.movement, three.profile.true
    if move.value is not None:
        said.append(f"moved {move.value:.2f} times as far as {people}{_bounds(move)}")
    if true.value is not None:
        said.append(
            f"by the same factors with r = {true.value:.2f}{_bounds(true)} without measurement error "
            f"({three.profile.seen.value:.2f} as seen; a second sample of people {three.profile.people:.2f})"
        )
    return f" {verb} {', '.join(said)}." if said else ""


def _bounds(estimate: Estimate) -> str:
    return "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"


def _caveats(
    given: Sequence[Administration],
    options: EmotionBenchOptions,
    headline: Estimate,
    norms: Norms | None,
    valid: bool,
    cap: float | None = None,
) -> tuple[str, ...]:
    said = ["A questionnaire measures what is said, not what is felt."]
    if options.item_set == "open":
        said.append("No human norm exists for these texts; people's changes are those of the same factors.")
    if norms is None and options.instrument == "PANAS":
        said.append("Not compared with people: add '-o people=yes' (needs the published data).")
    if options.instrument == "PANAS" and headline.value is None:
        said.append("The concordance needs controls: add '-o controls=yes'.")
    if headline.value is not None and cap is not None and cap < 100:
        said.append(CAPPED.format(cap=cap))
    if headline.value is not None and headline.low is None and headline.note:
        said.append(f"{headline.note[:1].upper()}{headline.note[1:]} (--profile full).")
    if given and given[0].trial.mode == "json":
        said.append(FORCED)
    lost = sum(administration.status in ("refused", "unparseable", "error") for administration in given)
    if lost:
        said.append(f"{lost} of {many(len(given), 'answer')} could not be used; left out, see the table.")
    if not valid:
        share = f"{100 * MIN_READABLE:.0f} %"
        said.append(f"Fewer than {share} of the answers to a kind of situation could be read: the result is not valid.")
    return (*said, *not_answered_yet(sum(administration.status is None for administration in given)))


def situation_scores(
    given: Sequence[Administration], aligned: Alignment | None, three: ThreeNumbers | None, norms: Norms | None
) -> tuple[ItemScore, ...]:
    """One entry per situation, in the order asked; its score is the change of mood (PANAS) or of the overall score."""
    defaults = _means([one for one in given if one.trial.condition == "default"])
    by_item: dict[str, list[Administration]] = {}
    for administration in given:
        if administration.trial.condition != "default":
            by_item.setdefault(administration.trial.items[0], []).append(administration)
    people: dict[tuple[str, int], dict[str, float]] = {}
    for norm in norms.factors if norms else ():
        people.setdefault((norm.emotion, norm.factor_index), {})[norm.subscale] = round(norm.change, 2)
    return tuple(_item(item, repeats, defaults, aligned, three, people) for item, repeats in by_item.items())


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
    shown = next((administration for administration in own if administration.status == "ok"), own[0])
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
        attempts=sum(administration.n_attempts for administration in own),
        points=three.points.get(item) if three else None,
        topics=(str(trial.key["emotion"]),),
        shown=shown.trial.stimulus,
        cluster="{emotion}-{factor_index}".format(**trial.key) if _kind(trial.key["emotion"]) == "negative" else "",
    )


def _means(own: Sequence[Administration]) -> dict[str, float]:
    """Mean scores over administrations, of the scores that at least one has."""
    names = own[0].scores if own else ()
    found = {name: [v for administration in own if (v := administration.scores[name]) is not None] for name in names}
    return {name: fmean(values) for name, values in found.items() if values}


def _status(own: Sequence[Administration]) -> Status | None:
    """The best that a repeat came to."""
    return next((status for status in STATUSES if any(administration.status == status for administration in own)), None)

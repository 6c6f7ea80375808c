"""A judge's ratings of single replies as a result: arms side by side, called judge-only; calibrated where people rated
the same replies; with prediction-powered intervals where people rated some of them.

On the published form the measure is P(Good); on a rubric every scale has its own means and differences, and `overall`
is the mean of the scales from 0 to 100."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from statistics import fmean
from typing import TypeVar

import numpy as np

from eqlab.analysis.comparison import paired
from eqlab.analysis.correlation import pearson
from eqlab.analysis.intervals import clustered_share, mean_estimate, proportion_estimate
from eqlab.analysis.ppi import PpiMean
from eqlab.benchmarks.rating import calibration, powered
from eqlab.benchmarks.rating.arm_shares import (
    ArmShares,
    above_people,
    arm_shares,
    arm_table,
    by_group,
    length_table,
    shares_of,
    with_place,
)
from eqlab.benchmarks.rating.rated import (
    GOOD,
    HUMAN,
    GivenRating,
    Outcome,
    RatedReply,
    Reply,
    arms_of,
    counted,
    given,
    snapshots,
    unread_caveats,
)
from eqlab.benchmarks.rating.trials import RatingOptions
from eqlab.core.forms import Scale
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import POINTS, Estimate, OfOthers, Table, whiskers

ONE_RATER = (
    "Judge-only: one judge is one rater, so the intervals say how the result would vary over other prompts, not over "
    "other raters; people may see it differently."
)
_MOST_PAIRS = 15
Points = Mapping[str, Mapping[str, float]]
"""By arm and prompt; the mean over repeats."""
Gap = tuple[str, str, Estimate]
"""(arm, reference, difference)."""
R = TypeVar("R", RatedReply, GivenRating)


# -- the published form --------------------------------------------------------------------------------------------


def published_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    judge = subject.removeprefix("judge:")
    usable, arms = given(ratings), arms_of(ratings)
    shares = arm_shares(usable, arms, lambda one: one.prompt)
    above = above_people([(rating.arm, rating.prompt, rating.value) for rating in usable])
    found = calibration.published(ratings, judge)
    rules = {"calibration_pairs": found.pairs if found else 0}
    if options.purpose == "calibration":
        return Outcome(
            title="Judge calibration",
            sentence=f"{judge}: {calibration.verdict(found)}" if found else calibration.NOTHING.format(judge=judge),
            headline=found.measures[calibration.CEILING] if found else calibration.UNDEFINED,
            score_range=(-0.2, 1.0),
            estimates=(*(found.estimates if found else ()), *_repeats(ratings)),
            tables=(*(calibration.published_tables(found) if found else ()), arm_table(shares, "this judge", above)),
            caveats=(
                "Agreement is with single people, one rating at a time, not with a consensus.",
                *((found.own_family_note,) if found and found.own_family is None else ()),
                *unread_caveats(ratings),
            ),
            rules={**rules, "human_kappa": calibration.HUMAN_KAPPA},
            others=OfOthers("Empathy", "replies called Good", (), HUMAN),
        )
    points = _by_prompt(usable, lambda one: 100.0 * (one.value == GOOD))
    gaps = _gaps("P(Good)", points, shares.arms, digits=1, unit="points")
    helped = powered.good_means(ratings, shares.arms)
    table = arm_table(shares, "judge-only", above)
    return Outcome(
        title="Empathy, rated by a judge",
        sentence=_good_sentence(judge, shares, helped),
        headline=gaps[0][2] if len(shares.arms) == 2 else shares.headline("no rating could be read"),
        score_range=(-100.0, 100.0) if len(shares.arms) == 2 else (0.0, 100.0),
        estimates=(
            *(shares.good(arm) for arm in shares.arms),
            *(gap for *_, gap in gaps),
            *above.values(),
            *powered.good_estimates(helped),
            *_repeats(ratings),
        ),
        tables=(
            table,
            *((_good_gaps(gaps),) if gaps else ()),
            *length_table(usable, shares, lambda one: one.prompt),
            *powered.good_tables(ratings, helped, shares.arms),
            *(calibration.published_tables(found) if found else ()),
            *by_group(usable, shares, lambda one: one.prompt, "valence"),
            *by_group(usable, shares, lambda one: one.prompt, "emotion"),
        ),
        caveats=(
            ONE_RATER,
            *calibration.relatives(judge, shares.arms),
            *((f"On the replies that people have rated too: {calibration.verdict(found)}",) if found else ()),
            *powered.powered_caveats(ratings, shares.arms),
            *unread_caveats(ratings),
        ),
        rules=rules,
        others=OfOthers("Empathy", "replies called Good", shares_of(table), HUMAN, above=above),
    )


def _good_sentence(judge: str, shares: ArmShares, helped: Mapping[str, PpiMean]) -> str:
    """Shares, highest first; who is better than whom is decided in one place, above all benchmarks."""
    if not shares.arms:
        return f"No rating of the judge {judge} could be read."
    best_first = sorted(((shares.good(arm).value or 0.0, arm) for arm in shares.arms), key=lambda one: -one[0])
    listed = ", ".join(f"{value:.1f} % of the replies by {arm}" for value, arm in best_first)
    text = f"Judge-only: {judge} calls Good {listed}."
    if helped:
        people = ", ".join(f"{100 * ppi.value:.1f} % of {arm}" for arm, ppi in helped.items())
        text += f" With people's ratings of some replies: {people} (prediction-powered)."
    return text


def _good_gaps(gaps: Sequence[Gap]) -> Table:
    return Table(
        "Differences (judge-only)",
        ("replies by", "against", "difference in P(Good), points"),
        tuple(gaps),
        "Paired over the prompts that both replied to; n counts them. Each pair by itself: not corrected for others.",
        draw=(whiskers("difference in P(Good), points"),),
    )


def _repeats(ratings: Sequence[RatedReply]) -> tuple[Estimate, ...]:
    """How often the judge says the same when asked again."""
    by_trial = grouped(((reply.trial.id, reply.prompt), reply.value) for reply in ratings if reply.value is not None)
    again = {trial: values for trial, values in by_trial.items() if len(values) > 1}
    same, prompts = [len(set(values)) == 1 for values in again.values()], [prompt for _, prompt in again]
    note = "a judge that always says the same has 100 %"
    return (clustered_share("same rating each time it is asked", same, prompts, note=note),) if again else ()


# -- a rubric ------------------------------------------------------------------------------------------------------


def rubric_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    judge, title = subject.removeprefix("judge:"), options.rubric_title
    scales, arms = ratings[0].trial.form.scales, arms_of(ratings)
    on = {scale.key: given(ratings, scale) for scale in scales}
    by_scale = {key: _by_prompt(own, lambda one: one.value) for key, own in on.items()}
    overall = _by_prompt((reply for reply in ratings if reply.overall is not None), lambda one: one.overall or 0.0)
    shares = {arm: _overall(arm, list(overall.get(arm, {}).values())) for arm in arms}
    gaps = _gaps("overall", overall, arms, digits=1, bounds=(0.0, 100.0))
    above = above_people([(arm, prompt, value) for arm, own in overall.items() for prompt, value in own.items()])
    calibrations = calibration.by_scale(ratings, scales, judge)
    calibrating = options.purpose == "calibration"
    means = _means_table(scales, by_scale, arms)
    return Outcome(
        title=f"Judge calibration, {title}" if calibrating else f"{title}, rated by a judge",
        sentence=calibrations.sentence(judge)
        if calibrating
        else _overall_sentence(judge, title, shares, scales, by_scale),
        headline=calibrations.headline if calibrating else _highest(shares),
        score_range=(-0.2, 1.0) if calibrating else (0.0, 100.0),
        estimates=(
            *shares.values(),
            *(gap for *_, gap in gaps),
            *(cell for row in means.rows for cell in row if isinstance(cell, Estimate)),
            *calibrations.estimates,
        ),
        tables=(
            *(calibrations.tables() if calibrating else ()),
            with_place(
                Table(
                    "Overall (judge-only)",
                    ("replies by", "overall, 0 to 100"),
                    tuple(shares.items()),
                    "The mean of the scales, each from 0 to 100, over prompts; only ratings that could be read on "
                    "every scale.",
                    draw=(whiskers("overall, 0 to 100"),),
                ),
                above,
            ),
            means,
            *((_gap_table(scales, by_scale, gaps, arms),) if gaps and not calibrating else ()),
            *(() if calibrating else powered.scale_tables(ratings, scales, arms)),
            *((correlation_table(scales, on),) if len(scales) > 1 else ()),
            _read_table(ratings, scales),
            *(() if calibrating else calibrations.tables()),
        ),
        caveats=(
            *(() if calibrating else (ONE_RATER, *calibration.relatives(judge, arms))),
            *(() if calibrating else powered.powered_caveats(ratings, arms, scales)),
            *_lost(ratings, scales),
            *calibrations.caveats(calibrating=calibrating),
        ),
        rules={"scales": ", ".join(scale.key for scale in scales), "calibration_pairs": calibrations.pairs},
        others=OfOthers(
            title,
            "mean of the rubric's scales, 0 to 100",
            () if calibrating else tuple(item for item in shares.items() if item[1].value is not None),
            HUMAN,
            above=above,
        ),
    )


def _overall(arm: str, values: list[float]) -> Estimate:
    note = "" if values else "no rating could be read on all scales"
    return mean_estimate(f"overall, {arm}", values, unit=POINTS, note=note, digits=1, bounds=(0.0, 100.0))


def _highest(shares: Mapping[str, Estimate]) -> Estimate:
    readable = [estimate for estimate in shares.values() if estimate.value is not None]
    if not readable:
        return Estimate("overall", None, 0, note="no rating could be read", digits=1)
    best = max(readable, key=lambda one: one.value or 0.0)
    if len(shares) == 1:
        return best
    note = f"{best.name.removeprefix('overall, ')}; the tables have all {len(shares)}"
    return Estimate("highest overall", best.value, best.n, best.se, best.low, best.high, "", note, 1)


def _overall_sentence(
    judge: str, title: str, shares: Mapping[str, Estimate], scales: Sequence[Scale], by_scale: Mapping[str, Points]
) -> str:
    readable = [(arm, share) for arm, share in shares.items() if share.value is not None]
    best_first = sorted(readable, key=lambda one: -(one[1].value or 0.0))
    if not best_first:
        return f"No rating of the judge {judge} could be read on all scales."
    listed = ", ".join(f"{arm} {share.value:.1f}" for arm, share in best_first)
    text = f"Judge-only: on {title} {judge} gives {listed} of 100 overall ({len(scales)} scales)."
    best = best_first[0][0]
    means = {key: fmean(own[best].values()) for key, own in by_scale.items() if own.get(best)}
    if len(scales) > 1 and len(means) == len(scales):
        place = {scale.named: (means[scale.key] - scale.low) / (scale.high - scale.low) for scale in scales}
        strong, weak = max(place, key=lambda key: place[key]), min(place, key=lambda key: place[key])
        if strong != weak:
            text += f" {best} is strongest in {strong} and weakest in {weak}."
    return text


def _means_table(scales: Sequence[Scale], by_scale: Mapping[str, Points], arms: Sequence[str]) -> Table:
    rows = tuple(
        (
            scale.named,
            f"{scale.low}–{scale.high}",
            arm,
            mean_estimate(
                f"{_mean_of(scale)}, {arm}", list(by_scale[scale.key].get(arm, {}).values()), bounds=_ends(scale)
            ),
        )
        for scale in scales
        for arm in arms
    )
    return Table(
        "Ratings by scale (judge-only)",
        ("scale", "range", "replies by", "mean"),
        rows,
        "n counts prompts; repeats are averaged. A reverse-keyed scale is turned round: more is better.",
    )


def _mean_of(scale: Scale) -> str:
    """Its name among the estimates, where `overall` is the mean of all scales."""
    return f"{scale.named}, {scale.low} to {scale.high}" if scale.key == "overall" else scale.named


def _gap_table(
    scales: Sequence[Scale], by_scale: Mapping[str, Points], overall: Sequence[Gap], arms: Sequence[str]
) -> Table:
    rows: list[tuple[str | Estimate, ...]] = [("overall, 0 to 100", *gap) for gap in overall]
    for scale in scales:
        rows += [(scale.named, *gap) for gap in _gaps(scale.named, by_scale[scale.key], arms, bounds=_ends(scale))]
    return Table(
        "Differences (judge-only)",
        ("scale", "replies by", "against", "difference"),
        tuple(rows),
        "Paired over the prompts that both have; n counts them. Each row by itself: not corrected for others.",
    )


def _read_table(ratings: Sequence[RatedReply], scales: Sequence[Scale]) -> Table:
    answered = [reply for reply in ratings if reply.status is not None]
    rows = []
    for scale in scales:
        hits = sum(scale.key in reply.values for reply in answered)
        rows.append((scale.key, hits, len(answered) - hits, proportion_estimate("readable", hits, len(answered))))
    return Table(
        "What could be read",
        ("scale", "read", "not read", "share"),
        tuple(rows),
        "A rating without one of the scales is asked for again; what the last one has counts for its scale.",
    )


def _lost(ratings: Sequence[RatedReply], scales: Sequence[Scale]) -> tuple[str, ...]:
    counts, models, said = counted(ratings), sorted(snapshots(ratings)), []
    if len(models) > 1:
        said.append(f"The server answered as {many(len(models), 'different model')} ({', '.join(models)}).")
    part = [reply for reply in ratings if reply.status == "unparseable" and reply.values]
    if part:
        lost = [scale.key for scale in scales if any(scale.key not in reply.values for reply in part)]
        said.append(
            f"{len(part)} of {many(len(ratings), 'rating')} {'lacks' if len(part) == 1 else 'lack'} a scale "
            f"({', '.join(lost)}) and count on the others."
        )
    none = sum(counts[status] for status in ("unparseable", "refused", "error")) - len(part)
    if none:
        said.append(f"{none} of {len(ratings)} got no readable rating; left out.")
    if counts["unanswered"]:
        said.append(f"{counts['unanswered']} are not rated yet; the result is preliminary.")
    return tuple(said)


def correlation_table(scales: Sequence[Scale], on: Mapping[str, Sequence[GivenRating]]) -> Table:
    """Correlations of two scales over replies. Each rating counts as far as it lies from its rater's mean on the scale,
    so that a generous rater does not make them; of who gave one rating nothing is left, and of those who rate together
    one mean is lost."""
    means = {key: group_means(_beside_their_mean(own)) for key, own in on.items()}
    together = grouped((one.reply, one.rater) for own in on.values() for one in own).values()
    lost = min(len(set(map(frozenset, together))), len(set(chain.from_iterable(together)))) - 1
    rows = []
    for one, other in combinations(scales, 2):
        both = sorted(means[one.key].keys() & means[other.key].keys())
        first, second = (np.array([means[scale.key][reply] for reply in both]) for scale in (one, other))
        rows.append((one.named, other.named, pearson("r", first, second, lost=lost)))
    return Table(
        "How the scales go together",
        ("scale", "with", "r of replies' mean ratings"),
        tuple(rows),
        "A rating counts as far as it lies from its rater's own mean. Near 1: raters do not tell the two apart, and "
        "one of them would do.",
    )


def _beside_their_mean(own: Sequence[GivenRating]) -> Iterator[tuple[Reply, float]]:
    gave, usual = Counter(one.rater for one in own), group_means((one.rater, one.value) for one in own)
    return ((one.reply, one.value - usual[one.rater]) for one in own if gave[one.rater] > 1)


# -- both ----------------------------------------------------------------------------------------------------------


def _by_prompt(ratings: Iterable[R], points: Callable[[R], float]) -> Points:
    values: dict[str, dict[str, list[float]]] = {}
    for reply in ratings:
        values.setdefault(reply.arm, {}).setdefault(reply.prompt, []).append(points(reply))
    return {arm: {prompt: fmean(own) for prompt, own in by.items()} for arm, by in values.items()}


def _gaps(
    name: str,
    points: Points,
    arms: Sequence[str],
    *,
    digits: int = 2,
    unit: str = "",
    bounds: tuple[float, float] | None = None,
) -> list[Gap]:
    """Every two arms, paired over the prompts that both have, as everywhere where two are compared."""
    found = []
    for reference, arm in list(combinations(arms, 2))[:_MOST_PAIRS]:
        own, other = points.get(arm, {}), points.get(reference, {})
        shared = [prompt for prompt in own if prompt in other]
        gap = paired([own[prompt] for prompt in shared], [other[prompt] for prompt in shared], bounds=bounds)
        low, high = gap.low, gap.high
        if name == "P(Good)":
            low, high = None if low is None else max(low, -100.0), None if high is None else min(high, 100.0)
        label = f"{name}, {arm} − {reference}"
        estimate = Estimate(label, gap.value, gap.n, gap.se, low, high, unit, digits=digits, of="prompts")
        found.append((arm, reference, estimate))
    return found


def _ends(scale: Scale) -> tuple[float, float]:
    return float(scale.low), float(scale.high)

"""A judge's ratings under a rubric: every scale with its own means, differences and n, all scales together from 0 to
100, how the scales go together, and calibration scale by scale where people rated the same."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from eqlab.analysis.comparison import paired
from eqlab.analysis.intervals import mean_estimate, proportion_estimate
from eqlab.benchmarks.common.outcome import flatness
from eqlab.benchmarks.rating.judge_result import ONE_RATER, relatives
from eqlab.benchmarks.rating.rated import GivenRating, RatedReply, arms_of, given, on_scale
from eqlab.benchmarks.rating.rubric_calibration import calibrated_tables, calibrations, missing_note, people_tables
from eqlab.benchmarks.rating.rubric_items import item_on_scales, overall
from eqlab.benchmarks.rating.scales_result import together_table
from eqlab.core.answers import STATUSES
from eqlab.core.forms import Scale
from eqlab.core.results import POINTS, Estimate, OfOthers, Result, Table

MIN_READABLE = 5 / 6
_MOST_PAIRS = 15
Points = Mapping[str, Mapping[str, float]]
"""By arm and prompt; the mean over repeats."""


def rubric_result(subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> Result:
    judge = subject.removeprefix("judge:")
    scales, arms = ratings[0].trial.form.scales, arms_of(ratings)
    each = {scale.key: on_scale(ratings, scale) for scale in scales}
    read = {key: given(own) for key, own in each.items()}
    whole = _overall_points(ratings)
    shares = {arm: _overall(arm, whole.get(arm, {})) for arm in arms}
    found = calibrations(each, scales, judge)
    calibrating = options["purpose"] == "calibration"
    gaps = _gaps("overall", whole, (0.0, 100.0), arms)
    counts: Counter[str] = Counter(one.status or "unanswered" for one in ratings)
    asked = len(ratings) - counts.get("unanswered", 0)
    valid = asked > 0 and counts.get("ok", 0) >= MIN_READABLE * asked
    flat = flatness(list(one.values.values()) for one in ratings if overall(one) is not None)
    title = str(options["rubric_title"])
    snapshots = sorted({one.answer.model for one in ratings if one.answer is not None and one.answer.model})
    by_scale = {scale.key: _points(read[scale.key]) for scale in scales}
    headline = found.headline if calibrating else _headline(shares)
    sentence = found.sentence(judge) if calibrating else _sentence(judge, title, shares, scales, by_scale)
    means = _means_table(scales, by_scale, arms)
    return Result(
        benchmark="rating",
        title=f"Judge calibration, {title}" if calibrating else f"{title}, rated by a judge",
        subject=subject,
        rules={
            **options,
            "mode": ratings[0].trial.mode,
            "scales": ", ".join(scale.key for scale in scales),
            "calibration_pairs": found.pairs,
            "snapshot": ", ".join(snapshots) or "not reported",
        },
        sentence=sentence if valid or not asked else f"{sentence} But too few ratings could be read: not valid.",
        headline=headline,
        score_range=(-0.2, 1.0) if calibrating else (0.0, 100.0),
        estimates=(
            *shares.values(),
            *(one for _, _, one in gaps),
            *(cell for row in means.rows for cell in row if isinstance(cell, Estimate)),
            *found.estimates,
            *(flat.estimates if flat else ()),
        ),
        counts={
            "planned": len(ratings),
            **{status: counts.get(status, 0) for status in STATUSES},
            "unanswered": counts.get("unanswered", 0),
        },
        items=tuple(item_on_scales(one) for one in ratings),
        item_range=(0.0, 100.0),
        valid=valid,
        ranked=calibrating,
        caveats=(
            *(flat.caveats if flat else ()),
            *(() if calibrating else (ONE_RATER, *relatives(judge, arms))),
            *_lost(ratings, counts, scales, snapshots),
            *missing_note(found, calibrating=calibrating),
        ),
        tables=(
            *(calibrated_tables(found) if calibrating else ()),
            _overall_table(shares),
            means,
            *((_gap_table(scales, by_scale, gaps, arms),) if gaps and not calibrating else ()),
            *(() if calibrating else people_tables(each, scales, arms)),
            *((together_table(scales, read),) if len(scales) > 1 else ()),
            _read_table(ratings, scales),
            *(() if calibrating else calibrated_tables(found)),
        ),
        noun="prompts",
        others=OfOthers(
            title,
            "mean of the rubric's scales, 0 to 100",
            () if calibrating else tuple(one for one in shares.items() if one[1].value is not None),
            "human",
        ),
    )


def _overall_points(ratings: Sequence[RatedReply]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for one in ratings:
        points = overall(one)
        if points is not None:
            found.setdefault(one.arm, {}).setdefault(one.prompt, []).append(points)
    return {arm: {prompt: fmean(own) for prompt, own in by.items()} for arm, by in found.items()}


def _points(read: Sequence[GivenRating]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for one in read:
        found.setdefault(one.arm, {}).setdefault(one.prompt, []).append(one.value)
    return {arm: {prompt: fmean(own) for prompt, own in by.items()} for arm, by in found.items()}


def _overall(arm: str, points: Mapping[str, float]) -> Estimate:
    note = "" if points else "no rating could be read on all scales"
    values = list(points.values())
    return mean_estimate(f"overall, {arm}", values, unit=POINTS, note=note, digits=1, bounds=(0.0, 100.0))


def _gaps(
    name: str, points: Points, bounds: tuple[float, float], arms: Sequence[str]
) -> list[tuple[str, str, Estimate]]:
    """Every two arms, paired over the prompts that both have."""
    found = []
    for reference, arm in list(combinations(arms, 2))[:_MOST_PAIRS]:
        own, other = points.get(arm, {}), points.get(reference, {})
        shared = [prompt for prompt in own if prompt in other]
        gap = paired([own[one] for one in shared], [other[one] for one in shared], bounds=bounds)
        label = f"{name}, {arm} − {reference}"
        digits = 1 if name == "overall" else 2
        found.append(
            (arm, reference, Estimate(label, gap.value, gap.n, gap.se, gap.low, gap.high, digits=digits, of="prompts"))
        )
    return found


def _headline(shares: Mapping[str, Estimate]) -> Estimate:
    known = [one for one in shares.values() if one.value is not None]
    if not known:
        return Estimate("overall", None, 0, note="no rating could be read", digits=1)
    best = max(known, key=lambda one: one.value or 0.0)
    if len(shares) == 1:
        return best
    note = f"{best.name.removeprefix('overall, ')}; the tables have all {len(shares)}"
    return Estimate("highest overall", best.value, best.n, best.se, best.low, best.high, "", note, 1)


def _sentence(
    judge: str, title: str, shares: Mapping[str, Estimate], scales: Sequence[Scale], by_scale: Mapping[str, Points]
) -> str:
    known = sorted((one for one in shares.items() if one[1].value is not None), key=lambda one: -(one[1].value or 0.0))
    if not known:
        return f"No rating of the judge {judge} could be read on all scales."
    said = ", ".join(f"{arm} {one.value:.1f}" for arm, one in known)
    text = f"Judge-only: on {title} {judge} gives {said} of 100 overall ({len(scales)} scales)."
    best = known[0][0]
    means = {key: fmean(own[best].values()) for key, own in by_scale.items() if own.get(best)}
    if len(scales) > 1 and len(means) == len(scales):
        span = {scale.key: (means[scale.key] - scale.low) / (scale.high - scale.low) for scale in scales}
        strong, weak = max(span, key=lambda key: span[key]), min(span, key=lambda key: span[key])
        if strong != weak:
            text += f" {best} is strongest in {strong} and weakest in {weak}."
    return text


def _overall_table(shares: Mapping[str, Estimate]) -> Table:
    return Table(
        "Overall (judge-only)",
        ("replies by", "overall, 0 to 100"),
        tuple(shares.items()),
        "The mean of the scales, each from 0 to 100, over prompts; only ratings that could be read on every scale.",
        whiskers="overall, 0 to 100",
    )


def _means_table(scales: Sequence[Scale], by_scale: Mapping[str, Points], arms: Sequence[str]) -> Table:
    rows = []
    for scale in scales:
        for arm in arms:
            values = list(by_scale[scale.key].get(arm, {}).values())
            bounds = (float(scale.low), float(scale.high))
            mean = mean_estimate(f"{scale.key}, {arm}", values, bounds=bounds)
            rows.append((scale.key, f"{scale.low}–{scale.high}", arm, mean))
    return Table(
        "Ratings by scale (judge-only)",
        ("scale", "range", "replies by", "mean"),
        tuple(rows),
        "n counts prompts; repeats are averaged. Reverse-keyed scales are turned round.",
    )


def _gap_table(
    scales: Sequence[Scale],
    by_scale: Mapping[str, Points],
    gaps: Sequence[tuple[str, str, Estimate]],
    arms: Sequence[str],
) -> Table:
    rows: list[tuple[Any, ...]] = [("overall, 0 to 100", *gap) for gap in gaps]
    for scale in scales:
        bounds = (float(scale.low), float(scale.high))
        rows += [(scale.key, *gap) for gap in _gaps(scale.key, by_scale[scale.key], bounds, arms)]
    return Table(
        "Differences (judge-only)",
        ("scale", "replies by", "against", "difference"),
        tuple(rows),
        "Paired over the prompts that both have; n counts them. Each row by itself: not corrected for others.",
    )


def _read_table(ratings: Sequence[RatedReply], scales: Sequence[Scale]) -> Table:
    answered = [one for one in ratings if one.status is not None]
    rows = []
    for scale in scales:
        hits = sum(scale.key in one.values for one in answered)
        rows.append((scale.key, hits, len(answered) - hits, proportion_estimate("readable", hits, len(answered))))
    return Table(
        "What could be read",
        ("scale", "read", "not read", "share"),
        tuple(rows),
        "A rating without one of the scales is asked for again; what the last one has counts for its scale.",
    )


def _lost(
    ratings: Sequence[RatedReply], counts: Mapping[str, int], scales: Sequence[Scale], snapshots: Sequence[str]
) -> tuple[str, ...]:
    said = []
    if len(snapshots) > 1:
        said.append(f"The server answered as {len(snapshots)} different models ({', '.join(snapshots)}).")
    part = [one for one in ratings if one.status == "unparseable" and one.values]
    if part:
        lost = [scale.key for scale in scales if any(scale.key not in one.values for one in part)]
        said.append(f"{len(part)} of {len(ratings)} ratings lack a scale ({', '.join(lost)}) and count on the others.")
    none = sum(counts.get(status, 0) for status in ("unparseable", "refused", "error")) - len(part)
    if none:
        said.append(f"{none} of {len(ratings)} got no readable rating and are left out.")
    if counts.get("unanswered"):
        said.append(f"{counts['unanswered']} are not rated yet; the result is preliminary.")
    return tuple(said)

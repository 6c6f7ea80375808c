"""People's ratings on scales of a study's own, several at once: means per arm with whole raters drawn again, planned
contrasts of every scale in the mixed ordinal model with one Holm correction over all, how the scales go together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from eqlab.analysis.correlation import pearson
from eqlab.benchmarks.contrasts import corrected
from eqlab.benchmarks.rating.arm_shares import arm_shares
from eqlab.benchmarks.rating.people_result import FOLLOWS, first_arm
from eqlab.benchmarks.rating.planned import contrasts_of, planned_table
from eqlab.benchmarks.rating.rated import GivenRating, rated
from eqlab.benchmarks.rating.rubric_items import item_on_scales
from eqlab.core.benchmark import Scored
from eqlab.core.forms import Scale
from eqlab.core.results import Column, Estimate, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Contrast


def given_on(scored: Sequence[Scored], scale: Scale) -> list[GivenRating]:
    """The ratings on one scale, turned round where it is reverse-keyed: more is always better."""
    found = []
    for one in rated(scored):
        if one.answer is not None and one.answer.status == "ok":
            value = int(one.answer.values[scale.key])
            value = scale.low + scale.high - value if scale.reverse else value
            key = one.key
            found.append(
                GivenRating(one.arm, one.prompt, one.rater, value, key["emotion"], key["valence"], int(key["words"]))
            )
    return found


def scale_contrasts(
    scored: Sequence[Scored], scales: Sequence[Scale], reference: str, alpha: float
) -> tuple[tuple[Contrast, ...], Table]:
    """Every arm against the reference on every scale."""
    found: list[Contrast] = []
    keys: list[str] = []
    notes = []
    for scale in scales:
        own, why = contrasts_of(given_on(scored, scale), reference, f"{scale.key}: ", alpha)
        found += own
        keys += [scale.key] * len(own)
        notes.append(f"{scale.key}: {why}")
    contrasts = corrected(found)
    table = planned_table(contrasts, " ".join(notes), alpha)
    return contrasts, replace(
        table,
        columns=(Column("scale", "scale"), *table.columns),
        rows=tuple((key, *row) for key, row in zip(keys, table.rows, strict=True)),
        note=f"{table.note} Holm over all rows.",
    )


def scales_result(
    scored: Sequence[Scored], scales: Sequence[Scale], reference: str, options: Mapping[str, Any]
) -> Result:
    ratings = {scale.key: given_on(scored, scale) for scale in scales}
    means: list[tuple[Any, ...]] = []
    gaps: list[Estimate] = []
    for scale in scales:
        own = ratings[scale.key]
        arms = first_arm(sorted({one.arm for one in own}), reference)
        shares = arm_shares(own, arms, lambda one: one.rater)
        for arm in shares.arms:
            gap = None
            if arm != shares.arms[0]:
                gap = shares.mean_gap(arm, shares.arms[0], f"{scale.key}: {arm} − {shares.arms[0]}")
                gaps.append(gap)
            means.append((scale.key, f"{scale.low}–{scale.high}", arm, shares.mean(arm), gap))
    raters = len({one.rater for own in ratings.values() for one in own})
    n = len(ratings[scales[0].key])
    headline = gaps[0] if gaps else means[0][3] if means else Estimate("mean rating", None, 0)
    found = rated(scored)
    return Result(
        benchmark="rating",
        title=f"Replies rated by people on {len(scales)} scales",
        subject=PEOPLE,
        rules={**options, "raters": raters, "scales": ", ".join(scale.key for scale in scales)},
        sentence=_sentence(raters, n, gaps),
        headline=headline,
        score_range=(float(scales[0].low), float(scales[0].high)) if not gaps else _span(scales[0]),
        estimates=tuple(gaps),
        counts={"planned": len(found), "ok": n},
        items=tuple(item_on_scales(one) for one in found),
        item_range=(0.0, 100.0),
        valid=n > 0,
        ranked=False,
        caveats=(FOLLOWS, *((f"{raters} raters are few: the intervals are too narrow.",) if 0 < raters < 10 else ())),
        tables=(
            Table(
                "Mean ratings",
                ("scale", "range", "replies by", "mean", "difference from the reference"),
                tuple(means),
                "Intervals: bootstrap over whole raters; reverse-keyed scales are turned round.",
            ),
            *((together_table(scales, ratings),) if len(scales) > 1 else ()),
        ),
    )


def _span(scale: Scale) -> tuple[float, float]:
    return float(scale.low - scale.high), float(scale.high - scale.low)


def _sentence(raters: int, n: int, gaps: Sequence[Estimate]) -> str:
    if not n:
        return "Nobody has rated anything yet."
    said = [f"{gap.name} {gap.value:+.2f} ({gap.low:.2f} to {gap.high:.2f})" for gap in gaps if _bounded(gap)]
    return f"{raters} people gave {n} ratings. Differences of means: {'; '.join(said) or 'none can be told'}."


def _bounded(gap: Estimate) -> bool:
    return gap.value is not None and gap.low is not None and gap.high is not None


def together_table(scales: Sequence[Scale], ratings: Mapping[str, Sequence[GivenRating]]) -> Table:
    """Correlations of two scales over replies' mean ratings, so that a generous rater does not make them."""
    rows = []
    for one, other in combinations(scales, 2):
        first, second = _reply_means(ratings[one.key]), _reply_means(ratings[other.key])
        common = sorted(set(first) & set(second))
        r = pearson("r", np.array([first[key] for key in common]), np.array([second[key] for key in common]))
        rows.append((one.key, other.key, r))
    return Table(
        "How the scales go together",
        ("scale", "with", "r of replies' mean ratings"),
        tuple(rows),
        "Near 1: raters do not tell the two apart, and one of them would do.",
    )


def _reply_means(ratings: Sequence[GivenRating]) -> dict[tuple[str, str], float]:
    own: dict[tuple[str, str], list[int]] = {}
    for one in ratings:
        own.setdefault((one.arm, one.prompt), []).append(one.value)
    return {reply: sum(values) / len(values) for reply, values in own.items()}

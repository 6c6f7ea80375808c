"""The tables of an EmotionBench result, of models and of people: the profile beside people's, the three views, moods
and refusals."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from msgspec import structs

from eqlab.analysis.intervals import mean_estimate, t_bounds
from eqlab.analysis.two_samples import Sample
from eqlab.benchmarks.emotionbench.measures import CONTROLS, Measures
from eqlab.benchmarks.emotionbench.moods import NEGATIVE
from eqlab.benchmarks.emotionbench.score import Administration
from eqlab.benchmarks.emotionbench.views import (
    MARGIN,
    Gap,
    MoodChange,
    Norms,
    PeopleAgreement,
    PublishedCell,
    cells,
    repeats_alike,
)
from eqlab.core.results import ByEmotion, Column, Estimate, Table, whiskers

Value = str | int | float | None | Estimate
ARROWS = {"up": "↑", "down": "↓", "none": "–"}
OTHERS = "published people"
"""What those people are called where a study's own people are the subject."""


def profile(changes: Sequence[MoodChange], norms: Norms | None, *, of_people: bool = False) -> Table:
    """One row per factor, emotion and kind of control: the change on each scale, beside people's where known. Of
    people, the published ones stand beside them."""
    names = list(dict.fromkeys(change.subscale for change in changes))
    by_key = {change.key: change for change in changes}
    rows: list[tuple[Value, ...]] = []
    for change in changes:
        if change.subscale != names[0]:
            continue
        row: list[Value] = [row_name(change), change.n_situations, change.n]
        for name in names:
            row.append(by_key[(name, *change.key[1:])].change)
            if norms:
                row.append(people_change(norms, name, change))
        rows.append(tuple(row))
    columns = ["situations of", "situations", "people" if of_people else "answers"]
    others = OTHERS if of_people else "people"
    for name in names:
        columns += [f"change in {name}", f"{others}: {name}"] if norms else [f"change in {name}"]
    if of_people:
        note = (
            "Mean change within person, from the default measure to that in the situation. Intervals are over people "
            "and situations alike, and over people and factors, whose situations are alike, of an emotion and of all."
        )
        missing = f" The {OTHERS} are not shown: the study was planned without the published data."
    else:
        note = (
            "Mean of the situations' means minus the mean of the default runs. Situations are the units of a factor, "
            "and factors, whose situations are alike, those of an emotion and of all."
        )
        missing = " People's changes are not shown: the run was planned without the published data."
    return Table(
        f"Profile: how far situations move {'people' if of_people else 'it'}",
        tuple(columns),
        tuple(rows),
        note + ("" if norms else missing),
        draw=(whiskers(columns[-2 if norms else -1]),),
    )


def people_change(norms: Norms, subscale: str, change: MoodChange) -> Estimate | None:
    """People's change in a row's situations, all of its people pooled; None for controls, which nobody has answered."""
    if change.emotion in CONTROLS:
        return None
    overall, emotion, factor = change.level == "overall", change.emotion, change.factor_index
    covered = [
        norm
        for norm in norms.factors
        if norm.subscale == subscale and (overall or (norm.emotion == emotion and factor in (None, norm.factor_index)))
    ]
    n = sum(norm.n for norm in covered)
    if n < 2:
        return None
    mean = sum(norm.n * norm.change for norm in covered) / n
    squares = sum((norm.n - 1) * norm.sd**2 + norm.n * (norm.change - mean) ** 2 for norm in covered)
    se = math.sqrt(squares / (n - 1) / n)
    low, high = t_bounds(mean, se, n - 1)
    return Estimate(subscale, mean, n, se, low, high, digits=1)


def by_emotion(changes: Sequence[MoodChange], norms: Norms | None) -> ByEmotion | None:
    """The change on the scale that situations are meant to move, emotion by emotion."""
    mood_changes = [change for change in changes if change.level == "emotion"]
    scales = dict.fromkeys(change.subscale for change in mood_changes)
    if not scales:
        return None
    scale = NEGATIVE if NEGATIVE in scales else next(iter(scales))
    shown = [change for change in mood_changes if change.subscale == scale]
    people = [(change, people_change(norms, scale, change)) for change in shown] if norms else []
    return ByEmotion(
        f"change in {scale}",
        tuple(structs.replace(change.change, name=change.emotion) for change in shown),
        tuple(structs.replace(estimate, name=change.emotion, of="people") for change, estimate in people if estimate),
        "Mean of the situations' means minus the mean of the default runs; n counts situations. More is not better: "
        "what people feel is the yardstick.",
    )


def beside_people(changes: Sequence[MoodChange], norms: Norms | None) -> tuple[tuple[Estimate, Estimate], ...]:
    """Over all negative situations: the subject's change on each scale, and people's."""
    pairs = []
    for change in changes:
        people = people_change(norms, change.subscale, change) if norms and change.level == "overall" else None
        if people:
            name = f"change in {change.subscale}, negative situations"
            pairs.append((structs.replace(change.change, name=name), structs.replace(people, name=name, of="people")))
    return tuple(pairs)


def three_views(measures: Measures, changes: Sequence[MoodChange], agreements: Sequence[PeopleAgreement]) -> Table:
    """As published, honest, against people: side by side for every cell."""
    published = {cell.key: cell for name in measures.scores for cell in cells(measures, name)}
    gaps = gaps_by_cell(agreements)
    return Table(
        "Three views of every cell",
        (
            *(
                "situations of",
                "scale",
                "n",
                "as published",
                Column("p_published", "p (as published)", "p"),
                "honest: change",
                "honest: Hedges' g",
            ),
            *(
                Column("p_honest", "honest: p", "p"),
                Column("p_holm", "honest: p after Holm", "p"),
                "against people: difference",
                f"within ±{MARGIN:g} of people",
            ),
        ),
        tuple(
            (
                row_name(change),
                change.subscale,
                (cell := published[change.key]).evoked.n,
                arrow(cell),
                cell.comparison.p,
                change.change,
                change.effect,
                change.p,
                change.p_holm,
                *beside(gaps.get(change.key)),
            )
            for change in changes
        ),
        "As published: every answer counts as independent, F-test then Student or Welch, arrow at p ≤ 0.01. Honest: "
        "the situation is the unit of a factor, the factor that of an emotion; Holm over all factor cells. Against "
        "people: the change minus people's change.",
    )


def gaps_by_cell(agreements: Sequence[PeopleAgreement]) -> dict[tuple[str, str, str, str], Gap]:
    return {gap.change.key: gap for agreement in agreements for gap in agreement.gaps}


def arrow(cell: PublishedCell) -> str:
    difference = cell.comparison.difference
    return f"{ARROWS[cell.direction]} {'' if difference is None else f'{difference:+.1f}'}"


def beside(gap: Gap | None) -> tuple[Estimate | None, str | None]:
    """The difference to people, and whether it was shown to be none."""
    if gap is None:
        return None, None
    p = gap.p_equivalent
    return gap.gap, None if p is None else "yes" if p < 0.05 else "not shown"


def default_mood(
    defaults: Sequence[tuple[str, Estimate]], norms: Norms | None, who: str = "subject", others: str = "people"
) -> Table:
    title = "Default measure, without any situation"
    if norms is None:
        return Table(title, ("scale", who), tuple(defaults))
    with_people = [(name, estimate, norms.default.get(name)) for name, estimate in defaults]
    rows = tuple((name, estimate, _mean_sd(sample) if sample else None) for name, estimate, sample in with_people)
    return Table(title, ("scale", who, f"{others} (mean ± SD)"), rows)


def repeats(measures: Measures) -> Table | None:
    """None if no situation was asked twice."""
    rows = []
    for name in measures.scores:
        alike = repeats_alike(measures, name)
        rows.append((name, alike.n, alike.n_clusters, alike.icc, alike.design_effect))
    if all(icc is None for *_, icc, _ in rows):
        return None
    return Table(
        "How alike the repeats of one situation are",
        ("scale", "answers", "situations", "ICC(1)", "design effect"),
        tuple(rows),
        "A design effect of 5 means: five repeats are worth one independent answer. The published view ignores it.",
    )


def refusals(administrations: Sequence[Administration]) -> Table | None:
    """Situations with refused or unreadable answers; None if there are none."""
    lost: dict[str, Counter[str]] = {}
    for administration in administrations:
        if administration.status not in (None, "ok"):
            lost.setdefault(administration.trial.items[0], Counter())[str(administration.status)] += 1
    if not lost:
        return None
    asked = Counter(one.trial.items[0] for one in administrations if one.status is not None)
    where = {one.trial.items[0]: str(one.trial.key.get("factor", "default measure")) for one in administrations}
    rows = tuple(
        (item, where[item], asked[item], count["refused"], count["unparseable"], count["error"])
        for item, count in sorted(lost.items(), key=lambda pair: (-pair[1]["refused"], -pair[1].total(), pair[0]))
    )
    return Table("Answers that could not be used", ("item", "factor", "asked", "refused", "unreadable", "error"), rows)


def order_effect(shown: Sequence[Sequence[float]]) -> Table | None:
    """Mean answer in the first and in the last quarter of the items shown: fresh orders make this visible."""
    if len(shown) < 2:
        return None
    values = np.array(shown, dtype=float)
    quarter = max(1, values.shape[1] // 4)
    first, last = values[:, :quarter].mean(axis=1), values[:, -quarter:].mean(axis=1)
    difference = mean_estimate("last − first", (last - first).tolist())
    return Table(
        "Order effect: mean answer by position",
        ("first quarter of the items", "last quarter", "difference"),
        ((fmean(first.tolist()), fmean(last.tolist()), difference),),
        "Items come in a fresh random order each time; without an order effect the difference is 0.",
    )


def row_name(change: MoodChange) -> str:
    if change.level == "factor":
        return f"{change.emotion}: {change.factor}"
    if change.emotion in CONTROLS:
        return f"{CONTROLS[change.emotion]} controls"
    return "all negative situations" if change.level == "overall" else f"{change.emotion}, all"


def _mean_sd(sample: Sample) -> str:
    return f"{sample.mean:.1f} ± {sample.sd:.1f} (n = {sample.n})"

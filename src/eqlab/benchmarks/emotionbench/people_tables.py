"""The tables of people's EmotionBench result: the profile beside the published people, the views of every cell, how
alike people are in one situation; and the result situation by situation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.emotionbench import tables
from eqlab.benchmarks.emotionbench.against_people import MARGIN, Agreement, Norms
from eqlab.benchmarks.emotionbench.alignment import Alignment
from eqlab.benchmarks.emotionbench.as_published import people_cells
from eqlab.benchmarks.emotionbench.honest import Change
from eqlab.benchmarks.emotionbench.measures import groups, known
from eqlab.benchmarks.emotionbench.people_paired import Paired
from eqlab.benchmarks.emotionbench.score import Administration
from eqlab.benchmarks.emotionbench.three_numbers import ThreeNumbers
from eqlab.core.results import Estimate, ItemScore, Table

OTHERS = "published people"


def profile(found: Paired, changes: Sequence[Change], norms: Norms | None) -> Table:
    """One row per factor, emotion and kind of control: the change within person, beside the published people's."""
    names = list(found.people.before)
    by_place = {(change.subscale, *tables.place_key(change)): change for change in changes}
    rows = []
    for change in changes:
        if change.subscale != names[0]:
            continue
        row: list[tables.Value] = [tables.row_name(change), change.n_situations, change.n]
        for name in names:
            row.append(by_place[(name, *tables.place_key(change))].change)
            if norms:
                row.append(tables.people_change(norms, name, change))
        rows.append(tuple(row))
    columns = ["situations of", "situations", "people"]
    for name in names:
        columns += [f"change in {name}", f"{OTHERS}: {name}"] if norms else [f"change in {name}"]
    note = "Mean change within person, from the default measure to that in the situation; persons are the units."
    missing = "" if norms else f" The {OTHERS} are not shown: the study was planned without the published data."
    title = "Profile: how far situations move people"
    return Table(title, tuple(columns), tuple(rows), note + missing, whiskers=columns[-2 if norms else -1])


def views(found: Paired, changes: Sequence[Change], agreements: Sequence[Agreement]) -> Table:
    """As published, honest, against the published people: side by side for every cell."""
    names = list(found.people.before)
    cells = {
        (cell.subscale, *tables.place_key(cell)): cell for name in names for cell in people_cells(found.people, name)
    }
    gaps = {(g.change.subscale, *tables.place_key(g.change)): g for one in agreements for g in one.gaps}
    by_situation = situation_means(found)
    rows = []
    for change in changes:
        key = (change.subscale, *tables.place_key(change))
        cell, gap = cells[key], gaps.get(key)
        rows.append(
            (
                tables.row_name(change),
                change.subscale,
                change.n,
                f"{tables.ARROWS[cell.direction]} {tables.signed(cell.comparison.difference)}",
                cell.comparison.p,
                change.p_holm,
                change.effect,
                by_situation[key],
                gap.gap if gap else None,
                tables.equal(gap.p_equivalent) if gap else None,
            )
        )
    return Table(
        "Views of every cell",
        (
            *("situations of", "scale", "people", "as published", "p (as published)", "honest: p after Holm"),
            *(
                "Hedges' g",
                "honest: situations as units",
                f"against {OTHERS}: difference",
                f"within ±{MARGIN:g} of them",
            ),
        ),
        tuple(rows),
        "As published: paired t-test over persons, arrow at p ≤ 0.01. Honest: Holm over all factor cells; and the mean "
        "of the situations' means with situations as units, which holds for other situations of the kind too.",
    )


def situation_means(found: Paired) -> Mapping[tuple[str, str, str, str], Estimate]:
    """Per cell the mean of the situations' mean changes, with Student's interval over situations."""
    estimates: dict[tuple[str, str, str, str], Estimate] = {}
    for name in found.people.before:
        every = found.people.change(name)
        for group in groups(found.people.places):
            rows = group.rows(found.people.where) & ~np.isnan(every)
            means = cluster_means(every[rows], found.people.where[rows]) if rows.any() else every[rows]
            estimate = mean_estimate(f"change in {name}", list(means), digits=1)
            estimates[name, group.level, group.emotion, group.factor] = replace(estimate, of="situations")
    return estimates


def alike(found: Paired) -> Table | None:
    table = tables.repeats(found.changes_as_measures())
    if table is None:
        return None
    return replace(
        table,
        title="How alike people's changes in one situation are",
        columns=("scale", "people", "situations", "ICC(1)", "design effect"),
        note="A design effect of 1 means: all situations move people alike. The larger it is, the less do intervals "
        "over people hold for other situations; those with situations as units do.",
    )


def situations_shown(
    given: Sequence[Administration],
    found: Paired,
    moved: Alignment | None,
    three: ThreeNumbers | None,
    norms: Norms | None,
) -> tuple[ItemScore, ...]:
    """One entry per situation that somebody was to imagine: the mean change of its people."""
    trials = {one.trial.items[0]: one.trial for one in sorted(given, key=lambda one: one.trial.id)}
    numbers = {place.situation: number for number, place in enumerate(found.people.places)}
    shown = []
    for item, trial in sorted(trials.items()):
        if trial.condition == "default":
            continue
        rows = found.people.where == numbers.get(item, -2)
        means = {name: known(found.people.change(name)[rows]) for name in found.people.before}
        values = {name: round(float(own.mean()), 2) for name, own in means.items() if len(own)}
        place = (trial.key["emotion"], trial.key["factor_index"])
        shown.append(
            ItemScore(
                item=item,
                trial=trial.id,
                repeat=0,
                status="ok" if rows.any() else None,
                score=moved.moods.get(item) if moved else next(iter(values.values()), None),
                title=f"{trial.key['emotion']}: {trial.key['factor']}",
                text=f"Mean change of {int(rows.sum())} people." if rows.any() else "",
                values=values,
                reference={
                    norm.subscale: round(norm.change, 2)
                    for norm in (norms.factors if norms else ())
                    if (norm.emotion, norm.factor_index) == place
                },
                attempts=int(rows.sum()),
                points=three.points.get(item) if three else None,
            )
        )
    return tuple(shown)

"""People before and after a situation: who has both measures, and the change within each person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.two_samples import describe, hedges_g, paired_comparison
from eqlab.benchmarks.emotionbench.honest import Change
from eqlab.benchmarks.emotionbench.measures import DEFAULT, Group, IntArray, Measures, People, Place, groups
from eqlab.benchmarks.emotionbench.score import Administration, place_of
from eqlab.core.runs import PEOPLE


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
    for one in given:
        if one.answer is not None and one.status == "ok":
            if one.trial.condition == "default":
                before.setdefault(one.answer.subject, []).append(one)
            else:
                after.append((one.answer.subject, one))
    after.sort(key=lambda pair: (pair[0], pair[1].trial.items, pair[1].repeat))
    rows = [(who, one) for who, one in after if who in before]
    persons = {who: number for number, who in enumerate(dict.fromkeys(who for who, _ in rows))}
    found = sorted({place_of(one.trial) for _, one in rows}, key=lambda p: (p.emotion, p.factor_index, p.situation))
    numbers: dict[Place, int] = {place: number for number, place in enumerate(found)}
    moved = {who for who, _ in after}
    people = People(
        tuple(found),
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
    known = [value for one in given if (value := one.scores[name]) is not None]
    return fmean(known) if known else np.nan


def paired_changes(found: Paired) -> list[Change]:
    """Every group's mean change within person on every score: persons are the units, interval and test are Student's
    for pairs; Holm's family is all factor cells together."""
    changes = [_change(found, name, group) for name in found.people.before for group in groups(found.people.places)]
    cells = [index for index, change in enumerate(changes) if change.level == "factor"]
    for index, p in zip(cells, holm([changes[index].p for index in cells]), strict=True):
        changes[index] = replace(changes[index], p_holm=p)
    return changes


def _change(found: Paired, subscale: str, group: Group) -> Change:
    every = found.people.change(subscale)
    rows = group.rows(found.people.where) & ~np.isnan(every)
    own = cluster_means(every[rows], found.person[rows]) if rows.any() else every[rows]
    test = paired_comparison(own)
    before, after = describe(found.people.before[subscale][rows]), describe(found.people.after[subscale][rows])
    estimate = mean_estimate(f"change in {subscale}", list(own), digits=1)
    return Change(
        subscale=subscale,
        level=group.level,
        emotion=group.emotion,
        factor_index=group.factor_index,
        factor=group.factor,
        n_situations=len(np.unique(found.people.where[rows])),
        n=len(own),
        default=before,
        change=replace(estimate, of="people"),
        effect=hedges_g(after, before) if before.n > 1 else None,
        df=test.df,
        p=test.p,
    )

"""What people say of each dialogue: norms per emotion beside the author's reference, and how far people agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from eqlab.analysis.agreement import coincidences, ordinal_alpha, tables_agreement
from eqlab.analysis.correlation import pearson
from eqlab.analysis.intervals import mean_estimate
from eqlab.core.results import Estimate, ItemScore, Table
from eqlab.core.trials import Trial

MOST_ROWS = 400
"""Rows of the table of norms in a report; all 60 open dialogues fit."""
_LEVELS = 11
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class NormRating:
    """One person's scored answer to one dialogue."""

    person: str
    trial: Trial
    values: Mapping[str, int]
    score: float

    @property
    def item(self) -> str:
        return self.trial.items[0]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Everybody's answers to one dialogue."""

    trial: Trial
    given: tuple[NormRating, ...]

    @property
    def item(self) -> str:
        return self.trial.items[0]

    @property
    def reference(self) -> Mapping[str, float]:
        found: Mapping[str, float] = self.trial.key["reference"]
        return found

    def ratings(self, emotion: str) -> list[int]:
        return [one.values[emotion] for one in self.given]

    @property
    def means(self) -> dict[str, float]:
        return {name: fmean(self.ratings(name)) for name in self.reference}


def dialogues(trials: Sequence[Trial], rated: Sequence[NormRating]) -> list[Dialogue]:
    """One per dialogue that anybody was to answer, by its id, whoever came first."""
    by_item: dict[str, list[NormRating]] = {}
    for one in rated:
        by_item.setdefault(one.item, []).append(one)
    known = {trial.items[0]: trial for trial in sorted(trials, key=lambda trial: trial.id)}
    return [
        Dialogue(known[item], tuple(sorted(by_item.get(item, []), key=lambda one: one.person)))
        for item in sorted(known)
    ]


def norms_table(found: Sequence[Dialogue]) -> Table | None:
    """Every emotion of every dialogue, those where people and the reference disagree most first."""
    rows = []
    for one in found:
        for emotion, reference in one.reference.items():
            ratings = one.ratings(emotion)
            if ratings:
                gap = mean_estimate("difference", [value - reference for value in ratings], digits=1)
                spread = stdev(ratings) if len(ratings) > 1 else None
                rows.append((one.item, emotion, len(ratings), fmean(ratings), spread, float(reference), gap))
    if not rows:
        return None
    rows.sort(key=lambda row: (-abs(row[-1].value or 0.0), row[0], row[1]))
    cut = f" The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    return Table(
        "Human norms: what people say of each dialogue, farthest from the reference first",
        ("dialogue", "emotion", "people", "mean", "SD", "reference", "people − reference"),
        tuple(rows[:MOST_ROWS]),
        "Intensities from 0 to 10; the interval is Student's over people. The reference is its author's judgement; "
        f"where many people differ from it, it is the reference that should be looked at.{cut}",
    )


def agreements(found: Sequence[Dialogue]) -> Iterator[Estimate]:
    """How alike people rate one dialogue, and how their means follow the reference."""
    shared = [one for one in found if len(one.given) > 1]
    name = "agreement of people on the same dialogue (ordinal alpha)"
    if shared:
        tables = np.array(
            [
                coincidences([[value + 1 for value in one.ratings(name)] for name in one.reference], _LEVELS).sum(
                    axis=0
                )
                for one in shared
            ]
        )
        alpha = tables_agreement(tables, {"alpha": ordinal_alpha}, draws=_DRAWS)["alpha"]
        note = "Krippendorff 2011; bootstrap over dialogues; 1: all agree, 0: as by chance"
        yield Estimate(name, alpha.value, len(shared), None, alpha.low, alpha.high, note=note, of="dialogues")
    else:
        yield Estimate(name, None, 0, note="no dialogue was answered by several people", of="dialogues")
    pairs = [(one.means[name], value) for one in found if one.given for name, value in one.reference.items()]
    people, reference = np.array(pairs, dtype=float).reshape(-1, 2).T
    yield pearson("correlation of people's mean ratings with the reference", people, reference)


def shown(one: Dialogue, score: float | None) -> ItemScore:
    """A dialogue for the report: people's mean ratings, and how they spread in place of a reply."""
    lines = [f"{name}: {_spread(one.ratings(name))}" for name in one.reference] if one.given else []
    return ItemScore(
        item=one.item,
        trial=one.trial.id,
        repeat=0,
        status="ok" if one.given else None,
        score=score,
        title=f"How {one.trial.key['character']} feels",
        text="\n".join(["Ratings, and how many people gave each:", *lines]) if lines else "",
        values={name: round(mean, 2) for name, mean in one.means.items()} if one.given else {},
        reference=one.reference,
        reasons=one.trial.key["reasons"],
        attempts=len(one.given),
    )


def _spread(ratings: Sequence[int]) -> str:
    return ", ".join(f"{value} ×{ratings.count(value)}" for value in sorted(set(ratings)))

"""Who could win the concordance, or the alignment of 0.1, without reading, and who is capped? Simulated subjects on the
open set; prints the table of docs/evidence/alignment.md. Needs the published people for the last rows: --data DIR.

    python bench/emotionbench_null_subjects.py ../shared/published"""

import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from eqlab.benchmarks.emotionbench.items import CROWD, OPEN, parse_open, read_people
from eqlab.benchmarks.emotionbench.measures import DEFAULT, FloatArray, MeasurePlace, Measures, People
from eqlab.benchmarks.emotionbench.moods import NEGATIVE, POSITIVE, align, mood_changes, three_numbers
from eqlab.benchmarks.emotionbench.trials import BY_PROFILE, select
from eqlab.core.benchmark import Selection

Rng = np.random.Generator
React = Callable[[MeasurePlace | None, Rng], tuple[float, float]]
"""(positive, negative affect) of one administration; None is the default measure."""

RUNS = 100
CALM = (28.0, 13.6)
"""People's mean default mood."""


def fixed(default: tuple[float, float], evoked: tuple[float, float]) -> React:
    return lambda place, rng: default if place is None else evoked


def random_items(place: MeasurePlace | None, rng: Rng) -> tuple[float, float]:
    return float(rng.integers(1, 6, 10).sum()), float(rng.integers(1, 6, 10).sum())


def person(people: People, *, knows_kinds: bool, knows_factors: bool = True) -> React:
    """Changes drawn from real people. `knows_kinds=False`: the same reaction to controls. Controls have no published
    norm: neutral is drawn as noise (SD 5 on each scale), positive as the mirrored change of a drawn person."""
    positive, negative = people.change(POSITIVE), people.change(NEGATIVE)
    owner = [(p.emotion, p.factor_index) for p in people.places]
    rows = {place: np.array([i for i, w in enumerate(people.where) if owner[w] == place]) for place in set(owner)}

    def react(place: MeasurePlace | None, rng: Rng) -> tuple[float, float]:
        if place is None:
            return noisy(CALM, rng)
        own = rows.get((place.emotion, place.factor_index)) if knows_factors else None
        chosen = int(rng.choice(own)) if own is not None else int(rng.integers(len(positive)))
        change = (float(positive[chosen]), float(negative[chosen]))
        if knows_kinds and place.kind == "neutral":
            return noisy(CALM, rng)
        if knows_kinds and place.kind == "positive":
            change = (-change[0], -change[1])
        return clip(CALM[0] + change[0]), clip(CALM[1] + change[1])

    return react


def glad(react: React, more: float) -> React:
    """The same subject in a better mood throughout, as far as the scale goes."""

    def gladder(place: MeasurePlace | None, rng: Rng) -> tuple[float, float]:
        positive, negative = react(place, rng)
        return clip(positive + more), clip(negative - more)

    return gladder


def noisy(mood: tuple[float, float], rng: Rng) -> tuple[float, float]:
    return clip(mood[0] + rng.normal(0, 5)), clip(mood[1] + rng.normal(0, 5))


def clip(score: float) -> float:
    return min(50.0, max(10.0, score))


def simulate(react: React, selection: Selection, rng: Rng) -> Measures:
    situations = select(parse_open(files("eqlab.data").joinpath("open", OPEN).read_bytes()), selection)
    places = tuple(situation.place for situation in situations)
    defaults, repeats = BY_PROFILE[selection.profile]
    where = np.array([DEFAULT] * defaults + [index for index in range(len(places)) for _ in range(repeats)])
    moods: FloatArray = np.array([react(None if index == DEFAULT else places[index], rng) for index in where])
    return Measures("simulated", "PANAS", places, where, {POSITIVE: moods[:, 0], NEGATIVE: moods[:, 1]})


def main() -> None:
    subjects: dict[str, React] = {
        "always very negative, default too": fixed((10, 50), (10, 50)),
        "very negative whatever happens": fixed(CALM, (10, 50)),
        "always very positive, default too": fixed((50, 10), (50, 10)),
        "delighted whatever happens": fixed(CALM, (50, 10)),
        "never moved": fixed((30, 30), (30, 30)),
        "every item at random": random_items,
    }
    if len(sys.argv) > 1:
        people = read_people((Path(sys.argv[1]) / CROWD).read_bytes())
        subjects |= {
            "people's negative reactions, to everything": person(people, knows_kinds=False, knows_factors=False),
            "human-like: people's reactions, by kind": person(people, knows_kinds=True),
            "… with a default mood near the top": glad(person(people, knows_kinds=True), 15),
            "… with a default mood at the top": glad(person(people, knows_kinds=True), 30),
        }
    print("| simulated subject | concordance, full | quick | alignment of 0.1, full | quick | movement, full |")
    print("|---|---|---|---|---|---|")
    for name, react in subjects.items():
        cells: dict[str, list[str]] = {"new": [], "old": []}
        far = ""
        for profile in ("full", "quick"):
            rng = np.random.default_rng(0)
            made = [simulate(react, Selection(profile), rng) for _ in range(8 if profile == "full" else RUNS)]
            three = [three_numbers(one, mood_changes(one)) for one in made]
            cells["new"].append(said([one.headline.value or 0.0 for one in three]))
            cells["old"].append(said([align(one).headline.value or 0.0 for one in made]))
            far = far or f"{np.mean([one.movement.value or 0.0 for one in three]):.2f}"
        print(f"| {name} | {' | '.join([*cells['new'], *cells['old'], far])} |")


def said(values: Sequence[float]) -> str:
    low, high = np.percentile(values, (2.5, 97.5))
    return f"{np.mean(values):.1f} ({low:.0f} to {high:.0f})"


if __name__ == "__main__":
    main()

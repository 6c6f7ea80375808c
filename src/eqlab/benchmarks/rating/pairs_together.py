"""People and judge together, for replies in pairs: on which share of prompts people prefer an arm, from people's
choices on some and the judge's on all (prediction-powered inference)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from eqlab.analysis.ppi import PpiMean, ppi_wins
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.core.results import Estimate, Table

_POINTS = {1: 1.0, 2: 0.5, 3: 0.0}


@dataclass(frozen=True, slots=True)
class Met:
    """One prompt of a pair: points for the arm, by the judge (both orders averaged) and by people."""

    judge: float
    people: tuple[tuple[str, float], ...]


def meetings(ratings: Sequence[RatedReply], arm: str, reference: str) -> dict[str, Met]:
    judge: dict[str, list[float]] = {}
    people: dict[str, dict[str, float]] = {}
    for one in ratings:
        if set(one.key["arms"]) != {arm, reference}:
            continue
        first = one.key["arms"][0] == arm
        if one.value is not None:
            points = _POINTS[one.value]
            judge.setdefault(one.prompt, []).append(points if first else 1 - points)
        for rater, points in one.key.get("people", ()):
            people.setdefault(one.prompt, {})[str(rater)] = float(points if first else 1 - points)
    return {prompt: Met(fmean(own), tuple(people.get(prompt, {}).items())) for prompt, own in judge.items()}


def powered_wins(met: Mapping[str, Met]) -> PpiMean | None:
    """None where people chose nowhere, everywhere, or too little."""
    both = [(prompt, one.judge, rater, points) for prompt, one in met.items() for rater, points in one.people]
    alone = [(prompt, one.judge) for prompt, one in met.items() if not one.people]
    if len(alone) < 2 or len({rater for _, _, rater, _ in both}) < 2 or len({prompt for prompt, *_ in both}) < 2:
        return None
    return ppi_wins(
        np.array([points for *_, points in both]),
        np.array([judge for _, judge, _, _ in both]),
        np.array([judge for _, judge in alone]),
        raters=[rater for _, _, rater, _ in both],
        prompts=[prompt for prompt, *_ in both],
        judge_prompts=[prompt for prompt, _ in alone],
    )


def wins_table(ratings: Sequence[RatedReply], arms: Sequence[str]) -> tuple[Table, ...]:
    rows = []
    for reference, arm in combinations(arms, 2):
        found = powered_wins(meetings(ratings, arm, reference))
        if found is not None:
            name = f"preference among people for {arm} over {reference}"
            share = Estimate(
                name,
                100 * found.value,
                found.n_rated,
                100 * found.se,
                100 * found.low,
                100 * found.high,
                "%",
                "prediction-powered: people's choices on some prompts, the judge's on all",
                1,
            )
            gap = Estimate(
                f"difference, {arm} − {reference}",
                200 * found.value - 100,
                found.n_rated,
                200 * found.se,
                200 * found.low - 100,
                200 * found.high - 100,
                "points",
                digits=1,
            )
            rows.append((arm, reference, share, gap, 100 * found.human_only, found.n_judged, found.weight, found.gain))
    if not rows:
        return ()
    return (
        Table(
            "People and judge together: preferences",
            (
                "replies by",
                "against",
                "preferred by people",
                "won − lost",
                "people alone",
                "judged only",
                "weight",
                "gain",
            ),
            tuple(rows),
            "Ties count half. Valid for people if the prompts that people saw are a random part of all; raters and "
            "prompts are both samples. Gain below 1: use people alone.",
        ),
    )

"""The same replies judged again, by another judge or another version: how far every arm's score moves, and which ranks
change with it. Prompts are the units; what counts are the replies that both judges could rate."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from msgspec import structs

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import mean_bounds, mean_estimate
from eqlab.analysis.panel import ranks_of
from eqlab.benchmarks.rating.rated import GOOD, RatedReply, arms_of
from eqlab.benchmarks.rating.trials import PAIRWISE, SCALES
from eqlab.core.plural import many
from eqlab.core.results import Cell, Estimate, Result, Table

SUBJECT = "judge:drift"
_DRAWS = 2000
_SEED = 20


def drift_result(old: str, before: Sequence[RatedReply], new: str, after: Sequence[RatedReply]) -> Result | None:
    """None where the two rated the same replies of an arm to fewer than two prompts: nothing can be held together."""
    told, again = _told(before), _told(after)
    then, now = (_by_arm(one, told.keys() & again.keys()) for one in (told, again))
    arms = [arm for arm in arms_of(before) if arm in now]
    prompts = sorted(set.intersection(*(set(one[arm]) for arm in arms for one in (then, now)))) if arms else []
    if len(prompts) < 2:
        return None
    first, second = (np.array([[one[arm][prompt] for prompt in prompts] for arm in arms]) for one in (then, now))
    shifts = [_shift(arm, row, len(arms)) for arm, row in zip(arms, second - first, strict=True)]
    turned = _turned(arms, first, second)
    return Result(
        benchmark="rating",
        title=f"Judged again: {new} after {old}",
        subject=SUBJECT,
        rules={"judge": new, "before": old},
        sentence=_sentence(old, new, shifts, turned, len(prompts)),
        headline=max(shifts, key=lambda one: abs(one.value or 0.0)),
        score_range=(-100.0, 100.0),
        estimates=tuple(shifts),
        counts={"prompts": len(prompts), "arms": len(arms)},
        ranked=False,
        tables=(_table(arms, first, second, shifts), *((turned,) if len(arms) > 1 else ())),
        noun="prompts",
    )


Shown = tuple[str, str, tuple[str, ...]]
"""A prompt, an arm, and the words that were rated: of its reply, or of both of a pair."""


def _told(ratings: Sequence[RatedReply]) -> dict[Shown, float]:
    """The points of what was shown: 100 where a reply is called Good, the mean of a rubric's scales, or the share of
    pairs won, ties half. Repeats are averaged."""
    found: dict[Shown, list[float]] = {}
    for reply in ratings:
        words = tuple(map(str, reply.key.get("replies") or [reply.key.get("reply")]))
        if reply.condition == PAIRWISE:
            values = {str(arm): reply.points_for(str(arm)) for arm in reply.key["arms"]}
            given = {arm: 100 * value for arm, value in values.items() if value is not None}
        elif reply.condition == SCALES:
            given = {} if reply.overall is None else {reply.arm: reply.overall}
        else:
            given = {} if reply.value is None else {reply.arm: 100.0 * (reply.value == GOOD)}
        for arm, value in given.items():
            found.setdefault((reply.prompt, arm, words), []).append(value)
    return {shown: fmean(own) for shown, own in found.items()}


def _by_arm(told: Mapping[Shown, float], both: Collection[Shown]) -> dict[str, dict[str, float]]:
    """The mean by arm and prompt, of what both judges rated."""
    found: dict[str, dict[str, list[float]]] = {}
    for (prompt, arm, words), value in told.items():
        if (prompt, arm, words) in both:
            found.setdefault(arm, {}).setdefault(prompt, []).append(value)
    return {arm: {prompt: fmean(own) for prompt, own in by.items()} for arm, by in found.items()}


def _shift(arm: str, gaps: Floats, arms: int, most: float = 100.0) -> Estimate:
    """Student's interval over prompts, for all arms at once (Bonferroni); of prompts that all move alike by their
    number."""
    estimate = mean_estimate(arm, gaps.tolist(), unit="points", digits=1)
    low, high = mean_bounds(gaps.tolist(), (-most, most), 1 - 0.05 / arms) or (None, None)
    return structs.replace(estimate, low=low, high=high, of="prompts")


def _table(arms: Sequence[str], first: Floats, second: Floats, shifts: Sequence[Estimate]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    moved = _rank_changes(first, second)
    ranks = [ranks_of(dict(zip(arms, one.mean(axis=1).tolist(), strict=True))) for one in (first, second)]
    order = sorted(range(len(arms)), key=lambda place: ranks[0][arms[place]])
    for place in order:
        arm = arms[place]
        levels = [mean_estimate(arm, one[place].tolist(), digits=1, bounds=(0.0, 100.0)) for one in (first, second)]
        low, high = moved[place]
        change = Estimate("rank change", ranks[1][arm] - ranks[0][arm], len(first[0]), None, low, high, digits=0)
        rows.append((arm, *levels, shifts[place], f"{ranks[0][arm]:g}", f"{ranks[1][arm]:g}", change))
    return Table(
        "What another judge changes",
        ("replies by", "before", "now", "shift", "rank before", "rank now", "rank change"),
        tuple(rows),
        "Points from 0 to 100 on the prompts that both judged. Shifts hold for all arms at once; rank changes: 95 % of "
        "draws of whole prompts.",
    )


def _rank_changes(first: Floats, second: Floats) -> list[tuple[float, float]]:
    """By arm, 95 % of the rank changes when prompts are drawn again; 1 is best."""
    count = first.shape[1]
    drawn = np.random.default_rng(_SEED).integers(0, count, (_DRAWS, count))
    weights = np.stack([np.bincount(one, minlength=count) for one in drawn]) / count
    ranks = [(means[:, :, None] < means[:, None, :]).sum(axis=2) for means in (weights @ first.T, weights @ second.T)]
    low, high = np.quantile(ranks[1] - ranks[0], [0.025, 0.975], axis=0, method="closest_observation")
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _turned(arms: Sequence[str], first: Floats, second: Floats) -> Table:
    """Of every two arms what the other judge adds to their difference, for all pairs at once."""
    pairs = list(combinations(range(len(arms)), 2))
    rows = []
    for one, other in pairs:
        gaps = [table[one] - table[other] for table in (first, second)]
        before, now = (mean_estimate("difference", gap.tolist(), digits=1) for gap in gaps)
        more = _shift(f"{arms[one]} − {arms[other]}", gaps[1] - gaps[0], len(pairs), 200.0)
        sign = "yes" if (before.value or 0) * (now.value or 0) < 0 else "no"
        rows.append((arms[one], arms[other], before, now, more, sign))
    return Table(
        "What another judge adds to differences",
        ("replies by", "against", "before", "now", "added", "changes places"),
        tuple(rows),
        "Added: holds for all pairs at once; an interval without 0 says that the two judges see this pair differently.",
    )


def _sentence(old: str, new: str, shifts: Sequence[Estimate], turned: Table, prompts: int) -> str:
    sure = [
        estimate
        for estimate in shifts
        if estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)
    ]
    said = ", ".join(f"{one.name} by {one.value:+.1f} ({one.low:.1f} to {one.high:.1f})" for one in sure)
    text = f"{new} in place of {old} on {many(prompts, 'prompt')}: "
    text += f"moves {said} points, all arms at once." if sure else "no arm moves beyond chance."
    if len(shifts) > 1:
        places = [f"{row[0]} and {row[1]}" for row in turned.rows if row[-1] == "yes"]
        text += f" Change places: {', '.join(places)}." if places else " The order stays."
    return text

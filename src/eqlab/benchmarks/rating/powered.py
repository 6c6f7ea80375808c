"""People and judge together: what people would say of all replies, from people's ratings of some and the judge's of all
(prediction-powered inference). P(Good) of the published form, means of a rubric's scales, preferences in pairs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from eqlab.analysis.arrays import Floats, Labels, codes
from eqlab.analysis.clusters import cluster_means
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ppi import Arm, PpiMean, ppi_difference, ppi_mean, ppi_wins
from eqlab.analysis.two_samples import describe, welch_comparison
from eqlab.benchmarks.rating.rated import GOOD, RatedReply
from eqlab.benchmarks.rating.trials import RATING
from eqlab.core.forms import Scale
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass

_GAIN_NOTE = "Each pair by itself. Gain below 1: the judge adds more noise than it takes away; use people alone."
EVERYBODY = "Everybody who rated is counted, also whom a study's own rules leave out."
Row = tuple[str | int | float | Estimate | None, ...]


def _is_good(value: int) -> float:
    return float(value == GOOD)


def powered_arm(
    ratings: Sequence[RatedReply], arm: str, scale: Scale = RATING, points: Callable[[int], float] = _is_good
) -> Arm | None:
    """People's and the judge's `points` of one arm's replies; None where people rated none or all, or fewer than five
    people did. A judge's first rating counts: its repeats are no further replies."""
    found = _arm(ratings, arm, scale, points)
    return found if found is not None and _raters(found) >= FEWEST else None


def _raters(arm: Arm) -> int:
    return len(set(np.asarray(arm.raters).tolist()))


def _arm(ratings: Sequence[RatedReply], arm: str, scale: Scale, points: Callable[[int], float]) -> Arm | None:
    own = [
        (reply, v) for reply in ratings if reply.arm == arm and reply.repeat == 0 and (v := reply.on(scale)) is not None
    ]
    both = [(reply.prompt, judge, rater, human) for reply, judge in own for rater, human in reply.people_on(scale)]
    alone = [(reply.prompt, judge) for reply, judge in own if not reply.people_on(scale)]
    raters = [rater for _, _, rater, _ in both]
    if not both or len(alone) < 2 or len({prompt for prompt, _ in alone}) < 2:
        return None
    return Arm(
        np.array([points(human) for *_, human in both]),
        np.array([points(judge) for _, judge, _, _ in both]),
        np.array([points(judge) for _, judge in alone]),
        np.array(raters),
        np.array([prompt for prompt, *_ in both]),
        np.array([prompt for prompt, _ in alone]),
    )


def _mean(arm: Arm) -> PpiMean:
    """Raters and prompts are both clusters."""
    return ppi_mean(
        arm.human, arm.judge, arm.judge_only, clusters=arm.raters, prompts=arm.prompts, judge_clusters=arm.judge_prompts
    )


def powered_caveats(
    ratings: Sequence[RatedReply], arms: Sequence[str], scales: Sequence[Scale] = (RATING,)
) -> list[str]:
    """What speaks against joining people's ratings with the judge's: too few raters, or replies that people were not
    given at random, as far as the judge's own ratings show it."""
    points = _is_good if tuple(scales) == (RATING,) else float
    own = {(arm, scale.key): found for scale in scales for arm in arms if (found := _arm(ratings, arm, scale, points))}
    few = {arm: _raters(found) for (arm, _), found in own.items() if _raters(found) < FEWEST}
    said = []
    if few:
        who = ", ".join(f"{arm} ({count})" for arm, count in few.items())
        said.append(f"Not joined with people's ratings, which fewer than {FEWEST} raters gave: {who}.")
    said += _chosen({arm: found for (arm, _), found in own.items() if arm not in few})
    return said


def _chosen(own: Mapping[str, Arm]) -> list[str]:
    """Welch's test of the judge's ratings, replies that people rated against the others; Holm over arms."""
    both = {arm: (_by_prompt(one.judge, one.prompts), one.judge_only) for arm, one in own.items()}
    tests = [welch_comparison(describe(rated), describe(others)) for rated, others in both.values()]
    named = [
        arm
        for arm, p in zip(both, holm([comparison.p for comparison in tests]), strict=True)
        if p is not None and p < 0.05
    ]
    if not named:
        return []
    return [
        f"What people and judge say together does not hold for {', '.join(named)}: by the judge's own ratings the "
        "replies that people rated are no random part of all. Give people prompts drawn at random."
    ]


def _by_prompt(values: Floats, prompts: Labels | None) -> Floats:
    """Several raters of one reply see the same rating of the judge."""
    return values if prompts is None else cluster_means(values, codes(prompts))


# -- P(Good) -------------------------------------------------------------------------------------------------------


def prediction_powered(ratings: Sequence[RatedReply], arm: str) -> PpiMean | None:
    """P(Good) of an arm among people."""
    own = powered_arm(ratings, arm)
    return None if own is None else _mean(own)


def powered_difference(ratings: Sequence[RatedReply], arm: str, reference: str) -> PpiMean | None:
    """The difference of two arms' P(Good) among people; raters and prompts that both have are paired."""
    one, other = powered_arm(ratings, arm), powered_arm(ratings, reference)
    return None if one is None or other is None else ppi_difference(one, other)


def good_means(ratings: Sequence[RatedReply], arms: Sequence[str]) -> dict[str, PpiMean]:
    return {arm: mean for arm in arms if (mean := prediction_powered(ratings, arm)) is not None}


def good_estimates(means: Mapping[str, PpiMean]) -> tuple[Estimate, ...]:
    note = "prediction-powered: people's ratings of some replies, the judge's of all"
    return tuple(
        _percent(f"P(Good) among people, {arm}", mean, "%", note, bounds=(0.0, 100.0)) for arm, mean in means.items()
    )


def good_tables(ratings: Sequence[RatedReply], means: Mapping[str, PpiMean], arms: Sequence[str]) -> tuple[Table, ...]:
    if not means:
        return ()
    rows = tuple(
        (
            arm,
            estimate,
            100 * mean.human_only,
            100 * mean.human_only_se,
            mean.n_rated,
            mean.n_judged,
            mean.weight,
            mean.gain,
        )
        for (arm, mean), estimate in zip(means.items(), good_estimates(means), strict=True)
    )
    table = Table(
        "People and judge together (prediction-powered inference)",
        (
            "replies by",
            "P(Good) among people",
            "people alone",
            "their SE",
            "rated by people",
            "judged only",
            "weight",
            "gain",
        ),
        rows,
        "Valid for people's P(Good) if the replies that people rated are a random part of all. Weight 0: the judge "
        f"adds nothing; gain 1.3: it is worth 30 % more human ratings. {EVERYBODY}",
    )
    gaps: list[Row] = []
    for reference, arm in combinations(arms, 2):
        gap = powered_difference(ratings, arm, reference)
        if gap is not None:
            estimate = _percent(f"P(Good) among people, {arm} − {reference}", gap, "points")
            gaps.append((arm, reference, estimate, 100 * gap.human_only, 100 * gap.human_only_se, gap.gain))
    columns = ("replies by", "against", "difference in P(Good)", "people alone", "their SE", "gain")
    return (table, *_gap_table(columns, gaps))


def _percent(
    name: str, mean: PpiMean, unit: str, note: str = "", bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Estimate:
    low, high = max(bounds[0], 100 * mean.low), min(bounds[1], 100 * mean.high)
    return Estimate(name, 100 * mean.value, mean.n_rated, 100 * mean.se, low, high, unit, note, 1)


def _gap_table(columns: tuple[str, ...], rows: Sequence[Row]) -> tuple[Table, ...]:
    return (Table("People and judge together: differences", columns, tuple(rows), _GAIN_NOTE),) if rows else ()


# -- a rubric's scales ---------------------------------------------------------------------------------------------


def scale_tables(ratings: Sequence[RatedReply], scales: Sequence[Scale], arms: Sequence[str]) -> tuple[Table, ...]:
    """Means and differences in people's scale points, scale by scale."""
    means: list[Row] = []
    gaps: list[Row] = []
    for scale in scales:
        own = {arm: data for arm in arms if (data := powered_arm(ratings, arm, scale, float)) is not None}
        for arm, data in own.items():
            mean = _mean(data)
            estimate = _points(f"{scale.named} among people, {arm}", mean)
            means.append((scale.named, arm, estimate, mean.human_only, mean.n_judged, mean.gain))
        for reference, arm in combinations(own, 2):
            gap = ppi_difference(own[arm], own[reference])
            estimate = _points(f"{scale.named} among people, {arm} − {reference}", gap)
            gaps.append((scale.named, arm, reference, estimate, gap.human_only, gap.gain))
    if not means:
        return ()
    table = Table(
        "People and judge together (prediction-powered inference)",
        ("scale", "replies by", "mean among people", "people alone", "judged only", "gain"),
        tuple(means),
        "Valid for people's mean if the replies that people rated are a random part of all. Gain below 1: use people. "
        f"{EVERYBODY}",
    )
    return (table, *_gap_table(("scale", "replies by", "against", "difference", "people alone", "gain"), gaps))


def _points(name: str, mean: PpiMean) -> Estimate:
    return Estimate(name, mean.value, mean.n_rated, mean.se, mean.low, mean.high, "points")


# -- pairs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Met:
    """One prompt of a pair: points for the arm, by the judge (both orders averaged) and by people."""

    judge: float
    people: tuple[tuple[str, float], ...]


def powered_wins(met: Mapping[str, Met]) -> PpiMean | None:
    """On which share of prompts people prefer an arm; None where people chose nowhere, everywhere, or too little."""
    both = [(prompt, one.judge, rater, points) for prompt, one in met.items() for rater, points in one.people]
    alone = [(prompt, one.judge) for prompt, one in met.items() if not one.people]
    raters = {rater for _, _, rater, _ in both}
    if len(alone) < 2 or len(raters) < FEWEST or len({prompt for prompt, *_ in both}) < 2:
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
    rows: list[Row] = []
    for reference, arm in combinations(arms, 2):
        wins = powered_wins(_meetings(ratings, arm, reference))
        if wins is not None:
            note = "prediction-powered: people's choices on some prompts, the judge's on all"
            share = _percent(f"preference among people for {arm} over {reference}", wins, "%", note)
            gap = Estimate(
                f"difference, {arm} − {reference}",
                200 * wins.value - 100,
                wins.n_rated,
                200 * wins.se,
                200 * wins.low - 100,
                200 * wins.high - 100,
                "points",
                digits=1,
            )
            rows.append((arm, reference, share, gap, 100 * wins.human_only, wins.n_judged, wins.weight, wins.gain))
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
            "Ties count half. From five raters on. Valid for people if the prompts that people saw are a random part "
            "of all; raters and prompts are both samples. Gain below 1: use people alone.",
        ),
    )


def _meetings(ratings: Sequence[RatedReply], arm: str, reference: str) -> dict[str, Met]:
    judge: dict[str, list[float]] = {}
    people: dict[str, dict[str, float]] = {}
    for one in ratings:
        if set(one.key["arms"]) != {arm, reference}:
            continue
        points = one.points_for(arm)
        if points is not None:
            judge.setdefault(one.prompt, []).append(points)
        for rater, first in one.key.get("people", ()):
            people.setdefault(one.prompt, {})[str(rater)] = float(first if one.key["arms"][0] == arm else 1 - first)
    return {prompt: Met(fmean(own), tuple(people.get(prompt, {}).items())) for prompt, own in judge.items()}

"""A judge's ratings as a result: arms side by side, called judge-only; calibrated where people rated the same replies;
with prediction-powered intervals where people rated some of them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.comparison import paired
from eqlab.analysis.intervals import proportion_estimate
from eqlab.analysis.ppi import Arm, PpiMean, ppi_difference, ppi_mean
from eqlab.benchmarks.rating import calibration, calibration_tables
from eqlab.benchmarks.rating.arm_length import length_table
from eqlab.benchmarks.rating.arm_shares import ArmShares, arm_shares
from eqlab.benchmarks.rating.families import family
from eqlab.benchmarks.rating.outcome import RatingOutcome
from eqlab.benchmarks.rating.rated import GOOD, GivenRating, RatedReply, arms_of, given
from eqlab.core.results import Estimate, Table

ONE_RATER = (
    "Judge-only: one judge is one rater, so the intervals say how the result would vary over other prompts, not over "
    "other raters; people may see it differently."
)
ARMS = "Ratings"
"""How the title of the table of counts and shares begins."""
_MOST_PAIRS = 15


def outcome(subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> RatingOutcome:
    judge = subject.removeprefix("judge:")
    usable, arms = given(ratings), arms_of(ratings)
    shares = arm_shares(usable, arms, lambda one: one.prompt)
    found = calibration.calibrate(calibration.pairs_of(ratings), judge)
    helped = {arm: ppi for arm in shares.arms if (ppi := prediction_powered(ratings, arm)) is not None}
    if options["purpose"] == "calibration":
        return _calibration_outcome(judge, shares, found, ratings)
    points = prompt_points(usable)
    gaps = {
        (arm, reference): _gap(arm, reference, points)
        for reference, arm in list(combinations(shares.arms, 2))[:_MOST_PAIRS]
    }
    return RatingOutcome(
        title="Empathy, rated by a judge",
        sentence=_sentence(judge, shares, helped),
        headline=_headline(shares, gaps),
        score_range=(-100.0, 100.0) if len(shares.arms) == 2 else (0.0, 100.0),
        estimates=(
            *(shares.good(arm) for arm in shares.arms),
            *gaps.values(),
            *(_ppi_estimate(arm, ppi) for arm, ppi in helped.items()),
            *_repeats(ratings),
        ),
        tables=(
            arm_table(shares, "judge-only"),
            *((_gap_table(gaps),) if gaps else ()),
            *length_table(usable, shares, lambda one: one.prompt),
            *((_ppi_table(helped), *_difference_table(ratings, shares.arms)) if helped else ()),
            *(calibration_tables.tables(found) if found else ()),
            *by_group(usable, shares, "valence"),
            *by_group(usable, shares, "emotion"),
        ),
        caveats=(ONE_RATER, *relatives(judge, shares.arms), *_here(found)),
        rules={"calibration_pairs": found.pairs if found else 0},
    )


def _calibration_outcome(
    judge: str, shares: ArmShares, found: calibration.Calibration | None, ratings: Sequence[RatedReply]
) -> RatingOutcome:
    undefined = Estimate(calibration.CEILING, None, 0, note="no rating of the judge has a person's beside it")
    return RatingOutcome(
        title="Judge calibration",
        sentence=f"{judge}: {calibration_tables.verdict(found)}"
        if found
        else f"{judge} gave no rating to calibrate with.",
        headline=found.measures[calibration.CEILING] if found else undefined,
        score_range=(-0.2, 1.0),
        estimates=(
            *(
                (*found.measures.values(), found.slope, *found.bias.values(), *found.distortion.values())
                if found
                else ()
            ),
            *((found.own_family,) if found and found.own_family else ()),
            *(found.length.values() if found else ()),
            *_repeats(ratings),
        ),
        tables=(*(calibration_tables.tables(found) if found else ()), arm_table(shares, "this judge")),
        caveats=(
            "Agreement is with single people, one rating at a time, not with a consensus.",
            *((found.own_family_note,) if found and found.own_family is None else ()),
        ),
        rules={"calibration_pairs": found.pairs if found else 0, "human_kappa": calibration.HUMAN_KAPPA},
    )


def _headline(shares: ArmShares, gaps: Mapping[tuple[str, str], Estimate]) -> Estimate:
    if len(shares.arms) == 1:
        return shares.good(shares.arms[0])
    if len(shares.arms) == 2:
        return next(iter(gaps.values()))
    if not shares.arms:
        return Estimate("P(Good)", None, 0, unit="%", note="no rating could be read", digits=1)
    return shares.highest()


def prompt_points(usable: Sequence[GivenRating]) -> dict[str, dict[str, float]]:
    """By arm and prompt, 100 if the reply is called Good; the mean over repeats."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in usable:
        found.setdefault(one.arm, {}).setdefault(one.prompt, []).append(100.0 * (one.value == GOOD))
    return {arm: {prompt: fmean(values) for prompt, values in own.items()} for arm, own in found.items()}


def _gap(arm: str, reference: str, points: Mapping[str, Mapping[str, float]]) -> Estimate:
    """Paired over the prompts that both replied to, as everywhere where two are compared."""
    shared = [prompt for prompt in points[arm] if prompt in points[reference]]
    own, other = ([points[name][prompt] for prompt in shared] for name in (arm, reference))
    gap = paired(own, other)
    low = None if gap.low is None else max(gap.low, -100.0)
    high = None if gap.high is None else min(gap.high, 100.0)
    return Estimate(
        f"P(Good), {arm} − {reference}", gap.value, gap.n, gap.se, low, high, "points", digits=1, of="prompts"
    )


def _sentence(judge: str, shares: ArmShares, helped: Mapping[str, PpiMean]) -> str:
    """Shares, highest first; who is better than whom is decided in one place, above all benchmarks."""
    if not shares.arms:
        return f"No rating of the judge {judge} could be read."
    best_first = sorted(((shares.good(arm).value or 0.0, arm) for arm in shares.arms), key=lambda one: -one[0])
    said = ", ".join(f"{value:.1f} % of the replies by {arm}" for value, arm in best_first)
    text = f"Judge-only: {judge} calls Good {said}."
    if helped:
        people = ", ".join(f"{100 * ppi.value:.1f} % of {arm}" for arm, ppi in helped.items())
        text += f" With people's ratings of some replies: {people} (prediction-powered)."
    return text


def arm_table(shares: ArmShares, who: str) -> Table:
    """Counts and shares of each arm: what a stacked bar shows."""
    return Table(
        f"{ARMS} ({who})",
        ("replies by", "ratings", "Bad", "Okay", "Good", "P(Good)", "mean rating"),
        tuple(
            (arm, counts.n, *counts.row, shares.good(arm), shares.mean(arm)) for arm, counts in shares.counts.items()
        ),
        "Bad 1, Okay 2, Good 3.",
        whiskers="P(Good)",
        stacked=("Bad", "Okay", "Good"),
    )


def _gap_table(gaps: Mapping[tuple[str, str], Estimate]) -> Table:
    return Table(
        "Differences (judge-only)",
        ("replies by", "against", "difference in P(Good), points"),
        tuple((arm, reference, gap) for (arm, reference), gap in gaps.items()),
        "Paired over the prompts that both replied to; n counts them. Each pair by itself: not corrected for others.",
        whiskers="difference in P(Good), points",
    )


def by_group(usable: Sequence[Any], shares: ArmShares, by: str) -> tuple[Table, ...]:
    """Counts of Good per emotion or valence; shares with Wilson's interval."""
    groups = sorted({getattr(one, by) for one in usable} - {""})
    if len(groups) < 2:
        return ()
    rows = []
    for name in groups:
        row: list[str | Estimate] = [name]
        for arm in shares.arms:
            own = [one.value for one in usable if getattr(one, by) == name and one.arm == arm]
            row.append(proportion_estimate(arm, own.count(GOOD), len(own)))
        rows.append(tuple(row))
    note = "Wilson's interval takes ratings for independent; a difference here is a hint, not a finding."
    return (Table(f"P(Good) by {by}", (by, *shares.arms), tuple(rows), note, heat=True),)


def prediction_powered(ratings: Sequence[RatedReply], arm: str) -> PpiMean | None:
    """P(Good) of an arm from people's ratings of some replies and the judge's of all; None where people rated none,
    all, or too few. Raters and prompts are both clusters."""
    own = powered_arm(ratings, arm)
    if own is None:
        return None
    return ppi_mean(
        own.human, own.judge, own.judge_only, clusters=own.raters, prompts=own.prompts, judge_clusters=own.judge_prompts
    )


def powered_difference(ratings: Sequence[RatedReply], arm: str, reference: str) -> PpiMean | None:
    """The difference of two arms' P(Good) among people; raters and prompts that both have are paired."""
    one, other = powered_arm(ratings, arm), powered_arm(ratings, reference)
    return None if one is None or other is None else ppi_difference(one, other)


def powered_arm(
    ratings: Sequence[RatedReply], arm: str, points: Callable[[int | None], float] = lambda value: float(value == GOOD)
) -> Arm | None:
    """People's and the judge's `points` of one arm's replies."""
    own = [one for one in ratings if one.arm == arm and one.value is not None and one.repeat == 0]
    both = [(one, rater, value) for one in own for rater, value in one.human]
    alone = [one for one in own if not one.human]
    raters = np.array([rater for _, rater, _ in both])
    if len(alone) < 2 or len(set(raters.tolist())) < 2 or len({one.prompt for one in alone}) < 2:
        return None
    return Arm(
        np.array([points(value) for _, _, value in both]),
        np.array([points(one.value) for one, _, _ in both]),
        np.array([points(one.value) for one in alone]),
        raters,
        np.array([one.prompt for one, _, _ in both]),
        np.array([one.prompt for one in alone]),
    )


def _difference_table(ratings: Sequence[RatedReply], arms: Sequence[str]) -> tuple[Table, ...]:
    rows = []
    for reference, arm in combinations(arms, 2):
        gap = powered_difference(ratings, arm, reference)
        if gap is not None:
            name = f"P(Good) among people, {arm} − {reference}"
            found = Estimate(
                name, 100 * gap.value, gap.n_rated, 100 * gap.se, 100 * gap.low, 100 * gap.high, "points", digits=1
            )
            rows.append((arm, reference, found, 100 * gap.human_only, 100 * gap.human_only_se, gap.gain))
    if not rows:
        return ()
    return (
        Table(
            "People and judge together: differences",
            ("replies by", "against", "difference in P(Good)", "people alone", "their SE", "gain"),
            tuple(rows),
            "Each pair by itself. Gain below 1: the judge adds more noise than it takes away; use people alone.",
        ),
    )


def _ppi_estimate(arm: str, ppi: PpiMean) -> Estimate:
    low, high = max(0.0, 100 * ppi.low), min(100.0, 100 * ppi.high)
    name = f"P(Good) among people, {arm}"
    note = "prediction-powered: people's ratings of some replies, the judge's of all"
    return Estimate(name, 100 * ppi.value, ppi.n_rated, 100 * ppi.se, low, high, "%", note, 1)


def _ppi_table(helped: Mapping[str, PpiMean]) -> Table:
    return Table(
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
        tuple(
            (
                arm,
                _ppi_estimate(arm, ppi),
                100 * ppi.human_only,
                100 * ppi.human_only_se,
                ppi.n_rated,
                ppi.n_judged,
                ppi.weight,
                ppi.gain,
            )
            for arm, ppi in helped.items()
        ),
        "Valid for people's P(Good) if the replies that people rated are a random part of all. Weight 0: the judge "
        "adds nothing; gain 1.3: it is worth 30 % more human ratings.",
    )


def _repeats(ratings: Sequence[RatedReply]) -> tuple[Estimate, ...]:
    """How often the judge says the same when asked again."""
    by_trial: dict[str, list[int]] = {}
    for one in ratings:
        if one.value is not None:
            by_trial.setdefault(one.trial.id, []).append(one.value)
    again = [values for values in by_trial.values() if len(values) > 1]
    same = sum(len(set(values)) == 1 for values in again)
    return (proportion_estimate("same rating each time it is asked", same, len(again)),) if again else ()


def relatives(judge: str, arms: Sequence[str]) -> tuple[str, ...]:
    own = family(judge)
    if not own:
        return (f"The family of {judge} is not known from its name: it may favour its own kind.",)
    akin = [arm for arm in arms if family(arm) == own]
    return (f"The judge is of the family of {', '.join(akin)} ({own}) and may favour it.",) if akin else ()


def _here(found: calibration.Calibration | None) -> tuple[str, ...]:
    return () if found is None else (f"On the replies that people have rated too: {calibration_tables.verdict(found)}",)

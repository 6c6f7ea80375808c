"""Does what a rater is like change what an arm is worth to them? A rater's score, standardised, moderates the arms'
effects in the mixed ordinal model."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.correlation import pearson
from eqlab.analysis.ordinal import RandomEffect, fit_ordinal, likelihood_ratio
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.contrasts import p_text
from eqlab.benchmarks.rating.rated import GivenRating
from eqlab.core.results import Estimate, Table

Floats = NDArray[np.float64]


def moderated(groups: Mapping[str, Floats], name: str, column: Floats) -> dict[str, Floats]:
    """Columns of `group * name`: the arms, the moderator, and each arm times it."""
    return {**groups, name: column, **{f"{arm}:{name}": groups[arm] * column for arm in groups}}


def standardised(values: Floats) -> Floats:
    """(x − mean)/SD over all ratings."""
    return np.asarray((values - values.mean()) / values.std(ddof=1))


def moderation_table(
    ratings: Sequence[GivenRating], arms: Sequence[str], scores: Mapping[str, float], name: str
) -> Table:
    """`rating ~ arm * z + (1|rater) + (1|prompt)` against the model without z (likelihood ratio), and the correlation
    of a rater's score with their mean rating in each arm. `arms` begin with the reference; raters without a score are
    left out and counted."""
    used = [one for one in ratings if one.rater in scores]
    lost = len({one.rater for one in ratings}) - len({one.rater for one in used})
    reference, others = arms[0], arms[1:]
    interactions, tested = _fit(used, others, scores)
    rows = []
    for arm in arms:
        means = _mean_ratings(used, arm)
        raters = list(means)
        r = pearson("r", np.array([scores[one] for one in raters]), np.array([means[one] for one in raters]))
        rows.append((arm, r, *(interactions.get(arm, (None, "")))))
    return Table(
        f"{name} as a moderator",
        (
            "replies by",
            f"r of {name} with a rater's mean rating",
            f"change of the log-odds against {reference} per SD",
            "p",
        ),
        tuple(rows),
        f"Mixed ordinal model with random raters and prompts. {tested}"
        + (f" {lost} raters without a {name} score are left out." if lost else ""),
    )


def _fit(
    used: Sequence[GivenRating], others: Sequence[str], scores: Mapping[str, float]
) -> tuple[dict[str, tuple[Estimate, str | None]], str]:
    """(each arm's interaction, the test of all of them in words)."""
    raters = {one.rater for one in used}
    if len({scores[rater] for rater in raters}) < 2 or not others:
        return {}, "No model: the score does not vary, or there is one arm."
    y = [one.value for one in used]
    groups = {arm: np.array([one.arm == arm for one in used], dtype=float) for arm in others}
    z = standardised(np.array([scores[one.rater] for one in used], dtype=float))
    random = [
        RandomEffect("rater", [one.rater for one in used]),
        RandomEffect("prompt", [one.prompt for one in used]),
    ]
    try:
        fit = fit_ordinal(y, moderated(groups, "z", z), random)
        test = likelihood_ratio(fit_ordinal(y, groups, random), fit)
    except FitError as error:
        return {}, f"No model: {error}"
    found: dict[str, tuple[Estimate, str | None]] = {}
    for arm in others:
        one = fit.coefficients[f"{arm}:z"]
        found[arm] = (Estimate(arm, one.est, len(used), one.se, one.low, one.high), p_text(one.p))
    return found, f"No relation at all: χ² = {test.chi2:.2f}, df {test.df}, p = {test.p:.3g}."


def _mean_ratings(ratings: Sequence[GivenRating], arm: str) -> dict[str, float]:
    own: dict[str, list[int]] = {}
    for one in ratings:
        if one.arm == arm:
            own.setdefault(one.rater, []).append(one.value)
    return {rater: sum(values) / len(values) for rater, values in own.items()}

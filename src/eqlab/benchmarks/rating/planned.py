"""What a rating study plans: every other arm against the reference, on every scale, in the mixed ordinal model with
raters, prompts and replies, with Holm's correction at the level that the plan names; and whether what a rater is like
changes what an arm is worth to them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from eqlab.analysis.confirmatory import Decision, decide
from eqlab.analysis.correlation import pearson
from eqlab.analysis.ordinal import RandomEffect, fit_ordinal, likelihood_ratio
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.common.people import contrast_table, corrected, p_text
from eqlab.benchmarks.rating.rated import GivenRating, RatedReply, given
from eqlab.core.forms import Scale
from eqlab.core.results import Column, Estimate, Table
from eqlab.core.studied import Contrast

FEW_OTHERS = 5
"""Ratings of an arm outside its commonest category below which its log-odds are called badly known."""


def planned_contrasts(
    ratings: Sequence[GivenRating], arms: Sequence[str], alpha: float = 0.05
) -> tuple[tuple[Contrast, ...], str]:
    """One for each arm after the first, which is the reference; and in words what the model has, or why there is
    none."""
    if len(arms) < 2:
        return (), "There is one arm."
    found, why = contrasts_of(ratings, arms[0], "", alpha)
    return corrected(found), why


def scale_contrasts(
    ratings: Sequence[RatedReply], scales: Sequence[Scale], reference: str, alpha: float
) -> tuple[tuple[Contrast, ...], Table]:
    """Every arm against the reference on every scale, corrected together."""
    found: list[Contrast] = []
    keys: list[str] = []
    notes = []
    for scale in scales:
        own, why = contrasts_of(given(ratings, scale), reference, f"{scale.key}: ", alpha)
        found += own
        keys += [scale.key] * len(own)
        notes.append(f"{scale.key}: {why}")
    contrasts = corrected(found)
    table = planned_table(contrasts, " ".join(notes), alpha)
    return contrasts, replace(
        table,
        columns=(Column("scale", "scale"), *table.columns),
        rows=tuple((key, *row) for key, row in zip(keys, table.rows, strict=True)),
        note=f"{table.note} Holm over all rows.",
    )


def contrasts_of(
    ratings: Sequence[GivenRating], reference: str, prefix: str, alpha: float
) -> tuple[tuple[Contrast, ...], str]:
    """Every arm against the reference, not yet corrected for their number. `prefix` begins their names."""
    try:
        made = decide(
            [one.value for one in ratings],
            [one.arm for one in ratings],
            [one.rater for one in ratings],
            [one.prompt for one in ratings],
            reference=reference,
            omnibus=False,
        )
    except FitError as error:
        return (), f"Not fitted: {error}"
    return contrasts_from(made, reference, prefix, alpha, len(ratings)), f"{_model(made)}{_nearly_one(ratings)}"


def contrasts_from(made: Decision, reference: str, prefix: str, alpha: float, n: int) -> tuple[Contrast, ...]:
    """Those of a fitted model that are against the reference, not yet corrected."""
    found = []
    for one in sorted((one for one in made.contrasts if one.against == reference), key=lambda one: one.arm):
        reach = float(stdtrit(one.df, 1 - alpha / 2)) * one.se
        name = f"log-odds, {prefix}{one.arm} − {reference}"
        estimate = Estimate(name, one.est, n, one.se, one.low, one.high)
        found.append(Contrast(one.arm, reference, estimate, one.p, one.p, one.est - reach, one.est + reach))
    return tuple(found)


def _model(made: Decision) -> str:
    return f"Random effects: {', '.join(made.random) or 'none'}.{left_out(made)}"


def left_out(made: Decision) -> str:
    """Random effects that the model lacks, and why."""
    return "".join(f" No {name} effect: {why}." for name, why in made.left_out.items() if why)


def _nearly_one(ratings: Sequence[GivenRating]) -> str:
    """Arms at the end of the scale: what their log-odds are is then known badly, and scatters far out."""
    said = ""
    for arm in dict.fromkeys(one.arm for one in ratings):
        counts = Counter(one.value for one in ratings if one.arm == arm)
        other = counts.total() - max(counts.values())
        if other < FEW_OTHERS:
            said += (
                f" {arm}: only {other} of {counts.total()} ratings differ from its commonest, so its log-odds are "
                "known badly; read the shares."
            )
    return said


def planned_words(found: Sequence[Contrast], alpha: float, unit: str = "log-odds") -> str:
    """What the plan decides, in words that follow the corrected p and nothing else."""
    if not found:
        return "The arms cannot be compared: no model of the ratings could be fitted."
    said = "; ".join(_contrast_words(one, alpha, unit) for one in found)
    return f"{said}."


def _contrast_words(one: Contrast, alpha: float, unit: str) -> str:
    value = one.estimate.value or 0.0
    holm_p = p_text(one.p_holm) or ""
    p = f"p {holm_p}" if holm_p.startswith("<") else f"p = {holm_p}"
    numbers = f"({unit} {value:+.2f}, {100 * (1 - alpha):g} % interval {one.low:.2f} to {one.high:.2f}; {p} after Holm)"
    scale = one.estimate.name.removeprefix("log-odds, ").rpartition(": ")[0]
    on = f" on {scale}" if scale and unit == "log-odds" else ""
    if one.p_holm >= alpha:
        return f"{one.arm} and {one.reference} cannot be told apart{on} {numbers}"
    return f"{one.arm} is rated {'better' if value > 0 else 'worse'} than {one.reference}{on} {numbers}"


def planned_table(found: Sequence[Contrast], why: str, alpha: float) -> Table:
    note = f"Cumulative logit with random raters, prompts and replies as far as the design has them. {why}"
    return contrast_table(found, "replies by", "log-odds of a better rating", alpha, note)


# -- a rater's score as a moderator --------------------------------------------------------------------------------

Floats = NDArray[np.float64]


def moderation_table(
    ratings: Sequence[GivenRating], arms: Sequence[str], scores: Mapping[str, float], name: str
) -> Table:
    """`rating ~ arm * z + (1|rater) + (1|prompt)` against the model without z (likelihood ratio), and the correlation
    of a rater's score with their mean rating in each arm. `arms` begin with the reference; raters without a score are
    left out and counted."""
    used = [one for one in ratings if one.rater in scores]
    lost = len({one.rater for one in ratings}) - len({one.rater for one in used})
    reference, others = arms[0], arms[1:]
    interactions, tested = _fit_moderated(used, others, scores)
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


def _fit_moderated(
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


def moderated(groups: Mapping[str, Floats], name: str, column: Floats) -> dict[str, Floats]:
    """Columns of `group * name`: the arms, the moderator, and each arm times it."""
    return {**groups, name: column, **{f"{arm}:{name}": groups[arm] * column for arm in groups}}


def standardised(values: Floats) -> Floats:
    """(x − mean)/SD over all ratings."""
    return np.asarray((values - values.mean()) / values.std(ddof=1))


def _mean_ratings(ratings: Sequence[GivenRating], arm: str) -> dict[str, float]:
    own: dict[str, list[int]] = {}
    for one in ratings:
        if one.arm == arm:
            own.setdefault(one.rater, []).append(one.value)
    return {rater: sum(values) / len(values) for rater, values in own.items()}

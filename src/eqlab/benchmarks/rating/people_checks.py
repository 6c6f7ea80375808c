"""Checks beside the model of people's ratings: are arms alike rather than merely not different, does one odds ratio
say it all, and do several raters of one reply agree."""

import math
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from eqlab.analysis.agreement import coincidences, ordinal_alpha, tables_agreement
from eqlab.analysis.confirmatory import PROMPT, RATER, REPLY
from eqlab.analysis.ordinal import OrdinalFit, RandomEffect, proportional_odds
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.analysis.two_samples import tost
from eqlab.benchmarks.contrasts import p_text
from eqlab.benchmarks.rating.rated import GivenRating
from eqlab.core.results import Estimate, Table

MARGIN = 1.2
"""Odds ratio, either way, within which two arms count as alike."""


def equivalence(fit: OrdinalFit, arms: Sequence[str]) -> Table:
    """Two one-sided tests for every two arms, on the log-odds scale."""
    reach = math.log(MARGIN)
    rows = []
    for reference, arm in combinations(arms, 2):
        weights = {arm: 1.0} if reference == arms[0] else {arm: 1.0, reference: -1.0}
        gap = fit.contrast(weights)
        found = tost(gap.est, gap.se, (-reach, reach))
        rows.append((arm, reference, p_text(found.p), "yes" if found.equivalent else "not shown"))
    return Table(
        "Are they alike?",
        ("replies by", "against", "p", f"within an odds ratio of {MARGIN:g}"),
        tuple(rows),
        "Two one-sided tests. A difference that is not significant does not show that two are alike; this can.",
    )


def proportional(fit: OrdinalFit, ratings: Sequence[GivenRating], arms: Sequence[str]) -> str:
    """Whether an arm shifts both thresholds (Bad against the rest, Good against the rest) by the same amount."""
    fixed = {arm: np.array([one.arm == arm for one in ratings], dtype=float) for arm in arms[1:]}
    levels: dict[str, Sequence[Hashable]] = {
        RATER: [one.rater for one in ratings],
        PROMPT: [one.prompt for one in ratings],
        REPLY: [(one.prompt, one.arm) for one in ratings],
    }
    random = [RandomEffect(name, levels[name]) for name in fit.sd]
    try:
        test = proportional_odds([one.value for one in ratings], fixed, random, list(fixed), proportional=fit).test
    except FitError as error:
        return f" Proportional odds could not be checked: {error}"
    verdict = "does not hold: read P(Good), not the odds ratio" if test.p < 0.05 else "is not contradicted"
    return f" One odds ratio for both thresholds {verdict} (χ² = {test.chi2:.1f}, df {test.df}, p = {test.p:.2g})."


def several_raters(ratings: Sequence[GivenRating]) -> Table | None:
    """Ordinal alpha over replies that more than one person rated; None if there is no such reply."""
    units: dict[tuple[str, str], list[int]] = {}
    for one in ratings:
        units.setdefault((one.arm, one.prompt), []).append(one.value)
    shared = [values for values in units.values() if len(values) > 1]
    if len(shared) < 2:
        return None
    found = tables_agreement(coincidences(shared), {"ordinal alpha": ordinal_alpha})["ordinal alpha"]
    value = None if found.value is None or math.isnan(found.value) else found.value
    estimate = Estimate("ordinal alpha", value, len(shared), None, found.low, found.high)
    return Table(
        "Agreement of several raters of one reply",
        ("measure", "value"),
        (("Krippendorff's alpha, ordinal", estimate),),
        "n counts replies with at least two ratings; bootstrap over replies.",
    )

"""The hypothesis that a study of moods plans: negative situations raise Negative Affect more than the reference does.
People are nested in situations, and both are drawn anew in another study: the situation's mean is the unit."""

from collections.abc import Mapping, Sequence

import numpy as np

from eqlab.analysis.intervals import FEWEST, t_bounds
from eqlab.analysis.two_samples import describe, welch_comparison
from eqlab.benchmarks.common.people import contrast_table
from eqlab.benchmarks.emotionbench.alignment import NEGATIVE
from eqlab.benchmarks.emotionbench.measures import known
from eqlab.benchmarks.emotionbench.people_paired import Paired
from eqlab.core.results import Estimate, Table
from eqlab.core.studied import Contrast

ARM = "negative situations"


def hypothesis(
    found: Paired, arm_of: Mapping[str, str], reference: str, alpha: float
) -> tuple[tuple[Contrast, ...], str]:
    """One contrast, Welch's test over situations' mean changes, two-sided at alpha; or why there is none. `arm_of`
    names each situation's arm."""
    if not found.people.places:
        return (), "nobody has both measures yet"
    if NEGATIVE not in found.people.before:
        return (), "the instrument has no Negative Affect"
    every = found.people.change(NEGATIVE)
    ours, theirs = [], []
    for number, place in enumerate(found.people.places):
        own = known(every[found.people.where == number])
        if not len(own):
            continue
        if arm_of.get(place.situation) == reference:
            theirs.append(float(own.mean()))
        elif place.kind == "negative":
            ours.append(float(own.mean()))
    if min(len(ours), len(theirs)) < FEWEST:
        return (), (
            f"{len(ours)} negative situations and {len(theirs)} of the reference '{reference}' have people; "
            f"{FEWEST} of each are needed"
        )
    test = welch_comparison(describe(np.array(ours)), describe(np.array(theirs)))
    if test.difference is None or test.se is None or test.df is None or test.p is None:
        return (), "situations do not differ at all"
    low, high = t_bounds(test.difference, test.se, test.df)
    name = f"change in {NEGATIVE}, negative − {reference}"
    estimate = Estimate(name, test.difference, len(ours) + len(theirs), test.se, low, high, digits=1, of="situations")
    own_low, own_high = t_bounds(test.difference, test.se, test.df, 1 - alpha)
    return (Contrast(ARM, reference, estimate, test.p, test.p, own_low, own_high),), ""


def hypothesis_table(found: Sequence[Contrast], why: str, alpha: float) -> Table:
    note = (why and f"Not tested: {why}.") or "Welch's test, two-sided, of the situations' mean changes within person."
    return contrast_table(found, "situations", f"change in {NEGATIVE}", alpha, note)


def hypothesis_words(found: Sequence[Contrast], why: str, alpha: float) -> str:
    if not found:
        return f"The planned contrast is not tested: {why}."
    (one,) = found
    value = one.estimate.value or 0.0
    numbers = f"{value:+.1f} points, {100 * (1 - alpha):g} % interval {one.low:.1f} to {one.high:.1f}, p = {one.p:.4g}"
    if one.p >= alpha:
        return f"{NEGATIVE} does not tell negative situations from {one.reference} ({numbers})."
    way = "more" if value > 0 else "less"
    return f"{NEGATIVE} rises {way} in negative situations than in {one.reference} ({numbers})."

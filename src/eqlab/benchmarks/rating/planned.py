"""The contrasts that a rating study plans: every other arm against the reference, in the mixed ordinal model, with
Holm's correction at the level that the plan names."""

from collections.abc import Sequence

from scipy.special import ndtri

from eqlab.analysis.multiplicity import holm
from eqlab.benchmarks.rating.outcome import p_text
from eqlab.benchmarks.rating.people_result import fit_crossed
from eqlab.benchmarks.rating.rated import Given
from eqlab.core.results import Estimate, Table
from eqlab.core.studied import Contrast


def planned_contrasts(
    ratings: Sequence[Given], arms: Sequence[str], alpha: float = 0.05
) -> tuple[tuple[Contrast, ...], str]:
    """One for each arm after the first, which is the reference; and why there are none."""
    if len(arms) < 2:
        return (), "There is one arm."
    fit, why = fit_crossed(ratings, arms)
    if fit is None:
        return (), why
    found = [fit.contrast({arm: 1.0}) for arm in arms[1:]]
    adjusted = holm([one.p for one in found])
    reach = float(ndtri(1 - alpha / 2))
    return tuple(
        Contrast(
            arm,
            arms[0],
            Estimate(f"log-odds, {arm} − {arms[0]}", one.est, len(ratings), one.se, one.low, one.high),
            one.p,
            one.p if p_holm is None else p_holm,
            one.est - reach * one.se,
            one.est + reach * one.se,
        )
        for arm, one, p_holm in zip(arms[1:], found, adjusted, strict=True)
    ), ""


def planned_table(found: Sequence[Contrast], why: str, alpha: float) -> Table:
    rows = tuple(
        (
            one.arm,
            one.reference,
            one.estimate,
            f"{one.low:.2f} … {one.high:.2f}",
            p_text(one.p),
            p_text(one.p_holm),
            "yes" if one.p_holm < alpha else "no",
        )
        for one in found
    )
    return Table(
        "Planned contrasts",
        (
            "arm",
            "against",
            "log-odds of a better rating",
            f"{100 * (1 - alpha):g} % interval",
            "p",
            "p after Holm",
            f"different at {alpha:g}",
        ),
        rows,
        f"Cumulative logit with random raters and prompts.{f' Not fitted: {why}' if not found else ''}",
    )

"""The contrasts that a rating study plans: every other arm against the reference, in the mixed ordinal model with
raters, prompts and replies, with Holm's correction at the level that the plan names."""

from collections import Counter
from collections.abc import Sequence

from scipy.special import stdtrit

from eqlab.analysis.confirmatory import Decision, decide
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.contrasts import contrast_table, corrected, p_text
from eqlab.benchmarks.rating.rated import GivenRating
from eqlab.core.results import Estimate, Table
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
    lost = "".join(f" No {name} effect: {why}." for name, why in made.left_out.items() if why)
    return f"Random effects: {', '.join(made.random) or 'none'}.{lost}"


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

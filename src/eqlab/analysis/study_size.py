"""How many raters does a study need? The published calculation, and the one that takes raters for what they are:
people whose ratings are alike. By formula, by simulation, and with looks at the data on the way."""

import math
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from eqlab.analysis.power import (
    PowerComponents,
    chi_square_n,
    gap_power,
    log_odds_for_gap,
    marginal_top,
    minimum_gap,
    raters_per_arm,
    simulate_power,
)
from eqlab.analysis.sequential import inflation, obrien_fleming, outlook
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, Table

SD_RATER, SD_PROMPT = 0.642, 0.325
"""Spreads of raters and prompts on the log-odds scale in the 6,000 published ratings (mixed ordinal model)."""


@dataclass(frozen=True, slots=True)
class StudySize:
    """What is planned. The defaults are what was seen in the published ratings."""

    baseline: float = 0.493
    """P(Good) of the arm to compare with: the study's people."""
    gap: float = 0.05
    """Difference in P(Good) worth finding."""
    power: float = 0.8
    alpha: float = 0.05
    ratings_per_rater: int = 10
    design_effect: float = 1.57
    raters: int | None = None
    """Raters per arm, if they are given; else they are computed."""
    looks: int = 4
    studies: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        other = self.baseline + self.gap
        if not (0 < self.baseline < 1 and 0 < other < 1) or self.gap == 0:
            raise UsageError(f"A gap of {self.gap:g} from {self.baseline:g} does not stay between 0 and 1, or is none.")
        if not (0 < self.alpha < 1 and 0 < self.power < 1):
            raise UsageError("--alpha and --power are shares between 0 and 1.")
        if self.design_effect < 1:
            raise UsageError(f"A design effect of {self.design_effect:g} is below 1, which no study has.")


def published() -> dict[str, Any]:
    """The study's own calculation: chi-square, five groups, three ratings, every rating independent."""
    found = chi_square_n(0.3, (5 - 1) * (3 - 1), alpha=0.05, power=0.95)
    return {
        "w": found.w,
        "alpha": found.alpha,
        "power": found.power,
        "df": found.df,
        "n": found.n,
        "per_group": found.per_group(5),
        "per_group_with_split": found.per_group(5, times=2),
    }


def plan(size: StudySize) -> dict[str, Any]:
    clustered: dict[str, Any] = {"design_effect": size.design_effect, "ratings_per_rater": size.ratings_per_rater}
    other = size.baseline + size.gap
    needed = raters_per_arm(size.baseline, other, power=size.power, alpha=size.alpha, **clustered)
    raters = size.raters or needed
    components = _components(size.baseline)
    simulated = simulate_power(
        components,
        log_odds_for_gap(components, other),
        raters=raters,
        ratings_per_rater=size.ratings_per_rater,
        studies=size.studies,
        alpha=size.alpha,
        seed=size.seed,
    )
    return {
        "published": published(),
        "raters_per_arm": needed,
        "raters_if_independent": raters_per_arm(
            size.baseline,
            other,
            power=size.power,
            alpha=size.alpha,
            design_effect=1.0,
            ratings_per_rater=size.ratings_per_rater,
        ),
        "raters": raters,
        "power_by_formula": gap_power(size.baseline, other, raters, alpha=size.alpha, **clustered),
        "power_by_simulation": {
            "power": simulated.power,
            "low": simulated.low,
            "high": simulated.high,
            "studies": simulated.studies,
        },
        "minimum_gap": minimum_gap(size.baseline, raters, power=size.power, alpha=size.alpha, **clustered),
        "sequential": _sequential(size, raters, needed),
    }


def _components(baseline: float) -> PowerComponents:
    """The published spreads, with the threshold that gives the baseline share."""
    spread = math.hypot(SD_RATER, SD_PROMPT)
    top = float(brentq(lambda threshold: marginal_top(threshold, spread) - baseline, -15.0, 15.0))
    return PowerComponents((top,), SD_RATER, SD_PROMPT)


def _sequential(size: StudySize, raters: int, needed: int) -> dict[str, Any]:
    """Equally spaced looks with O'Brien–Fleming bounds; z at the end grows with the root of the raters."""
    design = obrien_fleming([(look + 1) / size.looks for look in range(size.looks)], size.alpha)
    single = abs(size.gap) / minimum_gap(
        size.baseline,
        1,
        power=0.5,  # at power one half the smallest gap is z_α/2 standard errors
        alpha=size.alpha,
        design_effect=size.design_effect,
        ratings_per_rater=size.ratings_per_rater,
    )
    from scipy.special import ndtri

    seen = outlook(design, single * float(ndtri(1 - size.alpha / 2)) * math.sqrt(raters))
    return {
        "looks": [round(look * raters) for look in design.looks],
        "bounds": list(design.bounds),
        "stop": list(seen.stop),
        "power": seen.power,
        "expected_raters": seen.expected_raters(raters),
        "raters_for_the_same_power": math.ceil(needed * inflation(design, size.power)),
    }


def tables(size: StudySize, found: dict[str, Any]) -> list[Table]:
    published_one, looks, simulated = found["published"], found["sequential"], found["power_by_simulation"]
    share = Estimate(
        "power", 100 * simulated["power"], simulated["studies"], None, 100 * simulated["low"], 100 * simulated["high"],
        "%", digits=1,
    )  # fmt: skip
    return [
        Table(
            "The published calculation",
            ("w", "α", "power", "df", "ratings", "per group", "per group with the split"),
            (
                tuple(
                    published_one[name]
                    for name in ("w", "alpha", "power", "df", "n", "per_group", "per_group_with_split")
                ),
            ),
            "It counts independent ratings. Ten ratings of one rater are not independent.",
        ),
        Table(
            f"To find {100 * size.gap:+.1f} points from {100 * size.baseline:.1f} % Good",
            ("what", "value"),
            (
                (f"raters per group for a power of {size.power:g}", found["raters_per_arm"]),
                ("… if their ratings were independent", found["raters_if_independent"]),
                (
                    f"power with {found['raters']} raters per group, by formula",
                    f"{100 * found['power_by_formula']:.1f} %",
                ),
                ("… by simulation", share),
                (
                    f"smallest gap that {found['raters']} raters per group find",
                    f"{100 * found['minimum_gap']:.1f} points",
                ),
            ),
            f"α = {size.alpha:g}, {size.ratings_per_rater} ratings a rater, design effect {size.design_effect:g}. "
            f"Simulated from the spreads of the published ratings (raters {SD_RATER}, prompts {SD_PROMPT} log-odds).",
        ),
        Table(
            f"With {size.looks} looks (O'Brien–Fleming)",
            ("raters per group so far", "stop if |z| exceeds", "probability to stop here"),
            tuple(
                (raters, bound, f"{100 * stop:.1f} %")
                for raters, bound, stop in zip(looks["looks"], looks["bounds"], looks["stop"], strict=True)
            ),
            f"Expected: {looks['expected_raters']:.0f} raters per group instead of {found['raters']}; power "
            f"{100 * looks['power']:.1f} %. For the same power as without looks: {looks['raters_for_the_same_power']}.",
        ),
    ]

"""How many raters does a study need? The published calculation, and the one its data call for: raters give several
ratings each, which are alike. By formula with the design effect, by simulation from a mixed model's variance
components, and with looks at the data on the way (sequential.py)."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import proportion_bounds
from eqlab.analysis.sequential import inflation, obrien_fleming, outlook, root
from eqlab.analysis.special import chdtri, chndtr, expit, fdtri, ncfdtr, nctdtr, ndtr, ndtri, stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass

# people whose ratings are alike. By formula, by simulation, and with looks at the data on the way.
SD_RATER, SD_PROMPT = 0.642, 0.325
"""Spreads of raters and prompts on the log-odds scale in the 6,000 published ratings (mixed ordinal model)."""
SD_REPLY = 0.4
"""Spread of replies, as `eqlab study simulate` has it: the published ratings, one a reply, cannot show it."""
OKAY = 1.94
"""Log-odds from the threshold Bad|Okay up to Okay|Good in the published ratings."""
_STUDIES_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PowerComponents:
    """A mixed model's view of a study: thresholds of the reference arm and spreads on the log-odds scale."""

    thresholds: tuple[float, ...]
    sd_rater: float
    sd_prompt: float


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
    prompts: int = 100
    """Prompts of the study: every arm has one reply to each."""
    sd_reply: float = SD_REPLY

    def __post_init__(self) -> None:
        other = self.baseline + self.gap
        if not (0 < self.baseline < 1 and 0 < other < 1) or self.gap == 0:
            raise UsageError(f"A gap of {self.gap:g} from {self.baseline:g} does not stay between 0 and 1, or is none.")
        if not (0 < self.alpha < 1 and 0 < self.power < 1):
            raise UsageError("--alpha and --power are shares between 0 and 1.")
        if self.design_effect < 1:
            raise UsageError(f"A design effect of {self.design_effect:g} is below 1, which no study has.")
        if self.prompts < 2 or self.sd_reply < 0:
            raise UsageError("A study needs two prompts, and a spread of replies that is not below 0.")


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
        "deciding": _by_deciding_model(size, raters),
        "sequential": _sequential(size, raters, needed),
    }


# -- the model that decides: raters, prompts and replies --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecidingModel:
    """Two groups of raters, one an arm, on the same prompts; an arm has one reply to each. The log-odds of the mixed
    ordinal model (confirmatory.py) have about the variance 2·(v/(R·m) + σ²_rater/R + σ²_reply/P): R raters a group with
    m ratings each share out P replies, v is the variance that one rating leaves, 1/Fisher's information. The last term
    does not shrink with raters. Student's t with the raters less 2 or the prompts less 1, whichever is fewer; all but
    the raters' own variance counts (2R − 1)/(2R − 2) times, as the model makes up for the arms' means."""

    prompts: int
    ratings_per_rater: int
    threshold: float
    """Of the highest category."""
    sd_reply: float = SD_REPLY
    sd_rater: float = SD_RATER
    sd_prompt: float = SD_PROMPT
    alpha: float = 0.05

    def log_odds(self, share: float) -> float:
        """What brings the highest category from the baseline to this share."""
        return root(lambda shift: marginal_top(self.threshold - shift, self._spread) - share, -15.0, 15.0)

    @property
    def _spread(self) -> float:
        return math.hypot(self.sd_rater, self.sd_prompt, self.sd_reply)

    def power(self, log_odds: float, raters: float) -> float:
        """`raters` a group may be infinite."""
        rater = 0.0 if math.isinf(raters) else self.sd_rater**2 / raters
        rest = 0.0 if math.isinf(raters) else 1 / (self._information * raters * self.ratings_per_rater)
        left = max(1.0, 2 * raters - 2)
        wider = 1.0 if math.isinf(raters) else (left + 1) / left
        se = math.sqrt(2 * (rater + wider * (rest + self.sd_reply**2 / self.prompts)))
        df = max(1.0, min(left, self.prompts - 1))
        if se == 0:
            return 1.0
        far, critical = abs(log_odds) / se, float(stdtrit(df, 1 - self.alpha / 2))
        missed = float(nctdtr(df, far, critical))
        return 1 - (float(ndtr(critical - far)) if math.isnan(missed) else missed)  # undefined where it is far off

    @property
    def _information(self) -> float:
        """Of one rating about a shift, in three categories, averaged over raters, prompts and replies."""
        nodes, weights = _nodes()
        ends = self.threshold - self._spread * nodes
        upper, lower = 1 - expit(ends), 1 - expit(ends - OKAY)
        slopes = upper * (1 - upper), lower * (1 - lower)
        shares = (upper, lower - upper, 1 - lower)
        moved = (slopes[0], slopes[1] - slopes[0], -slopes[1])
        each = sum(one**2 / share for one, share in zip(moved, shares, strict=True))
        return float(weights @ each)

    def raters(self, log_odds: float, power: float) -> int | None:
        """Raters a group for this power; None where no number of them would do."""
        if self.power(log_odds, math.inf) <= power:
            return None
        high = 2
        while self.power(log_odds, high) < power:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(log_odds, middle) >= power else (middle, high)
        return high

    def fewest_prompts(self, log_odds: float, power: float, raters: float = math.inf) -> int | None:
        """Prompts for this power with so many raters; None where no number of them would do, up to a million."""
        high = 2
        while replace(self, prompts=high).power(log_odds, raters) < power:
            high *= 2
            if high > 1_000_000:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            enough = replace(self, prompts=middle).power(log_odds, raters) >= power
            low, high = (low, middle) if enough else (middle, high)
        return high

    def minimum_gap(self, baseline: float, raters: int, power: float) -> float | None:
        """The smallest gap upwards in P(Good) that is found with this power; None where none is."""
        most = 0.999 - baseline
        if most <= 0 or self.power(self.log_odds(baseline + most), raters) < power:
            return None
        return root(lambda gap: self.power(self.log_odds(baseline + gap), raters) - power, 1e-6, most, xtol=1e-5)


def deciding_model(
    baseline: float, prompts: int, ratings_per_rater: int, *, sd_reply: float = SD_REPLY, alpha: float = 0.05
) -> DecidingModel:
    """With the published spreads and the threshold that gives the baseline share."""
    spread = math.hypot(SD_RATER, SD_PROMPT, sd_reply)
    top = root(lambda threshold: marginal_top(threshold, spread) - baseline, -15.0, 15.0)
    return DecidingModel(prompts, ratings_per_rater, top, sd_reply, alpha=alpha)


def _by_deciding_model(size: StudySize, raters: int) -> dict[str, Any]:
    model = deciding_model(
        size.baseline, size.prompts, size.ratings_per_rater, sd_reply=size.sd_reply, alpha=size.alpha
    )
    log_odds = model.log_odds(size.baseline + size.gap)
    return {
        "prompts": size.prompts,
        "sd_reply": size.sd_reply,
        "raters": raters,
        "power": model.power(log_odds, raters),
        "power_with_any_number_of_raters": model.power(log_odds, math.inf),
        "raters_per_arm": model.raters(log_odds, size.power),
        "prompts_needed": model.fewest_prompts(log_odds, size.power, raters),
        "prompts_with_any_number_of_raters": model.fewest_prompts(log_odds, size.power),
        "minimum_gap": model.minimum_gap(size.baseline, raters, size.power),
    }


def published() -> dict[str, Any]:
    """The study's own calculation: chi-square, five groups, three ratings, every rating independent."""
    power = chi_square_n(0.3, (5 - 1) * (3 - 1), alpha=0.05, power=0.95)
    return {
        "w": power.w,
        "alpha": power.alpha,
        "power": power.power,
        "df": power.df,
        "n": power.n,
        "per_group": power.per_group(5),
        "per_group_with_split": power.per_group(5, times=2),
    }


def _components(baseline: float) -> PowerComponents:
    """The published spreads, with the threshold that gives the baseline share."""
    spread = math.hypot(SD_RATER, SD_PROMPT)
    top = root(lambda threshold: marginal_top(threshold, spread) - baseline, -15.0, 15.0)
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
    from eqlab.analysis.special import ndtri

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
        _deciding_table(size, found["deciding"]),
        Table(
            f"To find {100 * size.gap:+.1f} points if replies to a prompt did not differ, or every rating had its own",
            ("what", "value"),
            (
                (f"raters per group for a power of {size.power:g}", found["raters_per_arm"]),
                ("… if their ratings were independent", found["raters_if_independent"]),
                (
                    f"power with {many(found['raters'], 'rater')} per group, by formula",
                    f"{100 * found['power_by_formula']:.1f} %",
                ),
                ("… by simulation", share),
                (
                    f"smallest gap that {many(found['raters'], 'rater')} per group find",
                    f"{100 * found['minimum_gap']:.1f} points",
                ),
            ),
            f"α = {size.alpha:g}, {many(size.ratings_per_rater, 'rating')} a rater, design effect "
            f"{size.design_effect:g}. "
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


def _deciding_table(size: StudySize, found: dict[str, Any]) -> Table:
    def points(gap: float | None) -> str:
        return "none" if gap is None else f"{100 * gap:.1f} points"

    needed, ceiling = found["raters_per_arm"], 100 * found["power_with_any_number_of_raters"]
    more = (
        ""
        if needed is not None
        else (f" More raters cannot help: {many(size.prompts, 'prompt')} are too few. Add prompts.")
    )
    return Table(
        f"To find {100 * size.gap:+.1f} points from {100 * size.baseline:.1f} % Good, by the model that decides",
        ("what", "value"),
        (
            (
                f"raters per group for a power of {size.power:g}, {many(size.prompts, 'prompt')}",
                "no number of them" if needed is None else needed,
            ),
            (f"power with {many(found['raters'], 'rater')} per group", f"{100 * found['power']:.1f} %"),
            ("… with any number of raters", f"{ceiling:.1f} %"),
            (
                (f"prompts for a power of {size.power:g} with {many(found['raters'], 'rater')} per group"),
                found["prompts_needed"],
            ),
            ("… with any number of raters", found["prompts_with_any_number_of_raters"]),
            (f"smallest gap that {many(found['raters'], 'rater')} per group find", points(found["minimum_gap"])),
        ),
        f"α = {size.alpha:g}, {many(size.ratings_per_rater, 'rating')} a rater; raters, prompts and replies differ (SD "
        f"{SD_RATER}, {SD_PROMPT} and {size.sd_reply:g} log-odds). What is good about a reply is shared by all who "
        f"rate it.{more}",
    )


@dataclass(frozen=True, slots=True)
class ChiSquarePower:
    """Sample size for a chi-square test of independence, as G*Power computes it."""

    w: float
    alpha: float
    power: float
    df: int
    noncentrality: float
    n_exact: float
    n: int

    def per_group(self, groups: int, times: int = 1) -> int:
        """Raters in each group; `times` 2 when each of two halves must have the power."""
        return math.ceil(times * self.n / groups)


def chi_square_power(w: float, n: float, df: int, alpha: float = 0.05) -> float:
    """P(reject) with effect size w and n independent answers (Cohen 1988, ch. 7)."""
    return 1.0 - float(chndtr(chdtri(df, alpha), df, n * w * w))


def chi_square_n(w: float, df: int, alpha: float = 0.05, power: float = 0.95) -> ChiSquarePower:
    critical = chdtri(df, alpha)
    noncentrality = root(lambda x: 1.0 - float(chndtr(critical, df, x)) - power, 1e-6, 1e4)
    exact = noncentrality / w**2
    return ChiSquarePower(w, alpha, power, df, noncentrality, exact, math.ceil(exact - 1e-9))


def smallest_w(n: float, df: int, alpha: float = 0.05, power: float = 0.95) -> float:
    """The effect size that n independent answers can find."""
    return math.sqrt(chi_square_n(1.0, df, alpha, power).noncentrality / n)


def anova_n(f: float, groups: int, alpha: float = 0.05, power: float = 0.95) -> int:
    """Total sample size of a one-way analysis of variance with effect size f (Cohen 1988, ch. 8)."""

    def reached(n: int) -> bool:
        critical = fdtri(groups - 1, n - groups, 1 - alpha)
        return 1.0 - float(ncfdtr(groups - 1, n - groups, f * f * n, critical)) >= power

    n = groups + 2
    while not reached(n):
        n += 1
    return n


def raters_per_arm(
    p_reference: float,
    p_other: float,
    *,
    design_effect: float,
    ratings_per_rater: int,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Raters in each of two arms to find a gap in P(Good): (z_α/2 + z_β)²·(p₁q₁ + p₂q₂)/gap² independent ratings
    (Fleiss 1981), times the design effect, over the ratings each gives."""
    if not (0 < p_reference < 1 and 0 < p_other < 1) or p_reference == p_other:
        raise UsageError("A gap needs two different shares between 0 and 1.")
    z = _z(alpha, power)
    ratings = z * z * _variances(p_reference, p_other) / (p_other - p_reference) ** 2
    return math.ceil(ratings * design_effect / ratings_per_rater - 1e-9)


def gap_power(
    p_reference: float,
    p_other: float,
    raters: int,
    *,
    design_effect: float,
    ratings_per_rater: int,
    alpha: float = 0.05,
) -> float:
    """The power that so many raters per group have (the larger tail)."""
    effective = raters * ratings_per_rater / design_effect
    z = abs(p_other - p_reference) / math.sqrt(_variances(p_reference, p_other) / effective)
    return float(ndtr(z - ndtri(1 - alpha / 2)))


def minimum_gap(
    p_reference: float,
    raters: int,
    *,
    design_effect: float,
    ratings_per_rater: int,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """The smallest gap that so many raters per group can find: (z_α/2 + z_β)·√(2pq·deff/ratings), with the reference's
    variance in both arms, so the answer holds for a gap up or down."""
    variance = _variances(p_reference, p_reference) * design_effect / (raters * ratings_per_rater)
    return _z(alpha, power) * math.sqrt(variance)


def _z(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))


def _variances(p: float, q: float) -> float:
    return p * (1 - p) + q * (1 - q)


@dataclass(frozen=True, slots=True)
class SimulatedPower:
    power: float
    low: float
    high: float
    """95 % Wilson bounds: the error of the simulation itself."""
    studies: int
    raters: int
    p_reference: float
    p_other: float
    """Shares of the highest category that the log-odds difference stands for, averaged over raters and prompts."""


def simulate_power(
    components: PowerComponents,
    log_odds: float,
    *,
    raters: int,
    ratings_per_rater: int = 10,
    studies: int = 1000,
    alpha: float = 0.05,
    seed: int = 20240607,
) -> SimulatedPower:
    """Two arms of raters who rate the same batches, drawn again and again from the model; each study is judged by
    Welch's test on the raters' shares of the highest category. The prompts that the arms share are not used by the
    test, so a mixed model has slightly more power than this."""
    from scipy.stats import ttest_ind

    random = np.random.default_rng(seed)
    top = components.thresholds[-1]
    significant = 0
    for start in range(0, studies, _STUDIES_AT_ONCE):
        count = min(_STUDIES_AT_ONCE, studies - start)
        prompts = random.normal(0.0, components.sd_prompt, (count, raters, ratings_per_rater))
        shares = []
        for shift in (0.0, log_odds):
            own = random.normal(0.0, components.sd_rater, (count, raters, 1))
            noise = random.logistic(size=prompts.shape)
            shares.append((shift + own + prompts + noise > top).mean(axis=2))
        p_values = ttest_ind(shares[1], shares[0], axis=1, equal_var=False).pvalue
        significant += int((p_values < alpha).sum())
    share = significant / studies
    low, high = proportion_bounds(share, studies)
    spread = math.hypot(components.sd_rater, components.sd_prompt)
    return SimulatedPower(
        share, low, high, studies, raters, marginal_top(top, spread), marginal_top(top - log_odds, spread)
    )


def log_odds_for_gap(components: PowerComponents, p_other: float) -> float:
    """The log-odds difference that brings the highest category to the share `p_other`."""
    spread = math.hypot(components.sd_rater, components.sd_prompt)
    top = components.thresholds[-1]
    return root(lambda shift: marginal_top(top - shift, spread) - p_other, -15.0, 15.0)


def marginal_top(threshold: float, spread: float) -> float:
    """P(highest category) averaged over normal effects of this spread (Gauss–Hermite)."""
    nodes, weights = _nodes()
    return float(weights @ expit(spread * nodes - threshold))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Gauss–Hermite: where a normal variable is looked at, and with which weight."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return nodes, weights / weights.sum()

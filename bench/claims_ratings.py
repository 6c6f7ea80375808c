"""Rating studies simulated, for claims.py: false alarms with and without the reply effect, how near the estimated
log-odds come to those put in, and the same studies fitted by R's `ordinal::clmm`.

    python bench/claims.py replies effects --times 300
    python bench/claims.py against_r            # needs Rscript with the package ordinal"""

import csv
import math
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, mean, share, show

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class World:
    """How much raters, prompts and replies differ, in log-odds, and the thresholds of Bad|Okay|Good."""

    rater: float
    prompt: float
    reply: float
    cuts: tuple[float, float]
    taste: float = 0.0
    """Of what each arm is worth to one rater."""


PUBLISHED = (0.642, 0.325)
"""Spreads of raters and prompts in the published ratings."""
SIMULATED = World(0.9, 0.5, 0.4, (-1.2, 0.3))
"""The truth of `eqlab study simulate`."""


@dataclass(frozen=True, slots=True)
class Study:
    values: list[int]
    arms: list[str]
    raters: list[int]
    prompts: list[int]


def made_study(
    random: Random, world: World, prompts: int, per_reply: int, each: int, *, both: bool = False, gap: float = 0.0
) -> Study:
    """Two arms; a reply is seen by `per_reply` raters, a rater sees `each` replies, of one arm or of both."""
    own_prompt, own_reply = random.normal(0, world.prompt, prompts), random.normal(0, world.reply, (2, prompts))
    groups = [[0, 1]] if both else [[0], [1]]
    made = Study([], [], [], [])
    count = 0
    for arms in groups:
        cells = np.array([(arm, place) for arm in arms for place in range(prompts)])
        seen = np.concatenate([cells[random.permutation(len(cells))] for _ in range(per_reply)])
        for start in range(0, len(seen), each):
            own = random.normal(0, world.rater)
            likes = random.normal(0, world.taste, 2) if world.taste else (0.0, 0.0)
            for arm, place in seen[start : start + each].tolist():
                latent = gap * arm + likes[arm] + own_prompt[place] + own_reply[arm, place] + own + random.logistic()
                made.values.append(1 + sum(latent > cut for cut in world.cuts))
                made.arms.append(f"arm {arm}")
                made.raters.append(count)
                made.prompts.append(place)
            count += 1
    return made


def _without_replies(one: Study) -> float:
    """0.1: raters and prompts, the normal distribution."""
    return float(_fitted(one, {"rater": one.raters, "prompt": one.prompts}).p)


def _fitted(one: Study, levels: dict[str, list[Any]]) -> Any:
    from eqlab.analysis.ordinal import RandomEffect, fit_ordinal

    column = np.array([arm == "arm 1" for arm in one.arms], dtype=float)
    terms = [RandomEffect(name, own) for name, own in levels.items()]
    return fit_ordinal(one.values, {"arm 1": column}, terms).contrast({"arm 1": 1.0})


def _without_tastes(one: Study) -> float:
    """0.2: raters, prompts and replies, Student's t."""
    from eqlab.analysis.special import stdtr

    replies = list(zip(one.prompts, one.arms, strict=True))
    levels: dict[str, list[Any]] = {"rater": one.raters, "prompt": one.prompts, "reply": replies}
    found = _fitted(one, levels)
    df = min(len(set(one.raters)), len(set(one.prompts))) - 1
    return 2 * float(stdtr(df, -abs(found.est / found.se)))


def decided(one: Study) -> Any:
    from eqlab.analysis.confirmatory import decide

    return decide(one.values, one.arms, one.raters, one.prompts, reference="arm 0", omnibus=False)


def replies(times: int) -> None:
    rows = Rows()
    for both in (False, True):
        for spread in (0.0, 0.6, 1.0):
            for per_reply in (3, 10):
                random = np.random.default_rng(per_reply)
                world = World(*PUBLISHED, spread, (-1.2, 0.0))
                before = after = 0
                for _ in range(times):
                    one = made_study(random, world, 60, per_reply, 10, both=both)
                    before += _without_replies(one) < 0.05
                    after += decided(one).contrasts[0].p < 0.05
                sees = "both arms" if both else "one arm"
                rows.append((sees, spread, per_reply, share(before, times), share(after, times)))
    show(
        f"Rating studies in which the arms do not differ, 60 prompts, ten ratings a rater: how often p < .05 (should "
        f"be .05), {times} studies a row",
        ("a rater sees", "SD of replies (log-odds)", "raters a reply", "raters and prompts (0.1)", "… and replies"),
        rows,
    )


def tastes(times: int) -> None:
    """Every rater sees both arms, and likes one of them more: what is that worth, counted as if it were the arms'?"""
    rows = Rows()
    for prompts, per_reply, each in ((20, 12, 20), (40, 15, 40)):
        for spread in (0.0, 0.4, 0.8):
            random = np.random.default_rng(prompts)
            world = World(0.9, 0.5, 0.4, (-1.2, 0.3), spread)
            before = after = fits = 0
            for _ in range(times):
                one = made_study(random, world, prompts, per_reply, each, both=True)
                try:
                    before += _without_tastes(one) < 0.05
                    contrast = decided(one).contrasts[0]
                except _fit_error():
                    continue
                fits += 1
                after += contrast.p < 0.05
            raters = 2 * prompts * per_reply // each
            rows.append((f"{raters} raters × {each}", spread, share(before, fits), share(after, fits), times - fits))
    show(
        f"Rating studies in which every rater sees both arms, and the arms do not differ: how often p < .05 (should be "
        f".05), {times} studies a row",
        ("study", "SD of what an arm is worth to one rater (log-odds)", "without tastes (0.2)", "with them", "no fit"),
        rows,
    )


DESIGNS = {
    "24 raters × 5, 10 prompts": (10, 6, 5, 1),
    "40 raters × 10, 20 prompts": (20, 10, 10, 1),
    "200 raters × 3, 60 prompts": (60, 5, 3, 3),
    "240 raters × 10, 120 prompts": (120, 10, 10, 3),
}
"""(prompts, raters a reply, ratings a rater, by how much fewer studies are simulated)."""
FEW = 5


def effects(times: int) -> None:
    rows = Rows()
    for name, (prompts, per_reply, each, fewer) in DESIGNS.items():
        count = times // fewer
        for gap in (0.0, 1.0, 2.0):
            random = np.random.default_rng(prompts)
            found: list[float] = []
            rest: list[float] = []
            held = said = 0
            for _ in range(count):
                one = made_study(random, SIMULATED, prompts, per_reply, each, gap=gap)
                try:
                    contrast = decided(one).contrasts[0]
                except _fit_error():
                    continue
                found.append(contrast.est)
                if _least_outside(one) >= FEW:
                    rest.append(contrast.est)
                held += contrast.low <= gap <= contrast.high
                said += contrast.p < 0.05
            n = len(found)
            rows.append(
                (name, gap, count, f"{count - n}", f"{n - len(rest)}", mean(found), f"{np.median(found):.2f}",
                 mean(rest), share(held, n), share(said, n))
            )  # fmt: skip
    show(
        "Rating studies with an effect: what is found of it",
        ("study", "log-odds put in", "studies", "no fit", f"fewer than {FEW} answers off an arm's commonest",
         "mean found", "median found", f"mean found, {FEW} and more", "interval holds it", "p < .05"),
        rows,
    )  # fmt: skip


def _fit_error() -> type[Exception]:
    from eqlab.analysis.ordinal_likelihood import FitError

    return FitError


def _least_outside(one: Study) -> int:
    """Ratings outside its commonest category, of the arm that has fewest."""
    values, arms = np.array(one.values), np.array(one.arms)
    counts = [np.unique(values[arms == arm], return_counts=True)[1] for arm in np.unique(arms)]
    return min(int(own.sum() - own.max()) for own in counts)


_R = """
suppressMessages(library(ordinal))
files <- commandArgs(trailingOnly = TRUE)
for (file in files) {
  d <- read.csv(file)
  d$y <- factor(d$y, ordered = TRUE)
  for (name in c("arm", "rater", "prompt")) d[[name]] <- factor(d[[name]])
  d$reply <- interaction(d$prompt, d$arm)
  m <- suppressWarnings(clmm(y ~ arm + (1 | rater) + (1 | prompt) + (1 | reply), data = d))
  k <- summary(m)$coefficients["armarm 1", ]
  cat(sprintf("%.8f,%.8f,%.8f\\n", k[1], k[2], as.numeric(m$logLik)))
}
"""


def against_r(times: int) -> None:
    if shutil.which("Rscript") is None:
        print("against_r: there is no Rscript here; skipped.", file=sys.stderr)
        return
    rows = Rows()
    for name, (prompts, per_reply, each, _) in DESIGNS.items():
        random = np.random.default_rng(prompts)
        studies = [made_study(random, SIMULATED, prompts, per_reply, each, gap=2.0) for _ in range(times)]
        ours = [(one.contrasts[0].est, one.contrasts[0].se, one.fit.loglik) for one in map(decided, studies)]
        theirs = _by_r(studies)
        gaps = np.abs(np.array(ours) - np.array(theirs))
        better = sum(mine[2] >= other[2] - 1e-5 for mine, other in zip(ours, theirs, strict=True))
        rows.append((name, times, *(f"{np.nanmedian(g):.1e}" for g in gaps.T[:2]),
                     *(f"{np.nanmax(g):.1e}" for g in gaps.T), f"{better} of {times}"))  # fmt: skip
    show(
        "The same studies by R's ordinal::clmm (an effect of 2.0)",
        ("study", "studies", "median gap, estimate", "median gap, SE", "largest gap, estimate", "largest gap, SE",
         "largest gap, log-likelihood", "our likelihood at least R's"),
        rows,
    )  # fmt: skip


def _by_r(studies: list[Study]) -> list[tuple[float, float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "fit.R")
        script.write_text(_R)
        files = []
        for number, one in enumerate(studies):
            files.append(str(Path(folder, f"{number}.csv")))
            with open(files[-1], "w", newline="") as file:
                table = csv.writer(file)
                table.writerow(["y", "arm", "rater", "prompt"])
                table.writerows(zip(one.values, one.arms, one.raters, one.prompts, strict=True))
        said = subprocess.run(["Rscript", str(script), *files], capture_output=True, text=True, check=True).stdout
    found = []
    for line in said.splitlines():
        est, se, loglik = (math.nan if cell in ("NA", "NaN") else float(cell) for cell in line.split(","))
        found.append((est, se, loglik))
    return found


def power(times: int) -> None:
    """The power that `eqlab research power` and `study check` state, and how often the deciding model finds the gap."""
    from eqlab.analysis.power import OKAY, SD_REPLY, StudySize, deciding_model, plan

    rows = Rows()
    for raters, prompts, gap in ((60, 20, 0.1), (60, 60, 0.1), (60, 120, 0.1)):
        random = np.random.default_rng(prompts)
        model = deciding_model(0.493, prompts, 10)
        log_odds = model.log_odds(0.493 + gap)
        world = World(*PUBLISHED, SD_REPLY, (model.threshold - OKAY, model.threshold))
        found = 0
        for _ in range(times):
            one = made_study(random, world, prompts, round(10 * raters / prompts), 10, gap=log_odds)
            found += decided(one).contrasts[0].p < 0.05
        before = plan(StudySize(gap=gap, raters=raters, studies=100))["power_by_formula"]
        rows.append((raters, prompts, f"{100 * gap:.0f}", f"{before:.2f}",
                     f"{model.power(log_odds, raters):.2f}", share(found, times)))  # fmt: skip
    show(
        f"Power of rating studies, ten ratings a rater, replies differ by {SD_REPLY}: said and found, {times} a row",
        ("raters a group", "prompts", "gap, points", "said by 0.2", "said", "found"),
        rows,
    )


def several_arms(times: int) -> None:
    """Planned contrasts where few raters see one of several arms each, that are all alike: by all raters' degrees of
    freedom and the likelihood's error, as before, and by what the arms leave of them."""
    from eqlab.analysis.confirmatory import decide
    from eqlab.analysis.multiplicity import holm
    from eqlab.analysis.special import stdtr, stdtrit

    rows = Rows()
    for arms, each, prompts in ((2, 3, 20), (3, 3, 10), (6, 3, 20)):
        random = np.random.default_rng(10 * arms + each)
        df = min(arms * each, prompts) - 1
        before = now = alarms_before = alarms = fits = 0
        for _ in range(times):
            own_prompt = random.normal(0, SIMULATED.prompt, prompts)
            replies = random.normal(0, SIMULATED.reply, (arms, prompts))
            given = []
            for rater in range(arms * each):
                heights = own_prompt + replies[rater % arms] + random.normal(0, SIMULATED.rater)
                for prompt, height in enumerate(heights + random.logistic(size=prompts)):
                    value = 1 + sum(height > cut for cut in SIMULATED.cuts)
                    given.append((value, f"arm {rater % arms}", rater, prompt))
            try:
                found = decide(*zip(*given, strict=True), reference="arm 0", omnibus=False)
            except _fit_error():
                continue
            own = [one for one in found.contrasts if one.against == "arm 0"]
            z = [abs(one.est) / found.fit.contrast({one.arm: 1.0}).se for one in own]
            fits += 1
            before += sum(one <= stdtrit(df, 0.975) for one in z)
            now += sum(one.low <= 0 <= one.high for one in own)
            alarms_before += min(p or 0.0 for p in holm([2 * float(stdtr(df, -one)) for one in z])) < 0.05
            alarms += min(p or 0.0 for p in holm([one.p for one in own])) < 0.05
        count = fits * (arms - 1)
        rows.append((arms, each, prompts, *(share(one, count) for one in (before, now)),
                     *(share(one, fits) for one in (alarms_before, alarms)), times - fits))  # fmt: skip
    show(
        f"Several arms that are alike, each rater with all prompts of one: {times} studies a row",
        ("arms", "raters an arm", "prompts", "held before", "held now", "a difference found before", "found now",
         "no fit"),
        rows,
    )  # fmt: skip


def _excludes(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= 0 <= high


def few_raters(times: int) -> None:
    """How often arms that are alike are told apart by their shares of Good, where few people rate: by a bootstrap over
    whole raters, as before, and by Wilson's interval over raters with Student's t."""
    from eqlab.analysis.bootstrap import interval
    from eqlab.benchmarks.rating.arm_shares import arm_shares
    from eqlab.benchmarks.rating.rated import GivenRating

    rows = Rows()
    for raters, each, prompts, both in (
        (3, 4, 4, False), (4, 10, 40, False), (6, 10, 20, False), (12, 10, 40, False), (30, 10, 40, False),
        (4, 20, 10, True), (6, 20, 20, True), (12, 20, 40, True), (30, 20, 40, True),
    ):  # fmt: skip
        random = np.random.default_rng(100 * raters + each)
        before = now = means = 0
        for _ in range(times):
            seen = max(1, raters * each // prompts // (2 if both else 1))
            one = made_study(random, SIMULATED, prompts, seen, each, both=both)
            given = [
                GivenRating(arm, str(prompt), str(rater), value, "", "", 0)
                for arm, rater, prompt, value in zip(one.arms, one.raters, one.prompts, one.values, strict=True)
            ]
            shares = arm_shares(given, sorted(set(one.arms)), lambda rating: rating.rater)
            a, b = shares.arms
            gap = shares.gap(a, b)
            now += _excludes(gap.low, gap.high)
            of_means = shares.mean_gap(a, b, "")
            means += _excludes(of_means.low, of_means.high)

            def difference(totals: Any, shares: Any = shares, a: str = a, b: str = b) -> Any:
                (one, _, n), (other, _, m) = shares._columns(totals, a), shares._columns(totals, b)
                return 100 * (one / n - other / m)

            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = interval(shares.samples, difference, totals=shares.totals)
            before += _excludes(drawn.low, drawn.high)
        told = (raters, each, prompts, "both" if both else "one")
        rows.append((*told, *(share(count, times) for count in (before, now, means))))
    show(
        f"Arms that are alike, told apart by their shares of Good: {times} studies a row",
        (
            "raters an arm",
            "ratings each",
            "prompts",
            "arms a rater sees",
            "bootstrap over raters",
            "now",
            "mean ratings",
        ),
        rows,
    )
    _two_of_several(times)
    _highest(times)


def _two_of_several(times: int) -> None:
    """The same where each rater sees two of several arms: every arm against the first."""
    from eqlab.benchmarks.rating.arm_shares import arm_shares
    from eqlab.benchmarks.rating.rated import GivenRating

    rows = Rows()
    for arms, raters in ((3, 6), (3, 12), (4, 6), (4, 12), (6, 6), (6, 12), (6, 60)):
        random = np.random.default_rng(100 * arms + raters)
        pairs = list(combinations(range(arms), 2))
        told = gaps = none = 0
        for _ in range(times):
            prompts, replies = random.normal(0, 0.5, 20), random.normal(0, 0.4, (arms, 20))
            order = random.permutation(-(-raters // len(pairs)) * len(pairs))[:raters] % len(pairs)
            given = []
            for rater, pair in enumerate(order):
                generous = random.normal(0, 0.9)
                for arm in pairs[pair]:
                    for prompt in random.permutation(20)[:5]:
                        z = random.logistic() + generous + prompts[prompt] + replies[arm, prompt]
                        value = 3 if z > 0.5 else 2 if z > -0.8 else 1
                        given.append(GivenRating(str(arm), str(prompt), str(rater), value, "", "", 0))
            shares = arm_shares(given, [str(arm) for arm in range(arms)], lambda rating: rating.rater)
            for arm in shares.arms[1:]:
                gap = shares.gap(arm, shares.arms[0])
                gaps, none = gaps + 1, none + (gap.low is None)
                told += _excludes(gap.low, gap.high)
        rows.append((arms, raters, share(told, gaps), none))
    show(
        f"Arms that are alike, two of them a rater, five ratings of each: {times} studies a row",
        ("arms", "raters", "told apart", "gaps without an interval"),
        rows,
    )


def _highest(times: int) -> None:
    """How often the interval of the highest share of several arms that are alike misses what each of them has: as one
    arm's own, and as one of all at once. Ten ratings each on 40 prompts."""
    from eqlab.benchmarks.rating.arm_shares import arm_shares
    from eqlab.benchmarks.rating.rated import GivenRating

    rows = Rows()
    for arms, raters in ((2, 12), (3, 12), (4, 12), (6, 12), (4, 30), (6, 30)):
        random = np.random.default_rng(100 * arms + raters)
        alone = now = 0
        for _ in range(times):
            prompts, given = random.normal(0, 0.5, 40), []
            for arm in range(arms):
                for rater in range(raters):
                    generous = random.normal(0, 0.9)
                    given += [
                        GivenRating(
                            str(arm),
                            str(prompt),
                            f"{arm} {rater}",
                            3 if random.logistic() + generous + prompts[prompt] > 0 else 1,
                            "",
                            "",
                            0,
                        )
                        for prompt in random.permutation(40)[:10]
                    ]
            shares = arm_shares(given, [str(arm) for arm in range(arms)], lambda rating: rating.rater)
            own, highest = shares.good(shares.best), shares.highest()
            alone += not (own.low or 0) <= 50 <= (own.high or 0)
            now += not (highest.low or 0) <= 50 <= (highest.high or 0)
        rows.append((arms, raters, share(alone, times), share(now, times)))
    show(
        f"The highest share of several arms that are alike: {times} studies a row",
        ("arms", "raters an arm", "missed by the arm's own interval", "missed now"),
        rows,
    )

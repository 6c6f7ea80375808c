"""Simulations with people and judges in them, for claims.py: prediction-powered means, verdicts."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, share, show

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


# ---------------------------------------------------------------- people and judge together


def _study(random: Random, raters: int, arms: int, spread: float, ordinal: bool) -> tuple[list[Any], list[float]]:
    """Ten ratings a rater on 400 prompts; people, prompts and a judge err. The second arm is better by 0.3.
    Ordinal: the ratings are Good or not, and the truth is the share of Good."""
    from eqlab.analysis.ppi import Arm

    prompts, ratings = 400, 10
    who_effect, prompt_effect = random.normal(0, spread, raters), random.normal(0, 0.4, prompts)
    found, truth = [], []
    for arm in range(arms):
        quality = 0.3 * arm + prompt_effect + random.normal(0, 0.3, prompts)
        seen = 0.8 * quality + random.normal(0, 0.5, prompts)
        who = np.repeat(np.arange(raters), ratings)
        which = np.concatenate([random.choice(prompts, ratings, replace=False) for _ in range(raters)])
        human = quality[which] + who_effect[who] + random.normal(0, 0.8, len(who))
        rest = np.setdiff1d(np.arange(prompts), which)
        truth.append(0.3 * arm)
        if ordinal:
            human, seen = (human > 0).astype(float), (seen > 0.2).astype(float)
            total = math.sqrt(0.4**2 + 0.3**2 + spread**2 + 0.8**2)
            truth[-1] = 0.5 * (1 + math.erf(0.3 * arm / total / math.sqrt(2)))
        found.append(Arm(human, seen[which], seen[rest], who, which, rest))
    return found, truth


def _one_way(arm: Any) -> tuple[float, float]:
    """0.1: clusters of raters, the weight learned on the same data, the normal distribution."""
    human, judge, rest, who = arm.human, arm.judge, arm.judge_only, np.asarray(arm.raters)

    def variance(values: Floats, group: npt.NDArray[np.generic]) -> float:
        index = np.unique(group, return_inverse=True)[1]
        sums = np.bincount(index, values - values.mean())
        return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / len(values) ** 2

    alone = np.arange(len(rest))
    both = (variance(human + judge, who) - variance(human - judge, who)) / 4
    weight = min(1.0, max(0.0, both / (variance(judge, who) + variance(rest, alone))))
    value = weight * rest.mean() + (human - weight * judge).mean()
    reach = 1.96 * math.sqrt(variance(human - weight * judge, who) + weight**2 * variance(rest, alone))
    return value - reach, value + reach


def ppi(times: int) -> None:
    from eqlab.analysis.ppi import ppi_difference, ppi_mean

    rows = Rows()
    for ordinal in (False, True):
        for spread in (0.2, 0.6):
            for raters in (5, 10, 20, 50):
                random = np.random.default_rng(raters)
                before = after = gap = gain = width = people = 0.0
                for _ in range(times):
                    arms, truth = _study(random, raters, 2, spread, ordinal)
                    low, high = _one_way(arms[0])
                    before += low <= truth[0] <= high
                    one = arms[0]
                    found = ppi_mean(
                        one.human, one.judge, one.judge_only,
                        clusters=one.raters, prompts=one.prompts, judge_clusters=one.judge_prompts,
                    )  # fmt: skip
                    after += found.low <= truth[0] <= found.high
                    gain += math.log(found.gain)
                    width += found.high - found.low
                    other = ppi_difference(arms[1], arms[0])
                    gap += other.low <= truth[1] - truth[0] <= other.high
                    people += other.gain < 1
                rows.append(
                    ("Good or not" if ordinal else "a scale", spread, raters, share(before, times), share(after, times),
                     share(gap, times), f"{math.exp(gain / times):.2f}", f"{people / times:.2f}")
                )  # fmt: skip
    show(
        f"People and judge together: how often the 95 % interval holds the truth, {times} studies a row",
        ("ratings", "SD of raters", "raters", "arm, 0.1", "arm", "difference of two arms", "gain (geometric mean)",
         "differences in which the judge cost precision"),
        rows,
    )  # fmt: skip


# ---------------------------------------------------------------- pairwise verdicts


def _verdicts(random: Random, truth: Floats, prompts: int, judges: int, spread: float, tilt: float) -> Any:
    from eqlab.analysis.bradley_terry import Verdicts

    taste = random.normal(0, tilt, (judges, len(truth)))
    rows: list[tuple[str, str, float, str, str]] = []
    for prompt in range(prompts):
        own = truth + random.normal(0, spread, len(truth))
        for judge in range(judges):
            level = own + taste[judge]
            for i in range(len(truth)):
                for j in range(len(truth)):
                    if i != j:
                        eta = level[i] - level[j] + 0.3
                        shares = np.exp([eta / 2, -0.5, -eta / 2])
                        outcome = float(random.choice([1.0, 0.5, 0.0], p=shares / shares.sum()))
                        rows.append((f"m{i}", f"m{j}", outcome, f"p{prompt}", f"j{judge}"))
    first, second, outcome_column, prompt_column, judge_column = zip(*rows, strict=True)
    return Verdicts(first, second, outcome_column, prompt_column, judge_column if judges > 1 else None)


def strengths(times: int) -> None:
    from eqlab.analysis.bradley_terry import strengths as fit

    rows = Rows()
    truth = np.array([0.0, 0.5, 1.0, 1.0])
    # what the strengths tend to with many prompts, whose own effects flatten them
    large = [fit(_verdicts(np.random.default_rng(seed), truth, 300, 1, 1.0, 0.0)) for seed in range(25)]
    target = float(np.mean([one.difference("m2", "m0").value or 0.0 for one in large]))
    for judges, tilt in ((1, 0.0), (3, 0.0), (3, 0.4), (8, 0.4)):
        for prompts in (10, 30):
            random = np.random.default_rng(prompts)
            naive = inside = each = 0.0
            for _ in range(times):
                found = fit(_verdicts(random, truth, prompts, judges, 1.0, tilt), prior_sd=10.0)
                gap = found.difference("m2", "m0")
                inside += (gap.low or -math.inf) <= target <= (gap.high or math.inf)
                x = np.array([(name == "m2") * 1.0 - (name == "m0") for name in found.names])
                naive += abs((gap.value or 0.0) - target) <= 1.96 * math.sqrt(float(x @ found.covariance @ x))
                ranges = dict(zip(found.names, found.ranks().ranges, strict=True))
                wanted = {"m0": (4, 4), "m1": (3, 3), "m2": (1, 2), "m3": (1, 2)}
                each += sum(ranges[m][0] <= w[0] and w[1] <= ranges[m][1] for m, w in wanted.items()) / 4
            rows.append((judges, tilt, prompts, share(naive, times), share(inside, times), share(each, times)))
    show(
        f"Pairwise verdicts, 4 models in both orders: how often the 95 % claim holds, {times} contests a row",
        (
            "judges",
            "SD of judges' tastes",
            "prompts",
            "verdicts as units",
            "prompts (and judges) as units",
            "rank, each",
        ),
        rows,
    )

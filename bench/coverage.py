"""Do the intervals hold what they say? One simulation per claim; tables as in docs/coverage.md.

    python bench/coverage.py ranks --times 400
    python bench/coverage.py all

Every share comes with its Monte Carlo error, √(p(1 − p)/times)."""

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


def share(hits: float, times: int) -> str:
    p = hits / times
    return f"{p:.3f} ± {math.sqrt(max(p * (1 - p), 1 / times) / times):.3f}"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


# ---------------------------------------------------------------- ranks


def _normal(random: Random, truth: Floats, items: int) -> Floats:
    noise = random.normal(0, 10, (len(truth), items))
    return np.asarray(truth[:, None] + random.normal(0, 15, items) + noise)


def _skewed(random: Random, truth: Floats, items: int) -> Floats:
    """Like EQ-Bench's points: at most a little above the mean, now and then far below; weaker models scatter more."""
    scale = np.linspace(6, 24, len(truth))[:, None]
    noise = scale * (1 - random.standard_exponential((len(truth), items)))
    return np.asarray(truth[:, None] + random.normal(0, 8, items) + noise)


WORLDS: dict[str, Callable[[Random, Floats, int], Floats]] = {"normal": _normal, "skewed": _skewed}


def ranks(times: int) -> None:
    from eqlab.analysis import max_t
    from eqlab.analysis.ranks import rank_sets

    models = 40
    truths = {"all tied": np.zeros(models), "spread": np.repeat(np.linspace(0, 30, models // 2), 2)}
    rows = []
    for world, draw in WORLDS.items():
        for name, truth in truths.items():
            best = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
            worst = models - (truth[None, :] < truth[:, None]).sum(axis=1)
            tops = np.flatnonzero(best == 1)
            for items in (20, 40, 80, 171):
                random = np.random.default_rng(items)
                each = together = before = first = width = wide = chosen = 0.0
                for seed in range(times):
                    scores = draw(random, truth, items)
                    one = rank_sets(scores, draws=600, seed=seed)
                    low, high = np.array(one.ranges).T
                    each += float(((low <= best) & (high >= worst)).mean())
                    first += float(np.array(one.first)[tops].mean())
                    width += float((high - low + 1).mean())
                    chosen += sum(one.first)
                    low, high = np.array(rank_sets(scores, draws=600, seed=seed, claim="all").ranges).T
                    together += bool(((low <= best) & (high >= worst)).all())
                    wide += float((high - low + 1).mean())
                    many, max_t.MANY = max_t.MANY, 0
                    low, high = np.array(rank_sets(scores, draws=600, seed=seed, claim="all").ranges).T
                    max_t.MANY = many
                    before += bool(((low <= best) & (high >= worst)).all())
                rows.append(
                    (world, name, items, share(each, times), share(before, times), share(together, times),
                     share(first, times),
                     f"{width / times:.1f}", f"{wide / times:.1f}", f"{chosen / times:.1f}")
                )  # fmt: skip
    show(
        f"Ranks of {models} models: how often the claim holds (should be ≥ .95), {times} boards a row",
        ("scores", "truth", "questions", "each", "all, normal weights", "all at once", "the best may be first",
         "width, each", "width, all", "may be first"),
        rows,
    )  # fmt: skip


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

    rows = []
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


COMMANDS: dict[str, tuple[Callable[[int], None], int]] = {"ranks": (ranks, 400), "ppi": (ppi, 2000)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*COMMANDS, "all"])
    parser.add_argument("--times", type=int, default=None)
    args = parser.parse_args()
    for name, (command, times) in COMMANDS.items():
        if args.what in (name, "all"):
            command(args.times or times)


if __name__ == "__main__":
    main()

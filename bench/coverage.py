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


# ---------------------------------------------------------------- rating studies


def _ratings(
    random: Random, prompts: int, per_reply: int, sd_reply: float, gap: float = 0.0
) -> tuple[list[int], list[str], list[int], list[int]]:
    """Two arms, ten ratings a rater, each reply seen by `per_reply` raters; spreads of the published ratings."""
    prompt_effect = random.normal(0, 0.325, prompts)
    values, arms, raters, which = [], [], [], []
    count = 0
    for arm in (0, 1):
        reply = random.normal(0, sd_reply, prompts)
        slots = np.concatenate([random.permutation(prompts) for _ in range(per_reply)])
        for start in range(0, len(slots), 10):
            own = random.normal(0, 0.642)
            for place in slots[start : start + 10].tolist():
                eta = gap * arm + prompt_effect[place] + reply[place] + own + random.logistic()
                values.append(1 + int(eta > -1.2) + int(eta > 0))
                arms.append(f"arm {arm}")
                raters.append(count)
                which.append(place)
            count += 1
    return values, arms, raters, which


def replies(times: int) -> None:
    from eqlab.analysis.confirmatory import decide
    from eqlab.analysis.ordinal import RandomEffect, fit_ordinal

    rows = []
    for sd_reply in (0.0, 0.6):
        for prompts, per_reply in ((100, 3), (100, 10)):
            random = np.random.default_rng(per_reply)
            before = after = 0
            for _ in range(times):
                values, arms, raters, which = _ratings(random, prompts, per_reply, sd_reply)
                column = np.array([arm == "arm 1" for arm in arms], dtype=float)
                terms = [RandomEffect("rater", raters), RandomEffect("prompt", which)]
                before += fit_ordinal(values, {"arm 1": column}, terms).contrast({"arm 1": 1.0}).p < 0.05
                after += decide(values, arms, raters, which, omnibus=False).contrasts[0].p < 0.05
            rows.append((sd_reply, prompts, per_reply, share(before, times), share(after, times)))
    show(
        f"Rating studies in which the arms do not differ: how often p < .05 (should be .05), {times} studies a row",
        ("SD of replies (log-odds)", "prompts", "raters a reply", "raters and prompts (0.1)", "… and replies"),
        rows,
    )


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

    rows = []
    truth = np.array([0.0, 0.5, 1.0, 1.0])
    for judges, tilt in ((1, 0.0), (3, 0.0), (3, 0.4)):
        for prompts in (10, 20, 50):
            random = np.random.default_rng(prompts)
            large = [fit(_verdicts(random, truth, 300, 1, 1.0, 0.0)) for _ in range(4)]
            target = float(np.mean([one.difference("m2", "m0").value or 0.0 for one in large]))
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


# ---------------------------------------------------------------- moods, means on a bounded scale, components


def moods(times: int) -> None:
    from eqlab.analysis.moods import concordance, movement, profile

    def situations(random: Random, shift: float, sizes: Sequence[int]) -> tuple[Floats, Floats]:
        kinds = np.repeat([0, 1, 2], sizes)
        return np.clip(shift * (kinds - 1) + 10 + random.normal(0, 8, len(kinds)), -40, 40), kinds.astype(float)

    rows: list[Sequence[object]] = []
    for shift in (0.0, 8.0, 20.0):
        random = np.random.default_rng(int(shift))
        target = float(np.mean([concordance(*situations(random, shift, (1500,) * 3)).all.value for _ in range(8)]))
        for sizes in ((108, 24, 24), (20, 8, 8)):
            inside = 0
            for _ in range(times):
                one = concordance(*situations(random, shift, sizes)).all
                inside += (one.low or 0.0) <= target <= (100.0 if one.high is None else one.high)
            rows.append((f"concordance, truth {target:.0f} %", "/".join(map(str, sizes)), share(inside, times)))
    for truth in (0.0, 0.5, 0.9):
        random = np.random.default_rng(7)
        hits = ratio = defined = 0
        for _ in range(times):
            both = random.normal(0, 3, (36, 2)) @ np.linalg.cholesky([[1, truth], [truth, 1]]).T - 12
            factor = np.arange(36)
            ours = 1.5 * np.repeat(both[:, 0], 5) + random.normal(0, 4, 180)
            theirs = np.repeat(both[:, 1], 35) + random.normal(0, 10, 1260)
            data = (ours, np.repeat(factor, 5), theirs, np.repeat(factor, 35))
            found = profile(*data).true
            if found.low is not None and found.high is not None:
                defined += 1
                hits += found.low <= truth <= found.high
            size = movement(*data)[0]
            ratio += (size.low or -math.inf) <= 1.5 <= (size.high or math.inf)
        rows.append((f"profile, truth {truth}", "36 factors", share(hits, defined)))
        rows.append((f"movement, truth 1.5 (profile {truth})", "36 factors", share(ratio, times)))
    show(
        f"EmotionBench's three numbers: how often the 95 % interval holds the truth, {times} subjects a row",
        ("number", "situations (bad/neutral/good)", "held"),
        rows,
    )


def bounded(times: int) -> None:
    from eqlab.analysis.intervals import mean_bounds, sample_sd, t_bounds

    rows = []
    for top in (0.99, 0.95, 0.8):
        for n in (10, 20, 40, 171):
            random = np.random.default_rng(n)
            truth = 100 * top + 40 * (1 - top)
            plain = honest = 0
            for _ in range(times):
                values = np.where(random.random(n) < top, 100.0, random.choice([0.0, 20.0, 60.0, 80.0], n)).tolist()
                mean = math.fsum(values) / n
                low, high = t_bounds(mean, sample_sd(values, mean) / math.sqrt(n), n - 1)
                plain += low <= truth <= high
                low, high = mean_bounds(values, (0, 100)) or (0.0, 100.0)
                honest += low <= truth <= high
            rows.append((f"{100 * top:.0f} %", n, share(plain, times), share(honest, times)))
    show(
        f"Means of a scale from 0 to 100 with answers at its end: how often the interval holds, {times} samples a row",
        ("answers at the top", "n", "Student's t (0.1)", "with the scale's ends"),
        rows,
    )


def components(times: int) -> None:
    from eqlab.analysis.reml import variances

    rows = []
    terms = ("persona", "speaker", "listener:persona", "listener:speaker")
    for speakers in (3, 6):
        random = np.random.default_rng(speakers)
        alone = inside = spread = defined = 0
        for _ in range(times):
            grid = np.indices((2, 20, speakers)).reshape(3, -1)
            listener, persona, speaker = grid[:, random.random(grid.shape[1]) >= 0.15]
            y = (
                random.normal(0, 20, 20)[persona] + random.normal(0, 10, speakers)[speaker]
                + random.normal(0, 8, (2, 20))[listener, persona] + random.normal(0, 6, (2, speakers))[listener, speaker]
                + random.normal(0, 25, len(listener))
            )  # fmt: skip
            factors = {"listener": listener, "persona": persona, "speaker": speaker}
            found = variances(y, factors, terms, fixed="listener")
            gap = found.effect({"1": 1.0, "0": -1.0}) if found else None
            if found is None or gap is None:
                continue
            defined += 1
            inside += gap.low <= 0 <= gap.high
            means = [np.array([y[(listener == k) & (persona == p)].mean() if ((listener == k) & (persona == p)).any()
                     else np.nan for p in range(20)]) for k in (0, 1)]  # fmt: skip
            d = (means[1] - means[0])[np.isfinite(means[1] - means[0])]
            alone += abs(d.mean()) <= 2.09 * d.std(ddof=1) / math.sqrt(len(d))
            bounds = found.interval("persona")
            spread += bounds is not None and bounds[0] <= 400 <= bounds[1]
        rows.append((speakers, share(alone, defined), share(inside, defined), share(spread, defined)))
    show(
        f"Talks: 2 listeners × 20 personas × speakers, 15 % missing, {times} experiments a row",
        ("speakers", "difference, personas as units", "difference, personas and speakers", "variance of personas"),
        rows,
    )


COMMANDS: dict[str, tuple[Callable[[int], None], int]] = {
    "ranks": (ranks, 200),
    "ppi": (ppi, 1000),
    "replies": (replies, 300),
    "strengths": (strengths, 300),
    "moods": (moods, 1000),
    "bounded": (bounded, 4000),
    "components": (components, 400),
}


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

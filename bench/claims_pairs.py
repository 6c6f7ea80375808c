"""Simulations of replies in pairs, for claims.py: people's preferences from few people and a judge, and what choosing
pairs by the verdicts so far does to ranks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from claims_tables import Rows, share, show

Random = np.random.Generator


def _meetings(random: Random, prompts: int, raters: int, skill: float, gap: float) -> tuple[dict[str, Any], float]:
    """One pair of arms. Each prompt has its own difference, which people see with noise and a taste of their own, and
    the judge with `skill`, a bias and in both orders. Ten choices a rater; ties in the middle."""
    from eqlab.benchmarks.rating.powered import Met

    own = gap + random.normal(0, 0.8, prompts)
    taste = random.normal(0, 0.3, raters)

    def points(value: float) -> float:
        return 1.0 if value > 0.3 else (0.0 if value < -0.3 else 0.5)

    people: dict[int, list[tuple[str, float]]] = {}
    for rater in range(raters):
        for prompt in random.choice(prompts, 10, replace=False).tolist():
            said = points(own[prompt] + taste[rater] + random.normal(0, 1.0))
            people.setdefault(prompt, []).append((f"r{rater}", said))
    found = {}
    for prompt in range(prompts):
        seen = [points(skill * own[prompt] + 0.4 + place + random.normal(0, 0.6)) for place in (0.3, -0.3)]
        found[f"p{prompt}"] = Met(sum(seen) / 2, tuple(people.get(prompt, ())))
    spread = math.sqrt(0.8**2 + 0.3**2 + 1.0)

    def above(value: float) -> float:
        return 0.5 * math.erfc((value - gap) / spread / math.sqrt(2))

    return found, above(0.3) + 0.5 * (above(-0.3) - above(0.3))


def wins(times: int) -> None:
    from eqlab.benchmarks.rating.powered import powered_wins

    rows = Rows()
    for skill in (1.0, 0.0):
        for gap in (0.0, 0.6):
            for raters in (5, 10, 20, 50):
                random = np.random.default_rng(raters)
                inside = gain = judge = 0.0
                for _ in range(times):
                    met, truth = _meetings(random, 400, raters, skill, gap)
                    found = powered_wins(met)
                    if found is None:
                        continue
                    inside += found.low <= truth <= found.high
                    gain += math.log(found.gain)
                    alone = np.array([one.judge for one in met.values()])
                    judge += abs(alone.mean() - truth) <= 1.97 * alone.std(ddof=1) / math.sqrt(len(alone))
                rows.append(
                    ("knows" if skill else "guesses", gap, raters, share(judge, times), share(inside, times),
                     f"{math.exp(gain / times):.2f}")
                )  # fmt: skip
    show(
        f"Preferences of people from their choices and a judge's: how often the 95 % interval holds, {times} a row",
        ("judge", "true difference", "raters", "judge alone", "people and judge", "gain (geometric mean)"),
        rows,
    )


def _contest(random: Random, truth: dict[str, float], prompts: int, width: float) -> tuple[Any, int, int]:
    """(strengths, verdicts, rounds) of one adaptive run, by the code that the product runs."""
    from eqlab.benchmarks.rating.rated import RatedReply
    from eqlab.benchmarks.rating.strengths import first_round, fitted, next_round
    from eqlab.benchmarks.rating.trials import RatingOptions
    from eqlab.core.answers import Answer
    from eqlab.core.benchmark import ReplyRow, Selection
    from eqlab.data.items import shipped

    rubric, options = shipped("published"), RatingOptions(pairwise=True, adaptive=True, width=f"{width:g}")
    rows = [ReplyRow(arm, f"p{prompt}", arm) for prompt in range(prompts) for arm in truth]
    own = {(f"p{p}", arm): level + random.normal(0, 0.7) for p in range(prompts) for arm, level in truth.items()}
    selection = Selection(seed=int(random.integers(1 << 30)))

    def verdict(trial: Any) -> RatedReply:
        first, second = trial.key["arms"]
        eta = own[trial.items[0], first] - own[trial.items[0], second] + 0.3
        shares = np.exp([eta / 2, -0.5, -eta / 2])
        value = 1 + int(random.choice(3, p=shares / shares.sum()))
        return RatedReply(trial, 0, 1, Answer("r", trial.id, "judge:j", 0, 1, "", "ok", {"better": value}))

    said = [verdict(trial) for trial in first_round(rows, rubric, options, selection)]
    rounds = 1
    while more := next_round(rows, rubric, options, selection, said):
        said += [verdict(trial) for trial, _ in more]
        rounds += 1
    return fitted({"j": said})[0], len(said), rounds


def adaptive(times: int, only: str = "") -> None:
    """Stopping when ranks are narrow looks at the data again and again; does the claim hold? `only`: one truth."""
    from eqlab.benchmarks.rating.strengths import width_of

    worlds: dict[str, dict[str, float]] = {
        "spread": {"m0": 0.0, "m1": 0.4, "m2": 0.8, "m3": 1.2, "m4": 1.6},
        "two tied": {"m0": 0.0, "m1": 0.6, "m2": 1.2, "m3": 1.8, "m4": 1.8},
        "all tied": dict.fromkeys(("m0", "m1", "m2", "m3", "m4"), 0.0),
    }
    rows = Rows()
    prompts = 150
    whole = 5 * 4 * prompts
    for name, truth in worlds.items():
        if only not in ("", name):
            continue
        for width in (1.4, 2.0):
            random = np.random.default_rng(7)
            each = all_ = asked = narrow = 0.0
            for _ in range(times):
                found, verdicts, _ = _contest(random, truth, prompts, width)
                ranges = dict(zip(found.names, found.ranks().ranges, strict=True))
                held = [_held(ranges[arm], truth, arm) for arm in truth]
                each += sum(held) / len(held)
                all_ += all(held)
                asked += verdicts
                narrow += width_of(found) <= width
            rows.append((name, width, share(each, times), share(all_, times), f"{asked / times / whole:.0%}",
                         f"{narrow / times:.2f}"))  # fmt: skip
    show(
        f"Pairs chosen by what is known, 5 arms, {prompts} prompts at most, {times} runs a row",
        ("truth", "stop at", "a rank range holds the rank", "all five do", "of all verdicts asked", "reached"),
        rows,
    )


def looked(times: int) -> None:
    """Intervals of strengths and differences after looks on the way: drawn at 95 %, and as the product draws them."""
    from itertools import combinations

    from claims_people import _verdicts

    from eqlab.analysis.bradley_terry import strengths
    from eqlab.benchmarks.rating.strengths import LOOKED

    truth = {"m0": 0.0, "m1": 0.4, "m2": 0.8, "m3": 1.2, "m4": 1.6}
    levels = np.array(list(truth.values()))
    # what strengths tend to with many prompts, whose own effects flatten them
    large = [strengths(_verdicts(np.random.default_rng(seed), levels, 250, 1, 0.7, 0.0)) for seed in range(12)]
    target = {name: float(np.mean([one.ability[one.names.index(name)] for one in large])) for name in truth}
    random = np.random.default_rng(3)
    held = {level: [0.0, 0.0] for level in (0.95, LOOKED)}
    for _ in range(times):
        found, _, _ = _contest(random, truth, 150, 1.4)
        for level, counts in held.items():
            each = found.estimates(level)
            counts[0] += float(np.mean([(one.low or 0) <= target[one.name] <= (one.high or 0) for one in each]))
            inside = []
            for a, b in combinations(truth, 2):
                gap = found.difference(a, b, level)
                inside.append((gap.low or 0) <= target[a] - target[b] <= (gap.high or 0))
            counts[1] += float(np.mean(inside))
    show(
        f"Pairs chosen on the way, until rank ranges are 1.4 wide: how often intervals hold, {times} runs",
        ("drawn at", "strength", "difference"),
        [(f"{100 * level:g} %", *(share(one, times) for one in counts)) for level, counts in held.items()],
    )


def _held(given: tuple[int, int], truth: dict[str, float], arm: str) -> bool:
    """Whether a range holds every rank that a tie allows."""
    above = sum(level > truth[arm] for level in truth.values())
    tied = sum(level == truth[arm] for level in truth.values())
    return given[0] <= above + 1 and above + tied <= given[1]


PAIRS: dict[str, tuple[Callable[[int], None], int]] = {
    "wins": (wins, 1000),
    "adaptive": (adaptive, 200),
    "looked": (looked, 200),
}

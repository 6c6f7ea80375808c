"""Do the intervals hold what they say? One simulation per claim; tables as in docs/coverage.md.

    python bench/coverage.py ranks --times 400
    python bench/coverage.py all

Every share comes with its Monte Carlo error, √(p(1 − p)/times)."""

import argparse
import math
from collections.abc import Callable, Sequence

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


COMMANDS: dict[str, tuple[Callable[[int], None], int]] = {"ranks": (ranks, 400)}


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

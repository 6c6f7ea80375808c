"""How long strengths from pairwise verdicts take: ours with errors over prompts, and choix where it is installed.

python bench/verdicts.py --models 20 --verdicts 40000"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def best_of(times: int, work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--verdicts", type=int, default=40_000)
    args = parser.parse_args()
    random = np.random.default_rng(0)
    truth = random.normal(0, 1, args.models)
    pairs = np.array([random.choice(args.models, 2, replace=False) for _ in range(args.verdicts)])
    won = random.random(args.verdicts) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))

    from eqlab.analysis.bradley_terry import Verdicts, strengths

    first, second = ([f"m{one}" for one in pairs[:, side].tolist()] for side in (0, 1))
    prompts = [f"p{number // 100}" for number in range(args.verdicts)]
    verdicts = Verdicts(first, second, won.astype(float).tolist(), prompts)
    print(
        f"ours, Davidson with errors over {len(set(prompts))} prompts: {best_of(3, lambda: strengths(verdicts)):.2f} s"
    )
    try:
        import choix  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        print("choix is not installed")
        return
    wins = [(int(a), int(b)) if hit else (int(b), int(a)) for (a, b), hit in zip(pairs, won, strict=True)]
    for name in ("lsr_pairwise", "ilsr_pairwise", "mm_pairwise"):
        taken = best_of(3, lambda name=name: getattr(choix, name)(args.models, wins, alpha=1e-6))  # type: ignore[misc]
        print(f"choix.{name}, no errors, no ties: {taken:.2f} s")


if __name__ == "__main__":
    main()

"""Do the intervals hold what they say? One simulation per claim; tables as in docs/evidence/coverage.md.

    python bench/claims.py ranks --times 400
    python bench/claims.py all

Every share comes with its Monte Carlo error, √(p(1 − p)/times)."""

import argparse
import math
from collections.abc import Callable, Sequence

import claims_talks
import numpy as np
import numpy.typing as npt
from claims_items import default, equating, families, groups, halves, kappa, shares, short
from claims_judges import JUDGES
from claims_models import MODELS
from claims_pairs import PAIRS
from claims_people import ppi, strengths
from claims_ratings import against_r, effects, few_raters, power, replies, several_arms, tastes
from claims_rest import REST
from claims_tables import Rows, share, show
from claims_verdicts import VERDICTS

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


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


def _with_normal_weights(scores: Floats, seed: int) -> list[tuple[int, int]]:
    """0.1: the largest |t| over all pairs under normal weights on items, carried over to Student's scale by its
    tail."""
    from scipy.special import ndtr

    from eqlab.analysis.pairwise import pairwise
    from eqlab.analysis.ranks import ranges

    found = pairwise(scores)
    rest = scores - scores.mean(axis=1, keepdims=True)
    waves = np.random.default_rng(seed).standard_normal((600, scores.shape[1])) @ rest.T
    gram = rest @ rest.T
    spread = np.sqrt(np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram)
    np.fill_diagonal(spread, np.inf)
    largest = np.max([np.abs((waves - waves[:, [k]]) / spread[k]).max(axis=1) for k in range(len(scores))], axis=0)
    bound = 2 * float(ndtr(-np.quantile(largest, 0.95)))
    return ranges((found.p < bound) & (found.difference > 0))


def ranks(times: int) -> None:
    from eqlab.analysis.ranks import rank_sets

    models = 40
    truths = {"all tied": np.zeros(models), "spread": np.repeat(np.linspace(0, 30, models // 2), 2)}
    rows = Rows()
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
                    low, high = np.array(_with_normal_weights(scores, seed)).T
                    before += bool(((low <= best) & (high >= worst)).all())
                rows.append(
                    (world, name, items, share(each, times), share(before, times), share(together, times),
                     share(first, times),
                     f"{width / times:.1f}", f"{wide / times:.1f}", f"{chosen / times:.1f}")
                )  # fmt: skip
    show(
        f"Ranks of {models} models: how often the claim holds (should be ≥ .95), {times} boards a row",
        ("scores", "truth", "questions", "each", "all, as in 0.1", "all at once", "the best may be first",
         "width, each", "width, all", "may be first"),
        rows,
    )  # fmt: skip


# ---------------------------------------------------------------- moods, means on a bounded scale, components


def moods(times: int) -> None:
    from eqlab.analysis.moods import concordance, movement, profile

    def situations(random: Random, shift: float, sizes: Sequence[int]) -> tuple[Floats, Floats]:
        kinds = np.repeat([0, 1, 2], sizes)
        return np.clip(shift * (kinds - 1) + 10 + random.normal(0, 8, len(kinds)), -40, 40), kinds.astype(float)

    rows = Rows()
    for shift in (0.0, 8.0, 20.0):
        random = np.random.default_rng(int(shift))
        many = [concordance(*situations(random, shift, (1500,) * 3)).all.value or 0.0 for _ in range(8)]
        target = float(np.mean(many)) if shift else 50.0
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

    rows = Rows()
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

    rows = Rows()
    terms = ("persona", "speaker", "listener:persona", "listener:speaker")
    for count in (3, 6):
        random = np.random.default_rng(count)
        alone = inside = spread = defined = 0
        for _ in range(times):
            grid = np.indices((2, 20, count)).reshape(3, -1)
            listener, persona, speaker = grid[:, random.random(grid.shape[1]) >= 0.15]
            y = (
                random.normal(0, 20, 20)[persona] + random.normal(0, 10, count)[speaker]
                + random.normal(0, 8, (2, 20))[listener, persona]
                + random.normal(0, 6, (2, count))[listener, speaker]
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
        rows.append((count, share(alone, defined), share(inside, defined), share(spread, defined)))
    show(
        f"Talks: 2 listeners × 20 personas × speakers, 15 % missing, {times} experiments a row",
        ("speakers", "difference, personas as units", "difference, personas and speakers", "variance of personas"),
        rows,
    )


COMMANDS: dict[str, tuple[Callable[[int], None], int]] = {
    "ranks": (ranks, 200),
    "ppi": (ppi, 1000),
    "replies": (replies, 300),
    "tastes": (tastes, 300),
    "effects": (effects, 300),
    "power": (power, 300),
    "few_raters": (few_raters, 400),
    "several_arms": (several_arms, 100),
    "against_r": (against_r, 20),
    "strengths": (strengths, 300),
    "moods": (moods, 1000),
    "bounded": (bounded, 4000),
    "components": (components, 400),
    "groups": (groups, 200),
    "families": (families, 600),
    "equating": (equating, 300),
    "halves": (halves, 100),
    "short": (short, 20),
    "shares": (shares, 2000),
    "default": (default, 1000),
    "kappa": (kappa, 2000),
    "speakers": (claims_talks.speakers, 400),
    "few_speakers": (claims_talks.few_speakers, 400),
    "people": (claims_talks.people, 300),
    **PAIRS,
    **JUDGES,
    **VERDICTS,
    **REST,
    **MODELS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=[*COMMANDS, "all"])
    parser.add_argument("--times", type=int, default=None)
    args = parser.parse_args()
    for name, (command, times) in COMMANDS.items():
        if {name, "all"} & set(args.what):
            command(args.times or times)


if __name__ == "__main__":
    main()

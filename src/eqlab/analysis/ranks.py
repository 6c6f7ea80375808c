"""Many models on the same items: each model's rank as a range, and who may be first.

A model's best rank is 1 + how many lie certainly above it, its worst the number of models minus how many lie certainly
below (Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91:476). What "certainly" means is the claim:

- `each` (the default): for any one model that you look at, its true rank is in its range with 95 %: its own differences
  to all others are tested together;
- `all`: all true ranks are in their ranges at once with 95 %: all pairs are tested together, so ranges are wider;
- `may be first`: the truly best model is in the set with 95 % (multiple comparisons with the best: Hsu 1981; Edwards &
  Hsu 1983): one-sided, each model against all others.

Tested by the largest t over the pairs in question, stepping down (Romano & Wolf 2005), by a bootstrap-t over items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from eqlab.analysis.arrays import Flags, Floats
from eqlab.analysis.max_t import Small, Waves
from eqlab.analysis.pairs import Pairwise, as_matrix, comparable, pairwise

__all__ = [
    "CLAIMS",
    "Pairwise",
    "RankSets",
    "adjusted_p",
    "may_be_first",
    "pairwise",
    "ranges",
    "rank_ranges",
    "rank_sets",
]

Claim = Literal["each", "all"]

DRAWS = 2000
_AT_ONCE = 20_000_000
"""Numbers in memory at once."""
CLAIMS: dict[str, str] = {
    "each": "For any one model, its true rank among these lies in its range with {level:.0%} confidence.",
    "all": "All true ranks lie in their ranges at once, with {level:.0%} confidence.",
    "first": "The truly best model is among these with {level:.0%} confidence.",
}


@dataclass(frozen=True, slots=True, eq=False)
class RankSets:
    """Ranges by model, in the order of the rows."""

    ranges: tuple[tuple[int, int], ...]
    first: tuple[bool, ...]
    """Who may be first."""
    above: Flags
    """above[j, k]: in the test behind k's range (claim `each`), or of all pairs (claim `all`), j is better than k."""
    below: Flags
    """below[j, k]: j is worse than k in the test behind j's … k's range; with claim `all` the transpose of `above`."""
    claim: Claim
    level: float

    @property
    def sentence(self) -> str:
        return CLAIMS[self.claim].format(level=self.level)


def rank_sets(
    matrix: npt.ArrayLike,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    claim: Claim = "each",
    found: Pairwise | None = None,
) -> RankSets:
    """Ranges under one claim, and who may be first, for a models × items array (NaN: missing; higher is better). A
    model without scores may have any rank; a pair with too few items, or near copies, is never separated. `found`:
    pairs tested elsewhere, where more than the items varies (judges, say)."""
    scores = as_matrix(matrix)
    found = pairwise(scores) if found is None else found
    tested, by_signs = _testable(scores, found)
    waves = Waves(scores, draws, seed)
    models = len(scores)
    above, below = np.zeros((models, models), dtype=bool), np.zeros((models, models), dtype=bool)
    first = np.ones(models, dtype=bool)
    if claim == "all":
        certain = np.nan_to_num(_adjusted(waves, found, tested, by_signs), nan=1.0) < 1 - level
        above, below = certain & (found.difference > 0), certain & (found.difference < 0)
    for model in range(models):
        if not (tested[model].any() or by_signs[model].any()):
            continue
        t = waves.row(model)
        first[model] = not _beaten(t, found, tested[model], by_signs[model], model, 1 - level, waves.n)
        if claim == "each":
            certain_row = _one_row(t, found, tested[model], by_signs[model], model, 1 - level, waves.n)
            above[:, model] = certain_row & (found.difference[model] < 0)
            below[:, model] = certain_row & (found.difference[model] > 0)
    bounds = tuple(
        (1 + int(up), models - int(down)) for up, down in zip(above.sum(axis=0), below.sum(axis=0), strict=True)
    )
    return RankSets(bounds, tuple(first.tolist()), above, below, claim, level)


def rank_ranges(
    matrix: npt.ArrayLike, level: float = 0.95, draws: int = DRAWS, seed: int = 0, *, claim: Claim = "each"
) -> list[tuple[int, int]]:
    """The ranges of `rank_sets` alone."""
    return list(rank_sets(matrix, level, draws, seed, claim=claim).ranges)


def may_be_first(matrix: npt.ArrayLike, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> list[bool]:
    """By row, whether it may be the best."""
    return list(rank_sets(matrix, level, draws, seed).first)


def ranges(above: Flags | Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Rank ranges from `above[j, k]`: row j is certainly better than row k."""
    flags = np.asarray(above, dtype=bool)
    models = len(flags)
    best, worst = 1 + flags.sum(axis=0), models - flags.sum(axis=1)
    return [(int(low), int(high)) for low, high in zip(best, worst, strict=True)]


def _testable(scores: Floats, found: Pairwise) -> tuple[Flags, Flags]:
    """(pairs with a t statistic, pairs with the same gap on every item, of which only signs can tell)."""
    enough = comparable(scores, found) & np.isfinite(found.p)
    constant = enough & (found.se == 0)
    return enough & ~constant, constant & (found.difference != 0)


def _one_row(t: Small, found: Pairwise, tested: Flags, by_signs: Flags, model: int, alpha: float, n: int) -> Flags:
    """Which models are certainly apart from this one: step-down over its own pairs."""
    p, size = found.p[model], np.abs(t)
    certain = by_signs & (p < alpha / max(1, int((tested | by_signs).sum())))
    open_pairs = tested.copy()
    while open_pairs.any():
        bound = _p_bound(size[:, open_pairs].max(axis=1), alpha, n)
        new = open_pairs & (p < bound)
        if not new.any():
            break
        certain |= new
        open_pairs &= ~new
    return np.asarray(certain)


def _beaten(t: Small, found: Pairwise, tested: Flags, by_signs: Flags, model: int, alpha: float, n: int) -> bool:
    """Whether some model is certainly better than this one: one-sided, so half of a two-sided p."""
    better = found.difference[model] < 0
    p = found.p[model] / 2
    if (by_signs & better & (p < alpha / max(1, int((tested | by_signs).sum())))).any():
        return True
    if not (tested & better).any():
        return False
    bound = _p_bound(t[:, tested].max(axis=1), alpha, n) / 2
    return bool((p[tested & better] < bound).any())


def adjusted_p(matrix: npt.ArrayLike, draws: int = DRAWS, seed: int = 0) -> Floats:
    """By pair the two-sided p adjusted for all pairs: the chance that the largest t over the pairs not yet separated is
    as large if no two models differ (Westfall & Young 1993, step-down). Below α exactly for the pairs that the claim
    `all` separates. NaN where a pair cannot be tested."""
    scores = as_matrix(matrix)
    found = pairwise(scores)
    return _adjusted(Waves(scores, draws, seed), found, *_testable(scores, found))


def _adjusted(waves: Waves, found: Pairwise, tested: Flags, by_signs: Flags) -> Floats:
    models = len(found.p)
    out = np.full((models, models), np.nan)
    first, second = np.nonzero(np.triu(tested | by_signs))
    if not len(first):
        return out
    p = found.p[first, second]
    signs = by_signs[first, second]
    result = np.where(signs, np.minimum(1.0, p * len(p)), np.nan)  # Bonferroni: these have no t
    # on Student's scale with n − 1 degrees of freedom, so pairs that share fewer items are judged by their own
    size = np.asarray(-stdtrit(max(waves.n - 1, 1), p[~signs] / 2))
    order = np.argsort(-size)
    kept = np.flatnonzero(~signs)[order]
    exceed = np.zeros(len(kept))
    step = max(1, _AT_ONCE // max(1, len(kept)))
    for start in range(0, waves.draws if len(kept) else 0, step):
        part = slice(start, start + step)
        drawn = np.empty((len(kept), len(range(waves.draws)[part])), dtype=np.float32)
        place = np.argsort(kept)  # pairs come model by model, as `kept` sorted back
        at = 0
        for model in np.unique(first[kept]):
            others = second[kept[place[at:]][first[kept[place[at:]]] == model]]
            drawn[place[at : at + len(others)]] = np.abs(waves.row(int(model), part)[:, others]).T
            at += len(others)
        largest = np.maximum.accumulate(drawn[::-1], axis=0)[::-1]
        exceed += (largest >= size[order][:, None]).sum(axis=1)
    result[kept] = np.maximum.accumulate((1 + exceed) / (1 + waves.draws)) if len(kept) else []
    out[first, second] = out[second, first] = result
    return out


def _p_bound(largest: npt.NDArray[np.floating], alpha: float, n: int) -> float:
    """The two-sided p, on Student's scale with n − 1 degrees of freedom, that the largest t stays above with 1 − α: so
    pairs that share fewer items are judged by their own degrees of freedom."""
    bound = float(np.quantile(largest, 1 - alpha, method="higher"))
    return 2 * float(stdtr(max(n - 1, 1), -abs(bound))) if np.isfinite(bound) and bound > 0 else 0.0

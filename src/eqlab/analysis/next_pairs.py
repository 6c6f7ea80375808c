"""Which two models should be compared next? The pair whose verdicts would most likely decide pairs that are still open,
and so narrow the rank ranges; until the ranges are as narrow as wanted.

The covariance of strengths over prompts is known, and what a verdict between i and j would take off it too: with
Fisher's information λ of a verdict (as it counts given the spread between prompts), Σ ← Σ − λΣxx′Σ/(1 + λx′Σx), x = e_i
− e_j. An open pair is decided when its t exceeds the bound, whose chance is Φ(|d|/se − c); pairs are chosen one by one
for the greatest gain in that (greedy, as in optimal design: Fedorov 1972)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bradley_terry import Strengths


@dataclass(frozen=True, slots=True)
class Next:
    """What to compare now."""

    first: str
    second: str
    gain: float
    """Pairs more that this batch is expected to decide."""


@dataclass(frozen=True, slots=True)
class PairPlan:
    pairs: tuple[Next, ...]
    width: float
    """Mean width of the rank ranges now: how many ranks a model may have."""
    stop: bool
    """Whether the ranges are as narrow as wanted."""


def next_pairs(
    found: Strengths,
    count: int = 4,
    *,
    batch: int = 20,
    width: float | None = None,
    only: Sequence[tuple[str, str]] | None = None,
    seed: int = 0,
) -> PairPlan:
    """`count` batches of `batch` verdicts each (a prompt in both orders is two), or none if the mean width is at most
    `width`. `only` names the pairs to choose from."""
    sets = found.ranks(seed=seed)
    mean = float(np.mean([high - low + 1 for low, high in sets.ranges]))
    if width is not None and mean <= width:
        return PairPlan((), mean, True)
    place = {name: index for index, name in enumerate(found.names)}
    candidates = (
        [(place[one], place[other]) for one, other in only]
        if only is not None
        else [(i, j) for i in range(len(place)) for j in range(i + 1, len(place)) if found.free[i] or found.free[j]]
    )
    covariance = np.cov(found.table) / found.table.shape[1]
    inflation = _inflation(covariance, found.covariance)
    bound = _bound(found)
    chosen = []
    for _ in range(count):
        gains = [
            _gain(found.ability, covariance, bound, pair, batch * _information(found, pair) / inflation)
            for pair in candidates
        ]
        if not gains or max(gains) <= 0:
            break
        best = int(np.argmax(gains))
        pair = candidates[best]
        chosen.append(Next(found.names[pair[0]], found.names[pair[1]], float(gains[best])))
        covariance = _after(covariance, pair, batch * _information(found, pair) / inflation)
    return PairPlan(tuple(chosen), mean, False)


def _information(found: Strengths, pair: tuple[int, int]) -> float:
    """Of one verdict for the difference, in either order."""
    eta = float(found.ability[pair[0]] - found.ability[pair[1]])
    tie = 0.0 if found.tie is None else float(np.exp(found.tie))
    win, lose = np.exp(eta / 2), np.exp(-eta / 2)
    total = win + lose + tie
    return float(((win + lose) / total - ((win - lose) / total) ** 2) / 4)


def _inflation(robust: Floats, plain: Floats) -> float:
    """How much less a verdict tells than an independent one, as several verdicts come from one prompt; at least 1."""
    scale = float(np.trace(plain))
    return max(1.0, float(np.trace(robust)) / scale) if scale > 0 else 1.0


def _bound(found: Strengths) -> float:
    """The normal bound for one model's differences to all others, by Bonferroni: near the bootstrap's, and quick."""
    from scipy.special import ndtri

    return float(-ndtri(0.025 / max(1, len(found.names) - 1)))


def _gain(ability: Floats, covariance: Floats, bound: float, pair: tuple[int, int], information: float) -> float:
    gap = np.abs(ability[:, None] - ability[None, :])
    chances = []
    for one in (covariance, _after(covariance, pair, information)):
        spread = np.diag(one)[:, None] + np.diag(one)[None, :] - 2 * one
        with np.errstate(divide="ignore", invalid="ignore"):
            chances.append(np.where(spread > 0, ndtr(gap / np.sqrt(np.maximum(spread, 1e-300)) - bound), 0.0))
    return float((chances[1] - chances[0]).sum() / 2)


def _after(covariance: Floats, pair: tuple[int, int], information: float) -> Floats:
    along = covariance[:, pair[0]] - covariance[:, pair[1]]
    return np.asarray(
        covariance - information * np.outer(along, along) / (1 + information * (along[pair[0]] - along[pair[1]]))
    )

"""Short forms: which items stand best for all of them, and what the full score probably is after some answers.

Items are chosen so that the plain mean of the chosen ones follows the mean of all ones as closely as the item model
foresees, for subjects weak and strong: a short form with the same characteristic curve as the full form (van der
Linden 2005, Linear Models for Optimal Test Design). Taking the items with the highest slopes instead gives forms that
look better in the fitted data and are worse for new subjects (see docs/short-forms.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eqlab.analysis.item_response import Floats, ItemModel

_BETTER = 1e-9
_PRIOR = 10.0
"""How many items' worth the expectation weighs that a subject's residuals are as large as the fitted subjects'."""


def choose(model: ItemModel, size: int) -> list[int]:
    """The `size` items whose mean foretells the mean of all best: evenly spaced to begin with, then the best swap of
    one item again and again until none helps. Deterministic."""
    covariance, n = _moments(model), model.size
    chosen = np.zeros(n, dtype=bool)
    chosen[np.arange(size) * n // size] = True
    target = covariance @ np.full(n, 1 / n)
    own = np.diag(covariance)
    while size < n:
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        along = covariance @ chosen / size
        change = (
            2 * ((along - target)[outside][None, :] - (along - target)[inside][:, None]) / size
            + (own[inside][:, None] + own[outside][None, :] - 2 * covariance[np.ix_(inside, outside)]) / size**2
        )
        out, into = np.unravel_index(np.argmin(change), change.shape)
        if change[out, into] > -_BETTER:
            break
        chosen[inside[out]], chosen[outside[into]] = False, True
    return [int(item) for item in np.flatnonzero(chosen)]


def _moments(model: ItemModel) -> Floats:
    """E[(y − b̄)(y − b̄)ᵀ]: what makes x·y − w·y large is its variance and a difference in difficulty alike."""
    level = model.difficulty - model.difficulty.mean()
    return model.covariance() + np.outer(level, level)


def next_items(model: ItemModel, asked: Sequence[int], closed: Sequence[int], count: int) -> list[int]:
    """The items that, added one by one to the `asked` ones, make their mean follow the mean of all best. `closed` items
    were asked in vain and are not asked again."""
    covariance, n = _moments(model), model.size
    target, own = covariance @ np.full(n, 1 / n), np.diag(covariance)
    now = list(asked)
    added: list[int] = []
    for _ in range(min(count, n - len({*asked, *closed}))):
        size = len(now) + 1
        along = covariance[:, now].sum(axis=1)
        error = (2 * along + own) / size**2 - 2 * target / size + _within(covariance, now) / size**2
        taken = {*now, *closed}
        error[list(taken)] = np.inf
        if now:  # the part of −2·wᵀΣx that the items already asked bring
            error = error - 2 * target[now].sum() / size
        added.append(int(np.argmin(error)))
        now.append(added[-1])
    return added


def _within(covariance: Floats, items: Sequence[int]) -> float:
    return float(covariance[np.ix_(items, items)].sum())


@dataclass(frozen=True, slots=True)
class Guess:
    """What a subject's mean over all items probably is."""

    mean: float
    sd: float
    """Before calibration: `spread` × what the model says of a subject like those it was fitted to."""
    spread: float
    """How large the subject's own residuals are against the fitted subjects'."""
    ability: float


def estimate(model: ItemModel, answers: Mapping[int, float]) -> Guess:
    """The mean over all items from the mean over some, corrected for what these items have of difficulty and slope
    (linear equating: Kolen & Brennan 2014, Test Equating, ch. 4):

        θ̂ = (ȳ_O − b̄_O) / ā_O,   estimate = b̄ + ā·θ̂,   Var = d·Ψ·d,   d_i = [i ∈ O]·ā/(ā_O·k) − 1/n

    Items count equally: weights by information fit the known subjects better and new ones worse. The standard deviation
    is multiplied by the size of this subject's own residuals, for a weak model's answers scatter more than a strong
    one's: s² = (10 + Σ r_i²/ψ_i) / (10 + k). With all items answered the estimate is their mean and its sd is 0."""
    items = np.array(sorted(answers), dtype=int)
    slope, n = model.slope, model.size
    if not len(items) or slope[items].mean() <= 0:
        return Guess(float(model.difficulty.mean()), float("inf"), 1.0, 0.0)
    deviation = np.array([answers[int(item)] for item in items]) - model.difficulty[items]
    ability = float(deviation.mean() / slope[items].mean())
    weights = np.full(n, -1 / n)
    weights[items] += slope.mean() / slope[items].mean() / len(items)
    variance = float(((weights @ model.shared) ** 2).sum() + weights**2 @ model.unique)
    squares = float(((deviation - ability * slope[items]) ** 2 / model.residual[items]).sum())
    spread = float(np.sqrt((_PRIOR + squares) / (_PRIOR + len(items))))
    mean = float(model.difficulty.mean() + slope.mean() * ability)
    return Guess(mean, spread * float(np.sqrt(variance)), spread, ability)

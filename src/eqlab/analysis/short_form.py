"""Short forms: which items tell most about the mean over all of them, and what that mean probably is after some.

Under the item model the scores are jointly normal, so what an answer takes off the variance of the mean over all items
is known before it is given. Items are chosen one by one for that (greedy selection under a Gaussian model: Krause,
Singh & Guestrin 2008, Journal of Machine Learning Research 9, 235–284); so a form holds all smaller ones, and an
adaptive run asks in the same order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.item_response import ItemModel

_PRIOR = 10.0
"""How many items' worth the expectation weighs that a subject's residuals are as large as the fitted subjects'."""


def choose(model: ItemModel, size: int) -> list[int]:
    """The first `size` items that would be asked, in the order of the full form. Deterministic."""
    return sorted(next_items(model, (), (), size))


def next_items(model: ItemModel, asked: Sequence[int], closed: Sequence[int], count: int) -> list[int]:
    """The items that, added one by one to the `asked` ones, take most off the variance of the mean over all, w = 1/n:

        i = argmax (P·w)_i² / P_ii,   then   P ← P − P_i·P_iᵀ / P_ii

    where P is the covariance of the scores given the answers so far. `closed` items were asked in vain, tell nothing
    and are not asked again."""
    return list(_next_items(model, tuple(sorted(asked)), tuple(sorted(closed)), count))


@lru_cache(maxsize=4096)
def _next_items(model: ItemModel, asked: tuple[int, ...], closed: tuple[int, ...], count: int) -> tuple[int, ...]:
    left = _given(model, asked)
    toward = left.mean(axis=1)
    free = np.ones(model.size, dtype=bool)
    free[[*asked, *closed]] = False
    added: list[int] = []
    for _ in range(min(count, int(free.sum()))):
        gain = np.full(model.size, -1.0)
        gain[free] = toward[free] ** 2 / left.diagonal()[free]
        best = int(np.argmax(gain))
        known = left[best] / left[best, best]
        toward = toward - known * toward[best]
        left = left - np.outer(known, left[best])
        free[best] = False
        added.append(best)
    return tuple(added)


@lru_cache(maxsize=16)
def _covariance(model: ItemModel) -> Floats:
    return model.covariance()


def _given(model: ItemModel, asked: tuple[int, ...]) -> Floats:
    """The covariance of all scores when those of `asked` are known."""
    covariance, items = _covariance(model), list(asked)
    if not items:
        return covariance
    known = np.linalg.solve(covariance[np.ix_(items, items)], covariance[items])
    return np.asarray(covariance - covariance[:, items] @ known)


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
    """The mean over all items from some, O: the average of two estimates that err differently. Linear equating (Kolen
    & Brennan 2014, Test Equating, ch. 4) weighs all items alike and takes a subject as it comes; the best linear
    predictor (Robinson 1991, Statistical Science 6, 15–32) uses all that items share and leans on the fitted subjects:

        θ̂ = (ȳ_O − b̄_O) / ā_O,   E = b̄ + ā·θ̂
        B = b̄ + wᵀ·Σ_·O·Σ_OO⁻¹·(y_O − b_O),   w = 1/n,   Σ = a·aᵀ + L·Lᵀ + diag(u)
        estimate = (E + B) / 2 = b̄ + Σ c_i·(y_i − b_i),   Var = dᵀ·Σ·d,   d = c − w

    The standard deviation is multiplied by the size of this subject's own residuals, for a weak model's answers scatter
    more than a strong one's: s² = (10 + Σ r_i²/ψ_i) / (10 + k). With all items answered the estimate is their mean and
    its sd is 0."""
    items = tuple(sorted(answers))
    slope = model.slope[list(items)]
    if not items or slope.mean() <= 0:
        return Guess(float(model.difficulty.mean()), float("inf"), 1.0, 0.0)
    weights, sd = _weights(model, items)
    deviation = np.array([answers[item] for item in items]) - model.difficulty[list(items)]
    ability = float(deviation.mean() / slope.mean())
    squares = float(((deviation - ability * slope) ** 2 / model.residual[list(items)]).sum())
    spread = float(np.sqrt((_PRIOR + squares) / (_PRIOR + len(items))))
    return Guess(float(model.difficulty.mean() + weights @ deviation), spread * sd, spread, ability)


@lru_cache(maxsize=4096)
def _weights(model: ItemModel, items: tuple[int, ...]) -> tuple[Floats, float]:
    """c of the items answered, and the standard deviation of the error; the same for all subjects who answered them."""
    covariance, at = _covariance(model), list(items)
    equating = model.slope.mean() / model.slope[at].mean() / len(at)
    predictor = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at].mean(axis=1))
    weights = (equating + predictor) / 2
    off = np.full(model.size, -1 / model.size)
    off[at] += weights
    variance = (off @ model.slope) ** 2 + ((off @ model.shared) ** 2).sum() + off**2 @ model.unique
    return weights, float(np.sqrt(variance))


@dataclass(frozen=True, slots=True)
class TwoIntervals:
    """A short form's estimate and the two questions one may ask of it."""

    mean: float
    full_low: float
    full_high: float
    """Prediction: where the score on *all these* items lies. The interval to compare with a published full score."""
    items_low: float
    items_high: float
    """Sampling: where the score would lie with *other* items of the same kind; never narrower. The interval to compare
    with that of a full run, whose items are a sample too."""


def two_intervals(model: ItemModel, answers: Mapping[int, float], reach: float) -> TwoIntervals | None:
    """`reach`: what calibration on held-out families multiplies the standard deviation with (held_out.factors). The
    second adds the spread of the subject's own scores over as many items as the full form has: √(sd² + s²/N), with
    Student's t of the answered items where that is wider than `reach`. None for fewer than five answers."""
    from scipy.special import stdtrit

    if len(answers) < 5:
        return None
    guess = estimate(model, answers)
    values = np.array([answers[item] for item in sorted(answers)])
    prediction = reach * guess.sd
    quantile = float(stdtrit(len(values) - 1, 0.975))
    sampling = quantile * float(values.std(ddof=1)) / np.sqrt(model.size)
    both = float(np.hypot(prediction, sampling))
    return TwoIntervals(
        guess.mean, guess.mean - prediction, guess.mean + prediction, guess.mean - both, guess.mean + both
    )

"""How much do a few items tell about the mean over all of them? An item-response model for continuous scores, the short
forms that it chooses, and how good they are for subjects that it has not seen.

    y_mi = b_i + a_i·θ_m + e_mi,   θ ~ N(0, 1),   Cov(e_m) = L·Lᵀ + diag(u)

The model: every item has a difficulty and a slope on ability, and what items share beyond ability is kept as residual
factors, as many as the subjects allow (Mellenbergh 1994, Multivariate Behavioral Research 29, 223–236). EM with missing
answers: Rubin & Thayer (1982), Psychometrika 47, 69–76. Shrinkage of the residual covariance towards its diagonal:
Ledoit & Wolf (2003), Journal of Empirical Finance 10, 603–621.

Short forms: scores are jointly normal, so what an answer takes off the variance of the mean over all items is known
before it is given. Items are chosen one by one for that (greedy selection under a Gaussian model: Krause, Singh &
Guestrin 2008, Journal of Machine Learning Research 9, 235–284); so a form holds all smaller ones, and an adaptive run
asks in the same order.

Held out: groups of subjects (copies of one, or whole families) are left out one by one, and model, items and interval
are learned anew from the others. Intervals are calibrated, not believed: the model's standard deviation is multiplied
by the quantile of |error| / sd that was seen on other held-out families (cross-conformal prediction: Vovk 2015, Annals
of Mathematics and Artificial Intelligence 74, 9–28; Barber et al. 2021, Annals of Statistics 49, 486–507)."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.arrays import Floats
from eqlab.core.errors import DataError
from eqlab.core.values import dataclass

SHRINKAGE = 0.05
"""λ in Cov(e) = (1 − λ)·C + λ·diag(C), C the residuals' covariance: the share of its residual variance that an item
keeps to itself. Ledoit and Wolf's λ makes every single covariance as good as it can be (0.62 for the published EQ-Bench
results); here a mean over the very items fitted is wanted, for which the many small covariances count together, and λ
has to make Cov(e) invertible with more items than subjects, no more. The price is a standard deviation that is far too
small, so intervals need calibration (`factors`)."""
_ROUNDS = 500
_STILL = 1e-6
_PRIOR = 10.0
"""How many items' worth the expectation weighs that a subject's residuals are as large as the fitted subjects'."""
# out one by one, and model, items and interval are learned anew from the others each time.
_COPY = 0.5
"""Of the published models, near copies agree on 0.52 to 0.92 of the items, all others on at most 0.26."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemModel:
    difficulty: Floats
    """b: the expected score of a subject of average ability; low is hard."""
    slope: Floats
    """a: what one standard deviation of ability adds."""
    shared: Floats
    """L: loadings of the residual factors, items × factors."""
    unique: Floats
    """u: residual variance that an item shares with no other."""

    @property
    def size(self) -> int:
        return len(self.difficulty)

    @property
    def residual(self) -> Floats:
        """Residual variance of each item."""
        return np.asarray((self.shared**2).sum(axis=1) + self.unique)

    def covariance(self) -> Floats:
        """Of the item scores over subjects."""
        return np.outer(self.slope, self.slope) + self.shared @ self.shared.T + np.diag(self.unique)


Form = Callable[[ItemModel, Floats], list[int]]
"""Which items a subject with these scores (NaN: unreadable) is asked."""
Fits = dict[tuple[int, ...], ItemModel]
"""By the rows that were left out."""


def fit(scores: Floats) -> ItemModel:
    """`scores` are subjects × items, NaN where there is none."""
    known = ~np.isnan(scores)
    if len(scores) < 4 or known.sum(axis=0).min(initial=4) < 4 or not known.any(axis=1).all():
        raise DataError("An item-response model needs four subjects' scores on every item.", "Add result files.")
    difficulty, slope, variance, ability = _one_factor(scores, known)
    residuals = np.where(known, scores - difficulty - np.outer(ability, slope), 0.0)
    shared = _shared(residuals, known)
    return ItemModel(difficulty, slope, shared, variance - (shared**2).sum(axis=1))


def _one_factor(scores: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
    """Maximum likelihood by EM; slopes are turned so that their sum is positive."""
    count = known.sum(axis=0)
    filled = np.where(known, scores, 0.0)
    difficulty = filled.sum(axis=0) / count
    start = np.where(known, scores - difficulty, 0.0).mean(axis=1)
    if not start.std() > 0:
        raise DataError("All subjects have the same score: there is no ability to learn from.", "Add other results.")
    ability = (start - start.mean()) / start.std()
    slope = np.where(known, scores - difficulty, 0.0).T @ ability / count
    variance = _variance(filled, known, difficulty, slope, ability, np.zeros(len(scores)))
    for _ in range(_ROUNDS):
        before = slope
        uncertainty = 1 / (1 + known @ (slope**2 / variance))
        ability = uncertainty * (np.where(known, scores - difficulty, 0.0) @ (slope / variance))
        first, second = known.T @ ability, known.T @ (ability**2 + uncertainty)
        total, product = filled.sum(axis=0), filled.T @ ability
        slope = (product - first * total / count) / (second - first**2 / count)
        difficulty = (total - slope * first) / count
        variance = _variance(filled, known, difficulty, slope, ability, uncertainty)
        if np.abs(slope - before).max() < _STILL * np.abs(slope).max():
            break
    sign = 1.0 if slope.sum() >= 0 else -1.0
    return difficulty, sign * slope, variance, sign * ability


def _variance(
    filled: Floats,
    known: NDArray[np.bool_],
    difficulty: Floats,
    slope: Floats,
    ability: Floats,
    uncertainty: Floats,
) -> Floats:
    squares = np.where(known, filled - difficulty - np.outer(ability, slope), 0.0) ** 2
    expected = (squares + known * np.outer(uncertainty, slope**2)).sum(axis=0) / known.sum(axis=0)
    return np.asarray(np.maximum(expected, 1e-6))


def _shared(residuals: Floats, known: NDArray[np.bool_]) -> Floats:
    """All factors of (1 − λ)·C, the strongest first; the sign is that of the largest loading. C_ij is the sum of the
    products over √(n_i·n_j), so that it stays a covariance where answers are missing."""
    _, values, vectors = np.linalg.svd(residuals / np.sqrt(known.sum(axis=0)), full_matrices=False)
    signs = np.sign(vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)])
    return np.asarray((vectors * (signs * values)[:, None]).T * np.sqrt(1 - SHRINKAGE))


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
    """`reach`: what calibration on held-out families multiplies the standard deviation with (`factors`). The
    second adds the spread of the subject's own scores over as many items as the full form has: √(sd² + s²/N), with
    Student's t of the answered items where that is wider than `reach`. None for fewer than five answers."""
    from eqlab.analysis.special import stdtrit

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


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """One row per subject, on the scale of the scores."""

    full: Floats
    """The mean over all readable items: what is to be foretold."""
    guess: Floats
    sd: Floats
    plain: Floats
    """The plain mean over the items asked."""
    asked: Floats
    """How many items were asked."""


def leave_out(
    scores: Floats, groups: Sequence[str], forms: Sequence[Callable[[str], Form]], fits: Fits | None = None
) -> list[HeldOut]:
    """One result per way of choosing items; each gets the group's name, for what was learned without it. `fits` keeps
    what was fitted, for other forms and for other groups with the same members."""
    labels, fits = np.array(groups), {} if fits is None else fits
    out = np.full((len(forms), len(scores), 5), np.nan)
    for group in dict.fromkeys(groups):
        members = labels == group
        rows = tuple(int(row) for row in np.flatnonzero(members))
        if rows not in fits:
            fits[rows] = fit(scores[~members])
        for at, form_of in enumerate(forms):
            out[at, members] = _ask(fits[rows], scores[members], form_of(group))
    return [HeldOut(*rows.T) for rows in out]


def copies(scores: Floats, names: Sequence[str]) -> list[str]:
    """Under which name each subject is to be held out: subjects who have the very same score on more than half of the
    items are one subject under several names (and copies of copies too)."""
    groups = list(names)
    for at, score in enumerate(scores):
        for before in range(at):
            if (score == scores[before]).mean() > _COPY:
                old, new = groups[at], groups[before]
                groups = [new if group == old else group for group in groups]
    return groups


def _ask(model: ItemModel, scores: Floats, form: Form) -> Floats:
    rows = []
    for subject in scores:
        items = form(model, subject)
        guess = estimate(model, readable(subject, items))
        rows.append((np.nanmean(subject), guess.mean, guess.sd, np.nanmean(subject[items]), len(items)))
    return np.array(rows)


def readable(scores: Floats, items: Sequence[int]) -> dict[int, float]:
    return {item: float(scores[item]) for item in items if not np.isnan(scores[item])}


def fixed(size: int) -> Callable[[str], Form]:
    """The short form of this size, chosen from the fitted subjects alone."""

    return lambda group: lambda model, scores: list(_chosen(model, size))


@lru_cache(maxsize=1024)
def _chosen(model: ItemModel, size: int) -> tuple[int, ...]:
    """The same for every subject: chosen once a model."""
    return tuple(choose(model, size))


def adaptive(reach: dict[str, float], width: float, first: int, step: int) -> Callable[[str], Form]:
    """`first` items, then `step` at a time until the interval is at most so wide; as a run asks them."""

    def form_of(group: str) -> Form:
        def form(model: ItemModel, scores: Floats) -> list[int]:
            asked: list[int] = []
            while more := next_round(model, scores, asked, width / 2 / reach[group], first, step):
                asked += more
            return asked

        return form

    return form_of


def next_round(model: ItemModel, scores: Floats, asked: Sequence[int], sd: float, first: int, step: int) -> list[int]:
    """The items to ask next; none when the guess is as sure as wanted or everything was asked."""
    read = readable(scores, asked)
    if asked and estimate(model, read).sd <= sd:
        return []
    closed = [item for item in asked if item not in read]
    return next_items(model, sorted(read), closed, step if asked else first)


def factors(held: Sequence[HeldOut], families: Sequence[str], level: float) -> dict[str, float]:
    """By family, what to multiply sd with so that `level` of the other families' full scores lie within: the
    ⌈(n + 1)·level⌉-th smallest |error| / sd. Under "" from all families, for subjects that are new."""
    ratios = np.concatenate([np.abs(out.guess - out.full) / out.sd for out in held])
    labels = np.array(list(families) * len(held))
    return {name: _quantile(ratios[labels != name], level) for name in ("", *dict.fromkeys(families))}


def _quantile(ratios: Floats, level: float) -> float:
    return float(np.sort(ratios)[min(math.ceil((len(ratios) + 1) * level), len(ratios)) - 1])


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """What a form is worth for subjects it has not seen."""

    subjects: int
    r: float
    mae: float
    mae_low: float
    mae_high: float
    """95 % bootstrap interval over families."""
    plain_mae: float
    """The same of the plain mean over the items asked."""
    covered: float
    """Share of full scores inside their interval."""
    width: float
    """Mean width of that interval."""
    asked: float
    """Items asked, on average."""


def figures(held: HeldOut, families: Sequence[str], reach: dict[str, float], draws: int = 2000) -> HeldOutFigures:
    error = np.abs(held.guess - held.full)
    half = np.array([reach[family] for family in families]) * held.sd
    names = list(dict.fromkeys(families))
    index = np.array([names.index(family) for family in families])
    sums, counts = np.bincount(index, error), np.bincount(index)
    drawn = np.random.default_rng(0).integers(0, len(names), size=(draws, len(names)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975])
    return HeldOutFigures(
        subjects=len(error),
        r=float(np.corrcoef(held.guess, held.full)[0, 1]),
        mae=float(error.mean()),
        mae_low=float(low),
        mae_high=float(high),
        plain_mae=float(np.abs(held.plain - held.full).mean()),
        covered=float((error <= half).mean()),
        width=float(2 * half.mean()),
        asked=float(held.asked.mean()),
    )

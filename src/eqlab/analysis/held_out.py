"""How good a short form is for subjects it has not seen: groups of subjects (copies of one, or whole families) are left
out one by one, and model, items and interval are learned anew from the others each time.

Intervals are calibrated, not believed: the model's standard deviation is multiplied by the quantile of |error| / sd
that was seen on other held-out families (cross-conformal prediction: Vovk 2015, Annals of Mathematics and Artificial
Intelligence 74, 9–28; Barber et al. 2021, Annals of Statistics 49, 486–507)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.item_response import ItemModel, fit
from eqlab.analysis.short_form import choose, estimate, next_items

_COPY = 0.5
"""Of the published models, near copies agree on 0.52 to 0.92 of the items, all others on at most 0.26."""

Form = Callable[[ItemModel, Floats], list[int]]
"""Which items a subject with these scores (NaN: unreadable) is asked."""

Fits = dict[tuple[int, ...], ItemModel]
"""By the rows that were left out."""


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
    for at, one in enumerate(scores):
        for before in range(at):
            if (one == scores[before]).mean() > _COPY:
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
    ratios = np.concatenate([np.abs(one.guess - one.full) / one.sd for one in held])
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

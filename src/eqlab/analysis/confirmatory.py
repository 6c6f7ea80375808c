"""The model that a rating study is decided by: arms compared on the log-odds scale, with everything random that another
study would draw anew: raters, prompts, the *replies*, and the *tastes* of raters who see several arms.

An arm has one reply to a prompt, and several raters see that same reply: what is good or bad about it is shared by
their ratings. Without this (prompt × arm) effect a lucky reply passes for a better arm, the more so the more raters see
it. Likewise a rater who likes one arm likes it in all their ratings: without the (rater × arm) effect raters who differ
in that pass for arms that differ, the more so the more each rates (docs/evidence/coverage.md: false alarms). Crossed
cumulative-logit model as in ordinal.py; every two arms, Holm-corrected."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ordinal import LikelihoodRatio, OrdinalFit, RandomEffect, fit_ordinal, likelihood_ratio
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.analysis.special import fdtrc, stdtr, stdtrit
from eqlab.core.plural import many
from eqlab.core.values import dataclass

RATER, PROMPT, REPLY, TASTE = "rater", "prompt", "reply", "taste"
_WIDEST = 5.0
"""A standard deviation, in log-odds, beyond which a random effect is taken to have no finite one: there Laplace's
approximation rises where the likelihood itself falls."""


@dataclass(frozen=True, slots=True)
class ArmContrast:
    """How much more often an arm is rated higher than another, in log-odds; Student's t. The error is that of the
    likelihood times √((raters − 1)/(raters − arms)) where a rater has one arm (`_raters_left`)."""

    arm: str
    against: str
    est: float
    se: float
    df: float
    p: float
    p_holm: float
    low: float
    high: float
    """95 % interval of this contrast alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    fit: OrdinalFit
    contrasts: tuple[ArmContrast, ...]
    random: tuple[str, ...]
    """Random effects in the model."""
    left_out: Mapping[str, str]
    """Those that could not be estimated, with the reason."""
    omnibus: LikelihoodRatio | None


def decide(
    values: Sequence[Any],
    arms: Sequence[str],
    raters: Sequence[Hashable],
    prompts: Sequence[Hashable],
    *,
    reference: str | None = None,
    replies: Sequence[Hashable] | None = None,
    omnibus: bool = True,
) -> Decision:
    """Fit and compare all arms. `replies` names the reply of each rating; by default a prompt has one reply per arm. An
    effect that the design cannot tell from the rest (every reply rated once; every rater one rating) is left out and
    named: with one rating a reply its effect is part of the rest, and nothing is lost."""
    if len({len(values), len(arms), len(raters), len(prompts)}) > 1:
        raise FitError("The model needs an arm, a rater and a prompt for every rating.")
    names = list(dict.fromkeys(arms))
    if reference is not None:
        if reference not in names:
            raise FitError(f"No rating belongs to the arm '{reference}'.", f"There are: {', '.join(names)}.")
        names = [reference, *(name for name in names if name != reference)]
    if len(names) < 2:
        raise FitError("Arms are compared with each other; there is only one.")
    levels = levels_of(arms, raters, prompts, replies)
    fixed = {name: np.array([arm == name for arm in arms], dtype=float) for name in names[1:]}
    fit, left_out = _fit(values, fixed, levels)
    people, left = len(set(raters)), _raters_left(arms, raters)
    df, wider = max(1.0, min(left, len(set(prompts)) - 1.0)), math.sqrt(max(1.0, (people - 1) / left))
    pairs = list(combinations(names, 2))
    found = []
    for against, arm in pairs:
        coefficient = fit.contrast({arm: 1.0} if against == names[0] else {arm: 1.0, against: -1.0})
        se = wider * coefficient.se
        p = 2 * float(stdtr(df, -abs(coefficient.est / se))) if se > 0 else 1.0
        found.append((arm, against, coefficient.est, se, p))
    adjusted = holm([one[-1] for one in found])
    reach = float(stdtrit(df, 0.975))
    contrasts = tuple(
        ArmContrast(arm, against, est, se, df, p, float(p_holm or 0.0), est - reach * se, est + reach * se)
        for (arm, against, est, se, p), p_holm in zip(found, adjusted, strict=True)
    )
    return Decision(fit, contrasts, tuple(fit.sd), left_out, _omnibus(values, fit, levels, df) if omnibus else None)


def _raters_left(arms: Sequence[str], raters: Sequence[Hashable]) -> float:
    """Degrees of freedom of the raters' spread, which the likelihood divides by all raters: their number less the means
    that are taken from them. Where a rater has one arm these are every arm's mean; where each has all arms alike, the
    common mean alone; between the two as far as raters' ratings of their commonest arm have none of another beside
    them."""
    own: dict[Hashable, Counter[str]] = {}
    for rater, arm in zip(raters, arms, strict=True):
        own.setdefault(rater, Counter())[arm] += 1
    alone = fmean(max(0.0, 2 * max(counts.values()) / counts.total() - 1) for counts in own.values())
    return max(1.0, len(own) - 1 - alone * (len(set(arms)) - 1))


def levels_of(
    arms: Sequence[str],
    raters: Sequence[Hashable],
    prompts: Sequence[Hashable],
    replies: Sequence[Hashable] | None = None,
) -> dict[str, Sequence[Hashable]]:
    """The level of each rating in every effect that the design has. A rater who sees one arm has no taste in arms."""
    given = list(zip(prompts, arms, strict=True)) if replies is None else list(replies)
    tastes = list(zip(raters, arms, strict=True))
    found: dict[str, Sequence[Hashable]] = {RATER: list(raters), PROMPT: list(prompts), REPLY: given}
    return found | ({TASTE: tastes} if len(set(tastes)) > len(set(raters)) else {})


def _fit(
    values: Sequence[Any], fixed: Mapping[str, Any], levels: Mapping[str, Sequence[Hashable]]
) -> tuple[OrdinalFit, dict[str, str]]:
    """With all effects that the design has. One that it has and that cannot be estimated is not left out: what is
    endless about it is that it explains the ratings too well, and without it errors would be too small."""
    left_out: dict[str, str] = {}
    for name, own in levels.items():
        count = len(set(own))
        if not 2 <= count < len(values):
            left_out[name] = f"{count} levels for {many(len(values), 'rating')}"
    if len(set(levels[REPLY])) == len(set(levels[PROMPT])) and REPLY not in left_out:
        left_out[PROMPT] = "every prompt has one reply"
    chosen: dict[str, Sequence[Hashable]] = {}
    for name in (name for name in levels if name not in left_out):
        same = next((other for other, own in chosen.items() if _alike(own, levels[name])), None)
        if same is None:
            chosen[name] = levels[name]
        else:
            left_out[name] = f"its levels are those of the {same} effect"
    try:
        fit = fit_ordinal(list(values), dict(fixed), [RandomEffect(*one) for one in chosen.items()])
        widest = max(fit.sd, key=fit.sd.__getitem__, default="")
        if widest and fit.sd[widest] > _WIDEST:
            raise FitError(
                f"The spread of the {widest} effect is too wide to be estimated ({fit.sd[widest]:.0f} log-odds)."
            )
    except FitError as error:
        raise FitError(
            f"The model of the ratings cannot be fitted: {error.message}", "Collect more ratings, or merge categories."
        ) from error
    return fit, left_out


def _alike(one: Sequence[Hashable], other: Sequence[Hashable]) -> bool:
    return len(set(one)) == len(set(other)) == len(set(zip(one, other, strict=True)))


def _omnibus(
    values: Sequence[Any], fit: OrdinalFit, levels: Mapping[str, Sequence[Hashable]], df: float
) -> LikelihoodRatio | None:
    """χ²/df against F with the contrasts' degrees of freedom: with few prompts χ² alone finds differences that are not
    there."""
    try:
        null = fit_ordinal(list(values), {}, [RandomEffect(name, levels[name]) for name in fit.sd])
    except FitError:
        return None
    found = likelihood_ratio(null, fit)
    return replace(found, p=float(fdtrc(found.df, df, found.chi2 / found.df)))

"""People's ratings as a result: P(Good) per arm with whole raters drawn again, a cumulative-link mixed model with
crossed raters and prompts where it converges, planned contrasts with Holm's correction, effects per emotion."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from eqlab.analysis.clusters import clustering
from eqlab.analysis.contingency import good_gain
from eqlab.analysis.maximise import FitError
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ordinal import OrdinalFit, RandomEffect, fit_ordinal, likelihood_ratio
from eqlab.analysis.ordinal_effects import pooled_effects
from eqlab.benchmarks.rating.arm_length import length_table
from eqlab.benchmarks.rating.arm_shares import ArmShares, arm_shares
from eqlab.benchmarks.rating.judge_result import arm_table, by_group
from eqlab.benchmarks.rating.outcome import Outcome, gap_words, p_text
from eqlab.benchmarks.rating.people_checks import equivalence, proportional, several_raters
from eqlab.benchmarks.rating.rated import GOOD, Given, Rated, arms_of, given
from eqlab.core.results import Estimate, Table

FOLLOWS = (
    "It follows how people like these raters see these replies to these prompts; not that a subject feels anything, "
    "nor that the difference is the same for other prompts or in longer talks."
)


def outcome(ratings: Sequence[Rated], reference: str = "") -> Outcome:
    """`reference` is the arm that others are compared with, where a study's plan names it."""
    usable, arms = given(ratings), first_arm(arms_of(ratings), reference)
    shares = arm_shares(usable, arms, lambda one: one.rater)
    raters = len({one.rater for one in usable})
    reference, others = (shares.arms[0], shares.arms[1:]) if shares.arms else ("", ())
    gaps = {arm: shares.gap(arm, reference) for arm in others}
    fitted, why = fit_crossed(usable, shares.arms) if others else (None, "")
    return Outcome(
        title="Empathy, rated by people",
        sentence=_sentence(shares, raters, gaps),
        headline=replace(_headline(shares, gaps), of=f"ratings by {raters} people"),
        score_range=(-100.0, 100.0) if len(shares.arms) == 2 else (0.0, 100.0),
        estimates=(
            *(shares.good(arm) for arm in shares.arms),
            *gaps.values(),
            *(shares.gain(arm, reference) for arm in others),
        ),
        tables=(
            arm_table(shares, f"{raters} people"),
            *((_as_published(shares, reference, others),) if others else ()),
            *((_model_table(fitted, usable, shares.arms), equivalence(fitted, shares.arms)) if fitted else ()),
            *length_table(usable, shares, lambda one: one.rater),
            *_pooled_tables(usable, reference, others),
            *by_group(usable, shares, "valence"),
            *by_group(usable, shares, "emotion"),
            *((_clustering(usable, shares),) if raters > 1 else ()),
            *((shared,) if (shared := several_raters(usable)) else ()),
        ),
        caveats=_caveats(raters, why, fitted),
        rules={"raters": raters},
    )


def first_arm(arms: Sequence[str], first: str) -> tuple[str, ...]:
    """The arms with this one, if it is there, at their head."""
    return tuple(sorted(arms, key=lambda arm: arm != first))


def fit_crossed(ratings: Sequence[Given], arms: Sequence[str]) -> tuple[OrdinalFit | None, str]:
    """The model with raters and prompts, else with raters only; or why there is none."""
    fixed = {arm: np.array([one.arm == arm for one in ratings], dtype=float) for arm in arms[1:]}
    rater = RandomEffect("rater", [one.rater for one in ratings])
    prompt = RandomEffect("prompt", [one.prompt for one in ratings])
    why = ""
    for random in ((rater, prompt), (rater,)):
        try:
            return fit_ordinal([one.value for one in ratings], fixed, random), why
        except FitError as error:
            why = str(error)
    return None, why


def _headline(shares: ArmShares, gaps: dict[str, Estimate]) -> Estimate:
    if len(shares.arms) == 1:
        return shares.good(shares.arms[0])
    if len(gaps) == 1:
        return next(iter(gaps.values()))
    return shares.highest() if shares.arms else Estimate("P(Good)", None, 0, unit="%", note="no rating yet", digits=1)


def _sentence(shares: ArmShares, raters: int, gaps: dict[str, Estimate]) -> str:
    if not shares.arms:
        return "Nobody has rated anything yet."
    said = ", ".join(f"{shares.good(arm).value:.1f} % of the replies by {arm}" for arm in shares.arms)
    text = f"{raters} people call Good {said}."
    others = "; ".join(gap_words(arm, shares.arms[0], gap) for arm, gap in gaps.items())
    return f"{text} {others[:1].upper()}{others[1:]}." if others else text


def _as_published(shares: ArmShares, reference: str, others: Sequence[str]) -> Table:
    rows = []
    ref = shares.counts[reference]
    for arm in others:
        own = shares.counts[arm]
        gain = good_gain(ref.good, ref.n, own.good, own.n)
        test = gain.yates
        rows.append(
            (
                arm,
                shares.gain(arm, reference),
                *((test.chi2, p_text(test.p)) if test else (None, None)),
                shares.gap(arm, reference),
            )
        )
    return Table(
        f"Good against the rest, compared with {reference}",
        ("arm", "gain in Good", "χ² (Yates, as published)", "p (as published)", "honest: difference in P(Good)"),
        tuple(rows),
        "As published, every rating counts as independent. Honest: whole raters are drawn again.",
    )


def _model_table(fit: OrdinalFit, ratings: Sequence[Given], arms: Sequence[str]) -> Table:
    """Every two arms as an odds ratio, Holm-corrected together; the omnibus test in the note."""
    pairs = list(combinations(arms, 2))
    found = [fit.contrast(_weights(arm, reference, arms[0])) for reference, arm in pairs]
    adjusted = holm([one.p for one in found])
    rows = tuple(
        (
            arm,
            reference,
            Estimate("OR", math.exp(one.est), len(ratings), None, math.exp(one.low), math.exp(one.high)),
            one.est,
            one.se,
            p_text(one.p),
            p_text(p_holm),
        )
        for (reference, arm), one, p_holm in zip(pairs, found, adjusted, strict=True)
    )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in fit.sd.items())
    return Table(
        "Mixed ordinal model",
        ("arm", "against", "odds ratio of a better rating", "log-odds", "SE", "p", "p after Holm"),
        rows,
        f"Cumulative logit with random {' and '.join(fit.sd)} effects (SD {spread}).{_omnibus(fit, ratings)}"
        f"{proportional(fit, ratings, arms)}",
    )


def _weights(arm: str, reference: str, base: str) -> dict[str, float]:
    return {arm: 1.0} if reference == base else {arm: 1.0, reference: -1.0}


def _omnibus(fit: OrdinalFit, ratings: Sequence[Given]) -> str:
    levels = {"rater": [one.rater for one in ratings], "prompt": [one.prompt for one in ratings]}
    try:
        null = fit_ordinal([one.value for one in ratings], {}, [RandomEffect(name, levels[name]) for name in fit.sd])
        test = likelihood_ratio(null, fit)
    except FitError as error:
        return f" No omnibus test: {error}"
    return f" All arms alike: χ² = {test.chi2:.2f}, df {test.df}, p = {test.p:.3g}."


def _pooled_tables(ratings: Sequence[Given], reference: str, others: Sequence[str]) -> tuple[Table, ...]:
    """Effects per emotion that borrow strength from each other: what a forest plot shows. Left out where the model
    does not fit."""
    tables = []
    for arm in others:
        own = [one for one in ratings if one.arm in (arm, reference) and one.emotion]
        emotions = [one.emotion for one in own]
        if len(set(emotions)) < 3:
            continue
        effect = np.array([one.arm == arm for one in own], dtype=float)
        random = [
            RandomEffect("rater", [one.rater for one in own]),
            RandomEffect("emotion", emotions),
            RandomEffect("arm|emotion", emotions, effect),
        ]
        try:
            fit = fit_ordinal([one.value for one in own], {arm: effect}, random)
            levels = sorted(pooled_effects(fit, arm, "arm|emotion"), key=lambda level: -level.est)
        except FitError:
            continue
        counts = {name: emotions.count(name) for name in set(emotions)}
        rows = tuple(
            (str(one.level), Estimate("log-odds", one.est, counts[str(one.level)], one.se, one.low, one.high))
            for one in levels
        )
        tables.append(
            Table(
                f"Effect per emotion: {arm} against {reference}",
                ("emotion", "log-odds of a better rating"),
                rows,
                f"Partial pooling: emotions share information (SD between emotions {fit.sd['arm|emotion']:.2f}), so "
                "few ratings do not make large effects.",
                whiskers="log-odds of a better rating",
            )
        )
    return tuple(tables)


def _clustering(ratings: Sequence[Given], shares: ArmShares) -> Table:
    rows = []
    for arm in shares.arms:
        own = [one for one in ratings if one.arm == arm]
        names = {name: index for index, name in enumerate(dict.fromkeys(one.rater for one in own))}
        found = clustering(
            np.array([float(one.value == GOOD) for one in own]), np.array([names[one.rater] for one in own])
        )
        rows.append((arm, found.n, found.n_clusters, found.icc, found.design_effect))
    return Table(
        "How alike the ratings of one rater are",
        ("arm", "ratings", "raters", "ICC(1) of Good", "design effect"),
        tuple(rows),
        "A design effect of 2 means: two ratings are worth one independent one.",
    )


def _caveats(raters: int, why: str, fitted: OrdinalFit | None) -> tuple[str, ...]:
    said = [FOLLOWS]
    if raters < 10:
        said.append(f"{raters} raters are few: bootstrap intervals over so few are too narrow.")
    if why and fitted is None:
        said.append(f"No mixed model: {why}")
    elif why:
        said.append(f"The mixed model has no prompt effect: {why}")
    return tuple(said)

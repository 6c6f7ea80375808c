"""People's ratings as a result: P(Good) per arm with whole raters drawn again, a cumulative-link mixed model with
crossed raters, prompts and replies where it converges, contrasts with Holm's correction, effects per emotion."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eqlab.analysis.clusters import clustering
from eqlab.analysis.confirmatory import PROMPT, Decision, decide
from eqlab.analysis.contingency import good_gain
from eqlab.analysis.ordinal import RandomEffect, fit_ordinal, pooled_effects
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.contrasts import corrected, p_text
from eqlab.benchmarks.rating.arm_length import length_table
from eqlab.benchmarks.rating.arm_shares import ArmShares, arm_shares
from eqlab.benchmarks.rating.judge_result import arm_table, by_group
from eqlab.benchmarks.rating.outcome import RatingOutcome, gap_words
from eqlab.benchmarks.rating.people_checks import equivalence, proportional, several_raters
from eqlab.benchmarks.rating.planned import contrasts_from, planned_words
from eqlab.benchmarks.rating.rated import GOOD, GivenRating, RatedReply, arms_of, given
from eqlab.core.results import Estimate, Table

FOLLOWS = (
    "This tells how people like these raters see these replies to these prompts. It does not tell whether anybody "
    "feels anything, nor whether the difference is the same for other prompts or in longer talks."
)


def outcome(ratings: Sequence[RatedReply], reference: str = "") -> RatingOutcome:
    """`reference` is the arm that others are compared with, where a study's plan names it."""
    usable, arms = given(ratings), first_arm(arms_of(ratings), reference)
    shares = arm_shares(usable, arms, lambda one: one.rater)
    raters = len({one.rater for one in usable})
    reference, others = (shares.arms[0], shares.arms[1:]) if shares.arms else ("", ())
    gaps = {arm: shares.gap(arm, reference) for arm in others}
    fitted, why = fit_crossed(usable, shares.arms) if others else (None, "")
    return RatingOutcome(
        title="Empathy, rated by people",
        sentence=_sentence(shares, raters, gaps, fitted),
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
            *((_model_table(fitted, usable, shares.arms), equivalence(fitted.fit, shares.arms)) if fitted else ()),
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


def fit_crossed(ratings: Sequence[GivenRating], arms: Sequence[str]) -> tuple[Decision | None, str]:
    """The model with raters, prompts and replies as far as the design has them, the first arm as reference; or why
    there is none."""
    try:
        return decide(
            [one.value for one in ratings],
            [one.arm for one in ratings],
            [one.rater for one in ratings],
            [one.prompt for one in ratings],
            reference=arms[0],
        ), ""
    except FitError as error:
        return None, str(error)


def _headline(shares: ArmShares, gaps: dict[str, Estimate]) -> Estimate:
    if len(shares.arms) == 1:
        return shares.good(shares.arms[0])
    if len(gaps) == 1:
        return next(iter(gaps.values()))
    return shares.highest() if shares.arms else Estimate("P(Good)", None, 0, unit="%", note="no rating yet", digits=1)


def _sentence(shares: ArmShares, raters: int, gaps: dict[str, Estimate], fitted: Decision | None) -> str:
    """What is claimed of arms is decided by the model, corrected for their number; without one, by the intervals."""
    if not shares.arms:
        return "Nobody has rated anything yet."
    text = f"{shares_words(shares, raters)}."
    if fitted is not None:
        own = corrected(contrasts_from(fitted, shares.arms[0], "", 0.05, sum(one.n for one in shares.counts.values())))
        return f"{text} {planned_words(own, 0.05)}"
    others = "; ".join(gap_words(arm, shares.arms[0], gap) for arm, gap in gaps.items())
    opening = others if others.startswith(tuple(gaps)) else f"{others[:1].upper()}{others[1:]}"  # a name stays a name
    return f"{text} {opening}." if others else text


def shares_words(shares: ArmShares, raters: int) -> str:
    said = ", ".join(f"{shares.good(arm).value:.1f} % of the replies by {arm}" for arm in shares.arms)
    return f"{raters} people call Good {said}"


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
        ("replies by", "gain in Good", "χ² (Yates, as published)", "p (as published)", "honest: difference in P(Good)"),
        tuple(rows),
        "As published, every rating counts as independent. Honest: bootstrap over whole raters.",
    )


def _model_table(made: Decision, ratings: Sequence[GivenRating], arms: Sequence[str]) -> Table:
    """Every two arms as an odds ratio, Holm-corrected together; the omnibus test in the note."""
    rows = tuple(
        (
            one.arm,
            one.against,
            Estimate("odds ratio", math.exp(one.est), len(ratings), None, math.exp(one.low), math.exp(one.high)),
            one.est,
            one.se,
            p_text(one.p),
            p_text(one.p_holm),
        )
        for one in made.contrasts
    )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in made.fit.sd.items())
    return Table(
        "Mixed ordinal model",
        ("replies by", "against", "odds ratio of a better rating", "log-odds", "SE", "p", "p after Holm"),
        rows,
        f"Cumulative logit with random {' and '.join(made.random)} effects (SD {spread}).{_lost(made)}"
        f"{_omnibus(made)}{proportional(made.fit, ratings, arms)}",
    )


def _lost(made: Decision) -> str:
    return "".join(f" No {name} effect: {why}." for name, why in made.left_out.items() if why)


def _omnibus(made: Decision) -> str:
    test = made.omnibus
    if test is None:
        return " No omnibus test: the model without arms cannot be fitted."
    return f" All alike: χ² = {test.chi2:.2f}, df {test.df}, p = {test.p:.3g}."


def _pooled_tables(ratings: Sequence[GivenRating], reference: str, others: Sequence[str]) -> tuple[Table, ...]:
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


def _clustering(ratings: Sequence[GivenRating], shares: ArmShares) -> Table:
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
        ("replies by", "ratings", "raters", "ICC(1) of Good", "design effect"),
        tuple(rows),
        "A design effect of 2 means: two ratings are worth one independent one.",
    )


def _caveats(raters: int, why: str, fitted: Decision | None) -> tuple[str, ...]:
    said = [FOLLOWS]
    if raters < 10:
        said.append(f"{raters} raters are few: bootstrap intervals over so few are too narrow.")
    if why and fitted is None:
        said.append(f"No mixed model: {why}")
    elif fitted is not None and PROMPT in fitted.left_out:
        said.append(f"The mixed model has no prompt effect: {fitted.left_out[PROMPT]}.")
    return tuple(said)

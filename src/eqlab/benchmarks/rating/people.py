"""People's ratings of single replies as a result. On the published form: P(Good) per arm with whole raters drawn again,
a cumulative-link mixed model with crossed raters, prompts, replies and tastes where it converges, contrasts with Holm's
correction, effects per emotion. On scales of a study's own: means per arm, and how the scales go together.

What a rating study plans: every other arm against the reference, on every scale, in the mixed ordinal model with
raters, prompts and replies, with Holm's correction at the level that the plan names; and whether what a rater is
like changes what an arm is worth to them."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from eqlab.analysis.agreement import coincidences, ordinal_alpha, tables_agreement
from eqlab.analysis.clusters import clustering
from eqlab.analysis.confirmatory import PROMPT, RATER, TASTE, Decision, decide, levels_of
from eqlab.analysis.contingency import good_gain
from eqlab.analysis.correlation import pearson
from eqlab.analysis.intervals import t_bounds
from eqlab.analysis.ordinal import (
    OrdinalFit,
    RandomEffect,
    fit_ordinal,
    likelihood_ratio,
    pooled_effects,
    proportional_odds,
)
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.analysis.special import fdtrc, stdtrit
from eqlab.analysis.two_samples import tost, two_sided
from eqlab.benchmarks.common.people import contrast_table, corrected
from eqlab.benchmarks.rating.arm_shares import (
    ArmShares,
    above_people,
    arm_shares,
    arm_table,
    by_group,
    length_table,
    shares_of,
)
from eqlab.benchmarks.rating.judge import correlation_table
from eqlab.benchmarks.rating.rated import (
    GOOD,
    HUMAN,
    GivenRating,
    Outcome,
    RatedReply,
    arms_of,
    given,
    unread_caveats,
)
from eqlab.benchmarks.rating.trials import RatingOptions
from eqlab.core.forms import Scale
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import Column, Estimate, OfOthers, Result, Table, whiskers
from eqlab.core.studied import Contrast
from eqlab.tables.cells import p_text

FEW_OTHERS = 5
"""Ratings of an arm outside its commonest category below which its log-odds are called badly known."""


def planned_contrasts(
    ratings: Sequence[GivenRating], reference: str, planned: int, alpha: float = 0.05
) -> tuple[tuple[Contrast, ...], str]:
    """One for each other arm, of which so many were planned; and in words what the model has, or why there is none."""
    if len({rating.arm for rating in ratings}) < 2:
        return (), "Fewer than two arms have ratings."
    found, why = contrasts_of(ratings, reference, "", alpha)
    return corrected(found, planned), why


def scale_contrasts(
    ratings: Sequence[RatedReply], scales: Sequence[Scale], reference: str, planned: int, alpha: float
) -> tuple[tuple[Contrast, ...], Table]:
    """Every arm against the reference on every scale, corrected together; `planned`: how many on each scale."""
    found: list[Contrast] = []
    keys: list[str] = []
    notes = []
    for scale in scales:
        own, why = contrasts_of(given(ratings, scale), reference, f"{scale.named}: ", alpha)
        found += own
        keys += [scale.named] * len(own)
        notes.append(f"{scale.named}: {why}")
    contrasts = corrected(found, planned * len(scales))
    table = planned_table(contrasts, " ".join(notes), alpha)
    return contrasts, replace(
        table,
        columns=(Column("scale", "scale"), *table.columns),
        rows=tuple((key, *row) for key, row in zip(keys, table.rows, strict=True)),
        note=f"{table.note} Holm over all that were planned.",
    )


def contrasts_of(
    ratings: Sequence[GivenRating], reference: str, prefix: str, alpha: float
) -> tuple[tuple[Contrast, ...], str]:
    """Every arm against the reference, not yet corrected for their number. `prefix` begins their names."""
    try:
        made = decide(
            [rating.value for rating in ratings],
            [rating.arm for rating in ratings],
            [rating.rater for rating in ratings],
            [rating.prompt for rating in ratings],
            reference=reference,
            replies=[rating.reply for rating in ratings],
            omnibus=False,
        )
    except FitError as error:
        return (), f"Not fitted: {error}"
    return contrasts_from(made, reference, prefix, alpha, len(ratings)), f"{_model(made)}{_nearly_one(ratings)}"


def contrasts_from(decision: Decision, reference: str, prefix: str, alpha: float, n: int) -> tuple[Contrast, ...]:
    """Those of a fitted model that are against the reference, not yet corrected."""
    found = []
    for contrast in sorted(
        (arm_contrast for arm_contrast in decision.contrasts if arm_contrast.against == reference),
        key=lambda one: one.arm,
    ):
        reach = float(stdtrit(contrast.df, 1 - alpha / 2)) * contrast.se
        name = f"log-odds, {prefix}{contrast.arm} − {reference}"
        estimate = Estimate(name, contrast.est, n, contrast.se, contrast.low, contrast.high)
        found.append(
            Contrast(
                contrast.arm, reference, estimate, contrast.p, contrast.p, contrast.est - reach, contrast.est + reach
            )
        )
    return tuple(found)


def _model(decision: Decision) -> str:
    return f"Random effects: {', '.join(decision.random) or 'none'}.{left_out(decision)}"


def left_out(decision: Decision) -> str:
    """Random effects that the model lacks, and why."""
    return "".join(f" No {name} effect: {why}." for name, why in decision.left_out.items() if why)


def _nearly_one(ratings: Sequence[GivenRating]) -> str:
    """Arms at the end of the scale: what their log-odds are is then known badly, and scatters far out."""
    said = ""
    for arm in dict.fromkeys(rating.arm for rating in ratings):
        counts = Counter(rating.value for rating in ratings if rating.arm == arm)
        other = counts.total() - max(counts.values())
        if other < FEW_OTHERS:
            said += (
                f" {arm}: only {other} of {many(counts.total(), 'rating')} "
                f"{'differs' if other == 1 else 'differ'} from its commonest, so its log-odds are "
                "known badly; read the shares."
            )
    return said


def planned_words(found: Sequence[Contrast], alpha: float, unit: str = "log-odds") -> str:
    """What the plan decides, in words that follow the corrected p and nothing else."""
    if not found:
        return "The arms cannot be compared: no model of the ratings could be fitted."
    said = "; ".join(_contrast_words(contrast, alpha, unit) for contrast in found)
    return f"{said}."


def contrast_numbers(one: Contrast, alpha: float, unit: str = "log-odds") -> str:
    holm_p = p_text(one.p_holm)
    p = f"p {holm_p}" if holm_p.startswith("<") else f"p = {holm_p}"
    bounds = f"{100 * (1 - alpha):g} % interval {one.low:z.2f} to {one.high:z.2f}"
    return f"({unit} {one.estimate.value or 0.0:+.2f}, {bounds}; {p} after Holm)"


def _contrast_words(one: Contrast, alpha: float, unit: str) -> str:
    value, numbers = one.estimate.value or 0.0, contrast_numbers(one, alpha, unit)
    scale = one.estimate.name.removeprefix("log-odds, ").rpartition(": ")[0]
    on = f" on {scale}" if scale and unit == "log-odds" else ""
    if one.p_holm >= alpha:
        return f"{one.arm} and {one.reference} cannot be told apart{on} {numbers}"
    return f"{one.arm} is rated {'better' if value > 0 else 'worse'} than {one.reference}{on} {numbers}"


def planned_table(contrasts: Sequence[Contrast], why: str, alpha: float) -> Table:
    note = f"Cumulative logit with random raters, prompts, replies and tastes as far as the design has them. {why}"
    return contrast_table(contrasts, "replies by", "log-odds of a better rating", alpha, note)


def of_planned_arms(found: Result, planned: Sequence[str], rated: Collection[str], reference: str) -> Result:
    """Planned arms that no analysed rating belongs to are told. Without the reference nothing that was planned is left,
    and no other comparison takes its place at the head of the result."""
    missing = [arm for arm in planned if arm not in rated]
    if not rated or not missing:
        return found
    names = ", ".join(f"'{arm}'" for arm in missing)
    told = replace(found, caveats=(f"No analysed rating belongs to {names}.", *found.caveats))
    if reference not in missing:
        return told
    why = f"No analysed rating belongs to '{reference}', with which the plan compares the others"
    headline = Estimate(f"difference from {reference}", None, 0, note="no rating of it")
    return replace(told, sentence=f"{why}: nothing that was planned can be told.", headline=headline)


# -- a rater's score as a moderator --------------------------------------------------------------------------------

Floats = NDArray[np.float64]


def moderation_table(
    ratings: Sequence[GivenRating], arms: Sequence[str], scores: Mapping[str, float], name: str
) -> Table:
    """`rating ~ arm * z + (1|rater) + (1|prompt)`, with raters' tastes where they see several arms, against the model
    without z (likelihood ratio), and the correlation of a rater's score with their mean rating in each arm. `arms`
    begin with the reference; raters without a score are left out and counted."""
    used = [rating for rating in ratings if rating.rater in scores]
    lost = len({rating.rater for rating in ratings}) - len({rating.rater for rating in used})
    reference, others = arms[0], arms[1:]
    interactions, tested = _fit_moderated(used, others, scores)
    rows = []
    for arm in arms:
        means = _mean_ratings(used, arm)
        raters = list(means)
        r = pearson("r", np.array([scores[rater] for rater in raters]), np.array([means[rater] for rater in raters]))
        rows.append((arm, r, *(interactions.get(arm, (None, "")))))
    return Table(
        f"{name} as a moderator",
        (
            "replies by",
            f"r of {name} with a rater's mean rating",
            f"change of the log-odds against {reference} per SD",
            "p",
        ),
        tuple(rows),
        f"Mixed ordinal model with random raters and prompts. {tested}"
        + (f" Left out: {many(lost, 'rater')} without a {name} score." if lost else ""),
    )


def _fit_moderated(
    used: Sequence[GivenRating], others: Sequence[str], scores: Mapping[str, float]
) -> tuple[dict[str, tuple[Estimate, str | None]], str]:
    """(each arm's interaction, the test of all of them in words). A score is one value a rater: t and F have as many
    degrees of freedom as raters are left beside a level and a slope of each arm."""
    raters = {rating.rater for rating in used}
    df = len(raters) - 2 * (len(others) + 1)
    if len({scores[rater] for rater in raters}) < 2 or not others or df < 1:
        return {}, "No model: the score does not vary, there is one arm, or there are too few raters."
    y = [rating.value for rating in used]
    groups = {arm: np.array([rating.arm == arm for rating in used], dtype=float) for arm in others}
    z = standardised(np.array([scores[rating.rater] for rating in used], dtype=float))
    levels = levels_of([one.arm for one in used], [one.rater for one in used], [one.prompt for one in used])
    several = len(set(levels.get(TASTE, used))) < len(used)
    random = [RandomEffect(name, levels[name]) for name in (RATER, PROMPT, *((TASTE,) if several else ()))]
    try:
        fit = fit_ordinal(y, moderated(groups, "z", z), random)
        test = likelihood_ratio(fit_ordinal(y, groups, random), fit)
    except FitError as error:
        return {}, f"No model: {error}"
    found: dict[str, tuple[Estimate, str | None]] = {}
    for arm in others:
        one = fit.coefficients[f"{arm}:z"]
        found[arm] = (
            Estimate(arm, one.est, len(used), one.se, *t_bounds(one.est, one.se, df)),
            p_text(two_sided(one.est / one.se, df)),
        )
    p = float(fdtrc(test.df, df, test.chi2 / test.df))
    return found, f"No relation at all: χ² = {test.chi2:.2f}, df {test.df}, p = {p:.3g} (F, {df} degrees of freedom)."


def moderated(groups: Mapping[str, Floats], name: str, column: Floats) -> dict[str, Floats]:
    """Columns of `group * name`: the arms, the moderator, and each arm times it."""
    return {**groups, name: column, **{f"{arm}:{name}": groups[arm] * column for arm in groups}}


def standardised(values: Floats) -> Floats:
    """(x − mean)/SD over all ratings."""
    return np.asarray((values - values.mean()) / values.std(ddof=1))


def _mean_ratings(ratings: Sequence[GivenRating], arm: str) -> dict[str, float]:
    return group_means((rating.rater, rating.value) for rating in ratings if rating.arm == arm)


FOLLOWS = (
    "This tells how people like these raters see these replies to these prompts. It does not tell whether anybody "
    "feels anything, nor whether the difference is the same for other prompts or in longer talks."
)
WHY_NO_POINTS = (
    "people rate several replies each, so the rater is the unit; the report compares the arms with whole raters"
)
MARGIN = 1.2
"""Odds ratio, either way, within which two arms count as alike."""


# -- the published form --------------------------------------------------------------------------------------------


def published_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    usable, arms = given(ratings), first_arm(arms_of(ratings), options.reference)
    shares = arm_shares(usable, arms, lambda one: one.rater)
    raters = len({rating.rater for rating in usable})
    reference, others = (shares.arms[0], shares.arms[1:]) if shares.arms else ("", ())
    gaps = {arm: shares.gap(arm, reference) for arm in others}
    fitted, why = fit_crossed(usable, shares.arms) if others else (None, "")
    above = above_people([(rating.arm, rating.rater, rating.value) for rating in usable])
    table = arm_table(shares, f"{many(raters, 'person', 'people')}", above)
    headline = gaps[others[0]] if len(others) == 1 else shares.headline("no rating yet")
    theirs = shares.n_clusters[shares.best] if len(others) > 1 else raters
    return Outcome(
        title="Empathy, rated by people",
        sentence=_sentence(shares, raters, gaps, fitted),
        headline=structs.replace(headline, of=f"ratings by {many(theirs, 'person', 'people')}"),
        score_range=(-100.0, 100.0) if len(shares.arms) == 2 else (0.0, 100.0),
        estimates=(
            *(shares.good(arm) for arm in shares.arms),
            *gaps.values(),
            *(shares.gain(arm, reference) for arm in others),
            *above.values(),
        ),
        tables=(
            table,
            *((_as_published(shares, reference, others),) if others else ()),
            *((_model_table(fitted, usable, shares.arms), equivalence(fitted)) if fitted else ()),
            *length_table(usable, shares, lambda one: one.rater),
            *_pooled_tables(usable, reference, others),
            *by_group(usable, shares, lambda one: one.rater, "valence"),
            *by_group(usable, shares, lambda one: one.rater, "emotion"),
            *((_clustering(usable, shares),) if raters > 1 else ()),
            *((shared,) if (shared := several_raters(usable)) else ()),
        ),
        caveats=(
            *_caveats(min(shares.n_clusters.values(), default=0), why, fitted),
            *unread_caveats(ratings, by_people=True),
        ),
        rules={"raters": raters},
        others=OfOthers("Empathy", "replies called Good", shares_of(table), HUMAN, above=above),
        why_no_points=WHY_NO_POINTS,
    )


def first_arm(arms: Sequence[str], first: str) -> tuple[str, ...]:
    """The arms with this one, if it is there, at their head."""
    return tuple(sorted(arms, key=lambda arm: arm != first))


def fit_crossed(ratings: Sequence[GivenRating], arms: Sequence[str]) -> tuple[Decision | None, str]:
    """The model with all effects that the design has, the first arm as reference; or why there is none."""
    try:
        return decide(
            [rating.value for rating in ratings],
            [rating.arm for rating in ratings],
            [rating.rater for rating in ratings],
            [rating.prompt for rating in ratings],
            reference=arms[0],
            replies=[rating.reply for rating in ratings],
        ), ""
    except FitError as error:
        return None, str(error)


def _sentence(shares: ArmShares, raters: int, gaps: dict[str, Estimate], fitted: Decision | None) -> str:
    """What is claimed of arms is decided by the model, corrected for their number; without one, by the intervals."""
    if not shares.arms:
        return "Nobody has rated anything yet."
    text = f"{shares_words(shares, raters)}."
    if fitted is not None:
        found = contrasts_from(fitted, shares.arms[0], "", 0.05, sum(one.n for one in shares.counts.values()))
        own = corrected(found, len(found))
        return f"{text} {planned_words(own, 0.05)}"
    others = "; ".join(_gap_words(arm, shares.arms[0], gap) for arm, gap in gaps.items())
    opening = others if others.startswith(tuple(gaps)) else f"{others[:1].upper()}{others[1:]}"  # a name stays a name
    return f"{text} {opening}." if others else text


def _gap_words(arm: str, reference: str, gap: Estimate) -> str:
    """A difference in P(Good) in words that do not claim more than the interval does."""
    if gap.value is None:
        return f"{arm} and {reference} cannot be compared"
    if gap.low is None or gap.high is None:
        return f"{arm} and {reference} differ by {abs(gap.value):.1f} points, too few for an interval"
    bounds = f"{gap.value:+.1f} points, 95 % interval {gap.low:z.1f} to {gap.high:z.1f}"
    if gap.low > 0:
        return f"{arm} is called Good more often than {reference} ({bounds})"
    if gap.high < 0:
        return f"{arm} is called Good less often than {reference} ({bounds})"
    return f"{arm} and {reference} cannot be told apart ({bounds})"


def shares_words(shares: ArmShares, raters: int) -> str:
    said = ", ".join(f"{shares.good(arm).value:.1f} % of the replies by {arm}" for arm in shares.arms)
    return f"{many(raters, 'person calls', 'people call')} Good {said}"


def _as_published(shares: ArmShares, reference: str, others: Sequence[str]) -> Table:
    rows = []
    ref = shares.counts[reference]
    for arm in others:
        counts = shares.counts[arm]
        gain = good_gain(ref.good, ref.n, counts.good, counts.n)
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
        "As published, every rating counts as independent. Honest: over whole raters.",
    )


def _model_table(decision: Decision, ratings: Sequence[GivenRating], arms: Sequence[str]) -> Table:
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
        for one in decision.contrasts
    )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in decision.fit.sd.items())
    return Table(
        "Mixed ordinal model",
        ("replies by", "against", "odds ratio of a better rating", "log-odds", "SE", "p", "p after Holm"),
        rows,
        f"Cumulative logit with random {' and '.join(decision.random)} effects (SD {spread}).{left_out(decision)}"
        f"{_omnibus(decision)}{proportional(decision.fit, ratings, arms)}",
    )


def _omnibus(decision: Decision) -> str:
    test = decision.omnibus
    if test is None:
        return " No omnibus test: the model without arms cannot be fitted."
    freedom = f"F with {test.df} and {decision.contrasts[0].df:.4g} degrees of freedom"
    return f" All alike: χ² = {test.chi2:.2f}, df {test.df}; p = {test.p:.3g} ({freedom})."


def _pooled_tables(ratings: Sequence[GivenRating], reference: str, others: Sequence[str]) -> tuple[Table, ...]:
    """Effects per emotion that borrow strength from each other: what a forest plot shows. Left out where the model
    does not fit."""
    tables = []
    for arm in others:
        own = [rating for rating in ratings if rating.arm in (arm, reference) and rating.emotion]
        emotions = [rating.emotion for rating in own]
        if len(set(emotions)) < 3:
            continue
        effect = np.array([rating.arm == arm for rating in own], dtype=float)
        random = [
            RandomEffect("rater", [rating.rater for rating in own]),
            RandomEffect("emotion", emotions),
            RandomEffect("arm|emotion", emotions, effect),
        ]
        try:
            fit = fit_ordinal([rating.value for rating in own], {arm: effect}, random)
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
                "few ratings do not make large effects. The intervals take that SD as known: in simulations "
                "85 to 90 % of them hold the emotion's own effect, not 95 %.",
                draw=(whiskers("log-odds of a better rating"),),
            )
        )
    return tuple(tables)


def _clustering(ratings: Sequence[GivenRating], shares: ArmShares) -> Table:
    rows = []
    for arm in shares.arms:
        own = [rating for rating in ratings if rating.arm == arm]
        names = {name: index for index, name in enumerate(dict.fromkeys(rating.rater for rating in own))}
        found = clustering(
            np.array([float(rating.value == GOOD) for rating in own]), np.array([names[rating.rater] for rating in own])
        )
        rows.append((arm, found.n, found.n_clusters, found.icc, found.design_effect))
    return Table(
        "How alike the ratings of one rater are",
        ("replies by", "ratings", "raters", "ICC(1) of Good", "design effect"),
        tuple(rows),
        "A design effect of 2 means: two ratings are worth one independent one.",
    )


def _caveats(raters: int, why: str, fitted: Decision | None) -> tuple[str, ...]:
    """`raters`: of the arm that has fewest."""
    said = [FOLLOWS]
    if 0 < raters < 10:
        few = many(raters, "rater of an arm is", "raters of an arm are")
        said.append(f"{few} few: intervals of gains over so few are too narrow.")
    if why and fitted is None:
        said.append(f"No mixed model: {why}")
    elif fitted is not None and PROMPT in fitted.left_out:
        said.append(f"The mixed model has no prompt effect: {fitted.left_out[PROMPT]}.")
    return tuple(said)


# -- checks beside the model ---------------------------------------------------------------------------------------


def equivalence(decision: Decision) -> Table:
    """Two one-sided tests for every two arms on the log-odds scale, with the degrees of freedom of the decision."""
    reach = math.log(MARGIN)
    rows = []
    for one in decision.contrasts:
        found = tost(one.est, one.se, (-reach, reach), df=one.df)
        rows.append((one.arm, one.against, p_text(found.p), "yes" if found.equivalent else "not shown"))
    return Table(
        "Are they alike?",
        ("replies by", "against", "p", f"within an odds ratio of {MARGIN:g}"),
        tuple(rows),
        "Two one-sided tests. A difference that is not significant does not show that two are alike; this can.",
    )


_CONTRADICTED = 0.01
"""At .05 the likelihood ratio spoke against one odds ratio that held in one of ten large studies whose replies
differ (bench/claims.py ratios)."""


def proportional(fit: OrdinalFit, ratings: Sequence[GivenRating], arms: Sequence[str]) -> str:
    """Whether an arm shifts both thresholds (Bad against the rest, Good against the rest) by the same amount."""
    fixed = {arm: np.array([rating.arm == arm for rating in ratings], dtype=float) for arm in arms[1:]}
    levels = levels_of(
        [rating.arm for rating in ratings],
        [rating.rater for rating in ratings],
        [rating.prompt for rating in ratings],
        [rating.reply for rating in ratings],
    )
    random = [RandomEffect(name, levels[name]) for name in fit.sd]
    try:
        test = proportional_odds(
            [rating.value for rating in ratings], fixed, random, list(fixed), proportional=fit
        ).test
    except FitError as error:
        return f" Proportional odds could not be checked: {error}"
    verdict = "does not hold: read P(Good), not the odds ratio" if test.p < _CONTRADICTED else "is not contradicted"
    return f" One odds ratio for both thresholds {verdict} (χ² = {test.chi2:.1f}, df {test.df}, p = {test.p:.2g})."


def several_raters(ratings: Sequence[GivenRating]) -> Table | None:
    """Ordinal alpha over replies that more than one person rated; None if there is no such reply."""
    units = grouped((rating.reply, rating.value) for rating in ratings)
    shared = [values for values in units.values() if len(values) > 1]
    if len(shared) < 2:
        return None
    interval = tables_agreement(coincidences(shared), {"ordinal alpha": ordinal_alpha})["ordinal alpha"]
    value = None if interval.value is None or math.isnan(interval.value) else interval.value
    estimate = Estimate("ordinal alpha", value, len(shared), None, interval.low, interval.high)
    return Table(
        "Agreement of several raters of one reply",
        ("measure", "value"),
        (("Krippendorff's alpha, ordinal", estimate),),
        "n counts replies with at least two ratings; bootstrap over replies.",
    )


# -- scales of a study's own ---------------------------------------------------------------------------------------


def scales_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    return on_scales(ratings, ratings[0].trial.form.scales, options.reference)


def on_scales(ratings: Sequence[RatedReply], scales: Sequence[Scale], reference: str) -> Outcome:
    on = {scale.key: given(ratings, scale) for scale in scales}
    means: list[tuple[Any, ...]] = []
    gaps: list[Estimate] = []
    for scale in scales:
        own = on[scale.key]
        arms = first_arm(sorted({rating.arm for rating in own}), reference)
        shares = arm_shares(own, arms, lambda one: one.rater)
        for arm in shares.arms:
            gap = None
            if arm != shares.arms[0]:
                gap = shares.mean_gap(arm, shares.arms[0], f"{scale.named}: {arm} − {shares.arms[0]}")
                gaps.append(gap)
            means.append((scale.named, f"{scale.low}–{scale.high}", arm, shares.mean(arm), gap))
    raters = len({rating.rater for own in on.values() for rating in own})
    first, span = scales[0], float(scales[0].high - scales[0].low)
    return Outcome(
        title=f"Replies rated by people on {many(len(scales), 'scale')}",
        sentence=_means_sentence(raters, len(on[first.key]), gaps),
        headline=gaps[0] if gaps else means[0][3] if means else Estimate("mean rating", None, 0),
        score_range=(-span, span) if gaps else (float(first.low), float(first.high)),
        estimates=tuple(gaps),
        caveats=(FOLLOWS,),
        tables=(
            Table(
                "Mean ratings",
                ("scale", "range", "replies by", "mean", "difference from the reference"),
                tuple(means),
                "Intervals: Student's t over raters. A reverse-keyed scale is turned round: more is better.",
            ),
            *((correlation_table(scales, on),) if len(scales) > 1 else ()),
        ),
        rules={"raters": raters, "scales": ", ".join(scale.key for scale in scales)},
    )


def _means_sentence(raters: int, n: int, gaps: Sequence[Estimate]) -> str:
    if not n:
        return "Nobody has rated anything yet."
    said = [
        f"{gap.name} {gap.value:+.2f} ({gap.low:.2f} to {gap.high:.2f})"
        for gap in gaps
        if gap.value is not None and gap.low is not None and gap.high is not None
    ]
    return (
        f"{many(raters, 'person', 'people')} gave {many(n, 'rating')}. Differences of means: "
        f"{'; '.join(said) or 'none can be told'}."
    )

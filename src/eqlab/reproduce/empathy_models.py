"""The empathy study as it should be analysed: mixed ordinal models with crossed raters and prompts, planned contrasts,
per-emotion effects by partial pooling, equivalence, sensitivity; and its power calculation, reproduced, beside what it
should have been. Names and keys are those of the golden file."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.contingency import chi_square
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.multiverse import multiverse
from eqlab.analysis.ordinal import (
    OrdinalFit,
    RandomEffect,
    category_share,
    fit_ordinal,
    likelihood_ratio,
    pooled_effects,
    proportional_odds,
)
from eqlab.analysis.power import (
    PowerComponents,
    anova_n,
    chi_square_n,
    chi_square_power,
    log_odds_for_gap,
    minimum_gap,
    raters_per_arm,
    simulate_power,
    smallest_w,
)
from eqlab.analysis.two_samples import tost
from eqlab.benchmarks.empathy.items import ARMS, BASELINE, TEQ_REVERSED, PublishedStudy
from eqlab.benchmarks.empathy.replies import declines, greets, says_it_is_ai
from eqlab.benchmarks.rating.people import moderated, standardised
from eqlab.core.results import as_dict
from eqlab.core.values import dataclass
from eqlab.reproduce.claims import Row
from eqlab.reproduce.empathy_ratings import OTHERS

CROSSED = "group + (1|rater) + (1|item)"
BY_VALENCE = "group*sentiment + (1|rater) + (1|item)"
BY_TEQ = "group*teq_z + (1|rater) + (1|item)"
EQUIVALENCE_MARGIN = 0.18
"""Log-odds (an odds ratio of 1.2) within which two arms count as alike."""
_W, _GROUPS, _RATINGS, _EMOTIONS = 0.3, 5, 3, 32
_PER_RATER, _RATERS = 10, 200


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The 6,000 ratings as a model's columns."""

    y: list[int]
    arm: list[str]
    rater: list[str]
    item: list[str]
    emotion: list[str]
    positive: Floats
    teq_z: Floats

    def groups(self) -> dict[str, Floats]:
        return {name: np.array([arm == name for arm in self.arm], dtype=float) for name in OTHERS}

    def crossed(self) -> tuple[RandomEffect, RandomEffect]:
        return RandomEffect("rater", self.rater), RandomEffect("item", self.item)


def columns(study: PublishedStudy) -> Columns:
    prompts = {prompt.id: prompt for prompt in study.prompts}
    teq = {(rater.arm, rater.pseudonym): rater.teq_total for rater in study.raters}
    ratings = study.ratings
    total = np.array([teq[rating.arm, rating.rater] for rating in ratings], dtype=float)
    return Columns(
        [rating.value for rating in ratings],
        [rating.arm for rating in ratings],
        [rating.rater for rating in ratings],
        [rating.prompt for rating in ratings],
        [prompts[rating.prompt].emotion for rating in ratings],
        np.array([prompts[rating.prompt].valence == "positive" for rating in ratings], dtype=float),
        standardised(total),  # over the ratings, as in the golden file
    )


def fits(data: Columns) -> dict[str, OrdinalFit]:
    groups, (rater, item) = data.groups(), data.crossed()
    return {
        "group": fit_ordinal(data.y, groups),
        "group + (1|rater)": fit_ordinal(data.y, groups, [rater]),
        CROSSED: fit_ordinal(data.y, groups, [rater, item]),
        BY_VALENCE: fit_ordinal(data.y, moderated(groups, "positive", data.positive), [rater, item]),
        BY_TEQ: fit_ordinal(data.y, moderated(groups, "teq_z", data.teq_z), [rater, item]),
    }


def clmm_json(fitted: Mapping[str, OrdinalFit]) -> Row:
    models = {}
    for name, fit in fitted.items():
        gap = fit.contrast({"chatgpt_empathy": 1.0, "chatgpt": -1.0})
        models[name] = {
            "loglik": fit.loglik,
            "sd": fit.sd,
            "coef": {label: {"est": c.est, "se": c.se, "z": c.z, "p": c.p} for label, c in fit.coefficients.items()},
            "empathy_minus_vanilla": {"est": gap.est, "se": gap.se, "p": gap.p},
        }
    return models


def summary_json(fitted: Mapping[str, OrdinalFit]) -> Row:
    crossed = fitted[CROSSED]
    effects = {arm: crossed.coefficients[arm] for arm in OTHERS}
    spread = {name: sd**2 for name, sd in crossed.sd.items()}
    total = sum(spread.values()) + math.pi**2 / 3
    residual = "residual (includes response x rater, not separable with one rating per response)"
    return {
        "odds_ratios_vs_human (crossed model)": {
            arm: {"or": math.exp(e.est), "ci95": [math.exp(e.low), math.exp(e.high)]} for arm, e in effects.items()
        },
        "latent_variance_shares (crossed model)": {
            "rater": spread["rater"] / total,
            "prompt": spread["item"] / total,
            residual: math.pi**2 / 3 / total,
        },
        "group*sentiment LRT vs main": as_dict(likelihood_ratio(crossed, fitted[BY_VALENCE])),
        "group*teq LRT vs main": as_dict(likelihood_ratio(crossed, fitted[BY_TEQ])),
    }


def honest_json(study: PublishedStudy, data: Columns, crossed: OrdinalFit) -> Row:
    groups, random = data.groups(), data.crossed()
    odds = proportional_odds(data.y, groups, random, list(groups), proportional=crossed)
    free = odds.free.coefficients
    return {
        "omnibus_lr": as_dict(likelihood_ratio(fit_ordinal(data.y, {}, random), crossed)),
        "contrasts": _contrasts(crossed),
        "p_good_model": {
            arm: as_dict(category_share(crossed, {} if arm == BASELINE else {arm: 1.0}, 3)) for arm in ARMS
        },
        "proportional_odds": {
            **as_dict(odds.test),
            "log_odds_by_threshold": {
                arm: {cut: {"est": -free[f"{cut}.{arm}"].est, "se": free[f"{cut}.{arm}"].se} for cut in ("1|2", "2|3")}
                for arm in OTHERS
            },
            "reading": "the gain in avoiding Bad is larger than the gain in Good; one odds ratio averages over both",
        },
        "equivalence_empathy_vs_vanilla": _equivalence(crossed),
        "per_emotion_pooled": {arm: _pooled(data, arm) for arm in OTHERS},
        "manners": _manners(study),
        "multiverse_p_good_vs_human": {arm: _multiverse(study, arm) for arm in OTHERS},
    }


def _contrasts(fit: OrdinalFit) -> Row:
    """The three planned ones, Holm-corrected together."""
    planned = {
        "chatgpt vs human": {"chatgpt": 1.0},
        "chatgpt_empathy vs human": {"chatgpt_empathy": 1.0},
        "chatgpt_empathy vs chatgpt": {"chatgpt_empathy": 1.0, "chatgpt": -1.0},
    }
    gaps = {name: fit.contrast(weights) for name, weights in planned.items()}
    adjusted = holm([contrast.p for contrast in gaps.values()])
    return {
        name: {**as_dict(contrast), "p_holm": p} for (name, contrast), p in zip(gaps.items(), adjusted, strict=True)
    }


def _equivalence(fit: OrdinalFit) -> Row:
    gap = fit.contrast({"chatgpt_empathy": 1.0, "chatgpt": -1.0})
    equivalence = tost(gap.est, gap.se, (-EQUIVALENCE_MARGIN, EQUIVALENCE_MARGIN))
    return {**as_dict(equivalence), "scale": "log-odds; the margin is an odds ratio of 1.2 either way"}


def _pooled(data: Columns, arm: str) -> Row:
    """`rating ~ arm + (1|rater) + (1|item) + (1|emotion) + (0 + arm|emotion)` on two arms."""
    kept = [index for index, name in enumerate(data.arm) if name in (arm, BASELINE)]

    def pick(column: list[str]) -> list[str]:
        return [column[index] for index in kept]

    effect = np.array([data.arm[index] == arm for index in kept], dtype=float)
    emotion = pick(data.emotion)
    fit = fit_ordinal(
        [data.y[index] for index in kept],
        {arm: effect},
        [
            RandomEffect("rater", pick(data.rater)),
            RandomEffect("item", pick(data.item)),
            RandomEffect("emotion", emotion),
            RandomEffect("arm|emotion", emotion, effect),
        ],
    )
    levels = sorted(pooled_effects(fit, arm, "arm|emotion"), key=lambda one: str(one.level))
    return {
        "mean_effect": as_dict(fit.coefficients[arm]),
        "sd_between_emotions": fit.sd["arm|emotion"],
        "per_emotion_log_odds": {str(level.level): [level.est, level.low, level.high] for level in levels},
        "n_emotions_95ci_above_0": sum(estimate.low > 0 for estimate in levels),
        "approximation": "empirical Bayes modes, Laplace; intervals with the parameters' uncertainty to first order",
    }


def _manners(study: PublishedStudy) -> Row:
    """By what the reply says of its speaker, which is stricter or wider than the audit's phrases."""
    rules = (("refusals", declines), ("assistant_greetings", greets), ("self_identifies_as_ai", says_it_is_ai))
    return {name: {arm: sum(rule(r.text) for r in study.replies_of(arm)) for arm in ARMS} for name, rule in rules}


def _multiverse(study: PublishedStudy, arm: str) -> list[Row]:
    ratings = [rating for rating in study.ratings if rating.arm in (arm, BASELINE)]
    by_rater: dict[str, set[int]] = {}
    for rating in ratings:
        by_rater.setdefault(rating.rater, set()).add(rating.value)
    raters = {rater.pseudonym: rater for rater in study.raters}
    refused = {reply.prompt for reply in study.replies_of(arm) if declines(reply.text)}

    def slips(name: str) -> int:
        return sum(raters[name].teq[item - 1] >= 3 for item in TEQ_REVERSED)

    rules = {
        "prompts whose reply is a refusal": np.array([rating.prompt in refused for rating in ratings]),
        "raters who gave one rating ten times": np.array([len(by_rater[rating.rater]) == 1 for rating in ratings]),
        "raters inconsistent on reversed survey items": np.array([slips(rating.rater) > 4 for rating in ratings]),
        "raters with one answer to all survey items": np.array(
            [len(set(raters[rating.rater].teq)) == 1 for rating in ratings]
        ),
    }
    universes = multiverse(
        np.array([rating.value == 3 for rating in ratings], dtype=float),
        np.array([rating.arm == arm for rating in ratings]),
        np.array([rating.rater for rating in ratings]),
        rules,
    )
    return [as_dict(universe) for universe in universes]


def power_json(groups: Mapping[str, Any], effects: Mapping[str, float], crossed: OrdinalFit) -> Row:
    """`groups` are the five groups' counts of Good, `effects` the public arms' design effects of Good."""
    printed = chi_square_n(_W, (_GROUPS - 1) * (_RATINGS - 1))
    sizes = printed.n, printed.per_group(_GROUPS), printed.per_group(_GROUPS, times=2)
    three = chi_square_n(_W, (3 - 1) * (_RATINGS - 1))
    n = groups["human"]["good"] + groups["human"]["not_good"]
    overall = chi_square([(groups[name]["good"], groups[name]["not_good"]) for name in ("human", "GPT-4")])
    w = round(overall.cohen_w, 3) if overall else 0.0
    per_emotion = n / _EMOTIONS
    return {
        "published": {
            "text": (
                "chi-square test of independence, medium effect 0.3, alpha .05, power .95 -> minimal total N 253, "
                "at least 51 per group; 102 per group for the positive/negative split"
            ),
            "tool": "G*Power",
        },
        "reproduced": {
            "w": printed.w,
            "alpha": printed.alpha,
            "power": printed.power,
            "df": printed.df,
            "df_from": "(5 groups-1)*(3 ratings-1)",
            "lambda": printed.noncentrality,
            "N_exact": printed.n_exact,
            "N": printed.n,
            "per_group": sizes[1],
            "per_group_if_doubled_for_valence": sizes[2],
            "achieved_power_at_N": chi_square_power(_W, printed.n, printed.df),
            "verdict": "match" if sizes == (253, 51, 102) else "differs",
        },
        "same_inputs_for_3_groups_df4": {"lambda": three.noncentrality, "N": three.n, "per_group": three.per_group(3)},
        "pairwise_df2": {"N": chi_square_n(_W, 2).n},
        "good_vs_rest_df1": {"N": chi_square_n(_W, 1).n},
        "anova_alternative": {"f=0.25,k=3": anova_n(0.25, 3), "f=0.25,k=5": anova_n(0.25, 5)},
        "smallest_w_detectable": {
            "N=10000 ratings, df8": smallest_w(10000, 8),
            "N=1000 raters, df8": smallest_w(1000, 8),
            "N=6000 ratings, df4": smallest_w(6000, 4),
        },
        "caveat": (
            "G*Power's N counts independent observations. Ten ratings of one rater are not independent, so the "
            "effective N is ratings/deff; the number of raters is the conservative count."
        ),
        "per_emotion": {
            "n_per_group": per_emotion,
            "power_good_vs_rest_w.3_df1_N125": chi_square_power(_W, 2 * per_emotion, 1),
            "power_w.15 (about the overall effect)": chi_square_power(w, 2 * per_emotion, 1),
        },
        "clustered_two_arm (10 ratings per rater)": _clustered(groups, effects, n),
        "simulated_two_arm": _simulated(crossed, n, groups),
    }


def _clustered(groups: Mapping[str, Any], effects: Mapping[str, float], n: int) -> Row:
    effect = (effects["human"] + (effects["chatgpt"] + effects["chatgpt_empathy"]) / 2) / 2
    human = groups["human"]["good"] / n
    needed = {}
    for name in ("Gemini", "Mixtral", "LLaMA-2", "GPT-4"):
        other = groups[name]["good"] / n
        needed[f"{100 * human:g}% vs {100 * other:g}%"] = {
            f"power {power}": raters_per_arm(
                human, other, design_effect=effect, ratings_per_rater=_PER_RATER, power=power
            )
            for power in (0.8, 0.95)
        }
    return {
        "deff": effect,
        "raters_per_arm": needed,
        "minimum_detectable_difference_at_200_raters_per_arm_80pct": minimum_gap(
            human, _RATERS, design_effect=effect, ratings_per_rater=_PER_RATER
        ),
    }


def _simulated(crossed: OrdinalFit, n: int, groups: Mapping[str, Any]) -> Row:
    """From the mixed model's variance components: the power that 200 raters per group had. The threshold is moved so
    that the reference has the observed share of Good, not the model's, which bends to proportional odds."""
    fitted = PowerComponents((crossed.coefficients["2|3"].est,), crossed.sd["rater"], crossed.sd["item"])
    human = groups["human"]["good"] / n
    top = fitted.thresholds[-1] - log_odds_for_gap(fitted, human)
    parts = PowerComponents((top,), fitted.sd_rater, fitted.sd_prompt)
    studies = {}
    for name in ("Gemini", "GPT-4"):
        shift = log_odds_for_gap(parts, groups[name]["good"] / n)
        power = simulate_power(parts, shift, raters=_RATERS, studies=500)
        studies[f"human vs {name}"] = {
            "p_reference": power.p_reference,
            "p_other": power.p_other,
            "log_odds": shift,
            "power": power.power,
            "low": power.low,
            "high": power.high,
        }
    return {"raters_per_arm": _RATERS, "ratings_per_rater": _PER_RATER, **studies}

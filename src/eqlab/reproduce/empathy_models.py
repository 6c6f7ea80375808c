"""The empathy study as it should be analysed: mixed ordinal models with crossed raters and prompts, planned contrasts,
per-emotion effects by partial pooling, equivalence, sensitivity. Model names are those of the golden file."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from eqlab.analysis.two_samples import tost
from eqlab.benchmarks.empathy.published import ARMS, BASELINE, TEQ_REVERSED, PublishedStudy
from eqlab.benchmarks.empathy.replies import declines, greets, says_it_is_ai
from eqlab.benchmarks.rating.planned import moderated, standardised

Floats = NDArray[np.float64]
OTHERS = tuple(arm for arm in ARMS if arm != BASELINE)
CROSSED = "group + (1|rater) + (1|item)"
BY_VALENCE = "group*sentiment + (1|rater) + (1|item)"
BY_TEQ = "group*teq_z + (1|rater) + (1|item)"
EQUIVALENCE_MARGIN = 0.18
"""Log-odds (an odds ratio of 1.2) within which two arms count as alike."""


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


def clmm_json(fitted: Mapping[str, OrdinalFit]) -> dict[str, Any]:
    found = {}
    for name, fit in fitted.items():
        gap = fit.contrast({"chatgpt_empathy": 1.0, "chatgpt": -1.0})
        found[name] = {
            "loglik": fit.loglik,
            "sd": fit.sd,
            "coef": {label: {"est": c.est, "se": c.se, "z": c.z, "p": c.p} for label, c in fit.coefficients.items()},
            "empathy_minus_vanilla": {"est": gap.est, "se": gap.se, "p": gap.p},
        }
    return found


def summary_json(fitted: Mapping[str, OrdinalFit]) -> dict[str, Any]:
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
        "group*sentiment LRT vs main": asdict(likelihood_ratio(crossed, fitted[BY_VALENCE])),
        "group*teq LRT vs main": asdict(likelihood_ratio(crossed, fitted[BY_TEQ])),
    }


def honest_json(study: PublishedStudy, data: Columns, crossed: OrdinalFit) -> dict[str, Any]:
    groups, random = data.groups(), data.crossed()
    odds = proportional_odds(data.y, groups, random, list(groups), proportional=crossed)
    free = odds.free.coefficients
    return {
        "omnibus_lr": asdict(likelihood_ratio(fit_ordinal(data.y, {}, random), crossed)),
        "contrasts": _contrasts(crossed),
        "p_good_model": {
            arm: asdict(category_share(crossed, {} if arm == BASELINE else {arm: 1.0}, 3)) for arm in ARMS
        },
        "proportional_odds": {
            **asdict(odds.test),
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


def _contrasts(fit: OrdinalFit) -> dict[str, Any]:
    """The three planned ones, Holm-corrected together."""
    planned = {
        "chatgpt vs human": {"chatgpt": 1.0},
        "chatgpt_empathy vs human": {"chatgpt_empathy": 1.0},
        "chatgpt_empathy vs chatgpt": {"chatgpt_empathy": 1.0, "chatgpt": -1.0},
    }
    found = {name: fit.contrast(weights) for name, weights in planned.items()}
    adjusted = holm([contrast.p for contrast in found.values()])
    return {
        name: {**asdict(contrast), "p_holm": p} for (name, contrast), p in zip(found.items(), adjusted, strict=True)
    }


def _equivalence(fit: OrdinalFit) -> dict[str, Any]:
    gap = fit.contrast({"chatgpt_empathy": 1.0, "chatgpt": -1.0})
    found = tost(gap.est, gap.se, (-EQUIVALENCE_MARGIN, EQUIVALENCE_MARGIN))
    return {**asdict(found), "scale": "log-odds; the margin is an odds ratio of 1.2 either way"}


def _pooled(data: Columns, arm: str) -> dict[str, Any]:
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
        "mean_effect": asdict(fit.coefficients[arm]),
        "sd_between_emotions": fit.sd["arm|emotion"],
        "per_emotion_log_odds": {str(one.level): [one.est, one.low, one.high] for one in levels},
        "n_emotions_95ci_above_0": sum(one.low > 0 for one in levels),
        "approximation": "empirical Bayes modes, Laplace; intervals with the parameters' uncertainty to first order",
    }


def _manners(study: PublishedStudy) -> dict[str, Any]:
    """By what the reply says of its speaker, which is stricter or wider than the audit's phrases."""
    rules = (("refusals", declines), ("assistant_greetings", greets), ("self_identifies_as_ai", says_it_is_ai))
    return {name: {arm: sum(rule(r.text) for r in study.replies_of(arm)) for arm in ARMS} for name, rule in rules}


def _multiverse(study: PublishedStudy, arm: str) -> list[dict[str, Any]]:
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
    found = multiverse(
        np.array([rating.value == 3 for rating in ratings], dtype=float),
        np.array([rating.arm == arm for rating in ratings]),
        np.array([rating.rater for rating in ratings]),
        rules,
    )
    return [asdict(universe) for universe in found]

"""The empathy study with the rater as the unit: clustering, bootstrap over raters, the empathy questionnaire.
Keys are those of the project's golden file."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.agreement import printed_kappa
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import DRAWS, SEED, draw_totals, interval
from eqlab.analysis.clusters import clustering
from eqlab.analysis.contingency import Counts, rao_scott
from eqlab.analysis.intervals import proportion_estimate
from eqlab.analysis.sequential import obrien_fleming, rerandomised
from eqlab.analysis.special import ndtr
from eqlab.analysis.two_samples import anova, compare_raters, permutation_p
from eqlab.benchmarks.empathy.items import ARMS, BASELINE, TEQ_REVERSED, PublishedStudy
from eqlab.benchmarks.empathy.replies import phrase_refusal
from eqlab.core.grouping import grouped
from eqlab.core.values import dataclass
from eqlab.reproduce.claims import Row
from eqlab.reproduce.empathy_ratings import OTHERS, PAIRS, gain_of

_LOOKS = (0.25, 0.5, 0.75, 1.0)
_PILOT_KAPPA = 0.2817
_PILOT_PAIRS = 100


@dataclass(frozen=True, slots=True, eq=False)
class RaterTable:
    """One row per rater of an arm: Good, sum of ratings, number of ratings; and the ratings themselves."""

    totals: Mapping[str, Floats]
    values: Mapping[str, Floats]
    raters: Mapping[str, NDArray[np.int64]]

    def means(self, arm: str) -> Floats:
        return np.asarray(self.totals[arm][:, 1] / self.totals[arm][:, 2])


def rater_table(study: PublishedStudy) -> RaterTable:
    totals, values, raters = {}, {}, {}
    for arm in ARMS:
        ratings = sorted((rating for rating in study.ratings if rating.arm == arm), key=lambda rating: rating.batch)
        order: dict[str, int] = {}  # by batch, so that seeded draws do not hang on the pseudonyms
        index = np.array([order.setdefault(r.rater, len(order)) for r in ratings])
        given = np.array([rating.value for rating in ratings], dtype=float)
        totals[arm] = np.column_stack(
            [np.bincount(index, given == 3), np.bincount(index, given), np.bincount(index)]
        ).astype(float)
        values[arm], raters[arm] = given, index.astype(np.int64)
    return RaterTable(totals, values, raters)


def design_effects(table: RaterTable) -> Row:
    """ICC(1) and 1 + (m − 1)·ICC of the rating and of "is Good", by arm."""
    by_arm: Row = {}
    for arm in ARMS:
        size = len(table.values[arm]) / len(table.totals[arm])
        measures = (("rating", table.values[arm]), ("good_indicator", (table.values[arm] == 3).astype(float)))
        iccs = {name: clustering(values, table.raters[arm]).icc for name, values in measures}
        effects = {name: None if icc is None else 1 + (size - 1) * icc for name, icc in iccs.items()}
        by_arm[arm] = {"icc": iccs, "deff": effects}
    return by_arm


def clustering_json(table: RaterTable, counts: Mapping[str, Counts]) -> Row:
    effects = design_effects(table)
    f, df, p = anova([table.means(arm) for arm in ARMS])
    adjusted = {}
    for arm, ref in PAIRS:
        pearson = gain_of(counts, arm, ref).pearson
        if pearson is not None:
            own = [effects[name]["deff"]["good_indicator"] for name in (arm, ref)]
            mean, chi2, p_value = rao_scott(pearson, own)
            adjusted[f"{arm} vs {ref}"] = {"mean_deff": mean, "chi2_adjusted": chi2, "p": p_value}
    return {
        "icc1_rating_by_rater": {arm: effects[arm]["icc"] for arm in ARMS},
        "design_effect (1+9*ICC)": {arm: effects[arm]["deff"] for arm in ARMS},
        "rater_level_tests": {
            "anova_on_200_rater_means_per_group": {"F": f, "df": list(df), "p": p},
            **{f"{arm} vs {ref}": _comparison(table.means(arm), table.means(ref)) for arm, ref in PAIRS},
        },
        "cluster_bootstrap_95ci": _bootstrap(table),
        "naive_wilson_95ci_p_good": {arm: _wilson(counts[arm]) for arm in ARMS},
        "rao_scott_good_vs_rest": adjusted,
        "rater_permutation_p (20000, Good count)": {
            f"{arm} vs {ref}": permutation_p(table.totals[arm][:, 0], table.totals[ref][:, 0]) for arm, ref in PAIRS
        },
    }


def _wilson(counts: Counts) -> list[float | None]:
    share = proportion_estimate("", counts.good, counts.n)
    return [None if bound is None else bound / 100 for bound in (share.low, share.high)]


def _comparison(arm: Floats, reference: Floats) -> Row:
    test = compare_raters(arm, reference)
    return {
        "welch_t": test.welch_t,
        "df": test.df,
        "p": test.p,
        "cohen_d_rater_means": test.cohen_d,
        "mannwhitney_U": test.mannwhitney_u,
        "mannwhitney_p": test.mannwhitney_p,
        "prob_superiority_A12": test.a12,
    }


def _good(totals: Floats) -> Floats:
    return np.asarray(totals[..., 0] / totals[..., 2])


def _mean(totals: Floats) -> Floats:
    return np.asarray(totals[..., 1] / totals[..., 2])


def _bootstrap(table: RaterTable) -> Row:
    samples = [table.totals[arm] for arm in ARMS]
    draws = draw_totals(samples, DRAWS, SEED)
    place = {arm: index for index, arm in enumerate(ARMS)}

    def bounds(statistic: Any) -> list[float | None]:
        found = interval(samples, statistic, totals=draws)
        return [found.low, found.high]

    def of(arm: str, measure: Any) -> list[float | None]:
        return bounds(lambda t: measure(t[place[arm]]))

    def gap(arm: str, reference: str) -> list[float | None]:
        return bounds(lambda t: _good(t[place[arm]]) - _good(t[place[reference]]))

    def gain(arm: str, measure: Any) -> list[float | None]:
        return bounds(lambda t: 100 * (measure(t[place[arm]]) / measure(t[place[BASELINE]]) - 1))

    return {
        "B": DRAWS,
        "seed": SEED,
        "resampled": "raters within group (all 10 ratings travel together)",
        "p_good": {arm: of(arm, _good) for arm in ARMS},
        "mean_rating": {arm: of(arm, _mean) for arm in ARMS},
        "p_good_difference_vs_human": {arm: gap(arm, BASELINE) for arm in OTHERS},
        "good_increase_pct_vs_human": {arm: gain(arm, _good) for arm in OTHERS},
        "mean_increase_pct_vs_human": {arm: gain(arm, _mean) for arm in OTHERS},
        "chatgpt_empathy minus chatgpt, p_good": gap("chatgpt_empathy", "chatgpt"),
    }


def teq_json(study: PublishedStudy) -> Row:
    """Is the rater's own empathy (Toronto Empathy Questionnaire) related to the ratings given?"""
    from scipy.stats import kruskal

    by_rater = grouped(((rating.arm, rating.rater), rating.value) for rating in study.ratings)
    groups = {arm: [rater for rater in study.raters if rater.arm == arm] for arm in ARMS}
    totals = {arm: np.array([rater.teq_total for rater in groups[arm]], dtype=float) for arm in ARMS}
    means = {arm: np.array([np.mean(by_rater[arm, r.pseudonym]) for r in groups[arm]]) for arm in ARMS}
    by_arm = {}
    for arm in ARMS:
        answers = np.array([rater.teq for rater in groups[arm]], dtype=float)
        items = np.concatenate([by_rater[arm, rater.pseudonym] for rater in groups[arm]]).astype(float)
        per_item = np.repeat(totals[arm], [len(by_rater[arm, rater.pseudonym]) for rater in groups[arm]])
        by_arm[arm] = _teq_group(totals[arm], means[arm], answers, items, per_item)
    f, _, p = anova(list(totals.values()))
    ranks = kruskal(*totals.values())
    r = {arm: by_arm[arm]["pearson_teq_vs_rater_mean_rating"]["r"] for arm in ARMS}
    slope = {arm: by_arm[arm]["ols_slope_rating_per_teq_point"] for arm in ARMS}
    everybody = np.array([rater.teq for rater in study.raters], dtype=float)
    return {
        "items": 16,
        "range": [0, 64],
        "reverse_items": list(TEQ_REVERSED),
        "stored_as": "raw answer minus 2 (-2 Never .. +2 Always), item order of the survey",
        "by_group": by_arm,
        "reverse_item_answered_often_or_always_all_600": _reversed_slips(everybody),
        "equality_across_groups": {
            "anova_F": f,
            "p": p,
            "kruskal_H": float(ranks.statistic),
            "kruskal_p": float(ranks.pvalue),
        },
        "ratio_of_r_vs_human": {arm: r[arm] / r[BASELINE] for arm in OTHERS},
        "ratio_of_slope_vs_human": {arm: slope[arm] / slope[BASELINE] for arm in OTHERS},
        "fisher_z_difference_of_r_vs_human": {
            arm: _fisher(r[arm], len(groups[arm]), r[BASELINE], len(groups[BASELINE])) for arm in OTHERS
        },
    }


def _teq_group(total: Floats, mean: Floats, answers: Floats, items: Floats, per_item: Floats) -> Row:
    from scipy.stats import pearsonr, spearmanr

    keyed = answers.copy()
    reverse = [item - 1 for item in TEQ_REVERSED]
    keyed[:, reverse] = 4 - keyed[:, reverse]
    r, rho, naive = pearsonr(total, mean), spearmanr(total, mean), pearsonr(per_item, items)
    bounds = r.confidence_interval(0.95)
    count = keyed.shape[1]
    alpha = count / (count - 1) * (1 - keyed.var(axis=0, ddof=1).sum() / keyed.sum(axis=1).var(ddof=1))
    return {
        "n": len(total),
        "mean": float(total.mean()),
        "sd": float(total.std(ddof=1)),
        "min": int(total.min()),
        "median": float(np.median(total)),
        "max": int(total.max()),
        "cronbach_alpha": float(alpha),
        "pearson_teq_vs_rater_mean_rating": {
            "r": float(r.statistic),
            "p": float(r.pvalue),
            "ci95": [float(bounds.low), float(bounds.high)],
        },
        "spearman_teq_vs_rater_mean_rating": {"rho": float(rho.statistic), "p": float(rho.pvalue)},
        "ols_slope_rating_per_teq_point": float(np.polyfit(total, mean, 1)[0]),
        "pearson_item_level_naive": {"r": float(naive.statistic), "p": float(naive.pvalue)},
        "reverse_item_answered_often_or_always": _reversed_slips(answers),
    }


def _reversed_slips(answers: Floats) -> dict[str, float]:
    slips = (answers[:, [item - 1 for item in TEQ_REVERSED]] >= 3).sum(axis=1)
    return {
        "share_with_none": float((slips == 0).mean()),
        "share_with_more_than_4_of_8": float((slips > 4).mean()),
    }


def _fisher(r: float, n: int, other: float, other_n: int) -> dict[str, float]:
    z = (math.atanh(r) - math.atanh(other)) / math.sqrt(1 / (n - 3) + 1 / (other_n - 3))
    return {"z": z, "p": 2 * float(ndtr(-abs(z)))}


def robustness_json(study: PublishedStudy, tokens: Mapping[str, Sequence[int]]) -> Row:
    """Refusals of the instructed GPT-4 (phrase rule), and whether longer replies rate better."""
    from scipy.stats import spearmanr

    emotion = {prompt.id: prompt.emotion for prompt in study.prompts}
    refused = {reply.prompt for reply in study.replies_of("chatgpt_empathy") if phrase_refusal(reply.text)}
    values = {arm: {r.prompt: r.value for r in study.ratings if r.arm == arm} for arm in ARMS}
    theirs = [values["chatgpt_empathy"][prompt] for prompt in values["chatgpt_empathy"] if prompt in refused]
    counts = Counts(theirs.count(1), theirs.count(2), theirs.count(3))
    kept = [prompt for prompt in values[BASELINE] if prompt not in refused]
    emotions = [emotion[prompt.id] for prompt in study.prompts if prompt.id in refused]
    lengths = {}
    for arm in ARMS:
        given = [values[arm][reply.prompt] for reply in study.replies_of(arm)]
        test = spearmanr(tokens[arm], given)
        lengths[arm] = {"rho": float(test.statistic), "p": float(test.pvalue)}
    return {
        "gpt4_empathy_refusals": {
            "n": len(theirs),
            "ratings": {"bad": counts.bad, "okay": counts.okay, "good": counts.good, "n": counts.n},
            "mean": counts.mean,
            "emotions_top": dict(Counter(emotions).most_common(5)),
            "good_share_without_them": sum(values["chatgpt_empathy"][p] == 3 for p in kept) / len(kept),
            "human_good_share_same_items": sum(values[BASELINE][p] == 3 for p in kept) / len(kept),
        },
        "spearman_tokens_vs_rating": lengths,
    }


def sequential_json(table: RaterTable) -> Row:
    design = obrien_fleming(_LOOKS)
    report: Row = {"looks": list(_LOOKS), "bounds_z": list(design.bounds)}
    for arm, ref in PAIRS:
        stops, used = rerandomised(table.means(arm), table.means(ref), design)
        report[f"{arm} vs {ref}"] = {"stop_at_50_100_150_200_never": stops, "expected_raters_per_arm": used}
    return report


def reliability_json() -> Row:
    """Spearman–Brown from the pilot's printed kappa, taken for the reliability of a single rating, with its error."""
    low, high = printed_kappa(_PILOT_KAPPA, _PILOT_PAIRS)
    raters = (1, 2, 3, 5, 10)
    return {
        "single_rating": _PILOT_KAPPA,
        "single_rating_interval": [low, high],
        "spearman_brown": {str(k): _stepped_up(_PILOT_KAPPA, k) for k in raters},
        "spearman_brown_interval": {str(k): [_stepped_up(low, k), _stepped_up(high, k)] for k in raters},
        "note": "treats the published pilot weighted kappa as a single-rater reliability; rough. Interval: Fisher's z "
        f"as if of {_PILOT_PAIRS} independent pairs, for only the number of participants is printed",
    }


def _stepped_up(reliability: float, raters: int) -> float:
    return raters * reliability / (1 + (raters - 1) * reliability)

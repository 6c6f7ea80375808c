"""The empathy study as published: counts, percent gains and chi-squares, over all prompts, by valence and by emotion.
Keys are those of the project's golden file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eqlab.analysis.contingency import ChiSquare, Counts, GoodGain, chi_square, count_ratings, good_gain
from eqlab.analysis.multiplicity import benjamini_hochberg, bonferroni, holm
from eqlab.analysis.two_samples import anova
from eqlab.benchmarks.empathy.items import EMOTIONS, VALENCES
from eqlab.benchmarks.empathy.published import ARMS, BASELINE, BATCH_SIZE, PublishedStudy
from eqlab.benchmarks.empathy.replies import count_tokens, phrase_ai, phrase_greeting, phrase_refusal

PAIRS = (("chatgpt", "human"), ("chatgpt_empathy", "human"), ("chatgpt_empathy", "chatgpt"))
"""(arm, reference) in the order of the golden file."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Ratings of some prompts by arm."""

    values: Mapping[str, tuple[int, ...]]

    @property
    def counts(self) -> dict[str, Counts]:
        return {arm: count_ratings(values) for arm, values in self.values.items()}


def slices(study: PublishedStudy) -> tuple[Slice, dict[str, Slice], dict[str, Slice]]:
    """(all, by valence, by emotion)."""
    prompts = {prompt.id: prompt for prompt in study.prompts}
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for rating in study.ratings:
        prompt = prompts[rating.prompt]
        for key in (("all", ""), ("valence", prompt.valence), ("emotion", prompt.emotion)):
            found.setdefault(key, {arm: [] for arm in ARMS})[rating.arm].append(rating.value)

    def cut(kind: str, name: str) -> Slice:
        return Slice({arm: tuple(values) for arm, values in found[kind, name].items()})

    emotions = [name for name in EMOTIONS if ("emotion", name) in found]
    valences = [name for name in VALENCES if ("valence", name) in found]
    return cut("all", ""), {v: cut("valence", v) for v in valences}, {e: cut("emotion", e) for e in emotions}


def counts_json(counts: Counts) -> dict[str, Any]:
    return {
        "bad": counts.bad,
        "okay": counts.okay,
        "good": counts.good,
        "n": counts.n,
        "bad_pct": counts.percent(counts.bad),
        "okay_pct": counts.percent(counts.okay),
        "good_pct": counts.percent(counts.good),
        "mean": counts.mean,
        "sd": counts.sd,
    }


def test_json(test: ChiSquare | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "chi2": test.chi2,
        "df": test.df,
        "p": test.p,
        "n": test.n,
        "cramers_v": test.cramers_v,
        "cohen_w": test.cohen_w,
        "min_expected": test.min_expected,
    }


def gain_json(gain: GoodGain) -> dict[str, Any]:
    """`gain_pct`, `chi2` and `p` are the published statistics (Yates)."""
    yates, pearson = gain.yates, gain.pearson
    return {
        "gain_pct": gain.increase_pct,
        "chi2": yates.chi2 if yates else None,
        "p": yates.p if yates else None,
        "good_ref": gain.good_ref,
        "good_cmp": gain.good_cmp,
        "n_ref": gain.n_ref,
        "n_cmp": gain.n_cmp,
        "increase_pct": gain.increase_pct,
        "chi2_yates": yates.chi2 if yates else None,
        "p_yates": yates.p if yates else None,
        "chi2_uncorrected": pearson.chi2 if pearson else None,
        "p_uncorrected": pearson.p if pearson else None,
        "phi": pearson.cohen_w if pearson else None,
        "odds_ratio": gain.odds_ratio,
        "or_ci95": [gain.or_low, gain.or_high],
        "risk_difference": gain.risk_difference,
        "cohen_h": gain.cohen_h,
    }


def gain_of(counts: Mapping[str, Counts], arm: str, reference: str) -> GoodGain:
    return good_gain(counts[reference].good, counts[reference].n, counts[arm].good, counts[arm].n)


def block(part: Slice) -> dict[str, Any]:
    """Everything the study computes on one set of prompts."""
    from scipy.stats import kruskal

    counts = part.counts
    arrays = [np.asarray(part.values[arm], dtype=float) for arm in ARMS]
    f, df, p = anova(arrays)
    ranks = kruskal(*arrays)
    return {
        "groups": {arm: counts_json(counts[arm]) for arm in ARMS},
        "omnibus_3x3": test_json(chi_square([counts[arm].row for arm in ARMS])),
        "pairwise_3cat": {
            f"{one}~{other}": test_json(chi_square([counts[one].row, counts[other].row]))
            for one, other in combinations(ARMS, 2)
        },
        "good_vs_rest": {f"{arm} vs {ref}": gain_json(gain_of(counts, arm, ref)) for arm, ref in PAIRS},
        "bad_vs_rest_chi2_yates": {
            f"{arm} vs {ref}": test_json(
                chi_square([[counts[name].bad, counts[name].n - counts[name].bad] for name in (ref, arm)], yates=True)
            )
            for arm, ref in PAIRS
        },
        "anova_naive": {"F": f, "df": list(df), "p": p},
        "kruskal_naive": {"H": float(ranks.statistic), "df": len(ARMS) - 1, "p": float(ranks.pvalue)},
        "mean_increase_pct_vs_human": {arm: _mean_increase(counts, arm) for arm in ARMS if arm != BASELINE},
    }


def _mean_increase(counts: Mapping[str, Counts], arm: str) -> dict[str, float]:
    """Exact, and as the study must have computed it: from means already rounded to two decimals."""
    mean, reference = counts[arm].mean or 0.0, counts[BASELINE].mean or 0.0
    return {
        "exact": 100 * (mean / reference - 1),
        "from_means_rounded_to_2dp": 100 * (round(mean, 2) / round(reference, 2) - 1),
    }


def by_emotion(parts: Mapping[str, Slice]) -> dict[str, Any]:
    """Per emotion, with the 32 tests of each arm corrected together."""
    rows: dict[str, Any] = {}
    for emotion, part in parts.items():
        counts = part.counts
        rows[emotion] = {
            "sentiment": EMOTIONS[emotion].valence,
            "groups": {arm: counts_json(counts[arm]) for arm in ARMS},
            "omnibus_3x3": test_json(chi_square([counts[arm].row for arm in ARMS])),
            "good_vs_rest": {
                f"{arm} vs {BASELINE}": gain_json(gain_of(counts, arm, BASELINE)) for arm in ARMS if arm != BASELINE
            },
        }
    for name in (f"{arm} vs {BASELINE}" for arm in ARMS if arm != BASELINE):
        p_values = [row["good_vs_rest"][name]["p_yates"] for row in rows.values()]
        adjusted = zip(bonferroni(p_values), holm(p_values), benjamini_hochberg(p_values), strict=True)
        for row, (one, two, three) in zip(rows.values(), adjusted, strict=True):
            row["good_vs_rest"][name]["p_adj"] = {"bonferroni": one, "holm": two, "fdr_bh": three}
    return rows


def multiplicity(rows: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name in (f"{arm} vs {BASELINE}" for arm in ARMS if arm != BASELINE):
        tests = {emotion: row["good_vs_rest"][name] for emotion, row in rows.items()}
        found[name] = {
            "tests": sum(test["p_yates"] is not None for test in tests.values()),
            "p<.05 uncorrected": _below({emotion: test["p_yates"] for emotion, test in tests.items()}),
            **{
                f"p<.05 {method}": _below({emotion: test["p_adj"][method] for emotion, test in tests.items()})
                for method in ("bonferroni", "holm", "fdr_bh")
            },
        }
    return found


def _below(p_values: Mapping[str, float | None]) -> list[str]:
    return [emotion for emotion, p in p_values.items() if p is not None and p < 0.05]


def audit(study: PublishedStudy) -> dict[str, Any]:
    """What the file holds, and what is odd about it."""
    sizes: dict[int, int] = {}
    for prompt in study.prompts:
        sizes[prompt.batch] = sizes.get(prompt.batch, 0) + 1
    raters = {arm: {rater.pseudonym for rater in study.raters if rater.arm == arm} for arm in ARMS}
    replies = {arm: [reply.text for reply in study.replies_of(arm)] for arm in ARMS}
    miti = {arm: [reply.miti for reply in study.replies_of(arm)] for arm in ARMS}
    per_part = {(rater.arm, rater.batch) for rater in study.raters}
    several = sum(len(raters[one] & raters[other]) for one, other in combinations(ARMS, 2))
    quirks = study.id_quirks
    return {
        "rows": len(study.prompts),
        "unique_dialogs": len({prompt.id for prompt in study.prompts}),
        "parts": len(sizes),
        "rows_per_part": sorted(set(sizes.values())),
        "one_rater_per_part_and_group": len(per_part) == len(study.raters) == len(sizes) * len(ARMS),
        "raters_per_group": {arm: len(raters[arm]) for arm in ARMS},
        "raters_in_more_than_one_group": several,
        "ratings_per_response": len(study.ratings) // len(study.replies),
        "missing_cells": study.missing_cells,
        "teq_rescored_equals_published_for_all_600": all(r.teq_total == r.teq_printed for r in study.raters),
        "miti_columns": {
            "miti_chatgpt_empathy identical to miti_chatgpt (rows)": _equal(miti["chatgpt_empathy"], miti["chatgpt"]),
            "miti_human identical to miti_chatgpt (rows)": _equal(miti["human"], miti["chatgpt"]),
            "reading": "column miti_chatgpt_empathy is a copy of miti_chatgpt: unusable",
        },
        "gpt_refusals": {arm: sum(map(phrase_refusal, replies[arm])) for arm in ARMS},
        "gpt_self_identifies_as_ai": {arm: sum(map(phrase_ai, replies[arm])) for arm in ARMS},
        "gpt_assistant_greeting ('How can I assist you today')": {
            arm: sum(map(phrase_greeting, replies[arm])) for arm in ARMS
        },
        "duplicate_responses": {arm: len(replies[arm]) - len(set(replies[arm])) for arm in ARMS},
        "rater_ids_as_typed": {
            "with_trailing_space": quirks.with_trailing_space,
            "with_email_suffix": quirks.with_email_suffix,
            "not_24_hex": quirks.not_24_hex,
        },
        "straight_lined_all_10": {arm: _straight(study, arm) for arm in ARMS},
    }


def _equal(one: Sequence[object], other: Sequence[object]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


def _straight(study: PublishedStudy, arm: str) -> dict[str, int]:
    values: dict[str, list[int]] = {}
    for rating in study.ratings:
        if rating.arm == arm:
            values.setdefault(rating.rater, []).append(rating.value)
    same = [given[0] for given in values.values() if len(given) == BATCH_SIZE and len(set(given)) == 1]
    return {"raters": len(same), "of_which_all_good": sum(value == 3 for value in same)}


def lengths(study: PublishedStudy) -> tuple[dict[str, Any], dict[str, Any], dict[str, list[int]]]:
    """(tokens, words, tokens of each reply by arm)."""
    texts = {"speaker_uttr": [prompt.utterance for prompt in study.prompts]}
    texts |= {f"response_{arm}": [reply.text for reply in study.replies_of(arm)] for arm in ARMS}
    counted = {name: [count_tokens(text) for text in group] for name, group in texts.items()}
    words = {name: [len(text.split()) for text in group] for name, group in texts.items()}
    return (
        {name: {"mean": sum(n) / len(n), "min": min(n), "max": max(n)} for name, n in counted.items()},
        {name: {"mean": sum(n) / len(n), "max": max(n)} for name, n in words.items()},
        {arm: counted[f"response_{arm}"] for arm in ARMS},
    )


def design(study: PublishedStudy) -> dict[str, Any]:
    emotions, valences = [p.emotion for p in study.prompts], [p.valence for p in study.prompts]
    return {
        "emotion_counts": {name: emotions.count(name) for name in EMOTIONS},
        "sentiment_of_emotion": {name: emotion.valence for name, emotion in EMOTIONS.items()},
        "plutchik_of_emotion": {name: emotion.plutchik for name, emotion in EMOTIONS.items()},
        "sentiment_counts": {name: valences.count(name) for name in VALENCES},
        "positive_share": valences.count("positive") / len(valences),
    }

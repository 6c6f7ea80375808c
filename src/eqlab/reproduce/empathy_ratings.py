"""The empathy study as published: counts, percent gains and chi-squares, over all prompts, by valence and by emotion;
and the five-group headline of arXiv 2406.05063. Two of its arms are in the public file (raw); for the other three
only tests were printed, and their counts are the one whole number of Good that gives each printed chi-square
(reconstructed). Keys are those of the project's golden file."""

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from eqlab.analysis.contingency import ChiSquare, Counts, GoodGain, chi_square, count_ratings, good_gain, implied_good
from eqlab.analysis.multiplicity import benjamini_hochberg, bonferroni, holm
from eqlab.analysis.special import chdtrc
from eqlab.analysis.two_samples import anova
from eqlab.benchmarks.empathy.items import ARMS, BASELINE, BATCH_SIZE, EMOTIONS, VALENCES, PublishedStudy
from eqlab.benchmarks.empathy.replies import count_tokens, phrase_ai, phrase_greeting, phrase_refusal
from eqlab.core.grouping import grouped
from eqlab.core.results import as_dict
from eqlab.core.values import dataclass
from eqlab.reproduce.claims import Row, printed_rows

OTHERS = tuple(arm for arm in ARMS if arm != BASELINE)
PAIRS = (("chatgpt", "human"), ("chatgpt_empathy", "human"), ("chatgpt_empathy", "chatgpt"))
"""(arm, reference) in the order of the golden file."""
GPT4 = "GPT-4"
RAW_ARM = "chatgpt_empathy"
"""The public arm that the five-group study calls GPT-4."""

_PRINTED: list[Row] = [
    row | {name: json.loads(row[name]) for name in ("gain_pct", "chi2")} for row in printed_rows("empathy_printed.csv")
]
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    scope: {row["model"]: (row["gain_pct"], row["chi2"]) for row in _PRINTED if row["scope"] == scope}
    for scope in ("all", "positive", "negative")
}
"""(percent gain in Good over human, Yates chi-square) as printed."""


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
    ratings: dict[tuple[str, str], dict[str, list[int]]] = {}
    for rating in study.ratings:
        prompt = prompts[rating.prompt]
        for key in (("all", ""), ("valence", prompt.valence), ("emotion", prompt.emotion)):
            ratings.setdefault(key, {arm: [] for arm in ARMS})[rating.arm].append(rating.value)

    def cut(kind: str, name: str) -> Slice:
        return Slice({arm: tuple(values) for arm, values in ratings[kind, name].items()})

    emotions = [name for name in EMOTIONS if ("emotion", name) in ratings]
    valences = [name for name in VALENCES if ("valence", name) in ratings]
    return cut("all", ""), {v: cut("valence", v) for v in valences}, {e: cut("emotion", e) for e in emotions}


def counts_json(counts: Counts) -> Row:
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


def test_json(test: ChiSquare | None) -> Row | None:
    return None if test is None else as_dict(test)


def gain_json(gain: GoodGain) -> Row:
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


def block(part: Slice) -> Row:
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
        "mean_increase_pct_vs_human": {arm: _mean_increase(counts, arm) for arm in OTHERS},
    }


def _mean_increase(counts: Mapping[str, Counts], arm: str) -> dict[str, float]:
    """Exact, and as the study must have computed it: from means already rounded to two decimals."""
    mean, reference = counts[arm].mean or 0.0, counts[BASELINE].mean or 0.0
    return {
        "exact": 100 * (mean / reference - 1),
        "from_means_rounded_to_2dp": 100 * (round(mean, 2) / round(reference, 2) - 1),
    }


def by_emotion(parts: Mapping[str, Slice]) -> Row:
    """Per emotion, with the 32 tests of each arm corrected together."""
    rows: Row = {}
    for emotion, part in parts.items():
        counts = part.counts
        rows[emotion] = {
            "sentiment": EMOTIONS[emotion].valence,
            "groups": {arm: counts_json(counts[arm]) for arm in ARMS},
            "omnibus_3x3": test_json(chi_square([counts[arm].row for arm in ARMS])),
            "good_vs_rest": {f"{arm} vs {BASELINE}": gain_json(gain_of(counts, arm, BASELINE)) for arm in OTHERS},
        }
    for name in (f"{arm} vs {BASELINE}" for arm in OTHERS):
        p_values = [row["good_vs_rest"][name]["p_yates"] for row in rows.values()]
        adjusted = zip(bonferroni(p_values), holm(p_values), benjamini_hochberg(p_values), strict=True)
        for row, (one, two, three) in zip(rows.values(), adjusted, strict=True):
            row["good_vs_rest"][name]["p_adj"] = {"bonferroni": one, "holm": two, "fdr_bh": three}
    return rows


def multiplicity(rows: Mapping[str, Any]) -> Row:
    counts = {}
    for name in (f"{arm} vs {BASELINE}" for arm in OTHERS):
        tests = {emotion: row["good_vs_rest"][name] for emotion, row in rows.items()}
        counts[name] = {
            "tests": sum(test["p_yates"] is not None for test in tests.values()),
            "p<.05 uncorrected": _below({emotion: test["p_yates"] for emotion, test in tests.items()}),
            **{
                f"p<.05 {method}": _below({emotion: test["p_adj"][method] for emotion, test in tests.items()})
                for method in ("bonferroni", "holm", "fdr_bh")
            },
        }
    return counts


def _below(p_values: Mapping[str, float | None]) -> list[str]:
    return [emotion for emotion, p in p_values.items() if p is not None and p < 0.05]


def audit(study: PublishedStudy) -> Row:
    """What the file holds, and what is odd about it."""
    sizes: dict[int, int] = {}
    for prompt in study.prompts:
        sizes[prompt.batch] = sizes.get(prompt.batch, 0) + 1
    raters = {arm: {rater.pseudonym for rater in study.raters if rater.arm == arm} for arm in ARMS}
    replies = {arm: [reply.text for reply in study.replies_of(arm)] for arm in ARMS}
    miti = {arm: [reply.miti for reply in study.replies_of(arm)] for arm in ARMS}
    per_part = {(rater.arm, rater.batch) for rater in study.raters}
    several = sum(len(raters[one] & raters[other]) for one, other in combinations(ARMS, 2))
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
        "rater_ids_as_typed": as_dict(study.id_quirks),
        "straight_lined_all_10": {arm: _straight(study, arm) for arm in ARMS},
    }


def _equal(one: Sequence[object], other: Sequence[object]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


def _straight(study: PublishedStudy, arm: str) -> dict[str, int]:
    values = grouped((rating.rater, rating.value) for rating in study.ratings if rating.arm == arm)
    same = [value[0] for value in values.values() if len(value) == BATCH_SIZE and len(set(value)) == 1]
    return {"raters": len(same), "of_which_all_good": sum(value == 3 for value in same)}


def lengths(study: PublishedStudy) -> tuple[Row, Row, dict[str, list[int]]]:
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


def design(study: PublishedStudy) -> Row:
    emotions, valences = [p.emotion for p in study.prompts], [p.valence for p in study.prompts]
    return {
        "emotion_counts": {name: emotions.count(name) for name in EMOTIONS},
        "sentiment_of_emotion": {name: emotion.valence for name, emotion in EMOTIONS.items()},
        "plutchik_of_emotion": {name: emotion.plutchik for name, emotion in EMOTIONS.items()},
        "sentiment_counts": {name: valences.count(name) for name in VALENCES},
        "positive_share": valences.count("positive") / len(valences),
    }


def five_groups(everything: Slice, valences: Mapping[str, Slice], emotions: Mapping[str, Slice]) -> Row:
    parts = {"all": everything, **valences}
    good_vs_rest = {name: _scope(part.counts, PRINTED[name]) for name, part in parts.items()}
    counts = everything.counts
    goods = {BASELINE: counts[BASELINE].good, GPT4: counts[RAW_ARM].good}
    goods |= {model: good_vs_rest["all"][model]["good"] for model in PRINTED["all"] if model != GPT4}
    return {
        "good_vs_rest": good_vs_rest,
        "consistency": {
            model: {
                "positive+negative": sum(good_vs_rest[name][model]["good"] for name in ("positive", "negative")),
                "all": good_vs_rest["all"][model]["good"],
            }
            for model in PRINTED["all"]
        },
        "reconstructed_5_groups_good": _groups(goods, counts[BASELINE].n),
        "per_emotion": [
            _emotion(emotions[row["emotion"]].counts, row["emotion"], row["model"], row["gain_pct"], row["chi2"])
            for row in _PRINTED
            if row["emotion"]
        ],
    }


def _scope(counts: Mapping[str, Counts], printed: Mapping[str, tuple[float, float]]) -> Row:
    human = counts[BASELINE]
    scope: Row = {"human_good": human.good, "n_per_group": human.n}
    for model, (percent, chi2) in printed.items():
        scope[model] = _entry(counts, model, percent, chi2)
    return scope


def _entry(counts: Mapping[str, Counts], model: str, percent: float, chi2: float) -> Row:
    human = counts[BASELINE]
    implied = implied_good(chi2, human.good, human.n)
    raw = counts[RAW_ARM].good if model == GPT4 else None
    good = raw if raw is not None else (implied[0] if len(implied) == 1 else None)
    gain = good_gain(human.good, human.n, good, human.n) if good is not None else None
    entry: Row = {
        "source": "raw ratings" if raw is not None else "reconstructed from the printed chi-square",
        "good": good,
        "published_chi2": chi2,
        "published_increase_pct": percent,
        "implied_good_counts": implied,
        "implied_good_pct": [100 * count / human.n for count in implied],
        "recomputed_increase_pct": [100 * (count / human.good - 1) for count in implied],
        "unique_solution": len(implied) == 1,
        "gain_pct": gain.increase_pct if gain else None,
        "chi2": gain.yates.chi2 if gain and gain.yates else None,
        "p": gain.yates.p if gain and gain.yates else None,
    }
    if raw is not None:
        entry["raw_csv_good_count"] = raw
        entry["raw_csv_chi2_yates"] = entry["chi2"]
        entry["verdict"] = "match" if entry["chi2"] is not None and round(entry["chi2"], 2) == chi2 else "differs"
    return entry


def _emotion(counts: Mapping[str, Counts], emotion: str, model: Any, percent: Any, chi2: Any) -> Row:
    entry = _entry(counts, model, percent, chi2)
    row = {
        "emotion": emotion,
        "model": model,
        "published_increase_pct": percent,
        "published_chi2": chi2,
        "source": entry["source"],
        "human_good": counts[BASELINE].good,
        "n": counts[BASELINE].n,
        "implied_good": entry["implied_good_counts"],
        "recomputed_increase_pct": entry["recomputed_increase_pct"],
        "gain_pct": entry["gain_pct"],
        "chi2": entry["chi2"],
        "p": entry["p"],
    }
    if "verdict" in entry:
        row |= {
            "raw_csv_good": entry["raw_csv_good_count"],
            "raw_csv_chi2_yates": entry["raw_csv_chi2_yates"],
            "verdict": entry["verdict"],
        }
    return row


def _groups(goods: Mapping[str, int | None], n: int) -> Row:
    known = {name: good for name, good in goods.items() if good is not None}
    groups: Row = {
        name: {
            "good": good,
            "not_good": n - good,
            "good_pct": 100 * good / n,
            "source": "raw ratings" if name in (BASELINE, GPT4) else "reconstructed",
        }
        for name, good in known.items()
    }
    groups["_omnibus_5x2"] = test_json(chi_square([(good, n - good) for good in known.values()]))
    groups["_pairs_yates"] = {}
    for one, other in combinations(known, 2):
        test = chi_square([(known[one], n - known[one]), (known[other], n - known[other])], yates=True)
        groups["_pairs_yates"][f"{one}~{other}"] = {"chi2": test.chi2, "p": test.p} if test else None
    return groups


def sensitivity(groups: Mapping[str, Any], effects: Mapping[str, float]) -> Row:
    """The ten pairs with clustered raters. The unseen arms are given the mean design effect of the two GPT-4 arms:
    an assumption that only their raw ratings could check."""
    assumed = (effects["chatgpt"] + effects["chatgpt_empathy"]) / 2
    arms = {name: group for name, group in groups.items() if not name.startswith("_")}
    assumed_effects = {name: effects[BASELINE] if name == BASELINE else assumed for name in arms}
    pairs: Row = {}
    for one, other in combinations(arms, 2):
        test = chi_square([(arms[name]["good"], arms[name]["not_good"]) for name in (one, other)])
        if test is None:
            continue
        effect = (assumed_effects[one] + assumed_effects[other]) / 2
        pairs[f"{one}~{other}"] = {
            "chi2_uncorrected": test.chi2,
            "p_naive": test.p,
            "assumed_deff": effect,
            "p_clustered": float(chdtrc(1, test.chi2 / effect)),
        }
    for pair, p in zip(pairs.values(), holm([pair["p_clustered"] for pair in pairs.values()]), strict=True):
        pair["p_clustered_holm10"] = p
    return {
        "_assumption": (
            "the three unseen LLM arms have the mean design effect of the two GPT-4 arms "
            f"({assumed:.3f} for Good); the human arm {effects[BASELINE]:.3f}. "
            "Not verifiable without their raw ratings."
        ),
        "pairs": pairs,
    }

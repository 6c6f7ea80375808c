"""The five-group headline of arXiv 2406.05063. Two arms are in the public file (raw). For the other three only tests
were printed; their counts are the one whole number of Good that gives each printed chi-square (reconstructed)."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from scipy.special import chdtrc

from eqlab.analysis.contingency import Counts, chi_square, good_gain, implied_good
from eqlab.analysis.multiplicity import holm
from eqlab.benchmarks.empathy.published import BASELINE
from eqlab.reproduce.empathy_counts import Slice, test_json

GPT4 = "GPT-4"
RAW_ARM = "chatgpt_empathy"
"""The public arm that the five-group study calls GPT-4."""

PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    "all": {"GPT-4": (31, 96.77), "LLaMA-2": (24, 54.40), "Mixtral": (21, 42.36), "Gemini": (10, 8.85)},
    "positive": {"GPT-4": (36, 64.10), "LLaMA-2": (28, 38.40), "Mixtral": (25, 29.21), "Gemini": (5.95, 1.54)},
    "negative": {"GPT-4": (27, 36.78), "LLaMA-2": (20, 19.00), "Mixtral": (17, 15.15), "Gemini": (13, 8.02)},
}
"""(percent gain in Good over human, Yates chi-square) as printed."""

PRINTED_EMOTIONS: tuple[tuple[str, str, float, float], ...] = (
    ("impressed", "GPT-4", 56, 10.62),
    ("surprised", "GPT-4", 79, 10.33),
    ("grateful", "GPT-4", 65, 8.36),
    ("proud", "GPT-4", 50, 7.70),
    ("confident", "GPT-4", 44, 6.86),
    ("joyful", "GPT-4", 42, 6.34),
    ("excited", "GPT-4", 47, 5.41),
    ("afraid", "GPT-4", 46, 3.91),
    ("afraid", "LLaMA-2", 50, 4.66),
    ("apprehensive", "GPT-4", 104, 20.72),
    ("apprehensive", "Gemini", 60, 6.23),
    ("apprehensive", "LLaMA-2", 52, 4.57),
    ("anxious", "GPT-4", 75, 9.20),
    ("anxious", "LLaMA-2", 63, 6.22),
    ("anxious", "Gemini", 63, 6.22),
    ("anxious", "Mixtral", 50, 3.85),
    ("annoyed", "GPT-4", 59, 6.62),
    ("annoyed", "Mixtral", 52, 4.97),
)


def five_groups(everything: Slice, valences: Mapping[str, Slice], emotions: Mapping[str, Slice]) -> dict[str, Any]:
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
        "per_emotion": [_emotion(emotions[emotion].counts, emotion, *row) for emotion, *row in PRINTED_EMOTIONS],
    }


def _scope(counts: Mapping[str, Counts], printed: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    human = counts[BASELINE]
    found: dict[str, Any] = {"human_good": human.good, "n_per_group": human.n}
    for model, (percent, chi2) in printed.items():
        found[model] = _entry(counts, model, percent, chi2)
    return found


def _entry(counts: Mapping[str, Counts], model: str, percent: float, chi2: float) -> dict[str, Any]:
    human = counts[BASELINE]
    implied = implied_good(chi2, human.good, human.n)
    raw = counts[RAW_ARM].good if model == GPT4 else None
    good = raw if raw is not None else (implied[0] if len(implied) == 1 else None)
    gain = good_gain(human.good, human.n, good, human.n) if good is not None else None
    entry: dict[str, Any] = {
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


def _emotion(counts: Mapping[str, Counts], emotion: str, model: Any, percent: Any, chi2: Any) -> dict[str, Any]:
    entry = _entry(counts, model, percent, chi2)
    found = {
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
        found |= {
            "raw_csv_good": entry["raw_csv_good_count"],
            "raw_csv_chi2_yates": entry["raw_csv_chi2_yates"],
            "verdict": entry["verdict"],
        }
    return found


def _groups(goods: Mapping[str, int | None], n: int) -> dict[str, Any]:
    known = {name: good for name, good in goods.items() if good is not None}
    found: dict[str, Any] = {
        name: {
            "good": good,
            "not_good": n - good,
            "good_pct": 100 * good / n,
            "source": "raw ratings" if name in (BASELINE, GPT4) else "reconstructed",
        }
        for name, good in known.items()
    }
    found["_omnibus_5x2"] = test_json(chi_square([(good, n - good) for good in known.values()]))
    found["_pairs_yates"] = {}
    for one, other in combinations(known, 2):
        test = chi_square([(known[one], n - known[one]), (known[other], n - known[other])], yates=True)
        found["_pairs_yates"][f"{one}~{other}"] = {"chi2": test.chi2, "p": test.p} if test else None
    return found


def sensitivity(groups: Mapping[str, Any], effects: Mapping[str, float]) -> dict[str, Any]:
    """The ten pairs with clustered raters. The unseen arms are given the mean design effect of the two GPT-4 arms:
    an assumption that only their raw ratings could check."""
    assumed = (effects["chatgpt"] + effects["chatgpt_empathy"]) / 2
    known = {name: group for name, group in groups.items() if not name.startswith("_")}
    own = {name: effects[BASELINE] if name == BASELINE else assumed for name in known}
    pairs: dict[str, Any] = {}
    for one, other in combinations(known, 2):
        test = chi_square([(known[name]["good"], known[name]["not_good"]) for name in (one, other)])
        if test is None:
            continue
        effect = (own[one] + own[other]) / 2
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

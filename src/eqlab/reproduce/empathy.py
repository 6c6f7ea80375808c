"""The empathy study (arXiv 2406.05063, 2403.05572) recomputed from its public ratings: first as published, then as the
data call for, and every published number with a verdict. Rater ids are hashed on reading and appear nowhere."""

from pathlib import Path
from typing import Any

from eqlab.benchmarks.empathy.published import BASELINE, PATH, parse_published
from eqlab.data import published
from eqlab.reproduce.empathy_claims import claims, three_groups
from eqlab.reproduce.empathy_counts import audit, block, by_emotion, design, lengths, multiplicity, slices
from eqlab.reproduce.empathy_five_groups import five_groups, sensitivity
from eqlab.reproduce.empathy_models import CROSSED, clmm_json, columns, fits, honest_json, summary_json
from eqlab.reproduce.empathy_power import power_json
from eqlab.reproduce.empathy_raters import (
    OTHERS,
    clustering_json,
    rater_table,
    reliability_json,
    robustness_json,
    sequential_json,
    teq_json,
)
from eqlab.reproduce.empathy_tables import findings, rows_of, tables

__all__ = ["findings", "reproduce", "rows_of", "tables"]


def reproduce(data: Path | None) -> dict[str, Any]:
    folder = published.published_folder(data)
    study = parse_published(published.read(PATH, folder), PATH)
    everything, valences, emotions = slices(study)
    overall, per_emotion = block(everything), by_emotion(emotions)
    tokens, words, reply_tokens = lengths(study)
    raters = rater_table(study)
    clusters = clustering_json(raters, everything.counts)
    effects = {arm: deff["good_indicator"] for arm, deff in clusters["design_effect (1+9*ICC)"].items()}
    groups = five_groups(everything, valences, emotions)
    reconstructed = groups["reconstructed_5_groups_good"]
    ratings = columns(study)
    fitted = fits(ratings)
    report: dict[str, Any] = {
        "arms": overall["groups"],
        "good_vs_rest": {arm: overall["good_vs_rest"][f"{arm} vs {BASELINE}"] for arm in OTHERS},
        "overall": overall,
        "by_sentiment": {valence: block(part) for valence, part in valences.items()},
        "by_emotion": per_emotion,
        "per_emotion_multiplicity": multiplicity(per_emotion),
        "clmm": clmm_json(fitted),
        "clmm_summary": summary_json(fitted),
        "honest": honest_json(study, ratings, fitted[CROSSED]),
        "clustering": clusters,
        "teq": teq_json(study),
        "robustness": robustness_json(study, reply_tokens),
        "power": power_json(reconstructed, effects, fitted[CROSSED]),
        "sequential_reference": sequential_json(raters),
        "reliability_implied_by_pilot_kappa": reliability_json(),
        "published_2406.05063": groups,
        "five_group_sensitivity": sensitivity(reconstructed, effects),
        "audit": audit(study),
        "design": design(study),
        "tokens_nltk": tokens,
        "words_whitespace": words,
    }
    report["published_2403.05572"] = three_groups(report)
    report["published"] = claims(report)
    return report

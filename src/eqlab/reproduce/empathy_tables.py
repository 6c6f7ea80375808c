"""The reproduction of the empathy study as tables for people."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from eqlab.core.results import Estimate, Table

_ARMS = {"human": "human", "chatgpt": "GPT-4", "chatgpt_empathy": "GPT-4, told what empathy is"}


def tables(report: Mapping[str, Any]) -> list[Table]:
    return [_arms(report), _five(report), _model(report), _emotions(report), _claims(report)]


def findings(report: Mapping[str, Any]) -> list[str]:
    verdicts = Counter(claim["verdict"] for claim in report["published"])
    counts = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
    said = [f"{len(report['published'])} published numbers: {counts}."]
    bounds = report["clustering"]["cluster_bootstrap_95ci"]["p_good"]
    for arm, group in report["arms"].items():
        low, high = bounds[arm]
        share = 100 * group["good"] / group["n"]
        within = "" if low is None else f" (95 % interval over raters {100 * low:.1f} to {100 * high:.1f})"
        said.append(f"{_ARMS[arm]}: {share:.1f} % of {group['n']:,} ratings are Good{within}.")
    return said


def rows_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every published number; a few are of several parts and are written out."""
    return [
        claim | {name: _text(claim[name]) for name in ("printed", "recomputed") if isinstance(claim[name], Mapping)}
        for claim in report["published"]
    ]


def _percent(name: str, share: float, n: int, bounds: list[float | None]) -> Estimate:
    low, high = (None if bound is None else 100 * bound for bound in bounds)
    return Estimate(name, 100 * share, n, None, low, high, "%", digits=1)


def _arms(report: Mapping[str, Any]) -> Table:
    bootstrap = report["clustering"]["cluster_bootstrap_95ci"]
    rows = []
    for arm, group in report["arms"].items():
        good = _percent(arm, group["good"] / group["n"], group["n"], bootstrap["p_good"][arm])
        gain = report["good_vs_rest"].get(arm)
        rows.append(
            (
                _ARMS[arm],
                group["bad"],
                group["okay"],
                group["good"],
                good,
                group["mean"],
                gain["gain_pct"] if gain else None,
                gain["chi2"] if gain else None,
            )
        )
    return Table(
        "The three public arms",
        ("arm", "Bad", "Okay", "Good", "P(Good)", "mean", "gain in Good (%)", "Yates chi-square"),
        tuple(rows),
        note="Interval: bootstrap over raters, 10,000 draws. The published chi-square takes ratings for independent.",
    )


def _five(report: Mapping[str, Any]) -> Table:
    groups = report["published_2406.05063"]
    rows = [("human", groups["good_vs_rest"]["all"]["human_good"], None, None, None, None, "raw ratings")]
    for model, printed in groups["good_vs_rest"]["all"].items():
        if isinstance(printed, dict):
            rows.append(
                (
                    model,
                    printed["good"],
                    printed["published_increase_pct"],
                    printed["gain_pct"],
                    printed["published_chi2"],
                    printed["chi2"],
                    printed["source"],
                )
            )
    return Table(
        "The five-group headline: Good among 2,000 ratings",
        ("group", "Good", "gain printed (%)", "gain", "chi-square printed", "chi-square", "from"),
        tuple(rows),
        note=report["five_group_sensitivity"]["_assumption"],
    )


def _model(report: Mapping[str, Any]) -> Table:
    rows = []
    for name, contrast in report["honest"]["contrasts"].items():
        estimate = Estimate(name, contrast["est"], 6000, contrast["se"], contrast["low"], contrast["high"])
        rows.append((name, estimate, contrast["p"], contrast["p_holm"]))
    omnibus, odds = report["honest"]["omnibus_lr"], report["honest"]["proportional_odds"]
    return Table(
        "Cumulative-link mixed model, raters and prompts crossed: log-odds of a better rating",
        ("contrast", "log-odds", "p", "p (Holm)"),
        tuple(rows),
        note=(
            f"Omnibus likelihood ratio {omnibus['chi2']:.1f} on {omnibus['df']} df. Proportional odds: "
            f"{odds['chi2']:.1f} on {odds['df']} df, p = {odds['p']:.2g}; {odds['reading']}."
        ),
    )


def _emotions(report: Mapping[str, Any]) -> Table:
    pooled = report["honest"]["per_emotion_pooled"]["chatgpt_empathy"]
    rows = []
    for emotion, (est, low, high) in pooled["per_emotion_log_odds"].items():
        test = report["by_emotion"][emotion]["good_vs_rest"]["chatgpt_empathy vs human"]
        groups = report["by_emotion"][emotion]["groups"]
        n = groups["human"]["n"] + groups["chatgpt_empathy"]["n"]
        rows.append(
            (emotion, Estimate(emotion, est, n, None, low, high), test["gain_pct"], test["p"], test["p_adj"]["holm"])
        )
    return Table(
        "Per emotion: GPT-4, told what empathy is, against human",
        ("emotion", "log-odds, pooled", "gain in Good (%)", "p as published", "p (Holm)"),
        tuple(sorted(rows, key=lambda row: str(row[0]))),
        note=(
            f"Partial pooling: {pooled['n_emotions_95ci_above_0']} of {len(rows)} intervals lie above 0; standard "
            f"deviation between emotions {pooled['sd_between_emotions']:.2f}. {pooled['approximation'].capitalize()}."
        ),
    )


def _claims(report: Mapping[str, Any]) -> Table:
    rows = [
        (
            claim["paper"],
            claim["claim"],
            _text(claim["printed"]),
            _text(claim["recomputed"]),
            claim["verdict"],
            claim["source"],
            claim["explanation"],
        )
        for claim in report["published"]
    ]
    return Table(
        "Every published number",
        ("paper", "claim", "printed", "recomputed", "verdict", "from", "explanation"),
        tuple(rows),
    )


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)

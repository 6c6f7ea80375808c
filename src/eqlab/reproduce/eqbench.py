"""EQ-Bench's published leaderboard, scored again from the raw text of every result file that is there, or from the
figures that ship with the package."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.published import PublishedRun
from eqlab.benchmarks.eqbench.result import iterations_of
from eqlab.benchmarks.eqbench.score import PRESETS, RunScore
from eqlab.core.results import Table
from eqlab.runs.published_results import PublishedReader

_FIGURES = "the figures that ship with eqlab"
_FETCH = "'eqlab data fetch eqbench' gets the raw text, to check the figures against."


def reproduce(data: Path | None) -> dict[str, Any]:
    runs = list(PublishedReader(data).runs())
    rows = [_row(run) for run in runs]
    return {"rows": rows, "summary": {**_summary(rows), "from_figures": not any(run.texts for run in runs)}}


def _row(run: PublishedRun) -> dict[str, Any]:
    board = iterations_of(run.scored, run.options, PRESETS["leaderboard"])
    code = iterations_of(run.scored, run.options, PRESETS["published-code"])
    recorded = run.facts.get("benchmark_score")
    score, strict = _mean(board), _mean(code)
    row = {
        "file": run.file.rsplit("/", 1)[-1],
        "model": run.model,
        "recorded": recorded,
        "score": score,
        "difference": None if score is None or recorded is None else round(score - recorded, 2) + 0.0,
        "agrees": None if score is None or recorded is None else abs(round(score, 2) - recorded) < 0.0051,
        "n_parseable": board[0].n,
        "n_parseable_recorded": run.facts.get("n_questions_parseable"),
        "n_questions": board[0].n_questions,
        "se": board[0].se,
        "used": board[0].used,
        "first_pass": board[0].first_pass,
        "n_first_pass": board[0].n_first,
        "revised": board[0].revised,
        "n_revised": board[0].n_revised,
        "missing_as_zero": board[0].first_as_zero,
        "valid": all(iteration.valid for iteration in board),
        "score_strict": strict,
        "n_strict": code[0].n,
        "valid_strict": all(iteration.valid for iteration in code),
    }
    row["explanation"] = _explain(row)
    return row


def _mean(iterations: list[RunScore]) -> float | None:
    """The published rule for several iterations: the mean of their scores."""
    defined = [iteration.score for iteration in iterations if iteration.score is not None]
    return sum(defined) / len(defined) if defined else None


def _explain(row: dict[str, Any]) -> str:
    """Why the published code, applied to the same text, gives another number than the one recorded."""
    reasons = []
    if row["agrees"] is False:
        reasons.append("the recorded score does not follow from the recorded text")
    if row["n_strict"] != row["n_parseable"]:
        lost = row["n_parseable"] - row["n_strict"]
        reasons.append(f"strict: {lost} replies have pairs besides the four asked for and are rejected")
        if not row["valid_strict"]:
            reasons.append("so the run would have failed")
    elif row["score"] is not None and round(row["score"], 2) != round(row["score_strict"], 2):
        reasons.append("strict: a difference of exactly 5 costs 4.995, on the leaderboard 5")
    recorded_n = row["n_parseable_recorded"]
    if recorded_n is not None and recorded_n != row["n_parseable"]:
        larger = max(row["n_first_pass"], row["n_revised"])
        why = "the larger of both passes" if recorded_n == larger else "not the n behind the score"
        reasons.append(f"recorded n = {recorded_n:g}: {why}")
    return "; ".join(reasons)


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if row["agrees"] is not None]
    strict = [row for row in known if abs(round(row["score_strict"], 2) - row["recorded"]) < 0.0051]
    return {
        "files": len(rows),
        "agree": sum(row["agrees"] for row in known),
        "agree_strict": len(strict),
        "max_difference": max((abs(row["difference"]) for row in known), default=None),
        "rules": {name: asdict(preset) for name, preset in PRESETS.items()},
    }


def findings(report: dict[str, Any]) -> list[str]:
    summary = report["summary"]
    said = [
        f"{summary['agree']} of {summary['files']} files agree to two decimals under the leaderboard's rules, "
        f"{summary['agree_strict']} under the published code's (strict)."
    ]
    if summary["max_difference"]:
        said.append(f"The largest difference from a recorded score is {summary['max_difference']:.2f} points.")
    if summary["from_figures"]:
        said.append(_FETCH)
    return said


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return list(report["rows"])


def tables(report: dict[str, Any]) -> list[Table]:
    rows = sorted(report["rows"], key=lambda row: -(row["score"] if row["score"] is not None else -1e9))
    summary = report["summary"]
    return [
        Table(
            f"EQ-Bench, scored again from {_FIGURES if summary['from_figures'] else 'the raw model text'}",
            ("model", "recorded", "recomputed", "difference", "SE", "n", "used", "strict", "n strict", "explanation"),
            tuple(
                (
                    row["model"],
                    row["recorded"],
                    row["score"],
                    row["difference"],
                    row["se"],
                    f"{row['n_parseable']} of {row['n_questions']}",
                    row["used"].replace("_", " "),
                    row["score_strict"],
                    row["n_strict"],
                    row["explanation"],
                )
                for row in rows
            ),
            note="Strict: under the published code's rules.",
        )
    ]

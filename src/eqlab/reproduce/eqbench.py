"""EQ-Bench's published leaderboard, scored again from the raw text of every result file that is there, or from the
figures that ship with the package; and which of its models are relatives."""

import re
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.published import PublishedRun
from eqlab.benchmarks.eqbench.result import iterations_of
from eqlab.benchmarks.eqbench.score import PRESETS, RunScore
from eqlab.core.results import Table, as_dict
from eqlab.reproduce.claims import Claim, Report, Row, Study, compare, table_of, to_digits
from eqlab.runs.published_results import PublishedReader

_FIGURES = "the figures that ship with eqlab"
_FETCH = "'eqlab data fetch eqbench' gets the raw text, to check the figures against."


def reproduce(data: Path | None) -> Report:
    runs = list(PublishedReader(data).runs())
    rows = [_row(run) for run in runs]
    return {"rows": rows, "summary": {**_summary(rows), "from_figures": not any(run.texts for run in runs)}}


def _row(run: PublishedRun) -> Row:
    board = iterations_of(run.scored, run.options, PRESETS["leaderboard"])
    code = iterations_of(run.scored, run.options, PRESETS["published-code"])
    recorded = run.facts.get("benchmark_score")
    score, strict = _mean(board), _mean(code)
    row: Row = {
        "file": run.file.rsplit("/", 1)[-1],
        "model": run.model,
        "recorded": recorded,
        "score": score,
        "difference": None if score is None or recorded is None else round(score - recorded, 2) + 0.0,
        "agrees": _as_recorded(recorded, score),
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


def _as_recorded(recorded: float | None, score: float | None) -> bool | None:
    (compared,) = compare([Claim({}, recorded, lambda score: score, to_digits(2))], score)
    return None if compared.verdict in ("not printed", "not recomputable") else compared.agrees


def _explain(row: Row) -> str:
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


def _summary(rows: list[Row]) -> dict[str, Any]:
    compared = [row for row in rows if row["agrees"] is not None]
    return {
        "files": len(rows),
        "agree": sum(row["agrees"] for row in compared),
        "agree_strict": sum(_as_recorded(row["recorded"], row["score_strict"]) is True for row in compared),
        "max_difference": max((abs(row["difference"]) for row in compared), default=None),
        "rules": {name: as_dict(preset) for name, preset in PRESETS.items()},
    }


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    sentences = [
        f"{summary['agree']} of {summary['files']} files agree to two decimals under the leaderboard's rules, "
        f"{summary['agree_strict']} under the published code's (strict)."
    ]
    if summary["max_difference"]:
        sentences.append(f"The largest difference from a recorded score is {summary['max_difference']:.2f} points.")
    if summary["from_figures"]:
        sentences.append(_FETCH)
    return sentences


def tables(report: Report) -> list[Table]:
    rows = sorted(report["rows"], key=lambda row: -(row["score"] if row["score"] is not None else -1e9))
    columns = (
        "model | recorded | score: recomputed | difference | se: SE | n | used | score_strict: strict | "
        "n_strict: n strict | explanation"
    )
    shown = [
        row | {"n": f"{row['n_parseable']} of {row['n_questions']}", "used": row["used"].replace("_", " ")}
        for row in rows
    ]
    source = _FIGURES if report["summary"]["from_figures"] else "the raw model text"
    title = f"EQ-Bench, scored again from {source}"
    return [table_of(title, columns, shown, note="Strict: under the published code's rules.")]


STUDY = Study("EQ-Bench, recomputed", reproduce, findings, tables)


_BASES = {
    "gpt-4": r"gpt-4",
    "gpt-3.5": r"gpt-3\.5",
    "gemini": r"gemini",
    "phi-2": r"phi-2|phixtral",
    "solar-10.7b": r"solar|meow|lmcocktail",
    "qwen": r"qwen|momo-72b",
    "yi": r"\byi-|-yi-|bagel-34b|34bx2|capybara-34b|tess-34b",
    "mixtral": r"mixtral-8x7b|firefly-mixtral",
    "llama-70b": r"synthia|shiningvaliant|wizardlm-70b|tulu-2|megadolphin|discolm-120b|llama-2-70b|dolphin-2\.2-70b"
    r"|goliath|tess-xl|miqu|mistral-medium",
    "llama": r"llama-2-(?:7|13)b|capybara-7b|koala|vicuna|guanaco|wizardlm-13b",
    "mistral-7b": r"mistral|neural-?chat|beyonder|starling|una-cybertron|zephyr-7b|beagle14|marcoro|openchat|xdan"
    r"|laserxtral|2x7b",
}


def family(model: str) -> str:
    """The base model that a model descends from: the first that its name speaks of, else a family of its own. Relatives
    answer alike, so a figure for "new" models is honest only if whole families are held out."""
    return next((base for base, pattern in _BASES.items() if re.search(pattern, model, re.IGNORECASE)), model)

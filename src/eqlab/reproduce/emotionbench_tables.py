"""The reproduction of EmotionBench as tables: every cell beside print, what differs and why, the stricter views."""

from typing import Any

from eqlab.core.results import Table
from eqlab.reproduce.emotionbench_views import views_table

Row = dict[str, Any]

ARROWS = {"up": "↑", "down": "↓", "none": "–"}
_VERDICTS = {True: "agrees", False: "differs", None: "not printed"}


def findings(report: dict[str, Any]) -> list[str]:
    summary = report["summary"]
    said = [
        f"{summary['agree']} of {summary['compared']} printed cells agree. "
        f"Of the {summary['cells_compared']} changes {summary['values_equal']} values and "
        f"{summary['arrows_equal']} arrows are as printed."
    ]
    if summary["differences"]:
        most, count = next(iter(summary["differences"].items()))
        said.append(f"The most frequent reason for a difference, {count} times: {most}.")
    return said


def tables(report: dict[str, Any]) -> list[Table]:
    """One table of cells per source and questionnaire, the differences with their reasons, and the stricter views."""
    rows, summary = report["rows"], report["summary"]
    by_file: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_file.setdefault((row["source"], row["questionnaire"]), []).append(row)
    found = [_cells_table(source, questionnaire, own) for (source, questionnaire), own in by_file.items()]
    found.append(_differences_table(rows))
    if summary["views"]["models"]:
        found.append(views_table(summary["views"]))
    return found


def _cells_table(source: str, questionnaire: str, rows: list[Row]) -> Table:
    return Table(
        f"{source}, {questionnaire}",
        (
            *("scale", "keying", "row", "n", "default", "evoked", "SD"),
            *("change", "p", "arrow", "printed", "verdict", "note"),
        ),
        tuple(
            (
                row["subscale"],
                row["keying"] or "",
                _row_name(row),
                row["n"],
                row["mean"] if row["level"] == "default" else row["default_mean"],
                None if row["level"] == "default" else row["mean"],
                row["sd"],
                row["diff"],
                row["p"],
                ARROWS.get(row["direction"], ""),
                _printed_text(row),
                _VERDICTS[row["agrees"]],
                row["note"],
            )
            for row in rows
        ),
    )


def _differences_table(rows: list[Row]) -> Table:
    return Table(
        "Where the paper and its raw data differ",
        ("source", "questionnaire", "scale", "row", "printed", "recomputed", "why"),
        tuple(
            (
                row["source"],
                row["questionnaire"],
                row["subscale"],
                _row_name(row),
                _printed_text(row),
                _recomputed_text(row),
                row["note"],
            )
            for row in rows
            if row["agrees"] is False
        ),
    )


def _row_name(row: Row) -> str:
    if row["level"] == "factor":
        return f"{row['emotion']}: {row['factor']}"
    return row["emotion"] if row["level"] == "emotion" else str(row["level"])


def _printed_text(row: Row) -> str:
    if row["printed"] is None or isinstance(row["printed"], str):
        return row["printed"] or ""
    return f"{ARROWS.get(row['printed_direction'], '')} {row['printed']:+.1f}".strip()


def _recomputed_text(row: Row) -> str:
    if row["level"] == "default":
        return f"{row['mean']:.1f}±{row['sd']:.1f}"
    return f"{ARROWS.get(row['direction'], '')} {row['diff']:+.1f}".strip()

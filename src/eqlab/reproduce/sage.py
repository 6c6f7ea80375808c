"""SAGE (arXiv 2505.02847), recomputed from its talks: every printed value, and what print leaves out: intervals, paired
differences, what another simulator does to the same models, and whose doing a score is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eqlab.data import published
from eqlab.reproduce.sage_effects import differences, lengths, simulator_effects
from eqlab.reproduce.sage_tables import findings, tables
from eqlab.reproduce.sage_talks import TalkCell, read_cells, rows
from eqlab.reproduce.sage_variance import variance_report

__all__ = ["findings", "reproduce", "rows_of", "tables"]


def reproduce(data: Path | None) -> dict[str, Any]:
    folder = published.published_folder(data)
    cells = read_cells(folder)
    found = rows(cells)
    return {"rows": found, "summary": _summary(found, cells, folder)}


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return list(report["rows"])


def _summary(found: Sequence[dict[str, Any]], cells: Sequence[TalkCell], folder: Path) -> dict[str, Any]:
    printed = [row for row in found if row["agrees"] is not None]
    known = [pinned.name for pinned in published.manifest() if pinned.name.startswith("sage/SAGE/dataset/")]
    here = {cell.file for cell in cells}
    others = published.find("sage/SAGE/dataset/**/*.jsonl", folder)
    return {
        "files": len(cells),
        "talks": sum(row["n"] for row in found),
        "personas": len({talk.persona for cell in cells for talk in cell.talks}),
        "simulators": sorted({cell.simulator for cell in cells}),
        "models": len({cell.listener for cell in cells}),
        "printed_values": 3 * len(printed),
        "agree": sum(row["values_agree"] for row in printed),
        "missing_files": [name for name in known if name not in here],
        "unread_files": [name for path in others if (name := path.relative_to(folder).as_posix()) not in here],
        "differences": differences(cells),
        "simulator_effects": simulator_effects(cells),
        "variance": variance_report(cells),
        "length": lengths(cells),
    }

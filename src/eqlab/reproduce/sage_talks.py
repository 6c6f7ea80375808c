"""SAGE's result files as cells: one listener's talks with one simulator, over personas; each as a row beside print."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from eqlab.analysis.intervals import proportion_estimate, sample_sd, t_bounds
from eqlab.analysis.ranks import rank_ranges
from eqlab.benchmarks.dialogue.published import CAP, FAILURE, MOST_REPLIES, SUCCESS, TALKS, Talk, parse_talks, state_of
from eqlab.core.errors import DataError
from eqlab.data import published

SAME = {"gpt-4o-0808": "gpt-4o-0806"}
"""Files of one model under two names: GPT-4o has a release of 2024-08-06 and none of 08-08."""
FEWEST = 5
"""Below this many personas an interval says nothing."""
_STEP = 10
_ROUNDING = 0.05 + 1e-9

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    simulator: str
    model: str
    file: str
    talks: tuple[Talk, ...]

    @property
    def listener(self) -> str:
        """The model whatever its files are called."""
        return SAME.get(self.model, self.model)

    @property
    def by_persona(self) -> dict[str, float]:
        """The final emotion of each persona; the mean where one had several talks."""
        found: dict[str, list[float]] = {}
        for talk in self.talks:
            found.setdefault(talk.persona, []).append(talk.final)
        return {persona: fmean(finals) for persona, finals in found.items()}


class Printed(NamedTuple):
    score: float
    success: int
    failure: int


def read_cells(folder: Path) -> list[Cell]:
    """Every result file in the folder, known to the manifest or not."""
    paths = published.find(TALKS, folder)
    if not paths:
        raise DataError(
            f"There are no SAGE result files in {folder}.",
            "Get them with 'eqlab data fetch sage', or name a folder that has them with --data DIR.",
        )
    cells = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        talks = parse_talks(published.read(name, folder), name)
        simulator = path.parent.name.removesuffix("_based_simulator")
        cells.append(Cell(simulator, path.name.removesuffix("_result.jsonl"), name, tuple(talks)))
    return cells


def rows(cells: Sequence[Cell]) -> list[Row]:
    """One row a file, by simulator and model, with its rank among the simulator's models."""
    found = [_row(cell) for cell in sorted(cells, key=lambda cell: (cell.simulator, cell.model))]
    for simulator in {cell.simulator for cell in cells}:
        own = [cell for cell in cells if cell.simulator == simulator and cell.talks]
        ranges = dict(zip((cell.file for cell in own), rank_ranges(matrix(own)), strict=True)) if len(own) > 1 else {}
        for row in found:
            if row["file"] in ranges:
                row["rank_best"], row["rank_worst"] = ranges[row["file"]]
    return found


def matrix(cells: Sequence[Cell]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Cells × personas, NaN where there is no talk."""
    scores = [cell.by_persona for cell in cells]
    personas = sorted({persona for one in scores for persona in one})
    return np.array([[one.get(persona, np.nan) for persona in personas] for one in scores])


def _row(cell: Cell) -> Row:
    finals = [talk.final for talk in cell.talks]
    n, score = len(finals), fmean(finals) if finals else None
    success = sum(final >= SUCCESS for final in finals)
    failure = sum(final < FAILURE for final in finals)
    se, low, high = _over_personas(cell)
    replies = [talk.replies for talk in cell.talks if talk.replies is not None]
    shares = [proportion_estimate("", hits, n) for hits in (success, failure)]
    row: Row = {
        "simulator": cell.simulator,
        "model": cell.model,
        "n": n,
        "score": score,
        "sd": sample_sd(finals, score) if score is not None and n > 1 else None,
        "success": success,
        "failure": failure,
        "se": se,
        "low": low,
        "high": high,
        "rank_best": None,
        "rank_worst": None,
        "personas": len({talk.persona for talk in cell.talks}),
        **{
            f"{name}_percent{end}": value
            for name, share in zip(("success", "failure"), shares, strict=True)
            for end, value in (("", share.value), ("_low", share.low), ("_high", share.high))
        },
        "replies": fmean(replies) if replies else None,
        "replies_fewest": min(replies, default=None),
        "replies_most": max(replies, default=None),
        **_beside_print(_printed().get((cell.simulator, cell.model)), score, success, failure, n),
    }
    row["note"] = "; ".join(_notes(cell))
    row["file"] = cell.file
    return row


def _over_personas(cell: Cell) -> tuple[float | None, float | None, float | None]:
    """Standard error and 95 % interval with the persona as unit, G/(G − 1)·Σ(Σ(y − ȳ)/n)² over G personas: s²/n where
    each had one talk. Never above the cap."""
    finals = [talk.final for talk in cell.talks]
    if len(finals) < 2:
        return None, None, None
    mean = fmean(finals)
    sums: dict[str, float] = {}
    for talk in cell.talks:
        sums[talk.persona] = sums.get(talk.persona, 0.0) + (talk.final - mean) / len(finals)
    personas = len(sums)
    if personas < 2:
        return None, None, None
    se = math.sqrt(personas / (personas - 1) * math.fsum(one * one for one in sums.values()))
    if personas < FEWEST:
        return se, None, None
    low, high = t_bounds(mean, se, personas - 1)
    return se, low, min(high, float(CAP))


def _beside_print(printed: Printed | None, score: float | None, success: int, failure: int, n: int) -> Row:
    if printed is None or score is None:
        blank = dict.fromkeys(("printed_score", "printed_success", "printed_failure", "values_agree", "agrees"))
        return {**blank, "explanation": ""}
    same = (
        abs(score - printed.score) <= _ROUNDING,  # print rounds halves up: 33.25 is 33.3
        success == printed.success,
        failure == printed.failure,
    )
    return {
        "printed_score": printed.score,
        "printed_success": printed.success,
        "printed_failure": printed.failure,
        "values_agree": sum(same),
        "agrees": all(same),
        "explanation": "" if all(same) else _explain(n),
    }


def _explain(n: int) -> str:
    if n != 100:
        return f"the file has {n} talks, the printed values are of 100"
    return "the printed values do not follow from the file; 'eqlab data verify sage' tells whether it was changed"


def _notes(cell: Cell) -> list[str]:
    """What in the file is not as the protocol says."""
    talks = cell.talks
    personas = len({talk.persona for talk in talks})
    counts = {
        "the last emotion in the turns is not the final one": sum(
            bool(talk.course) and talk.course[-1] != talk.final for talk in talks
        ),
        "the recorded state is not that of the final emotion": sum(
            bool(talk.state) and talk.state != state_of(talk.final) for talk in talks
        ),
        f"emotion moves by more than {_STEP} at once": sum(_leaps(talk) for talk in talks),
        f"more than {MOST_REPLIES} replies": sum((talk.replies or 0) > MOST_REPLIES for talk in talks),
        f"an emotion above {CAP}": sum(talk.final > CAP for talk in talks),
    }
    notes = [f"{count} of {len(talks)} talks: {what}" for what, count in counts.items() if count]
    if personas < len(talks):
        notes.insert(0, f"{len(talks)} talks of {personas} personas")
    if cell.model in SAME:
        notes.append(f"taken for {SAME[cell.model]} where simulators are compared")
    if personas < FEWEST:
        notes.append("too few personas for an interval")
    return notes


def _leaps(talk: Talk) -> bool:
    return any(abs(after - before) > _STEP for before, after in pairwise(talk.course))


@cache
def _printed() -> Mapping[tuple[str, str], Printed]:
    """The printed leaderboard by simulator and file. README: a stored copy of the repository's, later than the pinned
    commit. Three rows are not in it; what was not seen in print is taken from this project's reference numbers."""
    text = files("eqlab.reproduce").joinpath("sage_printed.csv").read_text(encoding="utf-8")
    return {
        (row["simulator"], row["model"]): Printed(float(row["score"]), int(row["success"]), int(row["failure"]))
        for row in csv.DictReader(text.splitlines())
    }

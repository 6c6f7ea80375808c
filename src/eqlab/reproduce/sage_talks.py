"""SAGE's result files as cells: one listener's talks with one simulator, over personas. Each as a row beside print;
then paired: two listeners on the same personas, one listener with two simulators; how long talks are; and how much of
a talk's end is the listener's, the persona's, the simulator's."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.comparison import Difference, items_needed, paired
from eqlab.analysis.intervals import proportion_estimate, sample_sd, t_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ranks import rank_ranges
from eqlab.analysis.reml import Variances
from eqlab.benchmarks.dialogue.published import CAP, FAILURE, MOST_REPLIES, SUCCESS, TALKS, Talk, parse_talks, state_of
from eqlab.benchmarks.dialogue.result import LISTENER, PERSONA, SPEAKER, Cell, Design, designs, facets, note
from eqlab.core.errors import DataError
from eqlab.data import published
from eqlab.reproduce.claims import Claim, Row, compare, to_digits

SAME = {"gpt-4o-0808": "gpt-4o-0806"}
"""Files of one model under two names: GPT-4o has a release of 2024-08-06 and none of 08-08."""
FEWEST = 5
"""Below this many personas an interval says nothing."""
_STEP = 10
ALPHA = 0.05
PERSONAS = 100
"""As many as the study has."""
_NAMES = {LISTENER: "model", PERSONA: "persona", SPEAKER: "simulator"}


@dataclass(frozen=True, slots=True)
class TalkCell:
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


def read_cells(folder: Path) -> list[TalkCell]:
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
        cells.append(TalkCell(simulator, path.name.removesuffix("_result.jsonl"), name, tuple(talks)))
    return cells


def rows(cells: Sequence[TalkCell]) -> list[Row]:
    """One row a file, by simulator and model, with its rank among the simulator's models."""
    found = [_row(cell) for cell in sorted(cells, key=lambda cell: (cell.simulator, cell.model))]
    for simulator in {cell.simulator for cell in cells}:
        talk_cells = [cell for cell in cells if cell.simulator == simulator and cell.talks]
        ranges = (
            dict(zip((cell.file for cell in talk_cells), rank_ranges(matrix(talk_cells)), strict=True))
            if len(talk_cells) > 1
            else {}
        )
        for row in found:
            if row["file"] in ranges:
                row["rank_best"], row["rank_worst"] = ranges[row["file"]]
    return found


def matrix(cells: Sequence[TalkCell]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Cells × personas, NaN where there is no talk."""
    scores = [cell.by_persona for cell in cells]
    personas = sorted({persona for score in scores for persona in score})
    return np.array([[score.get(persona, np.nan) for persona in personas] for score in scores])


def _row(cell: TalkCell) -> Row:
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
    }
    row |= _beside_print(row)
    row["note"] = "; ".join(_notes(cell))
    row["file"] = cell.file
    return row


def _over_personas(cell: TalkCell) -> tuple[float | None, float | None, float | None]:
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


def _beside_print(row: Row) -> Row:
    """The three printed values of a cell as claims; to their digits (print rounds halves up: 33.25 is 33.3)."""
    printed = _printed().get((row["simulator"], row["model"]))
    if printed is None or row["score"] is None:
        blank = dict.fromkeys(("printed_score", "printed_success", "printed_failure", "values_agree", "agrees"))
        return {**blank, "explanation": ""}
    tolerance = {"score": to_digits(1)}
    claims = [Claim({"quantity": q}, value, itemgetter(q), tolerance.get(q, 0.0)) for q, value in printed.items()]
    agree = [compared.agrees for compared in compare(claims, row)]
    return {
        **{f"printed_{quantity}": value for quantity, value in printed.items()},
        "values_agree": sum(agree),
        "agrees": all(agree),
        "explanation": "" if all(agree) else _explain(row["n"]),
    }


def _explain(n: int) -> str:
    if n != 100:
        return f"the file has {n} talks, the printed values are of 100"
    return "the printed values do not follow from the file; 'eqlab data verify sage' tells whether it was changed"


def _notes(cell: TalkCell) -> list[str]:
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


def printed_scores() -> dict[str, list[float]]:
    """The printed leaderboard, by simulator."""
    found: dict[str, list[float]] = {}
    for (simulator, _), row in _printed().items():
        found.setdefault(simulator, []).append(row["score"])
    return found


@cache
def _printed() -> Mapping[tuple[str, str], Mapping[str, float]]:
    """The printed leaderboard by simulator and file. README: a stored copy of the repository's, later than the pinned
    commit. Three rows are not in it; what was not seen in print is taken from this project's reference numbers."""
    text = files("eqlab.reproduce").joinpath("sage_printed.csv").read_text(encoding="utf-8")
    return {
        (row["simulator"], row["model"]): {
            "score": float(row["score"]),
            "success": int(row["success"]),
            "failure": int(row["failure"]),
        }
        for row in csv.DictReader(text.splitlines())
    }


def differences(cells: Sequence[TalkCell]) -> list[Row]:
    """Every pair of one simulator's models over the personas that both met, the better one first; Holm's correction
    within the simulator."""
    found = []
    for simulator in sorted({cell.simulator for cell in cells}):
        talk_cells = [cell for cell in cells if cell.simulator == simulator and cell.talks]
        order = sorted(talk_cells, key=lambda cell: -fmean(talk.final for talk in cell.talks))
        pairs = [_pair(cell, other) for cell, other in combinations(order, 2)]
        for row, corrected in zip(pairs, holm([row["p"] for row in pairs]), strict=True):
            row["p_holm"] = corrected
            row["separated"] = None if corrected is None else corrected < ALPHA
        next_to = {(cell.model, other.model) for cell, other in pairwise(order)}
        for row in pairs:
            row["neighbours"] = (row["a"], row["b"]) in next_to
        found += pairs
    return found


def _pair(cell: TalkCell, other: TalkCell) -> Row:
    difference = paired(*matrix((cell, other)))
    return {
        "simulator": cell.simulator,
        "a": cell.model,
        "b": other.model,
        **_facts(difference),
        "a_better_percent": None if difference.superiority is None else 100 * difference.superiority,
        "personas_needed": items_needed(difference),
    }


def _facts(difference: Difference) -> Row:
    enough = difference.n >= FEWEST
    return {
        "n": difference.n,
        "difference": difference.value,
        "se": difference.se,
        "low": difference.low if enough else None,
        "high": difference.high if enough else None,
        "p": difference.p,
    }


def simulator_effects(cells: Sequence[TalkCell]) -> list[Row]:
    """For each two simulators that met the same listeners: the second minus the first, per listener over personas, and
    over all with both listeners and personas as samples. The first is the one with more files."""
    by_simulator: dict[str, dict[str, TalkCell]] = {}
    for cell in cells:
        if cell.talks:
            by_simulator.setdefault(cell.simulator, {})[cell.listener] = cell
    order = sorted(by_simulator, key=lambda name: (-len(by_simulator[name]), name))
    found = []
    for first, second in combinations(order, 2):
        shared = sorted(set(by_simulator[first]) & set(by_simulator[second]))
        if shared:
            found.append(_effect(first, second, [(by_simulator[first][m], by_simulator[second][m]) for m in shared]))
    return found


def _effect(first: str, second: str, shared: Sequence[tuple[TalkCell, TalkCell]]) -> Row:
    models, values, personas, listeners = [], list[float](), list[str](), list[str]()
    for cell, other in shared:
        before, after = cell.by_persona, other.by_persona
        both = sorted(set(before) & set(after))
        values += [after[persona] - before[persona] for persona in both]
        personas += both
        listeners += [cell.listener] * len(both)
        models.append(
            {
                "model": cell.listener,
                "files": sorted({cell.model, other.model}),
                "first_score": _score(cell),
                "second_score": _score(other),
                **_facts(paired(*matrix((other, cell)))),
            }
        )
    overall = crossed_mean("", np.array(values), listeners, personas)
    ranks = [_ranks([model[name] for model in models]) for name in ("first_score", "second_score")]
    return {
        "first": first,
        "second": second,
        "models": models,
        "n_models": len(models),
        "n_personas": len(set(personas)),
        "n_pairs": len(values),
        "difference": overall.value,
        "se": overall.se,
        "low": overall.low,
        "high": overall.high,
        "pairs_in_other_order": sum(
            (ranks[0][i] < ranks[0][j]) != (ranks[1][i] < ranks[1][j]) for i, j in combinations(range(len(models)), 2)
        ),
        "pairs_of_models": len(models) * (len(models) - 1) // 2,
    }


def _score(cell: TalkCell) -> float:
    return fmean(talk.final for talk in cell.talks)


def _ranks(scores: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return [order.index(index) for index in range(len(scores))]


def lengths(cells: Sequence[TalkCell]) -> list[Row]:
    """Replies in talks that succeed, that fail, and the others: the end of a talk is the speaker's decision."""
    kinds: dict[str, list[int]] = {"success": [], "in between": [], "failure": []}
    for talk in (talk for cell in cells for talk in cell.talks):
        if talk.replies is not None:
            kind = "success" if talk.final >= SUCCESS else "failure" if talk.final < FAILURE else "in between"
            kinds[kind].append(talk.replies)
    return [
        {
            "outcome": kind,
            "n": len(replies),
            "replies": fmean(replies) if replies else None,
            "fewest": min(replies, default=None),
            "most": max(replies, default=None),
        }
        for kind, replies in kinds.items()
    ]


def variance_report(cells: Sequence[TalkCell]) -> Row:
    """Shares of the variance of one talk's final emotion, all factors random and crossed (cells may be missing), and
    the designs that follow from them. Undefined, with the reason, where the files cannot tell the factors apart."""
    found = facets(
        [Cell(cell.listener, talk.persona, cell.simulator, talk.final) for cell in cells for talk in cell.talks]
    )
    levels = {name: found.levels[factor] for factor, name in _NAMES.items()}
    report: Row = {"n": found.n, "levels": levels, "shares": None, "terms": [], "designs": []}
    fitted = found.fitted
    if fitted is None or LISTENER not in fitted.variance:
        return report | {"note": "too few models, personas or simulators are shared to tell their effects apart"}
    report["terms"] = [_term(fitted, name) for name in fitted.variance]
    report["shares"] = _shares(fitted)
    report["note"] = note(found, "models", "simulator")
    report["designs"] = [_design(design) for design in designs(fitted.variance, PERSONAS)]
    return report


def _term(fitted: Variances, term: str) -> Row:
    bounds = fitted.interval(term) or (None, None)
    share = fitted.share[term]
    return {
        "term": ":".join(_NAMES.get(part, part) for part in term.split(":")),
        "levels": fitted.levels.get(term),
        "variance": fitted.variance[term],
        "low": bounds[0],
        "high": bounds[1],
        "share_percent": None if share is None else 100 * share,
    }


def _shares(fitted: Variances) -> dict[str, float | None]:
    """In percent; the rest is crossings and chance."""
    share: Mapping[str, float | None] = fitted.share
    shares: dict[str, float | None] = {
        name: None if share.get(factor) is None else 100 * (share[factor] or 0.0) for factor, name in _NAMES.items()
    }
    return shares | {"rest": 100 - sum(value for value in shares.values() if value is not None)}


def _design(design: Design) -> Row:
    return {
        "simulators": design.speakers,
        "holds_for": "this simulator" if design.alone else "any simulator",
        "half_width_of_score": design.score,
        "personas_for_score": design.personas_for_score,
        "half_width_of_difference": design.difference,
        "personas_for_difference": design.personas_for_difference,
    }

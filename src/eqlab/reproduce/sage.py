"""SAGE (arXiv 2505.02847), recomputed from its talks: every printed value, and what print leaves out: intervals, paired
differences, what another simulator does to the same models, and whose doing a score is.

Its result files are cells: one listener's talks with one simulator, over personas. Each is a row beside print; then
paired: two listeners on the same personas, one listener with two simulators; how long talks are; and how much of a
talk's end is the listener's, the persona's, the simulator's."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from msgspec import structs

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.comparison import Difference, items_needed, paired
from eqlab.analysis.intervals import proportion_estimate, sample_sd, t_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ranks import rank_ranges
from eqlab.analysis.reml import Variances
from eqlab.benchmarks.dialogue.published import CAP, FAILURE, MOST_REPLIES, SUCCESS, TALKS, Talk, parse_talks, state_of
from eqlab.benchmarks.dialogue.result import HALF_WIDTH, LISTENER, PERSONA, SPEAKER, Cell, Design, designs, facets, note
from eqlab.core.errors import DataError
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table, whiskers
from eqlab.core.values import dataclass
from eqlab.data import published
from eqlab.reproduce.claims import Claim, Report, Row, Study, compare, printed_rows, table_of, to_digits

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
        return group_means((talk.persona, talk.final) for talk in self.talks)


def reproduce(data: Path | None) -> Report:
    folder = published.published_folder(data)
    cells = read_cells(folder)
    cell_rows = rows(cells)
    return {"rows": cell_rows, "summary": _summary(cell_rows, cells, folder)}


def _summary(found: Sequence[Row], cells: Sequence[TalkCell], folder: Path) -> Row:
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
    cell_rows = [_row(cell) for cell in sorted(cells, key=lambda cell: (cell.simulator, cell.model))]
    for simulator in {cell.simulator for cell in cells}:
        talk_cells = [cell for cell in cells if cell.simulator == simulator and cell.talks]
        ranges = (
            dict(zip((cell.file for cell in talk_cells), rank_ranges(matrix(talk_cells)), strict=True))
            if len(talk_cells) > 1
            else {}
        )
        for row in cell_rows:
            if row["file"] in ranges:
                row["rank_best"], row["rank_worst"] = ranges[row["file"]]
    return cell_rows


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
    return grouped((simulator, row["score"]) for (simulator, _), row in _printed().items())


@cache
def _printed() -> Mapping[tuple[str, str], Mapping[str, float]]:
    """The printed leaderboard by simulator and file. README: a stored copy of the repository's, later than the pinned
    commit. Three rows are not in it; what was not seen in print is taken from this project's reference numbers."""
    return {
        (row["simulator"], row["model"]): {
            "score": float(row["score"]),
            "success": int(row["success"]),
            "failure": int(row["failure"]),
        }
        for row in printed_rows("sage_printed.csv")
    }


def differences(cells: Sequence[TalkCell]) -> list[Row]:
    """Every pair of one simulator's models over the personas that both met, the better one first; Holm's correction
    within the simulator."""
    every_pair = []
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
        every_pair += pairs
    return every_pair


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
    effects = []
    for first, second in combinations(order, 2):
        shared = sorted(set(by_simulator[first]) & set(by_simulator[second]))
        if shared:
            effects.append(_effect(first, second, [(by_simulator[first][m], by_simulator[second][m]) for m in shared]))
    return effects


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


# -- what people read -------------------------------------------------------------------------------------------------


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    return [*_agreement(summary), *_order(report), *_simulators(summary), *_variance(summary), *_lengths(summary)]


def tables(report: Report) -> list[Table]:
    summary = report["summary"]
    shown = [_scores(report["rows"])]
    if summary["differences"]:
        shown.append(_neighbours(summary["differences"]))
    if summary["simulator_effects"]:
        shown.append(_effects(summary["simulator_effects"]))
    if summary["variance"]["terms"]:
        shown += [_terms(summary["variance"]), _designs(summary["variance"])]
    return [*shown, _length_table(summary["length"])]


def _agreement(summary: Row) -> Iterator[str]:
    files = many(summary["files"], "file")
    if summary["printed_values"]:
        yield (
            f"{summary['agree']} of {summary['printed_values']} printed values (score, success, failure) come out; "
            f"{summary['printed_values'] // 3} of the {files} here have printed ones."
        )
    else:
        yield f"None of the {files} here has printed values to compare with."
    if summary["missing_files"]:
        yield f"Not here, of the study's files: {len(summary['missing_files'])} ('eqlab data list' names them)."


def _order(report: Row) -> Iterator[str]:
    widths = [(row["high"] - row["low"]) / 2 for row in report["rows"] if row["low"] is not None]
    if widths:
        yield f"Print gives no intervals; they are ±{min(widths):.1f} to ±{max(widths):.1f} points wide."
    pairs = [pair for pair in report["summary"]["differences"] if pair["neighbours"]]
    if pairs:
        apart = sum(bool(pair["separated"]) for pair in pairs)
        yield f"{apart} of {len(pairs)} pairs of adjacent models can be told apart on the same personas."


def _simulators(summary: Row) -> Iterator[str]:
    for effect in summary["simulator_effects"]:
        gaps = [model["difference"] for model in effect["models"] if model["difference"] is not None]
        if not gaps or effect["difference"] is None:
            continue
        if len(gaps) > 1:
            moved = f"the scores of the same {len(gaps)} models change by {effect['difference']:+.1f} points on average"
            moved += f"{_between(effect, 'models and personas')}, each by {min(gaps):+.1f} to {max(gaps):+.1f}"
        else:
            only = next(model for model in effect["models"] if model["difference"] is not None)
            moved = f"the score of {only['model']}, the one model that met both, changes by "
            moved += f"{only['difference']:+.1f} points{_between(only, 'personas')}"
        yield f"With {effect['second']} instead of {effect['first']} as simulator, {moved}."


def _between(effect: Row, over: str) -> str:
    if effect["low"] is None:
        return ""
    return f" (95 % interval over {over} {effect['low']:+.1f} to {effect['high']:+.1f})"


def _variance(summary: Row) -> Iterator[str]:
    variance = summary["variance"]
    shares = variance["shares"]
    if shares is None:
        yield f"Shares of variance are undefined: {variance['note']}."
        return
    parts = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items() if share is not None)
    note = f" ({variance['note']})" if variance["note"] else ""
    yield f"Of the variance of one talk's end: {parts}{note}."
    alone, *several = variance["designs"]
    enough = [row for row in several if row["personas_for_score"] is not None]
    this = alone["personas_for_score"]
    sentence = (
        f"An interval of ±{HALF_WIDTH:g} takes {this or 'over 2,000'} personas if it is to hold for one simulator"
    )
    if not several:
        yield f"{sentence}."
    elif enough:
        yield (
            f"{sentence}; if for any, {enough[0]['personas_for_score']} personas with each of "
            f"{enough[0]['simulators']} simulators."
        )
    else:
        yield f"{sentence}; if for any, more than {several[-1]['simulators']} simulators."


def _lengths(summary: Row) -> Iterator[str]:
    by = {row["outcome"]: row["replies"] for row in summary["length"] if row["replies"] is not None}
    if len(by) == 3:
        yield (
            f"The simulator ends a talk: {by['failure']:.1f} replies where it fails, {by['success']:.1f} where it "
            f"succeeds, {by['in between']:.1f} in between; length and score cannot be told apart."
        )


def _scores(rows: list[Row]) -> Table:
    order = sorted(rows, key=lambda row: (row["simulator"], -(row["score"] if row["score"] is not None else -1e9)))
    columns = (
        "simulator | model | interval: score | rank | printed_score: printed score | success | failure | "
        "printed_counts: printed success, failure | sd: SD | mean_replies: replies | remarks: note"
    )
    shown = [
        row
        | {
            "interval": _interval(row, "score", digits=2),
            "rank": _rank(row),
            "printed_score": "" if row["printed_score"] is None else row["printed_score"],
            "printed_counts": ""
            if row["printed_success"] is None
            else f"{row['printed_success']}, {row['printed_failure']}",
            "mean_replies": "" if row["replies"] is None else f"{row['replies']:.1f}",
            "remarks": "; ".join(part for part in (row["explanation"], row["note"]) if part),
        }
        for row in order
    ]
    note = (
        "95 % intervals over personas. Success: final emotion of 100; failure: below 10. Rank: among the models "
        "that met the same simulator, all pairs tested at once."
    )
    return table_of("SAGE: final emotion, recomputed from the talks", columns, shown, note, draw=(whiskers("score"),))


def _interval(row: Row, name: str, digits: int = 1) -> Estimate:
    return Estimate("", row[name], row["n"], row["se"], row["low"], row["high"], digits=digits)


def _rank(row: Row) -> str:
    if row["rank_best"] is None:
        return ""
    return f"{row['rank_best']}" + ("" if row["rank_best"] == row["rank_worst"] else f" to {row['rank_worst']}")


def _neighbours(pairs: list[Row]) -> Table:
    apart = sum(bool(pair["separated"]) for pair in pairs)
    columns = (
        "simulator | a: model | b: next | interval: difference | p_holm: p (Holm) | apart: told apart | "
        "personas_needed: personas needed"
    )
    words = {True: "yes", False: "no", None: "undefined"}
    shown = [
        pair | {"interval": _interval(pair, "difference"), "apart": words[pair["separated"]]}
        for pair in pairs
        if pair["neighbours"]
    ]
    note = (
        f"Of all {len(pairs)} pairs {apart} can be told apart (Holm within a simulator). Personas needed: for a "
        "difference of this size, with 80 % power."
    )
    return table_of("Adjacent models, on the same personas", columns, shown, note)


def _effects(effects: list[Row]) -> Table:
    rows: list[Row] = []
    for effect in effects:
        for model in effect["models"]:
            shown = {"name": " / ".join(model["files"]), "interval": _interval(model, "difference"), "order": ""}
            rows.append(effect | model | shown)
        overall = structs.replace(_interval(effect | {"n": effect["n_models"]}, "difference"), of="models")
        order = f"{effect['pairs_in_other_order']} of {effect['pairs_of_models']}"
        rows.append(effect | {"name": "all", "interval": overall, "order": order})
    columns = (
        "first: from | second: to | name: model | first_score: score from | second_score: score to | "
        "interval: difference | order: pairs in another order"
    )
    note = "Paired by model and persona; the interval of 'all' takes both for samples."
    return table_of("The same models and personas, another simulator", columns, rows, note)


def _terms(variance: Row) -> Table:
    shown = [
        term
        | {
            "source": term["term"].replace(":", " × "),
            "levels": "" if term["levels"] is None else term["levels"],
            "interval": Estimate("", term["variance"], variance["n"], None, term["low"], term["high"], digits=0),
        }
        for term in variance["terms"]
    ]
    columns = "source | levels | interval: variance | share_percent: share (%)"
    note = (
        "Restricted maximum likelihood, all factors random and crossed, empty cells allowed. "
        f"{variance['note'].capitalize()}{'.' if variance['note'] else ''}"
    ).strip()
    return table_of("Whose doing is the end of one talk?", columns, shown, note)


def _designs(variance: Row) -> Table:
    columns = (
        f"simulators | holds_for: holds for | score: score with {PERSONAS} personas | "
        f"personas_for_score: personas for a score ±{HALF_WIDTH:g} | "
        f"difference: difference with {PERSONAS} personas | "
        f"personas_for_difference: personas for a difference ±{HALF_WIDTH:g}"
    )
    shown = [
        {
            **row,
            "score": _width(row["half_width_of_score"]),
            "personas_for_score": _personas(row["personas_for_score"]),
            "difference": _width(row["half_width_of_difference"]),
            "personas_for_difference": _personas(row["personas_for_difference"]),
        }
        for row in variance["designs"]
    ]
    note = (
        "Half widths of 95 % intervals, for one model's score and for the difference of two models that meet the "
        "same personas and simulators."
    )
    return table_of(f"How many personas and simulators for ±{HALF_WIDTH:g}?", columns, shown, note)


def _width(width: float | None) -> str:
    return "the whole scale" if width is None else f"±{width:.1f}"


def _personas(count: int | None) -> str:
    return "never within 2,000" if count is None else str(count)


def _length_table(length: list[Row]) -> Table:
    columns = "outcome | n: talks | replies: mean replies | fewest | most"
    return table_of("Replies by outcome", columns, length)


STUDY = Study("SAGE, recomputed", reproduce, findings, tables)

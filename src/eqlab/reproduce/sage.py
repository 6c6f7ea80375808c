"""SAGE (arXiv 2505.02847), recomputed from its talks: every printed value, and what print leaves out: intervals, paired
differences, what another simulator does to the same models, and whose doing a score is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from eqlab.benchmarks.dialogue.result import HALF_WIDTH
from eqlab.core.results import Estimate, Table, whiskers
from eqlab.data import published
from eqlab.reproduce.claims import Report, Row, Study, table_of
from eqlab.reproduce.sage_talks import (
    PERSONAS,
    TalkCell,
    differences,
    lengths,
    read_cells,
    rows,
    simulator_effects,
    variance_report,
)


def reproduce(data: Path | None) -> Report:
    folder = published.published_folder(data)
    cells = read_cells(folder)
    found = rows(cells)
    return {"rows": found, "summary": _summary(found, cells, folder)}


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


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    return [*_agreement(summary), *_order(report), *_simulators(summary), *_shares(summary), *_lengths(summary)]


def tables(report: Report) -> list[Table]:
    summary = report["summary"]
    found = [_scores(report["rows"])]
    if summary["differences"]:
        found.append(_neighbours(summary["differences"]))
    if summary["simulator_effects"]:
        found.append(_effects(summary["simulator_effects"]))
    if summary["variance"]["terms"]:
        found += [_terms(summary["variance"]), _designs(summary["variance"])]
    return [*found, _length_table(summary["length"])]


def _agreement(summary: Row) -> Iterator[str]:
    files = _count(summary["files"], "file")
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


def _shares(summary: Row) -> Iterator[str]:
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


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


STUDY = Study("SAGE, recomputed", reproduce, findings, tables)

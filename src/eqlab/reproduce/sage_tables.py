"""The reproduction of SAGE in sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from eqlab.core.results import Estimate, Table
from eqlab.reproduce.sage_variance import HALF_WIDTH, PERSONAS

Row = Mapping[str, Any]


def findings(report: Row) -> list[str]:
    summary = report["summary"]
    return [*_agreement(summary), *_order(report), *_simulators(summary), *_shares(summary), *_lengths(summary)]


def tables(report: Row) -> list[Table]:
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
        yield f"{apart} of {len(pairs)} neighbours in the order of scores can be told apart on the same personas."


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
    return Table(
        "SAGE: final emotion, recomputed from the talks",
        (
            *("simulator", "model", "score", "rank", "printed score", "success", "failure"),
            *("printed success, failure", "SD", "replies", "note"),
        ),
        tuple(
            (
                row["simulator"],
                row["model"],
                Estimate("", row["score"], row["n"], row["se"], row["low"], row["high"]),
                _rank(row),
                row["printed_score"],
                row["success"],
                row["failure"],
                "" if row["printed_success"] is None else f"{row['printed_success']}, {row['printed_failure']}",
                row["sd"],
                "" if row["replies"] is None else f"{row['replies']:.1f}",
                "; ".join(part for part in (row["explanation"], row["note"]) if part),
            )
            for row in order
        ),
        note=(
            "95 % intervals over personas. Success: final emotion of 100; failure: below 10. Rank: among the models "
            "that met the same simulator, all pairs tested at once."
        ),
        whiskers="score",
    )


def _rank(row: Row) -> str:
    if row["rank_best"] is None:
        return ""
    return f"{row['rank_best']}" + ("" if row["rank_best"] == row["rank_worst"] else f" to {row['rank_worst']}")


def _neighbours(pairs: list[Row]) -> Table:
    shown = [pair for pair in pairs if pair["neighbours"]]
    apart = sum(bool(pair["separated"]) for pair in pairs)
    return Table(
        "Neighbours in the order of scores, on the same personas",
        ("simulator", "model", "next", "difference", "p (Holm)", "told apart", "personas needed"),
        tuple(
            (
                pair["simulator"],
                pair["a"],
                pair["b"],
                Estimate("", pair["difference"], pair["n"], pair["se"], pair["low"], pair["high"], digits=1),
                pair["p_holm"],
                {True: "yes", False: "no", None: "undefined"}[pair["separated"]],
                pair["personas_needed"],
            )
            for pair in shown
        ),
        note=(
            f"Of all {len(pairs)} pairs {apart} can be told apart (Holm within a simulator). Personas needed: for a "
            "difference of this size, with 80 % power."
        ),
    )


def _effects(effects: list[Row]) -> Table:
    rows = []
    for effect in effects:
        ends = (effect["first"], effect["second"])
        for model in effect["models"]:
            gap = Estimate("", model["difference"], model["n"], model["se"], model["low"], model["high"], digits=1)
            rows.append((*ends, " / ".join(model["files"]), model["first_score"], model["second_score"], gap, ""))
        overall = Estimate(
            *("", effect["difference"], effect["n_models"], effect["se"], effect["low"], effect["high"]),
            digits=1,
            of="models",
        )
        order = f"{effect['pairs_in_other_order']} of {effect['pairs_of_models']}"
        rows.append((*ends, "all", None, None, overall, order))
    return Table(
        "The same models and personas, another simulator",
        ("from", "to", "model", "score from", "score to", "difference", "pairs in another order"),
        tuple(rows),
        note="Paired by model and persona; the interval of 'all' takes both for samples.",
    )


def _terms(variance: Row) -> Table:
    return Table(
        "Whose doing is the end of one talk?",
        ("source", "levels", "variance", "share (%)"),
        tuple(
            (
                term["term"].replace(":", " × "),
                term["levels"],
                Estimate("", term["variance"], variance["n"], None, term["low"], term["high"], digits=0),
                term["share_percent"],
            )
            for term in variance["terms"]
        ),
        note=(
            "Restricted maximum likelihood, all factors random and crossed, empty cells allowed. "
            f"{variance['note'].capitalize()}{'.' if variance['note'] else ''}"
        ).strip(),
    )


def _designs(variance: Row) -> Table:
    return Table(
        f"How many personas and simulators for ±{HALF_WIDTH:g}?",
        (
            "simulators",
            "holds for",
            f"score with {PERSONAS} personas",
            f"personas for a score ±{HALF_WIDTH:g}",
            f"difference with {PERSONAS} personas",
            f"personas for a difference ±{HALF_WIDTH:g}",
        ),
        tuple(
            (
                row["simulators"],
                row["holds_for"],
                _width(row["half_width_of_score"]),
                _personas(row["personas_for_score"]),
                _width(row["half_width_of_difference"]),
                _personas(row["personas_for_difference"]),
            )
            for row in variance["designs"]
        ),
        note=(
            "Half widths of 95 % intervals, for one model's score and for the difference of two models that meet the "
            "same personas and simulators."
        ),
    )


def _width(width: float | None) -> str:
    return "the whole scale" if width is None else f"±{width:.1f}"


def _personas(count: int | None) -> str:
    return "never within 2,000" if count is None else str(count)


def _length_table(length: list[Row]) -> Table:
    return Table(
        "Replies by outcome",
        ("outcome", "talks", "mean replies", "fewest", "most"),
        tuple((row["outcome"], row["n"], row["replies"], row["fewest"], row["most"]) for row in length),
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"

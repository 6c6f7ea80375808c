"""A comparison as tables and as plain data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from eqlab.analysis.components import RESIDUAL, Design
from eqlab.comparison.compare import Comparison, Pair, Standing
from eqlab.comparison.disagreement import disagreement, furthest_apart
from eqlab.comparison.sentences import caveats, chance_words, noun, p_words, pair_sentence, sentence
from eqlab.core.results import Estimate, Table

ALL_PAIRS = 10
"""With more subjects than this only neighbours are listed; all pairs are tested all the same."""
_LOST = ("unparseable", "refused", "error", "unanswered")
Cell = str | int | float | Estimate | None


def tables(found: Comparison) -> list[Table]:
    listed = [_standings(found)]
    if found.pairs:
        listed.append(_pairs(found))
    parts = [standing for standing in found.standings if standing.components is not None]
    if parts:
        listed += [_components(found, parts), _designs(found, parts)]
    apart = disagreement({one.entry.name: one.entry.means for one in found.standings})
    if apart is not None:
        listed.append(apart)
    if found.undefined:
        listed.append(Table("Not compared", ("subject", "why"), tuple(found.undefined)))
    return listed


def _standings(found: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = []
    again = any(standing.variation is not None for standing in found.standings)
    for one in found.standings:
        low, high = one.rank
        counts = one.entry.counts
        row: list[Cell] = [
            "" if len(found.standings) == 1 else f"{low}" if low == high else f"{low}–{high}",
            one.entry.name,
            one.entry.score,
            len(one.entry.items),
            one.entry.asked,
            *(counts.get(status, 0) for status in _LOST),
        ]
        rows.append(tuple([*row, one.variation, one.agreement] if again else row))
    columns = ["rank", "subject", found.standings[0].entry.score.name, noun(found), "repeats", *_LOST]
    columns += ["CV over repeats, %", "agreement of repeats (ICC)"] if again else []
    note = (
        "A rank is a range: from one more than the subjects certainly better, to the number of subjects less those "
        "certainly worse (pairs that are separated below)."
    )
    return Table(found.title, tuple(columns), tuple(rows), note if len(found.standings) > 1 else "")


def _pairs(found: Comparison) -> Table:
    shown = found.pairs
    count = len(found.standings)
    note = "Separated at 0.05."
    if len(found.pairs) > 1:
        note = f"Holm's correction over all {len(found.pairs)} pairs; separated at 0.05."
    if count > ALL_PAIRS:
        order = {standing.entry.name: index for index, standing in enumerate(found.standings)}
        shown = tuple(pair for pair in found.pairs if order[pair.b.name] - order[pair.a.name] == 1)
        note += f" Only the {len(shown)} neighbours are shown; --json has all."
    rows = tuple(_pair_row(pair) for pair in shown)
    columns: tuple[str, ...] = (
        "A",
        "B",
        "A − B",
        "P(A is better)",
        "effect",
        "A higher on",
        "p",
        "p after Holm",
        "separated",
    )
    columns = (*columns, noun(found), "would do")
    return Table("Every two" if count <= ALL_PAIRS else "Neighbours", columns, rows, note)


def _pair_row(pair: Pair) -> tuple[Cell, ...]:
    gap = pair.difference
    separated = {True: "yes", False: "no", None: "undefined"}[pair.separated]
    return (
        pair.a.name,
        pair.b.name,
        Estimate("A − B", gap.value, gap.n, gap.se, gap.low, gap.high),
        chance_words(gap.probability),
        "undefined" if gap.effect is None else f"{gap.effect:+.2f}",
        "undefined" if gap.superiority is None else f"{100 * gap.superiority:.0f} %",
        p_words(gap.p),
        p_words(pair.p_holm),
        separated,
        f"{gap.n} {gap.method}",
        pair.needed,
    )


def _components(found: Comparison, parts: Sequence[Standing]) -> Table:
    names = ["item", "repeat", *(["order"] if any(one.order_apart for one in parts) else []), RESIDUAL]
    rows: list[tuple[Cell, ...]] = []
    for one in parts:
        if one.components is None:
            continue
        share, variance = one.components.share, one.components.variance
        cells = (_component(variance.get(name), share.get(name)) for name in names)
        rows.append((one.entry.name, one.components.n, *cells))
    note = (
        "Standard deviation in points of the score, and share of one answer's variance. item: some are harder; repeat: "
        "a whole repeat is better or worse; residual: the same item answered differently."
    )
    if not all(one.order_apart for one in parts):
        note += " Orders that differ from repeat to repeat are part of the residual."
    return Table("Where the spread comes from", ("subject", "answers", *names), tuple(rows), note)


def _component(variance: float | None, share: float | None) -> str:
    if variance is None:
        return "not beyond chance"
    return "undefined" if share is None else f"{variance**0.5:.2f} ({100 * share:.0f} %)"


def _designs(found: Comparison, parts: Sequence[Standing]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    lines: list[tuple[str, Sequence[Design]]] = [(f"score of {one.entry.name}", one.designs) for one in parts[:6]]
    lines += [(f"{pair.a.name} − {pair.b.name}", pair.designs) for pair in found.pairs if pair.designs][:6]
    repeats = sorted({design.repeats for _, own in lines for design in own})
    for name, own in lines:
        for items in sorted({design.items for design in own}):
            by_repeats = {design.repeats: design.se for design in own if design.items == items}
            rows.append((name, items, *(by_repeats.get(count) for count in repeats)))
    columns = ("standard error of", noun(found), *(_times(count) for count in repeats))
    note = (
        "What more repeats and more items would buy. Half the standard error needs four times as many of what counts."
    )
    return Table("Standard errors of other designs", columns, tuple(rows), note)


def _times(count: int) -> str:
    return "asked once" if count == 1 else f"asked {count} times"


def as_data(found: Comparison, missing: str) -> dict[str, Any]:
    """For --json: plain values, nothing rounded."""
    things = noun(found)
    return {
        "benchmark": found.benchmark,
        "title": found.title,
        "sentence": sentence(found),
        "subjects": [
            {
                "name": one.entry.name,
                "origin": one.entry.origin,
                "rank": list(one.rank),
                "score": asdict(one.entry.score),
                "items": len(one.entry.items),
                "repeats": one.entry.asked,
                "counts": dict(one.entry.counts),
                "repeatability": [asdict(e) for e in (one.variation, one.agreement) if e is not None],
                "variance": None if one.components is None else one.components.variance,
                "designs": [asdict(design) for design in one.designs],
            }
            for one in found.standings
        ],
        "pairs": [
            {
                "a": pair.a.name,
                "b": pair.b.name,
                **asdict(pair.difference),
                "shared": pair.shared,
                "p_holm": pair.p_holm,
                "separated": pair.separated,
                "items_needed": pair.needed,
                "designs": [asdict(design) for design in pair.designs],
                "sentence": pair_sentence(pair, things),
            }
            for pair in found.pairs
        ],
        "disagreement": [
            {"item": one.item, "range": one.range, "points": dict(one.points)}
            for one in furthest_apart({one.entry.name: one.entry.means for one in found.standings})
        ],
        "undefined": [{"name": name, "why": why} for name, why in found.undefined],
        "caveats": caveats(found, missing),
    }

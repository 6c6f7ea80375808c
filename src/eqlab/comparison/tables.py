"""A comparison as tables and as plain data."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.analysis.components import RESIDUAL, MeasurementDesign
from eqlab.comparison.compare import Comparison, Spread, caveats
from eqlab.comparison.contender import Contender
from eqlab.comparison.disagreement import disagreement, furthest_apart
from eqlab.comparison.entries import OVERALL, SHARE
from eqlab.comparison.scores import AT_WORST, RANK
from eqlab.comparison.sentences import conclusion, needed_words, pair_sentence
from eqlab.comparison.speakers import over_speakers, over_speakers_table
from eqlab.comparison.verdict import Pair, Standing, Verdict
from eqlab.core.answers import OUTCOMES
from eqlab.core.results import POINTS, Cell, Column, Estimate, Table, as_dict
from eqlab.core.text import number
from eqlab.tables.cells import markdown_table, safe

ALL_PAIRS = 10
"""With more subjects than this only neighbours are listed; all pairs are tested all the same."""
FROM_INTERVALS = "from intervals"


FIRST = "May be first: the truly best is among these with 95 % confidence."
JOINTLY = "Rank, jointly: all true ranks lie in these ranges at once, with 95 % confidence."
RANK_COLUMN = Column("rank", "rank", "rank", note=RANK)
FIRST_COLUMN = Column("may_be_first", "may be first", "flag", note=FIRST)
AT_WORST_COLUMN = Column("rank_at_worst", "rank at worst", "rank")
JOINTLY_COLUMN = Column("rank_jointly", "rank, jointly", "rank", note=JOINTLY)
SEPARATED_ALONE = "Told apart: this pair by itself, with 95 % confidence; p_jointly corrects for all pairs."
SEPARATED = "Told apart: this pair by itself at 95 %; p, all pairs: corrected for the {pairs} of them."


def sentence(found: Comparison) -> str:
    return conclusion(found.verdict, found.things, found.rater)


def tables(found: Comparison) -> list[Table]:
    listed = [_standings(found)]
    if found.pairs:
        listed.append(_pairs(found))
    parts = {name: spread for name, spread in found.spreads.items() if spread.components is not None}
    if parts:
        listed += [_components(parts), _designs(found, parts)]
    if beyond := over_speakers(found.entries):
        listed.append(over_speakers_table(beyond))
    apart = disagreement({entry.name: entry.means for entry in found.entries if entry.items})
    if apart is not None:
        listed.append(apart)
    left = [(one.contender.name, one.contender.why_no_rank) for one in found.verdict.standings if not one.rank]
    if left or found.undefined:
        listed.append(_unranked((*left, *found.undefined)))
    return listed


def _unranked(found: Sequence[tuple[str, str]]) -> Table:
    """Those of one reason in one row."""
    names: dict[str, list[str]] = {}
    for name, why in found:
        names.setdefault(why, []).append(name)
    return Table(
        "Without a rank", (Column("who", "model"), "why"), tuple((", ".join(own), why) for why, own in names.items())
    )


def _standings(found: Comparison) -> Table:
    several = len(found.verdict.ranked) > 1
    joint = any(one.jointly for one in found.verdict.ranked)
    again = any(spread.variation is not None for spread in found.spreads.values())
    counted = any(len(entry.items) != entry.score.n for entry in found.entries)  # else n says it
    repeated = any(entry.asked > 1 for entry in found.entries)
    lost = [status for status in OUTCOMES[1:] if any(entry.counts.get(status) for entry in found.entries)]
    bounded = any(one.contender.lost for one in found.verdict.standings)
    rows: list[tuple[Cell, ...]] = []
    for one, entry in zip(found.verdict.standings, found.entries, strict=True):
        row: list[Cell] = [one.rank, one.may_be_first] if several else []
        row += [one.jointly] if joint else []
        row += [one.at_worst] if several and bounded else []
        row += [entry.name, entry.score]
        row += [one.contender.certain, _certain_best(one.contender)] if bounded else []
        row += [len(entry.items)] if counted else []
        row += [entry.asked] if repeated else []
        row += [entry.counts.get(status, 0) for status in lost]
        spread = found.spreads[entry.name]
        rows.append(tuple([*row, spread.variation, spread.agreement] if again else row))
    columns: list[Column | str] = [RANK_COLUMN, FIRST_COLUMN] if several else []
    columns += [JOINTLY_COLUMN] if joint else []
    columns += [AT_WORST_COLUMN] if several and bounded else []
    columns += [Column("who", "model"), Column("score", _measure(found), "estimate")]
    columns += (
        [Column("score_at_worst", "at worst", "number"), Column("score_at_best", "at best", "number")]
        if (bounded)
        else []
    )
    columns += [*([found.things] if counted else []), *(["repeats"] if repeated else []), *lost]
    columns += ["CV over repeats, %", "agreement of repeats (ICC)"] if again else []
    note = " ".join([RANK, FIRST, *([JOINTLY] if joint else [])]) if several else ""
    note = " ".join([*([note] if note else []), *([AT_WORST] if bounded else [])])
    title = f"{found.title}: {found.rater}" if found.rater else found.title
    return Table(title, tuple(columns), tuple(rows), note)


def _certain_best(one: Contender) -> float | None:
    return one.lost.at_best if one.lost else one.score.value


def _measure(found: Comparison) -> str:
    score = found.entries[0].score
    if not found.rater:
        return score.name
    return OVERALL if score.unit == POINTS else SHARE


def _pairs(found: Comparison) -> Table:
    shown = found.pairs
    count = len(found.verdict.ranked)
    note = SEPARATED.format(pairs=len(found.pairs)) if len(found.pairs) > 1 else "Told apart: at 95 %."
    if count > ALL_PAIRS:
        order = {one.contender.name: index for index, one in enumerate(found.verdict.ranked)}
        shown = tuple(pair for pair in found.pairs if order[pair.b.name] - order[pair.a.name] == 1)
        note += f" Only the {len(shown)} pairs of adjacent models are shown; --json has all."
    several = len(found.pairs) > 1
    basis = {_basis(pair) for pair in shown}
    rows = tuple(_pair_row(pair, several, with_basis=len(basis) > 1) for pair in shown)
    columns: list[Column | str] = [
        Column("a", "A"),
        Column("b", "B"),
        Column("difference", "A − B", "estimate"),
        Column("probability", "P(A is better)", "share", 1),
        Column("effect", "effect", "number"),
        Column("superiority", "A higher on", "share", 0),
        Column("p", "p", "p"),
        *([Column("p_all_pairs", "p, all pairs", "p")] if several else []),
        Column("told_apart", "told apart", "flag"),
        *([found.things] if len(basis) > 1 else []),
        Column("needed", f"{found.things} needed"),
    ]
    if len(basis) == 1 and (n := shown[0].difference.n):
        how = _how(shown[0])
        note += f" {how[:1].upper()}{how[1:]}{'' if how == FROM_INTERVALS else f' over {n} {found.things}'}."
    return Table("All pairs" if count <= ALL_PAIRS else "Adjacent models", columns, rows, note)


def _how(pair: Pair) -> str:
    return pair.difference.method if pair.a.points and pair.b.points else FROM_INTERVALS


def _basis(pair: Pair) -> str:
    return f"{pair.difference.n} {_how(pair)}"


def _pair_row(pair: Pair, several: bool, *, with_basis: bool) -> tuple[Cell, ...]:
    gap = pair.difference
    alike = pair.separated is False and gap.low is None  # too few of the items differ for an interval
    return (
        pair.a.name,
        pair.b.name,
        f"{number(gap.value, 2)} ({pair.why})"
        if alike and gap.value is not None
        else Estimate("A − B", gap.value, gap.n, gap.se, gap.low, gap.high),
        "" if alike else pair.gain.probability,
        None if gap.effect is None else f"{gap.effect:+.2f}",
        gap.superiority,
        "" if alike and gap.differ is None else gap.p,
        *(("" if alike else pair.p_jointly,) if several else ()),
        "too few" if pair.separated is None else pair.separated,
        *((_basis(pair),) if with_basis else ()),
        needed_words(pair),
    )


def _components(parts: Mapping[str, Spread]) -> Table:
    names = ["item", "repeat", *(["order"] if any(one.order_apart for one in parts.values()) else []), RESIDUAL]
    rows: list[tuple[Cell, ...]] = []
    for name, one in parts.items():
        if one.components is None:
            continue
        share, variance = one.components.share, one.components.variance
        cells = (_component(variance.get(part), share.get(part)) for part in names)
        rows.append((name, one.components.n, *cells))
    note = (
        "Standard deviation in points of the score, and share of one answer's variance. item: some are harder; repeat: "
        "a whole repeat is better or worse; residual: the same item answered differently."
    )
    if not all(one.order_apart for one in parts.values()):
        note += " Orders that differ from repeat to repeat are part of the residual."
    return Table("Where the spread comes from", (Column("who", "model"), "answers", *names), tuple(rows), note)


def _component(variance: float | None, share: float | None) -> str:
    if variance is None:
        return "not beyond chance"
    return "undefined" if share is None else f"{variance**0.5:.2f} ({100 * share:.0f} %)"


def _designs(found: Comparison, parts: Mapping[str, Spread]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    lines: list[tuple[str, Sequence[MeasurementDesign]]] = [
        (f"score of {name}", one.designs) for name, one in list(parts.items())[:6]
    ]
    lines += [(f"{pair.a.name} − {pair.b.name}", pair.designs) for pair in found.pairs if pair.designs][:6]
    repeats = sorted({design.repeats for _, own in lines for design in own})
    for name, own in lines:
        for items in sorted({design.items for design in own}):
            by_repeats = {design.repeats: design.se for design in own if design.items == items}
            rows.append((name, items, *(by_repeats.get(count, "") for count in repeats)))
    columns = ("standard error of", found.things, *(_times(count) for count in repeats))
    note = (
        "What more repeats and more items would buy. Half the standard error needs four times as many of what counts."
    )
    return Table("Standard errors of other designs", columns, tuple(rows), note)


def _times(count: int) -> str:
    return "asked once" if count == 1 else f"asked {count} times"


def as_data(found: Comparison, missing: str) -> dict[str, Any]:
    """For --json: plain values, nothing rounded."""
    things = found.things
    return {
        "benchmark": found.benchmark,
        "title": found.title,
        "rated_by": found.rater or None,
        "sentence": sentence(found),
        "claims": {"rank": RANK, "may_be_first": FIRST, "rank_jointly": JOINTLY, "separated": SEPARATED_ALONE},
        "subjects": [
            {
                "name": one.contender.name,
                "origin": entry.origin,
                "rank": list(one.rank) if one.rank else None,
                "may_be_first": one.may_be_first,
                "rank_jointly": list(one.jointly) if one.jointly else None,
                "why_no_rank": one.contender.why_no_rank,
                "score": as_dict(entry.score),
                "lost": lost_data(one),
                "items": len(entry.items),
                "repeats": entry.asked,
                "counts": dict(entry.counts),
                "repeatability": [as_dict(e) for e in (spread.variation, spread.agreement) if e is not None],
                "variance": None if spread.components is None else spread.components.variance,
                "designs": [as_dict(design) for design in spread.designs],
            }
            for one, entry in zip(found.verdict.standings, found.entries, strict=True)
            for spread in (found.spreads[entry.name],)
        ],
        "pairs": [pair_data(pair, things) for pair in found.pairs],
        "over_speakers": [
            {"a": a, "b": b, **as_dict(gap), "as_published": as_dict(moderated)}
            for a, b, gap, moderated in over_speakers(found.entries)
        ],
        "disagreement": [
            {"item": one.item, "range": one.range, "points": dict(one.points)}
            for one in furthest_apart({entry.name: entry.means for entry in found.entries if entry.items})
        ],
        "undefined": [{"name": name, "why": why} for name, why in found.undefined],
        "caveats": caveats(found, missing),
    }


def lost_data(one: Standing) -> dict[str, Any] | None:
    """What was refused, unreadable or failed, and the bounds between which the score lies; None where nothing was."""
    lost = one.contender.lost
    if lost is None:
        return None
    return {
        "counts": dict(lost.counts),
        "score_at_worst": lost.at_worst,
        "score_at_best": lost.at_best,
        "score_errors_as_wrong": lost.as_wrong,
        "rank_at_worst": list(one.at_worst) if one.at_worst else None,
    }


def pair_data(pair: Pair, things: str) -> dict[str, Any]:
    return {
        "a": pair.a.name,
        "b": pair.b.name,
        **as_dict(pair.difference),
        "shared": pair.shared,
        "p_jointly": pair.p_jointly,
        "separated": pair.separated,
        "better": pair.better.name if pair.better else None,
        "leads": pair.leads.name if pair.leads else None,
        "at_worst": as_dict(pair.at_worst) if pair.at_worst else None,
        "items_needed": pair.needed,
        "items_needed_range": list(pair.needed_range) if pair.needed_range else None,
        "designs": [as_dict(design) for design in pair.designs],
        "sentence": pair_sentence(pair, things),
    }


def verdict_data(verdict: Verdict, things: str, rater: str = "") -> dict[str, Any]:
    """A verdict as plain values, wherever a file holds one: the sentence, the ranks, neighbours compared."""
    return {
        "sentence": conclusion(verdict, things, rater),
        "rated_by": rater or None,
        "may_be_first": [one.name for one in verdict.first],
        "standings": [
            {
                "name": one.contender.name,
                "score": as_dict(one.contender.score),
                "rank": list(one.rank) if one.rank else None,
                "may_be_first": one.may_be_first,
                "why_no_rank": one.contender.why_no_rank,
                "lost": lost_data(one),
            }
            for one in verdict.standings
        ],
        "neighbours": [pair_data(pair, things) for pair in verdict.neighbours()],
    }


# A comparison as Markdown: the conclusion, the ranks, the pairs.
SHOWN = 2
"""Tables: ranks and pairs."""


def comparison_page(found: Sequence[Comparison], missing: str) -> str:
    parts = []
    for one in found:
        parts += [f"### {safe(one.title)}", "", safe(sentence(one)), ""]
        for table in tables(one)[:SHOWN]:
            parts += [markdown_table(table), ""]
        parts += [*(f"- {safe(said)}" for said in caveats(one, missing)), ""]
    return "\n".join(parts)

"""A comparison as tables and as plain data."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eqlab.analysis.components import RESIDUAL, MeasurementDesign
from eqlab.comparison.compare import Comparison, Spread, caveats, worth_words, yardsticks
from eqlab.comparison.contender import Contender
from eqlab.comparison.disagreement import disagreement, furthest_apart
from eqlab.comparison.entries import OVERALL, SHARE
from eqlab.comparison.scores import AT_WORST, RANK, SEM, reliability_words
from eqlab.comparison.sentences import conclusion, needed_words, pair_sentence
from eqlab.comparison.verdict import Pair, Standing, Verdict
from eqlab.core.answers import OUTCOMES
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import POINTS, Cell, Column, Estimate, Table, as_dict
from eqlab.core.text import number
from eqlab.tables.cells import markdown_table, safe

if TYPE_CHECKING:
    from eqlab.comparison.speakers import Beyond

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


def _over_speakers(comparison: Comparison) -> "Sequence[Beyond]":
    if not any(entry.result.transcripts for entry in comparison.entries):
        return ()
    from eqlab.comparison.speakers import over_speakers

    return over_speakers([entry for entry in comparison.entries if not entry.rater])


def sentence(comparison: Comparison) -> str:
    return conclusion(comparison.verdict, comparison.things, comparison.rater)


def tables(comparison: Comparison) -> list[Table]:
    listed = [_standings(comparison)]
    if comparison.pairs:
        listed.append(_pairs(comparison))
    parts = {name: spread for name, spread in comparison.spreads.items() if spread.components is not None}
    if parts:
        listed += [_components(parts), _designs(comparison, parts)]
    if beyond := _over_speakers(comparison):
        from eqlab.comparison.speakers import over_speakers_table

        listed.append(over_speakers_table(beyond))
    apart = disagreement({entry.name: entry.means for entry in comparison.entries if entry.items})
    if apart is not None:
        listed.append(apart)
    left = [
        (standing.contender.name, standing.contender.why_no_rank)
        for standing in comparison.verdict.standings
        if not standing.rank
    ]
    if left or comparison.undefined:
        listed.append(_unranked((*left, *comparison.undefined)))
    return listed


def _unranked(found: Sequence[tuple[str, str]]) -> Table:
    """Those of one reason in one row."""
    names = grouped((why, name) for name, why in found)
    return Table(
        "Without a rank", (Column("who", "model"), "why"), tuple((", ".join(own), why) for why, own in names.items())
    )


def _standings(comparison: Comparison) -> Table:
    several = len(comparison.verdict.ranked) > 1
    joint = any(one.jointly for one in comparison.verdict.ranked)
    again = any(spread.variation is not None for spread in comparison.spreads.values())
    counted = any(entry.items and len(entry.items) != entry.score.n for entry in comparison.entries)  # else n says it
    repeated = any(entry.asked > 1 for entry in comparison.entries)
    lost = [status for status in OUTCOMES[1:] if any(entry.counts.get(status) for entry in comparison.entries)]
    bounded = any(one.contender.lost for one in comparison.verdict.standings)
    measured = comparison.measured
    rows: list[tuple[Cell, ...]] = []
    for standing, entry in zip(comparison.verdict.standings, comparison.entries, strict=True):
        row: list[Cell] = [standing.rank, standing.may_be_first] if several else []
        row += [standing.jointly] if joint else []
        row += [standing.at_worst] if several and bounded else []
        row += [entry.name, entry.score]
        row += [standing.contender.certain, _certain_best(standing.contender)] if bounded else []
        row += [measured[1].get(entry.name)] if measured else []
        row += [len(entry.items) or None] if counted else []
        row += [entry.asked] if repeated else []
        row += [entry.counts.get(status, 0) for status in lost]
        spread = comparison.spreads[entry.name]
        rows.append(tuple([*row, spread.variation, spread.agreement] if again else row))
    columns: list[Column | str] = [RANK_COLUMN, FIRST_COLUMN] if several else []
    columns += [JOINTLY_COLUMN] if joint else []
    columns += [AT_WORST_COLUMN] if several and bounded else []
    columns += [Column("who", "model"), Column("score", _measure(comparison), "estimate")]
    columns += (
        [Column("score_at_worst", "at worst", "number"), Column("score_at_best", "at best", "number")]
        if (bounded)
        else []
    )
    columns += [Column("sem", "SEM", "number")] if measured else []
    columns += [*([comparison.things] if counted else []), *(["repeats"] if repeated else []), *lost]
    columns += ["CV over repeats, %", "agreement of repeats (ICC)"] if again else []
    note = " ".join([RANK, FIRST, *([JOINTLY] if joint else [])]) if several else ""
    note = " ".join([*([note] if note else []), *([AT_WORST] if bounded else [])])
    worth = worth_words(comparison)
    more = [f"{reliability_words(measured[0])} {SEM}"] if measured else []
    note = " ".join([*([note] if note else []), *more, *worth])
    title = f"{comparison.title}: {comparison.rater}" if comparison.rater else comparison.title
    return Table(title, tuple(columns), tuple(rows), note)


def _certain_best(contender: Contender) -> float | None:
    return contender.lost.at_best if contender.lost else contender.score.value


def _measure(comparison: Comparison) -> str:
    score = comparison.entries[0].score
    if not comparison.rater:
        return score.name
    return OVERALL if score.unit == POINTS else SHARE if score.unit == "%" else score.name


def _pairs(comparison: Comparison) -> Table:
    shown = comparison.pairs
    count = len(comparison.verdict.ranked)
    note = SEPARATED.format(pairs=len(comparison.pairs)) if len(comparison.pairs) > 1 else "Told apart: at 95 %."
    if count > ALL_PAIRS:
        order = {standing.contender.name: index for index, standing in enumerate(comparison.verdict.ranked)}
        shown = tuple(pair for pair in comparison.pairs if order[pair.b.name] - order[pair.a.name] == 1)
        note += f" Only the {many(len(shown), 'pair')} of adjacent models are shown; --json has all."
    several = len(comparison.pairs) > 1
    basis = {_basis(pair) for pair in shown}
    needed = any(map(needed_words, shown))
    rows = tuple(_pair_row(pair, several, with_basis=len(basis) > 1, with_needed=needed) for pair in shown)
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
        *([comparison.things] if len(basis) > 1 else []),
        *([Column("needed", f"{comparison.things} needed")] if needed else []),
    ]
    if len(basis) == 1 and (n := shown[0].difference.n):
        how = _how(shown[0])
        note += f" {how[:1].upper()}{how[1:]}{'' if how == FROM_INTERVALS else f' over {n} {comparison.things}'}."
    return Table("All pairs" if count <= ALL_PAIRS else "Adjacent models", columns, rows, note)


def _how(pair: Pair) -> str:
    return pair.difference.method if pair.a.points and pair.b.points else FROM_INTERVALS


def _basis(pair: Pair) -> str:
    return f"{pair.difference.n} {_how(pair)}"


def _pair_row(pair: Pair, several: bool, *, with_basis: bool, with_needed: bool) -> tuple[Cell, ...]:
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
        *((needed_words(pair),) if with_needed else ()),
    )


def _components(parts: Mapping[str, Spread]) -> Table:
    names = ["item", "repeat", *(["order"] if any(part.order_apart for part in parts.values()) else []), RESIDUAL]
    rows: list[tuple[Cell, ...]] = []
    for name, spread in parts.items():
        if spread.components is None:
            continue
        share, variance = spread.components.share, spread.components.variance
        cells = (_component(variance.get(part), share.get(part)) for part in names)
        rows.append((name, spread.components.n, *cells))
    note = (
        "Standard deviation in points of the score, and share of one answer's variance. item: some are harder; repeat: "
        "a whole repeat is better or worse; residual: the same item answered differently."
    )
    if not all(part.order_apart for part in parts.values()):
        note += " Orders that differ from repeat to repeat are part of the residual."
    return Table("Where the spread comes from", (Column("who", "model"), "answers", *names), tuple(rows), note)


def _component(variance: float | None, share: float | None) -> str:
    if variance is None:
        return "not beyond chance"
    return "undefined" if share is None else f"{variance**0.5:.2f} ({100 * share:.0f} %)"


def _designs(comparison: Comparison, parts: Mapping[str, Spread]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    lines: list[tuple[str, Sequence[MeasurementDesign]]] = [
        (f"score of {name}", spread.designs) for name, spread in list(parts.items())[:6]
    ]
    lines += [(f"{pair.a.name} − {pair.b.name}", pair.designs) for pair in comparison.pairs if pair.designs][:6]
    repeats = sorted({design.repeats for _, own in lines for design in own})
    for name, own in lines:
        for items in sorted({design.items for design in own}):
            by_repeats = {design.repeats: design.se for design in own if design.items == items}
            rows.append((name, items, *(by_repeats.get(count, "") for count in repeats)))
    columns = ("standard error of", comparison.things, *(_times(count) for count in repeats))
    note = (
        "What more repeats and more items would buy. Half the standard error needs four times as many of what counts."
    )
    return Table("Standard errors of other designs", columns, tuple(rows), note)


def _times(count: int) -> str:
    return "asked once" if count == 1 else f"asked {count} times"


def as_data(comparison: Comparison, missing: str) -> dict[str, Any]:
    """For --json: plain values, nothing rounded."""
    things, measured = comparison.things, comparison.measured
    return {
        "benchmark": comparison.benchmark,
        "title": comparison.title,
        "rated_by": comparison.rater or None,
        "sentence": sentence(comparison),
        "claims": {"rank": RANK, "may_be_first": FIRST, "rank_jointly": JOINTLY, "separated": SEPARATED_ALONE},
        "subjects": [
            {
                "name": standing.contender.name,
                "origin": entry.origin,
                "rank": list(standing.rank) if standing.rank else None,
                "may_be_first": standing.may_be_first,
                "rank_jointly": list(standing.jointly) if standing.jointly else None,
                "why_no_rank": standing.contender.why_no_rank,
                "score": as_dict(entry.score),
                "sem": measured[1].get(standing.contender.name) if measured else None,
                "lost": lost_data(standing),
                "items": len(entry.items),
                "repeats": entry.asked,
                "counts": dict(entry.counts),
                "repeatability": [as_dict(e) for e in (spread.variation, spread.agreement) if e is not None],
                "variance": None if spread.components is None else spread.components.variance,
                "designs": [as_dict(design) for design in spread.designs],
            }
            for standing, entry in zip(comparison.verdict.standings, comparison.entries, strict=True)
            for spread in (comparison.spreads[entry.name],)
        ],
        "reliability": as_dict(measured[0].reliability) if measured else None,
        "reliability_better_half": as_dict(measured[0].better_half) if measured else None,
        "yardsticks": yardsticks(comparison),
        "pairs": [pair_data(pair, things) for pair in comparison.pairs],
        "over_speakers": [
            {"a": a, "b": b, **as_dict(gap), "as_published": as_dict(moderated)}
            for a, b, gap, moderated in _over_speakers(comparison)
        ],
        "disagreement": [
            {"item": apart.item, "range": apart.range, "points": dict(apart.points)}
            for apart in furthest_apart({entry.name: entry.means for entry in comparison.entries if entry.items})
        ],
        "undefined": [{"name": name, "why": why} for name, why in comparison.undefined],
        "caveats": caveats(comparison, missing),
    }


def lost_data(standing: Standing) -> dict[str, Any] | None:
    """What was refused, unreadable or failed, and the bounds between which the score lies; None where nothing was."""
    lost = standing.contender.lost
    if lost is None:
        return None
    return {
        "counts": dict(lost.counts),
        "score_at_worst": lost.at_worst,
        "score_at_best": lost.at_best,
        "score_errors_as_wrong": lost.as_wrong,
        "rank_at_worst": list(standing.at_worst) if standing.at_worst else None,
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
        "may_be_first": [contender.name for contender in verdict.first],
        "standings": [
            {
                "name": standing.contender.name,
                "score": as_dict(standing.contender.score),
                "rank": list(standing.rank) if standing.rank else None,
                "may_be_first": standing.may_be_first,
                "why_no_rank": standing.contender.why_no_rank,
                "lost": lost_data(standing),
            }
            for standing in verdict.standings
        ],
        "neighbours": [pair_data(pair, things) for pair in verdict.neighbours()],
    }


# A comparison as Markdown: the conclusion, the ranks, the pairs.
SHOWN = 2
"""Tables: ranks and pairs."""


def comparison_page(comparisons: Sequence[Comparison], missing: str) -> str:
    parts = []
    for comparison in comparisons:
        parts += [f"### {safe(comparison.title)}", "", safe(sentence(comparison)), ""]
        for table in tables(comparison)[:SHOWN]:
            parts += [markdown_table(table), ""]
        parts += [*(f"- {safe(caveat)}" for caveat in caveats(comparison, missing)), ""]
    return "\n".join(parts)

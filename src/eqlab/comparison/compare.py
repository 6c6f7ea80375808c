"""Everything `eqlab compare` knows of one benchmark: the verdict, every pair, and the parts of the spread. Pure:
entries in, a comparison out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from html import escape

import numpy as np

from eqlab.analysis.clusters import AGREEMENT, CV, item_agreement, score_variation
from eqlab.analysis.comparison import Difference, above_p, least
from eqlab.analysis.components import (
    Components,
    Measurement,
    MeasurementDesign,
    beyond_chance,
    designs,
    difference_designs,
)
from eqlab.analysis.intervals import FEWEST, Z95
from eqlab.analysis.multiplicity import holm
from eqlab.comparison.entries import Entry
from eqlab.comparison.scores import measure_points
from eqlab.comparison.sentences import conclusion, listed
from eqlab.comparison.verdict import ALPHA, POWER, Pair, Verdict, rank, turned
from eqlab.comparison.verdict import pair as compare_pair
from eqlab.core.answers import replaced
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import AGAINST_PLAIN, WORDINGS, Column, Estimate, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.values import dataclass
from eqlab.tables.cells import p_text


@dataclass(frozen=True, slots=True)
class Spread:
    """How far one subject's score is the same when it is asked again, and where the spread comes from."""

    variation: Estimate | None = None
    agreement: Estimate | None = None
    """Repeatability; None if it was asked once."""
    components: Components | None = None
    designs: tuple[MeasurementDesign, ...] = ()
    order_apart: bool = False
    """Whether orders could be told apart from repeats."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """All entries of one benchmark, or of one rater, best first."""

    benchmark: str
    title: str
    rater: str
    entries: tuple[Entry, ...]
    """In the order of the verdict."""
    verdict: Verdict
    pairs: tuple[Pair, ...]
    """Every two that are ranked: the better score first; of two alone, in the order given."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """By name."""
    undefined: tuple[tuple[str, str], ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Models that answered other questions of the benchmark, and stand in another table."""

    def __repr__(self) -> str:
        return f"<Comparison {self.title}: {conclusion(self.verdict, self.things, self.rater)}>"

    def _repr_html_(self) -> str:
        """For notebooks; everything in it is text, escaped."""
        from eqlab.tables.html import html_table

        rows = [
            (standing.contender.name, standing.rank, standing.contender.score) for standing in self.verdict.standings
        ]
        columns = (Column("who", "model"), Column("rank", "rank", "rank"), "score")
        said = escape(conclusion(self.verdict, self.things, self.rater))
        return f"<p>{said}</p>{html_table(Table('', columns, rows))}"

    @property
    def measured(self) -> tuple[Measurement, dict[str, float | None]] | None:
        """How well the ranked ones are told apart by these items, and each one's standard error of measurement; None
        for fewer than five whose score is a mean over the same items."""
        ranked = [standing.contender for standing in self.verdict.ranked if standing.contender.points]
        measurement = measure_points([contender.points for contender in ranked], ranked[0].better) if ranked else None
        return (
            (measurement, dict(zip([contender.name for contender in ranked], measurement.errors, strict=True)))
            if measurement
            else None
        )

    @property
    def things(self) -> str:
        """What the items compared are called."""
        return self.entries[0].result.noun


def compare(
    entries: Sequence[Entry], undefined: Sequence[tuple[str, str]] = (), *, joint: bool = False
) -> list[Comparison]:
    """One comparison per benchmark, version, measure and item set, or rater, in the order in which they come up: scores
    on other items stand in another table, and so do those in another measure."""
    found = []
    kinds = dict.fromkeys(entry.kind for entry in entries)
    measures = Counter(kind[:3] for kind in kinds)
    for kind in kinds:
        tables = _by_items([entry for entry in entries if entry.kind == kind])
        for items, table in tables.items():
            benchmark, title, rater, measure = kind
            title = f"{title}, {measure}" if measures[kind[:3]] > 1 else title
            named = f"{title} (items {items[:6]})" if len(tables) > 1 else title
            comparison = _compare((benchmark, named, rater), table, joint)
            found.append(replace(comparison, elsewhere=tuple(_elsewhere(entries, comparison))))
    if found and undefined:
        found[0] = replace(found[0], undefined=tuple(undefined))
    return found


def _by_items(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by item set. What raters say is of replies, not of items; people stand beside whoever answered the same
    questions, or beside everybody where there is one table."""
    if entries[0].rater:
        return {"": list(entries)}
    tables = grouped((entry.item_set, entry) for entry in entries if not entry.contender.people)
    for entry in entries:
        if entry.contender.people:
            place = next(iter(tables)) if len(tables) == 1 else entry.item_set
            tables.setdefault(place, []).append(entry)
    return tables


def _elsewhere(entries: Sequence[Entry], comparison: Comparison) -> list[str]:
    """Models that answered other questions of the same benchmark."""
    if comparison.rater:
        return []
    here = {entry.item_set for entry in comparison.entries}
    others = [entry for entry in entries if entry.result.benchmark == comparison.benchmark and not entry.rater]
    return [entry.name for entry in others if entry.item_set not in here and not entry.contender.people]


def _compare(kind: tuple[str, str, str], entries: Sequence[Entry], joint: bool) -> Comparison:
    verdict = rank([entry.contender for entry in entries], joint=joint)
    named = {entry.name: entry for entry in entries}
    ordered = tuple(named[standing.contender.name] for standing in verdict.standings)
    spreads = {entry.name: _spread(entry) for entry in ordered}
    return Comparison(*kind, ordered, verdict, tuple(_pairs(entries, verdict, spreads)), spreads)


def _pairs(entries: Sequence[Entry], verdict: Verdict, spreads: Mapping[str, Spread]) -> list[Pair]:
    pairs = verdict.pairs()
    names = [entry.name for entry in entries]
    if len(pairs) == 1 and names.index(pairs[0].a.name) > names.index(pairs[0].b.name):
        pairs = [pairs[0].turned()]
    return [_with_designs(pair, spreads[pair.a.name].components, spreads[pair.b.name].components) for pair in pairs]


def _spread(entry: Entry) -> Spread:
    estimates = {estimate.name: estimate for estimate in entry.result.estimates}
    if entry.repeats < 2:  # a benchmark that averages repeats inside an item says itself how alike they are
        return Spread(estimates.get(CV), estimates.get(AGREEMENT))
    known = np.isfinite(entry.points)
    if (known.sum(axis=0) > 0).sum() < 2:
        return Spread()
    scores = [float(entry.points[known[:, k], k].mean()) for k in range(entry.repeats) if known[:, k].any()]
    found, apart = _components(entry)
    return Spread(
        score_variation(scores),
        item_agreement(entry.points),
        found,
        tuple(designs(found, len(entry.items))) if found else (),
        apart,
    )


def _components(entry: Entry) -> tuple[Components | None, bool]:
    """Items, repeats and, where an item was put in several orders more than once each, orders."""
    row, column = np.nonzero(np.isfinite(entry.points))
    values = entry.points[row, column]
    factors = {"item": row, "repeat": column}
    trials = np.array([entry.trials[i][k] for i, k in zip(row.tolist(), column.tolist(), strict=True)])
    if len(set(trials.tolist())) > len(set(row.tolist())):
        found, _ = beyond_chance(values, {**factors, "order": trials}, "repeat")
        if found is not None:
            return found, True
    return beyond_chance(values, factors, "repeat")[0], False


def _with_designs(pair: Pair, components: Components | None, other: Components | None) -> Pair:
    difference = pair.difference
    if components is None or other is None or difference.method != "paired" or not difference.se:
        return pair
    spread = difference.se * difference.n**0.5
    asked = [(found, found.n / found.levels["item"]) for found in (components, other)]
    return replace(pair, designs=tuple(difference_designs(spread, asked, difference.n)))


@dataclass(frozen=True, slots=True)
class AlikePair:
    """Whether two are alike within a margin that was fixed beforehand."""

    pair: Pair
    margin: float
    low: float | None = None
    high: float | None = None
    """The 90 % interval of A − B, which lies within ± margin where the two are equivalent."""
    p: float | None = None
    """Of the two one-sided tests (Schuirmann 1987), corrected for all pairs (Holm); None where there is none."""

    @property
    def outcome(self) -> str:
        if self.p is not None and self.p < ALPHA:
            return "equivalent"
        return "different" if self.pair.better is not None else "cannot say"


def alike(comparison: Comparison, margin: float) -> list[AlikePair]:
    """Every two, within ± margin. Refusing is no way to be alike: with the lost answers of either as the worst it must
    hold, too."""
    tested = [alike_pair(pair, margin) for pair in comparison.pairs]
    return [replace(pair, p=p) for pair, p in zip(tested, holm([pair.p for pair in tested]), strict=True)]


def alike_pair(pair: Pair, margin: float) -> AlikePair:
    """One pair by itself."""
    test = _two_tests(pair.difference, margin)
    if test is None:
        return AlikePair(pair, margin)
    low, high, p = test
    for a, b in ((pair.a.at_worst, pair.b), (pair.a, pair.b.at_worst)):
        if (a, b) != (pair.a, pair.b):
            less = _two_tests(compare_pair(replace(a, lost=None), replace(b, lost=None)).difference, margin)
            p = max(p, 1.0 if less is None else less[2])
    return AlikePair(pair, margin, low, high, p)


def _two_tests(gap: Difference, margin: float) -> tuple[float, float, float] | None:
    """The 90 % interval and p, both corrected for skew; None where the few items that differ have no spread to judge
    by, or nothing varies."""
    if gap.value is None or gap.differ is not None or gap.low is None or gap.high is None or gap.low == gap.high:
        return None
    if not gap.se or gap.df is None:
        from eqlab.analysis.two_samples import tost

        equivalence = tost(gap.value, (gap.high - gap.low) / (2 * Z95), (-margin, margin))
        return equivalence.low, equivalence.high, equivalence.p
    sides = gap, turned(gap)
    low, high = (least(side, 1 - ALPHA) or 0.0 for side in sides)
    return low, -high, max(above_p(side, -margin) for side in sides)


def alike_sentence(some: Sequence[AlikePair]) -> str:
    """Of two: the interval; of more: how many of the pairs."""
    margin = f"±{some[0].margin:g} points"
    if len(some) == 1:
        (one,) = some
        both = f"{one.pair.a.name} and {one.pair.b.name}"
        if one.low is None or one.high is None or one.p is None:
            return f"Whether {both} are equivalent within {margin} cannot be tested: too few items differ, or none."
        bounds = f"90 % interval of the difference {one.low:.1f} to {one.high:.1f}, p = {p_text(one.p)}"
        verb = "are equivalent" if one.outcome == "equivalent" else "are not shown to be equivalent"
        return f"{both} {verb} within {margin} ({bounds})."
    count = sum(pair.outcome == "equivalent" for pair in some)
    return (
        f"{count} of {many(len(some), 'pair')} {'is' if count == 1 else 'are'} equivalent within "
        f"{margin}, with all tested at once."
    )


def alike_data(some: Sequence[AlikePair]) -> list[dict[str, object]]:
    return [
        {
            "a": pair.pair.a.name,
            "b": pair.pair.b.name,
            "margin": pair.margin,
            "low": pair.low,
            "high": pair.high,
            "p": pair.p,
            "outcome": pair.outcome,
        }
        for pair in some
    ]


def alike_table(some: Sequence[AlikePair], comparison: Comparison) -> Table:
    rows = []
    for pair in some:
        gap = Estimate("A − B", pair.pair.difference.value, pair.pair.difference.n, None, pair.low, pair.high)
        rows.append((pair.pair.a.name, pair.pair.b.name, gap, pair.p, pair.outcome))
    columns = ("A", "B", Column("difference", "A − B, 90 %", "estimate"), Column("p", "p, two tests", "p"), "verdict")
    note = "Two one-sided tests, corrected for all pairs; lost answers count as the worst of either."
    return Table(
        f"Equivalent within ±{some[0].margin:g}",
        columns,
        tuple(rows),
        " ".join([note, *worth_words(comparison, some[0].margin)]),
    )


def yardsticks(comparison: Comparison) -> dict[str, float]:
    """What a difference may be held against, in points: how far people differ, those compared here, one model from
    repeat to repeat and from wording to wording (root mean squares), and the error of measurement of a difference."""
    norms = next((entry.result.norms for entry in comparison.entries if entry.result.norms), None)
    scores = [
        entry.score.value for entry in comparison.entries if entry.score.value is not None and entry.contender.ranked
    ]
    again = [
        spread.variation.value / 100 * score
        for spread, score in ((comparison.spreads[e.name], e.score.value) for e in comparison.entries)
        if spread.variation is not None and spread.variation.value and score
    ]
    reworded = [
        cell.value
        for entry in comparison.entries
        for table in entry.result.tables
        if table.key == WORDINGS
        for cell in table.column(AGAINST_PLAIN)
        if isinstance(cell, Estimate) and cell.value is not None
    ]
    measured = comparison.measured
    errors = [error for error in measured[1].values() if error is not None] if measured else []
    sizes: dict[str, float] = {}
    if norms and len(norms.values) >= FEWEST and not (norms.shares or norms.measure or norms.differs):
        sizes["SD of people"] = float(np.std(norms.values, ddof=1))
    if len(scores) >= FEWEST:
        sizes["SD of the scores compared here"] = float(np.std(scores, ddof=1))
    for name, values, factor in (
        ("SD of one model's repeats", again, 1.0),
        ("shifts by another wording", reworded, 1.0),
        ("standard errors of measurement of a difference", errors, 2.0),
    ):
        if values:
            sizes[name] = float(np.sqrt(factor * np.mean(np.square(values))))
    return {name: size for name, size in sizes.items() if size > 0}


def worth_words(comparison: Comparison, points: float | None = None) -> list[str]:
    """What so many points are worth; by default 2 % of the scale."""
    low, high = comparison.entries[0].result.score_range
    points = 0.02 * (high - low) if points is None else points
    said = [f"{points / size:.2g} {name}" for name, size in yardsticks(comparison).items()]
    return [f"{points:g} points are {listed(said)}."] if said else []


HOW_MANY = "How many it would take"
_VOLATILE = ("snapshot", "calibration", "calibration_pairs", "raters", "defaults", "repeats")
"""Rules that may differ without making scores incomparable."""


def caveats(found: Comparison, missing: str) -> list[str]:
    """What a reader must know besides: other rules, answers left out, pairs that share no items."""
    entries = found.entries
    things = found.things
    said = [f"{entry.name}: {entry.result.proviso}" for entry in entries if entry.result.proviso and not entry.rater]
    said += dict.fromkeys(
        text for entry in entries for text in replaced(entry.result.subject, entry.result.answered_as)
    )
    said += dict.fromkeys(text for entry in entries for text in entry.result.caveats if entry.result.subject == PEOPLE)
    said += _rules(entries)
    if found.elsewhere:
        said.append(
            f"Asked other questions, so not ranked here: {listed(found.elsewhere)}. Ask all the same (--items), or "
            "put the two sets on one scale: eqlab research items RUN --equate OTHER."
        )
    lost = [f"{entry.name} {entry.unused}" for entry in entries if entry.unused]
    if lost:
        what = "count as 0" if missing == "zero" else f"are left out: a pair is compared on the {things} both answered"
        other = "" if missing == "zero" else " ('--missing zero' counts them as 0)"
        said.append(f"Answers that could not be used {what}{other}. Refused, unreadable or failed: {listed(lost)}.")
    waiting = [entry.name for entry in entries if entry.counts.get("unanswered")]
    if waiting:
        said.append(f"Not finished, so preliminary: {listed(waiting)}.")
    invalid = [entry.name for entry in entries if not entry.result.valid and entry.counts_zero]
    if invalid:
        said.append(f"Too few readable answers to be valid by the benchmark's own rule: {listed(invalid)}.")
    apart = [pair for pair in found.pairs if pair.difference.method == "unpaired"]
    loose = sum(bool(pair.a.points and pair.b.points) for pair in apart)
    if loose:
        said.append(
            f"{loose} of {many(len(found.pairs), 'pair')} {'shares' if loose == 1 else 'share'} too few "
            f"{things} and are compared unpaired, which needs far "
            "more of them; a difference may then come from the items."
        )
    if len(apart) > loose:
        said.append(
            f"{len(apart) - loose} of {many(len(found.pairs), 'pair')} "
            f"{'is' if len(apart) - loose == 1 else 'are'} compared by the two displayed scores and their "
            f"intervals: their scores are not means over the same {things}."
        )
    if any(pair.needed_range for pair in found.pairs):
        said.append(
            f"{HOW_MANY}: for a power of {100 * POWER:.0f} %, asked as often as now, if the true "
            "difference is up to a standard error larger or smaller than the one seen, as it is in two cases of three."
        )
    return said


def _yes_or_no(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _rules(entries: Sequence[Entry]) -> list[str]:
    """Rules that differ between those compared."""
    said = []
    for key in dict.fromkeys(key for entry in entries for key in entry.result.rules):
        if key in _VOLATILE:
            continue
        values = grouped(
            (_yes_or_no(entry.result.rules[key]), entry.name) for entry in entries if key in entry.result.rules
        )
        if len(values) > 1:
            parts = "; ".join(f"{value}: {listed(names)}" for value, names in values.items())
            said.append(f"Not asked or scored alike ({key}): {parts}.")
    return said

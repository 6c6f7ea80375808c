"""Everything `eqlab compare` knows of one benchmark: the verdict, every pair, and the parts of the spread. Pure:
entries in, a comparison out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

from eqlab.analysis.clusters import AGREEMENT, CV, item_agreement, score_variation
from eqlab.analysis.components import Components, MeasurementDesign, beyond_chance, designs, difference_designs
from eqlab.comparison.entries import Entry
from eqlab.comparison.sentences import conclusion, listed
from eqlab.comparison.verdict import POWER, Pair, Verdict, rank
from eqlab.core.answers import replaced
from eqlab.core.results import Column, Estimate, Table
from eqlab.tables.html import html_table


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
        rows = [(one.contender.name, one.rank, one.contender.score) for one in self.verdict.standings]
        columns = ("who", Column("rank", "rank", "rank"), "score")
        said = escape(conclusion(self.verdict, self.things, self.rater))
        return f"<p>{said}</p>{html_table(Table('', columns, rows))}"

    @property
    def things(self) -> str:
        """What the items compared are called."""
        return self.entries[0].result.noun


def compare(
    entries: Sequence[Entry], undefined: Sequence[tuple[str, str]] = (), *, joint: bool = False
) -> list[Comparison]:
    """One comparison per benchmark, version and item set, or rater, in the order in which they come up: scores on other
    items stand in another table."""
    found = []
    for kind in dict.fromkeys(entry.kind for entry in entries):
        tables = _by_items([entry for entry in entries if entry.kind == kind])
        for items, own in tables.items():
            benchmark, title, rater = kind
            named = f"{title} (items {items[:6]})" if len(tables) > 1 else title
            made = _compare((benchmark, named, rater), own, joint)
            found.append(replace(made, elsewhere=tuple(_elsewhere(entries, made))))
    if found and undefined:
        found[0] = replace(found[0], undefined=tuple(undefined))
    return found


def _by_items(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by item set. What raters say is of replies, not of items; people stand beside whoever answered the same
    questions, or beside everybody where there is one table."""
    if entries[0].rater:
        return {"": list(entries)}
    tables: dict[str, list[Entry]] = {}
    for entry in entries:
        if not entry.contender.people:
            tables.setdefault(entry.item_set, []).append(entry)
    for entry in entries:
        if entry.contender.people:
            place = next(iter(tables)) if len(tables) == 1 else entry.item_set
            tables.setdefault(place, []).append(entry)
    return tables


def _elsewhere(entries: Sequence[Entry], made: Comparison) -> list[str]:
    """Models that answered other questions of the same benchmark."""
    if made.rater:
        return []
    here = {entry.item_set for entry in made.entries}
    others = [one for one in entries if one.result.benchmark == made.benchmark and not one.rater]
    return [one.name for one in others if one.item_set not in here and not one.contender.people]


def _compare(kind: tuple[str, str, str], own: Sequence[Entry], joint: bool) -> Comparison:
    verdict = rank([entry.contender for entry in own], joint=joint)
    named = {entry.name: entry for entry in own}
    ordered = tuple(named[one.contender.name] for one in verdict.standings)
    spreads = {entry.name: _spread(entry) for entry in ordered}
    return Comparison(*kind, ordered, verdict, tuple(_pairs(own, verdict, spreads)), spreads)


def _pairs(own: Sequence[Entry], verdict: Verdict, spreads: Mapping[str, Spread]) -> list[Pair]:
    found = verdict.pairs()
    names = [entry.name for entry in own]
    if len(found) == 1 and names.index(found[0].a.name) > names.index(found[0].b.name):
        found = [found[0].turned()]
    return [_with_designs(one, spreads[one.a.name].components, spreads[one.b.name].components) for one in found]


def _spread(entry: Entry) -> Spread:
    own = {estimate.name: estimate for estimate in entry.result.estimates}
    if entry.repeats < 2:  # a benchmark that averages repeats inside an item says itself how alike they are
        return Spread(own.get(CV), own.get(AGREEMENT))
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


def _with_designs(pair: Pair, one: Components | None, other: Components | None) -> Pair:
    difference = pair.difference
    if one is None or other is None or difference.method != "paired" or not difference.se:
        return pair
    spread = difference.se * difference.n**0.5
    asked = [(found, found.n / found.levels["item"]) for found in (one, other)]
    return replace(pair, designs=tuple(difference_designs(spread, asked, difference.n)))


_VOLATILE = ("snapshot", "calibration", "calibration_pairs", "raters", "defaults", "repeats")
"""Rules that may differ without making scores incomparable."""


def caveats(found: Comparison, missing: str) -> list[str]:
    """What a reader must know besides: other rules, answers left out, pairs that share no items."""
    entries = found.entries
    things = found.things
    said = [f"{one.name}: {one.result.proviso}" for one in entries if one.result.proviso and not one.rater]
    said += dict.fromkeys(text for one in entries for text in replaced(one.result.subject, one.result.answered_as))
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
            f"{loose} of {len(found.pairs)} pairs share too few {things} and are compared unpaired, which needs far "
            "more of them; a difference may then come from the items."
        )
    if len(apart) > loose:
        said.append(
            f"{len(apart) - loose} of {len(found.pairs)} pairs are compared by the two displayed scores and their "
            f"intervals: their scores are not means over the same {things}."
        )
    if any(pair.needed_range for pair in found.pairs):
        said.append(
            f"How many it would take: for a power of {100 * POWER:.0f} %, asked as often as now, if the true "
            "difference is up to a standard error larger or smaller than the one seen, as it is in two cases of three."
        )
    return said


def _rules(entries: Sequence[Entry]) -> list[str]:
    """Rules that differ between those compared."""
    said = []
    for key in dict.fromkeys(key for entry in entries for key in entry.result.rules):
        if key in _VOLATILE:
            continue
        values: dict[str, list[str]] = {}
        for entry in entries:
            if key in entry.result.rules:
                values.setdefault(str(entry.result.rules[key]), []).append(entry.name)
        if len(values) > 1:
            parts = "; ".join(f"{value}: {listed(names)}" for value, names in values.items())
            said.append(f"Not asked or scored alike ({key}): {parts}.")
    return said

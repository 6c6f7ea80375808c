"""Everything `eqlab compare` knows of one benchmark: the verdict, every pair, and the parts of the spread. Pure:
entries in, a comparison out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

from eqlab.analysis.clusters import AGREEMENT, CV, item_agreement, score_variation
from eqlab.analysis.comparison import Difference
from eqlab.analysis.components import Components, MeasurementDesign, beyond_chance, designs, difference_designs
from eqlab.analysis.intervals import FEWEST, Z95
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.two_samples import Equivalence, tost
from eqlab.comparison.entries import Entry
from eqlab.comparison.sentences import conclusion, listed
from eqlab.comparison.verdict import ALPHA, POWER, Pair, Verdict, rank
from eqlab.comparison.verdict import pair as compare_pair
from eqlab.core.answers import replaced
from eqlab.core.results import Column, Estimate, Table
from eqlab.tables.cells import p_text
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
        columns = (Column("who", "model"), Column("rank", "rank", "rank"), "score")
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


def alike(found: Comparison, margin: float) -> list[AlikePair]:
    """Every two, within ± margin. Refusing is no way to be alike: with the lost answers of either as the worst it must
    hold, too."""
    tested = [alike_pair(pair, margin) for pair in found.pairs]
    return [replace(one, p=p) for one, p in zip(tested, holm([one.p for one in tested]), strict=True)]


def alike_pair(pair: Pair, margin: float) -> AlikePair:
    """One pair by itself."""
    test = _two_tests(pair.difference, margin)
    if test is None:
        return AlikePair(pair, margin)
    p = test.p
    for a, b in ((pair.a.at_worst, pair.b), (pair.a, pair.b.at_worst)):
        if (a, b) != (pair.a, pair.b):
            less = _two_tests(compare_pair(replace(a, lost=None), replace(b, lost=None)).difference, margin)
            p = max(p, 1.0 if less is None else less.p)
    return AlikePair(pair, margin, test.low, test.high, p)


def _two_tests(gap: Difference, margin: float) -> Equivalence | None:
    """None where the few items that differ have no spread to judge by, or nothing varies."""
    if gap.value is None or gap.differ is not None or gap.low is None or gap.high is None:
        return None
    se = gap.se or (gap.high - gap.low) / (2 * Z95)
    return tost(gap.value, se, (-margin, margin), df=gap.df) if se > 0 else None


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
    count = sum(one.outcome == "equivalent" for one in some)
    return f"{count} of {len(some)} pairs are equivalent within {margin}, with all tested at once."


def alike_data(some: Sequence[AlikePair]) -> list[dict[str, object]]:
    return [
        {
            "a": one.pair.a.name,
            "b": one.pair.b.name,
            "margin": one.margin,
            "low": one.low,
            "high": one.high,
            "p": one.p,
            "outcome": one.outcome,
        }
        for one in some
    ]


def alike_table(some: Sequence[AlikePair], found: Comparison) -> Table:
    rows = []
    for one in some:
        gap = Estimate("A − B", one.pair.difference.value, one.pair.difference.n, None, one.low, one.high)
        rows.append((one.pair.a.name, one.pair.b.name, gap, one.p, one.outcome))
    columns = ("A", "B", Column("difference", "A − B, 90 %", "estimate"), Column("p", "p, two tests", "p"), "verdict")
    note = "Two one-sided tests, corrected for all pairs; lost answers count as the worst of either."
    return Table(
        f"Equivalent within ±{some[0].margin:g}", columns, tuple(rows), " ".join([note, *_what_it_is(found, some)])
    )


def _what_it_is(found: Comparison, some: Sequence[AlikePair]) -> list[str]:
    """What a margin is worth: against people, against repeats of one model, against those compared here."""
    margin, said = some[0].margin, []
    norms = next((one.result.norms for one in found.entries if one.result.norms), None)
    if norms and len(norms.values) >= FEWEST and not (norms.shares or norms.measure or norms.differs):
        said.append(f"{margin / float(np.std(norms.values, ddof=1)):.2f} SD of people")
    scores = [one.score.value for one in found.entries if one.score.value is not None]
    again = [
        one.variation.value / 100 * score
        for one, score in ((found.spreads[e.name], e.score.value) for e in found.entries)
        if one.variation is not None and one.variation.value and score
    ]
    if again:
        said.append(f"{margin / float(np.sqrt(np.mean(np.square(again)))):.1f} SD of one model's repeats")
    if len(scores) >= FEWEST and np.std(scores) > 0:
        said.append(f"{margin / float(np.std(scores, ddof=1)):.2f} SD of the scores compared here")
    return [f"{margin:g} points are {listed(said)}."] if said else []


HOW_MANY = "How many it would take"
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
            f"{HOW_MANY}: for a power of {100 * POWER:.0f} %, asked as often as now, if the true "
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

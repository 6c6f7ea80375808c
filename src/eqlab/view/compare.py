"""Compare: who is better, how certain that is, and where the difference lies, item by item in their own words. What is
filtered has a verdict of its own, which is called what it is: exploratory."""

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup, escape
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.benchmarks.registry import load
from eqlab.comparison.compare import Comparison, caveats
from eqlab.comparison.compare import compare as compare_entries
from eqlab.comparison.entries import Entry, EntrySource, entries, narrowed
from eqlab.comparison.sentences import wins_sentence
from eqlab.comparison.sources import read_sources
from eqlab.comparison.tables import comparison_page, sentence, tables
from eqlab.core.answers import OUTCOMES
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result, goodness
from eqlab.core.text import asked_keys, distance, short, visible
from eqlab.core.values import dataclass
from eqlab.publish.sections import meaning_of
from eqlab.runs.published_results import is_published
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables import svg as figures
from eqlab.tables.forest import Forest, ForestLine, widest
from eqlab.view.runs import SETTLE, full_result
from eqlab.view.shelf import HeldRun, Shelf
from eqlab.view.site import ViewSite, address, asked, asked_all, asked_number, go_on, kept, site_of
from eqlab.view.talks import talk_name

ITEMS = 10
"""Items with their texts on one page."""
MOST_TEXT = 3000
MOST_WORDS = 800
"""Words of both texts together up to which those that differ are marked."""
FOREST = 40
"""Lines of a picture."""
NEWEST = 10
"""Runs offered where none is chosen yet."""
_BOTH = 2
EXPLORATORY = "Exploratory: these items were chosen after seeing the answers."
BY_OUTCOME = (
    "Exploratory, and no evidence: these items were chosen by how they came out, so their difference is what was "
    "searched for. The verdict is the one on all items, above."
)


@dataclass(frozen=True, slots=True)
class Picked:
    """What an address names: runs, with the subjects wanted of each (none: all), and published results."""

    names: tuple[str, ...]
    subjects: Mapping[str, frozenset[str]]

    def wants(self, run: str, subject: str) -> bool:
        own = self.subjects.get(run)
        return own is None or not own or subject in own


def picked(given: Sequence[str], shelf: Shelf) -> Picked:
    names: list[str] = []
    subjects: dict[str, set[str]] = {}
    whole: set[str] = set()
    look = shelf.look()
    for one in given:
        if is_published(one):
            names.append(one)
            continue
        runs, _, subject = one.partition(":")
        if newest := next((run.id for run in look.runs if f"model:{one}" in _models(run)), ""):  # a model by its name
            runs, subject = newest, f"model:{one}"
        for name in runs.split(","):
            held = look.runs[0] if name == "last" and look.runs else look.run(name.strip())
            if held is None:
                raise UsageError(
                    f"'{short(name)}' names no run and no model of this store.", "Choose rows on the first page."
                )
            subject = f"model:{subject}" if f"model:{subject}" in _models(held) else subject
            names.append(held.id)
            subjects.setdefault(held.id, set())
            if subject:
                subjects[held.id].add(subject)
            else:
                whole.add(held.id)
    chosen = {run: frozenset() if run in whole else frozenset(own) for run, own in subjects.items()}
    return Picked(tuple(dict.fromkeys(names)), chosen)


def _models(held: HeldRun) -> set[str]:
    return {model.subject for model in held.stored.config.models}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which items are looked at. Emotion and words are properties of the item; status, distance and length of a reply
    are outcomes: a verdict on items that were chosen by how they came out says so."""

    topic: str = ""
    words: str = ""
    status: str = ""
    distance: float = 0.0
    length: int = 0
    """Words that a reply of either has at least."""

    @property
    def by_outcome(self) -> bool:
        return bool(self.status or self.distance or self.length)

    @property
    def any(self) -> bool:
        return bool(self.topic or self.words or self.by_outcome)

    def takes(self, line: ItemScore) -> bool:
        said = f"{line.title} {line.item}".casefold()
        return (not self.topic or self.topic in line.topics) and all(
            word in said for word in self.words.casefold().split()
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One subject's answer to one item."""

    name: str
    points: float | None
    status: str
    text: Markup
    cut: bool
    repeats: int
    values: Mapping[str, Any]
    further: frozenset[str]
    """Keys of which no other value lies further from the reference."""


@dataclass(frozen=True, slots=True)
class ItemDifference:
    item: str
    title: str
    shown: str
    difference: float | None
    sides: tuple[Side, Side]
    href: str
    reference: Mapping[str, Any]
    keys: Sequence[str]
    """What both were asked for, where there is a reference."""

    @property
    def columns(self) -> list[tuple[str, Mapping[str, Any], frozenset[str]]]:
        return [(side.name, side.values, side.further) for side in self.sides]


def compare(request: Request) -> Response:
    site = site_of(request)
    given = asked_all(request, "s")
    held = list(islice(site.shelf.look().runs, 100))
    runs, newest = [run.id for run in held], [run for run in held if run.results][:NEWEST]
    if not given and (pair := best_two(site)):
        return go_on(request, pair)
    if not given:
        return site.page(request, "compare_choose", runs=runs, newest=newest)
    wanted = picked(given, site.shelf)
    benchmark = asked(request, "b")
    sources = _sources(site, wanted, benchmark)
    own, undefined = entries(sources)
    if not own:
        said = "; ".join(f"{name}: {why}" for name, why in undefined[:3])
        raise UsageError(f"Nothing here has item scores to compare. {said}.", "Choose other rows on the first page.")
    every = compare_entries(own, undefined)
    place = min(asked_number(request, "kind"), len(every)) - 1
    found = every[place]
    filters = _filters(request)
    a, b = _pair(found, asked(request, "a"), asked(request, "b2"))
    chosen: list[tuple[float | None, str]] = [
        (None, line.item) for entry in found.entries for line in entry.result.items if filters.takes(line)
    ]
    shown: list[ItemDifference] = []
    total, strip, wins = 0, None, ""
    page = asked_number(request, "page")
    if a is not None and b is not None:
        lines = _lines(a, b)
        wins = _wins(a, b, _chosen(lines, a, b, Filters()), found.things)[1] if len(found.entries) == _BOTH else ""
        strip = _wins(a, b, _chosen(lines, a, b, Filters(filters.topic, filters.words)), found.things)
        chosen = _chosen(lines, a, b, filters)
        total = len(chosen)
        with site.store() as store:
            shown = _shown(site, store, a, b, chosen[(page - 1) * ITEMS : page * ITEMS])
    narrowed_to = _narrowed(sources, found, {item for _, item in chosen}) if filters.any else None
    ranked = len(found.verdict.ranked) > 1
    return site.page(
        request, "compare", found=found, every=every, kind=place + 1, sentence=sentence(found), forest=forest_of(found),
        newest=newest,
        tables=tables(found)[: _BOTH if ranked else 1], caveats=caveats(found, "drop"), filters=filters,
        narrowed=narrowed_to, narrowed_sentence=sentence(narrowed_to) if narrowed_to else "", a=a, b=b,
        names=[entry.name for entry in found.entries if entry.items], shown=shown, total=total, page_number=page,
        pages=-(-total // ITEMS), strip=strip, wins=wins, meaning=meaning_of(found.entries[0].result),
        outcomes=OUTCOMES, topics=_topics(found),
        command=command(site, wanted, benchmark), markdown=comparison_page([found], "drop"), runs=runs,
        state=kept(request, "page"), base=kept(request, "page", "q", "topic", "status", "delta", "length", "a", "b2"),
        others=kept(request, "kind", "page", "a", "b2", "topic"),
        exploratory=BY_OUTCOME if filters.by_outcome else EXPLORATORY,
    )  # fmt: skip


def best_two(site: ViewSite) -> str:
    """Where nobody is chosen: the first two of the first table with ranks, for their difference says whether the best
    is best. Empty where there are no two."""
    for group in site.shelf.settle(SETTLE).groups:
        first = [row for row in group.rows if row.rank][:_BOTH]
        if len(first) == _BOTH:
            name = first[0].result.benchmark
            picks = [("s", site.shelf.pick(row.record.config.id, row.result.subject, name)) for row in first]
            return address("/compare", picks, b=name)
    return ""


def _topics(comparison: Comparison) -> list[str]:
    return sorted({topic for entry in comparison.entries for line in entry.result.items for topic in line.topics})


def _sources(site: ViewSite, wanted: Picked, benchmark: str) -> list[EntrySource]:
    def score(
        store: Reader, runs: Sequence[StoredRun], named: Callable[[str, str, str], bool]
    ) -> list[tuple[StoredRun, list[Result]]]:
        return site.shelf.results_of(
            store, runs, lambda run, who, name: wanted.wants(run, who) and named(run, who, name)
        )

    return read_sources(
        wanted.names,
        site.where,
        site.data,
        benchmarks=[benchmark] if benchmark else (),
        score=score,
    )


def _filters(request: Request) -> Filters:
    said = asked(request, "delta").replace(",", ".")
    distance = float(said) if re.fullmatch(r"\d{1,6}(\.\d{1,4})?", said) else 0.0
    status = asked(request, "status")
    length = asked_number(request, "length", 0)
    return Filters(asked(request, "topic"), asked(request, "q"), status if status in OUTCOMES else "", distance, length)


def _narrowed(sources: Iterable[EntrySource], comparison: Comparison, items: set[str]) -> Comparison | None:
    """The same comparison on these items; None where nothing is left to compare."""
    own, _ = entries([few for source in sources if (few := narrowed(source, items))])
    same = [
        entry
        for entry in compare_entries(own)
        if (entry.benchmark, entry.title, entry.rater) == (comparison.benchmark, comparison.title, comparison.rater)
    ]
    return same[0] if same else None


def _pair(comparison: Comparison, a: str, b: str) -> tuple[Entry | None, Entry | None]:
    """The two whose items are shown: those named, else the first two that have items."""
    known = {entry.name: entry for entry in comparison.entries if entry.items}
    first = known.pop(a, None) or (known.pop(next(iter(known))) if known else None)
    second = known.get(b) or next(iter(known.values()), None)
    return first, second


def forest_of(comparison: Comparison) -> Forest:
    """Everybody on one axis, in the order of the verdict."""
    named = {entry.name: entry for entry in comparison.entries}
    lines = tuple(
        ForestLine(
            standing.contender.name,
            standing.contender.score,
            standing.rank,
            named[standing.contender.name].result.valid,
            standing.contender.people,
        )
        for standing in comparison.verdict.standings[:FOREST]
    )
    results = [entry.result for entry in comparison.entries]
    ranges = [
        result.others.score_range if comparison.rater and result.others else result.score_range for result in results
    ]
    floors = (
        ()
        if comparison.rater
        else widest([[(baseline.name, baseline.value) for baseline in result.baselines] for result in results])
    )
    return Forest(comparison.title, comparison.entries[0].score.name, lines, figures.common_range(ranges), floors)


# -- item by item ------------------------------------------------------------------------------------------------------

Lines = Mapping[str, tuple[Sequence[ItemScore], Sequence[ItemScore]]]


def _lines(a: Entry, b: Entry) -> Lines:
    """Both sides' answers by item."""
    found: dict[str, tuple[list[ItemScore], list[ItemScore]]] = {}
    for side, entry in enumerate((a, b)):
        for line in entry.result.items:
            if line.group == (entry.name if entry.rater else line.group):
                found.setdefault(line.item, ([], []))[side].append(line)
    return {item: pair for item, pair in found.items() if pair[0] and pair[1]} if a.item_set == b.item_set else {}


def _chosen(lines: Lines, a: Entry, b: Entry, filters: Filters) -> list[tuple[float | None, str]]:
    """(A − B, item), largest difference first; those without one last."""
    one, other = a.means, b.means
    found = []
    for item, (left, right) in lines.items():
        gap = one[item] - other[item] if item in one and item in other else None
        far = not filters.distance or (gap is not None and abs(gap) >= filters.distance)
        became = not filters.status or any((line.status or "unanswered") == filters.status for line in (*left, *right))
        long = not filters.length or any(line.words >= filters.length for line in (*left, *right))
        if far and became and long and filters.takes(left[0]):
            found.append((gap, item))
    return sorted(found, key=lambda pair: (pair[0] is None, -abs(pair[0] or 0.0), pair[1]))


def _shown(
    site: ViewSite, store: Reader, a: Entry, b: Entry, chosen: Sequence[tuple[float | None, str]]
) -> list[ItemDifference]:
    items = [item for _, item in chosen]
    left, right = _texts(site, store, a, items), _texts(site, store, b, items)
    found = []
    for gap, item in chosen:
        one, other = left[item], right[item]
        first, second = marked(_said(a, one[0]), _said(b, other[0]))
        sides = (_side(a, one, other, first), _side(b, other, one, second))
        shown = "" if a.rater else one[0].shown or other[0].shown
        title, reference = one[0].title or other[0].title, {} if a.rater else one[0].reference
        keys = list(dict.fromkeys([*asked_keys(one[0]), *asked_keys(other[0])])) if reference else []
        found.append(ItemDifference(item, title, shown, gap, sides, _href(a, b, item), reference, keys))
    return found


def _said(entry: Entry, line: ItemScore) -> str:
    return line.shown if entry.rater else line.text


def _href(a: Entry, b: Entry, item: str) -> str:
    """The talks of both beside each other; else the item with everybody's answers."""
    talks = [
        talk_name(entry.origin.removeprefix("run "), entry.result.subject, talk)
        for entry in (a, b)
        for talk in entry.result.transcripts
        if talk.item == item and not talk.repeat
    ]
    if len(talks) == _BOTH:
        return address("/talk", zip(("t", "with"), talks, strict=True))
    run = next((entry.origin.removeprefix("run ") for entry in (a, b) if entry.origin.startswith("run ")), "")
    return address("/item", run=run, b=a.result.benchmark, item=item) if run else ""


def _side(entry: Entry, lines: Sequence[ItemScore], others: Sequence[ItemScore], text: Markup) -> Side:
    means = entry.means
    item = lines[0].item
    statuses = ", ".join(dict.fromkeys(line.status or "unanswered" for line in lines))
    cut = len(_said(entry, lines[0])) > MOST_TEXT
    own, other = _off(lines[0]), _off(others[0])
    further = frozenset(key for key, far in own.items() if far and far >= other.get(key, 0.0))
    return Side(entry.name, means.get(item), statuses, text, cut, len(lines), lines[0].values, further)


def _off(line: ItemScore) -> dict[str, float]:
    """How far each value lies from the reference."""
    return {key: distance(line.values[key], line.reference[key]) for key in line.values if key in line.reference}


def _texts(site: ViewSite, store: Reader, entry: Entry, items: Sequence[str]) -> dict[str, list[ItemScore]]:
    """The answers to some items with their words, talks with all their turns: read now from the store, for the shelf
    keeps none."""
    wanted = set(items)
    group = entry.name if entry.rater else ""
    own = [line for line in entry.result.items if line.item in wanted and (not group or line.group == group)]
    scores: dict[str, list[ItemScore]] = {}
    item_scores: dict[str, ItemScore] = {}
    run = entry.origin.removeprefix("run ")
    if entry.result.transcripts and (held := site.shelf.look().run(run)):
        full = full_result(site, store, held, entry.result.subject, entry.result.benchmark)
        said = {(talk.trial, talk.repeat): talk.lines for talk in (full.transcripts if full else ())}
        for line in own:
            words = "\n\n".join(f"{turn.seat}: {turn.text}" for turn in said.get((line.trial, line.repeat), ()))
            scores.setdefault(line.item, []).append(structs.replace(line, text=words))
        return scores
    if entry.origin.startswith("run "):
        benchmark = load(entry.result.benchmark)
        options = next(
            config.options for config in store.read_run(run).config.benchmarks if config.name == benchmark.name
        )
        trials = list(dict.fromkeys(line.trial for line in own))
        for scored in store.scored(run, entry.result.subject, benchmark.name, trials=trials):
            line = benchmark.item(scored, options)
            if scored.trial.id not in item_scores:
                item_scores[scored.trial.id] = _with_shown(line, scored.trial.stimulus)
    for line in own:
        scores.setdefault(line.item, []).append(item_scores.get(line.trial, line))
    return scores


def _with_shown(line: ItemScore, stimulus: str) -> ItemScore:
    return line if line.shown else structs.replace(line, shown=stimulus)


def marked(one: str, other: str) -> tuple[Markup, Markup]:
    """Two texts with the words that differ marked; long ones as they are."""
    left, right = (re.findall(r"\s+|\w+|[^\w\s]", visible(text[:MOST_TEXT])) for text in (one, other))
    if len(left) + len(right) > _BOTH * MOST_WORDS or not left or not right:
        return Markup(escape("".join(left))), Markup(escape("".join(right)))
    made: tuple[list[str], list[str]] = ([], [])
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for words, out in ((left[a:b], made[0]), (right[c:d], made[1])):
            said = str(escape("".join(words)))
            out.append(said if kind == "equal" or not said.strip() else f"<mark>{said}</mark>")
    return Markup("".join(made[0])), Markup("".join(made[1]))


def _wins(a: Entry, b: Entry, chosen: Sequence[tuple[float | None, str]], things: str) -> tuple[Markup, str]:
    """The drawing and its words; both empty where no item has points of both."""
    gains = [goodness(gap, a.result.better) for gap, _ in chosen if gap is not None]
    if not gains:
        return Markup(""), ""
    words = wins_sentence(a.name, b.name, gains, things)
    return figures.strip(gains, words), words


# -- what else can be done with it -------------------------------------------------------------------------------------


def command(site: ViewSite, wanted: Picked, benchmark: str) -> str:
    """The command that prints the same."""
    subjects = {name: sorted(wanted.subjects.get(name, ())) for name in wanted.names}
    parts = ["eqlab", "compare"]
    for name, own in subjects.items():
        parts += [f"{name}:{subject.partition(':')[2]}" for subject in own] or [name]
    parts += ["-b", benchmark] if benchmark else []
    parts += ["--store", site.where] if site.where else []
    return shlex.join(parts)


ROUTES = [Route("/compare", compare)]

"""The parts of the report that stand across results: profiles, heat maps, where subjects disagree, item pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from eqlab.benchmarks.registry import find, load, names
from eqlab.comparison import disagreement
from eqlab.comparison.contender import item_means, subject_name
from eqlab.comparison.equal_length import LengthView, length_view
from eqlab.comparison.sentences import scale_sentence
from eqlab.core.benchmark import BRANCHES, asks_of, branches_of
from eqlab.core.results import Estimate, ItemScore, Result, Table, best_baseline, field_of
from eqlab.core.text import number
from eqlab.core.values import dataclass
from eqlab.publish.groups import Group, Row
from eqlab.tables import svg
from eqlab.tables.svg import Range, common_range, table_range

# Items on pages of their own, a hundred each, so that no page grows without bound; and, by emotion, lists of the
# items behind every cell of a heat map.
ITEMS_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class ItemPage:
    href: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ItemPlaces:
    """Where a subject's items are: its pages, each item's place on them, and the lists by emotion."""

    pages: tuple[ItemPage, ...]
    of_items: tuple[str, ...]
    """One address per item, in the order of the result."""
    topics: Mapping[str, tuple[ItemPage, ...]]


def pages(prefix: str, count: int) -> tuple[ItemPage, ...]:
    """`prefix`-1.html with items 1 to 100, and so on."""
    starts = range(0, count, ITEMS_A_PAGE)
    return tuple(
        ItemPage(f"{prefix}-{number}.html", start + 1, min(start + ITEMS_A_PAGE, count))
        for number, start in enumerate(starts, start=1)
    )


def places(prefix: str, items: Sequence[ItemScore]) -> ItemPlaces:
    own = pages(f"{prefix}-items", len(items))
    of_items = tuple(f"{page.href}#item-{number}" for page in own for number in range(page.first, page.last + 1))
    counts: dict[str, int] = {}
    for item in items:
        for topic in item.topics:
            counts[topic] = counts.get(topic, 0) + 1
    topics = {
        topic: pages(f"{prefix}-emotion-{number}", count) for number, (topic, count) in enumerate(counts.items(), 1)
    }
    return ItemPlaces(own, of_items, topics)


def on_page(page: ItemPage, items: Sequence[ItemScore]) -> Iterator[tuple[int, ItemScore]]:
    """The page's items with their numbers."""
    yield from enumerate(items[page.first - 1 : page.last], start=page.first)


def of_topic(topic: str, items: Sequence[ItemScore]) -> list[tuple[int, ItemScore]]:
    """An emotion's items with their numbers among all, lowest score first, those without one last."""
    own = [(number, item) for number, item in enumerate(items, start=1) if topic in item.topics]
    return sorted(own, key=lambda pair: (pair[1].score is None, pair[1].score or 0.0))


# The EQ profile of a subject: every benchmark it took, one row each, on its own axis with its own baselines, and
# people beneath where they answered the same. Scales are never mixed, so there is no sum and no average.
@dataclass(frozen=True, slots=True)
class ProfileLine:
    label: str
    detail: str
    """Which number it is, and of what."""
    estimate: Estimate
    scale: Range
    baselines: tuple[tuple[str, float], ...] = ()
    valid: bool = True
    people: bool = False
    anchor: str = ""


@dataclass
class Profile:
    subject: str
    lines: list[ProfileLine] = field(default_factory=list)


def profiles_of(groups: Sequence[Group]) -> list[Profile]:
    """One per subject, in the order of the tables; only subjects of which it says more than the score tables do."""
    profiles: dict[str, Profile] = {}
    for group in groups:
        own_people = [_line(row, group.scale, ": people") for row in group.rows if row.people]
        for row in group.rows:
            if row.result.others is not None:
                for arm, lines in _arms(row):
                    profiles.setdefault(arm, Profile(arm)).lines.extend(lines)
            elif not row.people:
                profile = profiles.setdefault(
                    subject_name(row.result.subject), Profile(subject_name(row.result.subject))
                )
                profile.lines += [_line(row, group.scale), *own_people, *_beside_people(row)]
    return [profile for profile in profiles.values() if _says_more(profile.lines)]


def _says_more(lines: Sequence[ProfileLine]) -> bool:
    """Several benchmarks, or people of a study: what no score table shows."""
    own = {line.label for line in lines if not line.people}
    return len(own) > 1 or any(line.people and not line.anchor for line in lines)


def _line(row: Row, scale: Range, whose: str = "") -> ProfileLine:
    head = row.result.headline
    detail = head.note if head.value is None else head.name
    item_set = row.result.rules.get("item_set")
    detail += f", {item_set} items" if item_set else ""
    best = best_baseline(row.result.baselines, row.result.better)
    if best is not None and head.value is not None:
        detail += f"; without any skill at best {number(best.value, head.digits)} ({best.name})"
    return ProfileLine(
        f"{row.result.title}{whose}", detail, head, scale, row.baselines, row.result.valid, row.people, row.anchor
    )


def _beside_people(row: Row) -> Iterator[ProfileLine]:
    """The subject's and people's number of one measure, on one axis."""
    for estimate, people in row.result.beside_people:
        scale = table_range([estimate, people])
        yield ProfileLine(row.result.title, estimate.name, estimate, scale, valid=row.result.valid, anchor=row.anchor)
        yield ProfileLine(f"{row.result.title}: people", f"{people.name}, published", people, scale, people=True)


def _arms(row: Row) -> Iterator[tuple[str, list[ProfileLine]]]:
    """Whoever's replies were rated has its number in its profile, and the rater named beside it."""
    others = row.result.others
    if others is None:
        return
    rater = "people" if row.people else f"a judge, {subject_name(row.result.subject).removeprefix('judge:')}"
    scale = common_range([others.score_range])
    title = f"{others.title}, rated by {rater}"
    human = [
        ProfileLine(f"{title}: people", f"{others.detail}, written by people", share, scale, people=True)
        for name, share in others.shares
        if name == others.written_by_people
    ]
    for name, share in others.shares:
        if name != others.written_by_people:
            line = ProfileLine(title, others.detail, share, scale, valid=row.result.valid, anchor=row.anchor)
            yield subject_name(name), [line, *human]


def measured_branches(groups: Sequence[Group]) -> Table:
    """Which of the four branches of emotional intelligence the results measure, and which none could."""
    asked: dict[str, set[str]] = {}
    for row in (row for group in groups for row in group.rows):
        benchmark = find(row.result.benchmark)
        for branch in branches_of(benchmark) if benchmark else ():
            asked.setdefault(branch, set()).add(row.result.title)
    could = {branch: [name for name in names() if branch in branches_of(load(name))] for branch in BRANCHES}
    rows = tuple(
        (branch, words, ", ".join(sorted(asked.get(branch, ()))) or "–", ", ".join(could[branch]) or "none")
        for branch, words in BRANCHES.items()
    )
    note = (
        "A result without a branch here (EmotionBench) is about how a situation moves a subject, which is no ability."
    )
    titles = ("branch", "what it is", "measured here", "benchmarks that measure it")
    return Table("The four branches of emotional intelligence", titles, rows, note)


def meaning_of(result: Result) -> str:
    """What its benchmark asks, and what its score means, for somebody who has never seen it."""
    benchmark = find(result.benchmark)
    return " ".join(part for part in (asks_of(benchmark) if benchmark else "", scale_sentence(result)) if part)


def heat_of(group: Group) -> svg.HeatMap | None:
    """Emotions by the subjects of one table, people of a published study last."""
    known = [(row, row.result.emotions) for row in group.rows if row.result.emotions is not None]
    if not known:
        return None
    first = known[0][1]
    same = [(row, emotion) for row, emotion in known if emotion.measure == first.measure]
    columns = [svg.HeatColumn(row.name, emotion.estimates, row.anchor) for row, emotion in same]
    people = next((emotion.people for _, emotion in same if emotion.people), ())
    if people:
        columns.append(svg.HeatColumn("people, published", people))
    return svg.heat_map(first.measure, columns, first.note)


def length_of(group: Group) -> LengthView | None:
    """The table at equal length; None where there are not two models to compare."""
    rows = [row for row in group.rows if row.result.ranked and row.result.valid and not row.people]
    results = {row.name: row.result for row in rows if row.result.headline.value is not None}
    return length_view(results) if len(results) > 1 else None


def apart_of(group: Group) -> Table | None:
    """Where the subjects of one table disagree most."""
    scores = {row.name: item_means(row.result.items) for row in group.rows if row.result.ranked}
    titles: dict[str, str] = {}
    for items in (row.result.items for row in group.rows):
        titles.update(zip(field_of(items, "item"), field_of(items, "title"), strict=True))
    return disagreement.disagreement({name: score for name, score in scores.items() if score}, titles)


@dataclass(frozen=True, slots=True)
class Links:
    """Where the items of every subject are; without item pages, the list in the report itself."""

    folder: str
    places: Mapping[str, ItemPlaces]
    """By the subject's anchor."""

    def topics(self, anchor: str) -> Callable[[str], str]:
        """From an emotion to the list of this subject's items about it."""
        return lambda topic: self.topic(anchor, topic)

    def topic(self, anchor: str, topic: str) -> str:
        """The list of the items behind a cell; empty if there is none."""
        if anchor not in self.places:
            return f"#{anchor}-items" if anchor else ""
        item_pages = self.places[anchor].topics.get(topic)
        return f"{self.folder}/{item_pages[0].href}" if item_pages else ""

    def pages(self, anchor: str) -> list[tuple[str, int, int]]:
        own = self.places.get(anchor)
        return [(f"{self.folder}/{page.href}", page.first, page.last) for page in own.pages] if own else []


def no_links() -> Links:
    return Links("", {})


def links_to(folder: str, groups: Sequence[Group]) -> Links:
    rows = [row for group in groups for row in group.rows if not row.again]
    return Links(folder, {row.anchor: places(row.anchor, row.result.items) for row in rows})

"""The parts of the report that stand across results: profiles, heat maps, where subjects disagree, item pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eqlab.comparison import disagreement
from eqlab.comparison.contender import item_means
from eqlab.comparison.equal_length import LengthView, length_view
from eqlab.core.results import Table
from eqlab.publish.groups import Group, Row
from eqlab.publish.report import item_pages, profile
from eqlab.publish.report.item_pages import ItemPlaces
from eqlab.tables import heat


def profiles_of(groups: Sequence[Group]) -> list[profile.Profile]:
    return profile.profiles([[_member(row, one) for row in one.rows] for one in groups])


def _member(row: Row, one: Group) -> profile.Member:
    return profile.Member(row.result, row.name, row.anchor, row.letters, one.scale, row.result.title, row.people)


def heat_of(one: Group) -> heat.HeatMap | None:
    """Emotions by the subjects of one table, people of a published study last."""
    known = [(row, row.result.emotions) for row in one.rows if row.result.emotions is not None]
    if not known:
        return None
    first = known[0][1]
    same = [(row, own) for row, own in known if own.measure == first.measure]
    columns = [heat.HeatColumn(row.name, own.estimates, row.anchor) for row, own in same]
    people = next((own.people for _, own in same if own.people), ())
    if people:
        columns.append(heat.HeatColumn("people, published", people))
    return heat.heat_map(first.measure, columns, first.note)


def length_of(one: Group) -> LengthView | None:
    """The table at equal length; None where there are not two models to compare."""
    rows = [row for row in one.rows if row.result.ranked and row.result.valid and not row.people]
    known = {row.name: row.result for row in rows if row.result.headline.value is not None}
    return length_view(known) if len(known) > 1 else None


def apart_of(one: Group) -> Table | None:
    """Where the subjects of one table disagree most."""
    scores = {row.name: item_means(row.result.items) for row in one.rows if row.result.ranked}
    titles = {item.item: item.title for row in one.rows for item in row.result.items}
    return disagreement.disagreement({name: own for name, own in scores.items() if own}, titles)


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
        own = self.places[anchor].topics.get(topic)
        return f"{self.folder}/{own[0].href}" if own else ""

    def pages(self, anchor: str) -> list[tuple[str, int, int]]:
        own = self.places.get(anchor)
        return [(f"{self.folder}/{page.href}", page.first, page.last) for page in own.pages] if own else []


def no_links() -> Links:
    return Links("", {})


def links_to(folder: str, groups: Sequence[Group]) -> Links:
    rows = [row for one in groups for row in one.rows if not row.again]
    return Links(folder, {row.anchor: item_pages.places(row.anchor, row.result.items) for row in rows})

"""Items on pages of their own, a hundred each, so that no page grows without bound; and, by emotion, lists of the
items behind every cell of a heat map."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eqlab.core.results import ItemScore

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

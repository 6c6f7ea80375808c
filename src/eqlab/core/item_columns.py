"""The items of a result field by field: a fifth of the memory of as many objects, and of the time to be kept or handed
to another process. A benchmark with very many answers makes its items so; everybody else may read them as a sequence of
items, or one field of all of them (`core.results.field_of`)."""

import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, eq
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple, cast, overload

import msgspec
from msgspec import structs

from eqlab.core.results import ItemScore
from eqlab.core.words import count_words

_FIELDS = ItemScore.__struct_fields__
_DEFAULTS = structs.asdict(ItemScore("", "", 0, None, None))
_AGAIN = frozenset(("item", "trial", "status", "title", "group", "topics", "cluster"))
"""Fields in which the same few values come again and again."""
_WORDS = ("text", "shown", "reasons")


class Repeated(NamedTuple):
    """A column in which the same few values come again and again: these, and for each item the place of its own."""

    values: list[Any]
    places: "array[int]"

    @classmethod
    def of(cls, column: Sequence[Any]) -> "Repeated":
        places = {value: place for place, value in enumerate(dict.fromkeys(column))}
        return cls(_once(list(places)), small_numbers(list(map(places.__getitem__, column))))


Columns = Mapping[str, Sequence[Any]]
"""By field; one that is absent has its default."""


class ItemColumns(Sequence[ItemScore]):
    """An item is made when somebody looks; those of small runs then stay, so that whoever looks again need not wait."""

    __slots__ = ("_columns", "_count", "_made", "_whole")
    room = 300_000
    """Items that may still stay, of all results together."""

    def __init__(self, count: int, columns: Columns, whole: Mapping[int, ItemScore] = MappingProxyType({})) -> None:
        """`whole`: items that stand instead of those at their places."""
        self._count, self._columns, self._whole = count, columns, dict(whole)
        self._made: tuple[ItemScore, ...] | None = None

    @classmethod
    def of(cls, items: Sequence[ItemScore]) -> "ItemColumns":
        """Items as they are."""
        if isinstance(items, ItemColumns) and not items._whole:
            return items
        return cls.made(len(items), _columns_of(items))

    @classmethod
    def made(cls, count: int, columns: Columns) -> "ItemColumns":
        """So many items, from their columns."""
        told = ((name, column) for name, column in columns.items() if not _all_default(name, column))
        return cls(count, {name: _small(name, column) for name, column in told})

    @classmethod
    def lean(cls, items: Sequence[ItemScore], *, numbers: bool) -> "ItemColumns":
        """Items without words; with the numbers that they hold, or none."""
        columns = _columns_of(items)
        if columns:
            columns["words_absent"] = list(field_words(columns, len(items)))
        for name in ("values", "reference"):
            if numbers and name in columns:
                columns[name] = list(map(only_numbers, _each(columns[name])))
            elif not numbers:
                columns.pop(name, None)
        for name in _WORDS:
            columns.pop(name, None)
        return cls.made(len(items), columns)

    def instead(self, whole: Mapping[int, ItemScore]) -> "ItemColumns":
        """With some of them otherwise."""
        other = ItemColumns(self._count, self._columns, self._whole | dict(whole))
        if self._made is not None:
            other._keep(whole.get(place, item) for place, item in enumerate(self._made))
        return other

    def without(self, *fields: str) -> "ItemColumns":
        """With the defaults of these fields."""
        columns = ItemColumns.of(self)._columns
        return ItemColumns(self._count, {name: column for name, column in columns.items() if name not in fields})

    def scored_as(self, scores: Sequence[float | None]) -> "ItemColumns":
        """With other scores."""
        whole = {place: structs.replace(item, score=scores[place]) for place, item in self._whole.items()}
        return ItemColumns(self._count, {**self._columns, "score": _small("score", scores)}, whole)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ItemScore]:
        if self._made is None:
            self._keep(self._items())
        return self._items() if self._made is None else iter(self._made)

    def _keep(self, items: Iterable[ItemScore]) -> None:
        if self._count <= ItemColumns.room:
            ItemColumns.room -= self._count
            self._made = tuple(items)

    def _items(self) -> Iterator[ItemScore]:
        items = map(ItemScore, *(self._column(name) for name in _FIELDS))
        if not self._whole:
            return items
        return (self._whole.get(place, item) for place, item in enumerate(items))

    def column(self, name: str) -> Iterable[Any]:
        """One field of all items, or their `words`; nothing is made for it."""
        if self._made is not None:
            return map(attrgetter(name), self._made)
        column = field_words(self._columns, self._count) if name == "words" else self._column(name)
        if not self._whole:
            return column
        changed = list(column)
        for place, item in self._whole.items():
            changed[place] = getattr(item, name)
        return changed

    def _column(self, name: str) -> Iterable[Any]:
        return _field(self._columns, name, self._count)

    @overload
    def __getitem__(self, place: int) -> ItemScore: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ItemScore]: ...
    def __getitem__(self, place: int | slice) -> ItemScore | Sequence[ItemScore]:
        if self._made is not None:
            return self._made[place]
        where = range(self._count)[place]
        return self._at(where) if isinstance(where, int) else tuple(map(self._at, where))

    def _at(self, place: int) -> ItemScore:
        if place in self._whole:
            return self._whole[place]
        given = {name: _value(column, place) for name, column in self._columns.items()}
        return ItemScore(**_DEFAULTS | given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        packed = {name: packed_column(column) for name, column in self._columns.items()}
        return _handed_over, (self._count, packed, self._whole)

    def __del__(self) -> None:
        if self._made is not None:
            ItemColumns.room += self._count

    @property
    def columns(self) -> Columns:
        return self._columns


def field_words(columns: Columns, count: int) -> Iterator[int]:
    """The length of each reply."""
    said = zip(_field(columns, "text", count), _field(columns, "words_absent", count), strict=True)
    return (count_words(text) if words is None else words for text, words in said)


def only_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


def _columns_of(items: Sequence[ItemScore]) -> dict[str, Sequence[Any]]:
    if isinstance(items, ItemColumns) and not items._whole:
        return dict(items.columns)
    return dict(zip(_FIELDS, zip(*map(structs.astuple, items), strict=True), strict=False))


def _handed_over(count: int, packed: Columns, whole: Mapping[int, ItemScore]) -> ItemColumns:
    return ItemColumns(count, {name: unpacked_column(column) for name, column in packed.items()}, whole)


def packed_column(column: Sequence[Any]) -> Sequence[Any]:
    """To be kept, or handed to another process: numbers as the machine has them, a tenth of the time of one by one."""
    if isinstance(column, array):
        return [None, column.typecode, column.tobytes()]
    if isinstance(column, Repeated):
        values = _compressed(msgspec.msgpack.encode(column.values, enc_hook=plain))
        return [values, column.places.typecode, column.places.tobytes()]
    return [None, "", column]


def unpacked_column(packed: Sequence[Any]) -> Sequence[Any]:
    again, typecode, column = packed
    if not typecode:
        return cast(Sequence[Any], column)
    numbers = array(typecode)
    numbers.frombytes(column)
    return numbers if again is None else Repeated(_unpacked_values(again), numbers)


@lru_cache(maxsize=64)
def _compressed(values: bytes) -> bytes:
    """Once for all models that were asked the same: their items' names and titles are most of what is kept."""
    return zlib.compress(values, 1)


@lru_cache(maxsize=64)
def _unpacked_values(packed: bytes) -> list[Any]:
    """Read once for all models that were asked the same."""
    values = msgspec.msgpack.decode(zlib.decompress(packed))
    return [tuple(value) if isinstance(value, list) else value for value in values]


def plain(value: Any) -> Any:
    """numpy's numbers as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not kept")


def _field(columns: Columns, name: str, count: int) -> Iterable[Any]:
    column = columns.get(name)
    return repeat(_DEFAULTS[name], count) if column is None else _each(column)


def _each(column: Sequence[Any]) -> Iterable[Any]:
    return map(column.values.__getitem__, column.places) if isinstance(column, Repeated) else column


def _value(column: Sequence[Any], place: int) -> Any:
    return column.values[column.places[place]] if isinstance(column, Repeated) else column[place]


def _all_default(name: str, column: Sequence[Any]) -> bool:
    if isinstance(column, Repeated):
        return all(value == _DEFAULTS[name] for value in column.values)
    return not isinstance(column, array) and column.count(_DEFAULTS[name]) == len(column)


def _small(name: str, column: Sequence[Any]) -> Sequence[Any]:
    """Numbers and places as a machine keeps them, and words that other results have too once."""
    if isinstance(column, Repeated):
        return Repeated(_once(column.values), column.places)
    if name in _AGAIN:
        return Repeated.of(column)
    types = set(map(type, column)) if not isinstance(column, array) else ()
    with suppress(OverflowError):
        return array("d", column) if types == {float} else small_numbers(column) if types == {int} else column
    return column


def small_numbers(whole: Sequence[int]) -> "array[int]":
    """Whole numbers in as few bytes as the largest needs."""
    for typecode in "BHI":
        with suppress(OverflowError):
            return array(typecode, whole)
    return array("q", whole)


def _once(values: list[Any]) -> list[Any]:
    try:
        return list(map(intern, values))
    except TypeError:  # not all of them are words
        return values

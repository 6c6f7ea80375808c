"""Scores kept between starts, so that answers that have not changed are not scored again: a file of its own under
EQLAB_HOME, which may be deleted at any time and is never in the way. What is stale, damaged or of other code is not
used; a folder that may not be written keeps nothing. Models' figures only: no text, and nothing of people."""

import os
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import islice, repeat
from operator import attrgetter, eq
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any, overload

import msgspec
from msgspec import structs

from eqlab.core.environment import data_folder, default_store, version_of
from eqlab.core.results import ItemScore, Result
from eqlab.core.values import dataclass
from eqlab.store.location import store_key

Key = tuple[str, str, str, str]
"""Run, subject, benchmark, item set."""
Columns = Mapping[str, Any]
"""The items of a result, field by field."""
_FIELDS = ItemScore.__struct_fields__
_DEFAULTS = structs.asdict(ItemScore("", "", 0, None, None))
_SHARED = ("item", "trial", "status", "title", "group", "topics", "cluster")
"""Fields of items in which the same few values come again and again."""
MOST = 32
"""Stores whose scores are kept; of more, those that were looked at longest ago go, as do those that are gone."""
_TABLE = """
    CREATE TABLE IF NOT EXISTS kept (
        run TEXT, subject TEXT, benchmark TEXT, item_set TEXT, stamp TEXT, looked INTEGER, result BLOB,
        PRIMARY KEY (run, subject, benchmark, item_set)
    )
"""


Texts = Mapping[int, bool]
"""Places of items whose words can be put back from the store: by the benchmark's own view of the trial, or (False) from
the answer and the trial, with the figures that were kept."""


class ItemColumns(Sequence[ItemScore]):
    """The items of a result field by field: a fifth of the memory, and of the time to be handed to another process. An
    item is made when somebody looks; those of small runs then stay, so that whoever looks again need not wait."""

    __slots__ = ("_columns", "_count", "_made", "_whole")
    room = 300_000
    """Items that may still stay, of all results together."""

    def __init__(self, count: int, columns: Columns, whole: Mapping[int, ItemScore] = MappingProxyType({})) -> None:
        """`columns`: by field; of a field in which few values come again and again the values, and the place of each;
        one that is absent has its default. `whole`: items that stand instead of those at their places."""
        self._count, self._columns, self._whole = count, columns, dict(whole)
        self._made: tuple[ItemScore, ...] | None = None

    @classmethod
    def of(cls, items: Sequence[ItemScore]) -> "ItemColumns":
        """Items as they are."""
        if isinstance(items, ItemColumns) and not items._whole:
            return items
        return cls._of(dict(zip(_FIELDS, zip(*map(structs.astuple, items), strict=True), strict=False)), len(items))

    @classmethod
    def lean(cls, items: Sequence[ItemScore], *, numbers: bool) -> "ItemColumns":
        """Items without words; with the numbers that they hold, or none."""
        columns = dict(zip(_FIELDS, zip(*map(structs.astuple, items), strict=True), strict=False))
        if columns:
            said = zip(columns["text"], columns["words_absent"], strict=True)
            columns["words_absent"] = tuple(len(text.split()) if words is None else words for text, words in said)
        for name in ("values", "reference") if numbers else ():
            columns[name] = tuple(map(_numbers, columns.get(name, ())))
        for name in ("text", "shown", "reasons", *(() if numbers else ("values", "reference"))):
            columns.pop(name, None)
        return cls._of(columns, len(items))

    @classmethod
    def _of(cls, whole: Mapping[str, Sequence[Any]], count: int) -> "ItemColumns":
        columns: dict[str, Any] = {}
        for name, column in whole.items():
            if column.count(_DEFAULTS[name]) == len(column):
                continue
            columns[name] = column
            if name in _SHARED:
                places = {value: place for place, value in enumerate(dict.fromkeys(column))}
                columns[name] = [list(places), list(map(places.__getitem__, column))]
        return cls(count, _small(columns))

    def instead(self, whole: Mapping[int, ItemScore]) -> "ItemColumns":
        """With some of them otherwise."""
        other = ItemColumns(self._count, self._columns, self._whole | dict(whole))
        if self._made is not None:
            other._keep(whole.get(place, item) for place, item in enumerate(self._made))
        return other

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ItemScore]:
        if self._made is None:
            self._keep(self._each())
        return self._each() if self._made is None else iter(self._made)

    def _keep(self, items: Iterable[ItemScore]) -> None:
        if self._count <= ItemColumns.room:
            ItemColumns.room -= self._count
            self._made = tuple(items)

    def _each(self) -> Iterator[ItemScore]:
        items = map(ItemScore, *(self._column(name) for name in _FIELDS))
        if not self._whole:
            return items
        return (self._whole.get(place, item) for place, item in enumerate(items))

    def column(self, name: str) -> Iterable[Any]:
        """One field of all items, or their `words`; nothing is made for it."""
        if self._made is not None:
            return map(attrgetter(name), self._made)
        if name == "words":
            said = zip(self._column("text"), self._column("words_absent"), strict=True)
            column = [len(text.split()) if words is None else words for text, words in said]
        else:
            column = list(self._column(name))
        for place, item in self._whole.items():
            column[place] = getattr(item, name)
        return column

    def _column(self, name: str) -> Iterable[Any]:
        column = self._columns.get(name)
        if column is None:
            return repeat(_DEFAULTS[name], self._count)
        return map(column[0].__getitem__, column[1]) if name in _SHARED else column

    @overload
    def __getitem__(self, place: int) -> ItemScore: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ItemScore]: ...
    def __getitem__(self, place: int | slice) -> ItemScore | Sequence[ItemScore]:
        if isinstance(place, slice):
            return tuple(islice(self, *place.indices(self._count)) if (place.step or 1) > 0 else tuple(self)[place])
        at = range(self._count)[place]
        return next(islice(self, at, None)) if self._made is None else self._made[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _handed_over, (self._count, self._columns, self._whole)

    def __del__(self) -> None:
        if self._made is not None:
            ItemColumns.room += self._count

    @property
    def columns(self) -> Columns:
        return self._columns


def _handed_over(count: int, columns: Columns, whole: Mapping[int, ItemScore]) -> ItemColumns:
    return ItemColumns(count, _small(columns), whole)


def _small(columns: Mapping[str, Any]) -> Columns:
    """Numbers and places as a machine keeps them, and words that other results have too once."""
    return {
        name: [_once(column[0]), array("I", column[1])] if name in _SHARED else _numbers_of(column)
        for name, column in columns.items()
    }


def _once(values: list[Any]) -> list[Any]:
    try:
        return list(map(intern, values))
    except TypeError:  # not all of them are words
        return values


def _numbers_of(column: Sequence[Any]) -> Sequence[Any]:
    types = set(map(type, column)) if not isinstance(column, array) else ()
    with suppress(OverflowError):
        return array("d", column) if types == {float} else array("q", column) if types == {int} else column
    return column


@dataclass(frozen=True, slots=True)
class Kept:
    result: Result
    texts: Texts
    looked: bool
    """Whether other runs of the store counted for it."""


def without_texts(result: Result) -> Result:
    """A result whose items and talks are figures: a fifth of the memory. Beside people each item has its numbers too:
    a page shows where the two lie furthest apart."""
    talks = tuple(structs.replace(talk, lines=()) for talk in result.transcripts)
    items = ItemColumns.lean(result.items, numbers=bool(result.beside_people))
    return replace(result, items=items, transcripts=talks)


def without_words(item: ItemScore, *, numbers: bool) -> ItemScore:
    """One item as it is there."""
    values, reference = (_numbers(item.values), _numbers(item.reference)) if numbers else ({}, {})
    return ItemScore(
        item.item, item.trial, item.repeat, item.status, item.score, item.title, "", values, reference, {},
        item.attempts, item.points, item.group, item.topics, "", item.words, item.worst, item.cluster,
    )  # fmt: skip


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


class KeptScores:
    """Of one store. For one thread."""

    def __init__(self, where: str) -> None:
        self.path = data_folder() / "scores" / f"{store_key(where or default_store())}.db"
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def get(self, key: Key, stamp: str) -> "Kept | None":
        """What was kept under this stamp."""
        found = self._do(
            "SELECT looked, result FROM kept WHERE run = ? AND subject = ? AND benchmark = ? AND item_set = ? "
            "AND stamp = ?", (*key, _stamp(stamp)),
        )  # fmt: skip
        try:
            return Kept(*unpacked(zlib.decompress(found[0][1])), bool(found[0][0])) if found else None
        except (zlib.error, msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):
            return None  # damaged: it is scored, and kept, again

    def put(self, key: Key, stamp: str, result: Result, *, looked: bool, texts: "Texts | None" = None) -> None:
        """Keep a result without texts, unless it would come back as another."""
        with suppress(msgspec.MsgspecError, TypeError, ValueError, OverflowError):
            items, bare = ItemColumns.of(result.items), _without_items(result)
            packed = _packed(items, bare, texts or {})
            if _comes_back(packed, items, bare, result, texts or {}):
                values = (*key, _stamp(stamp), looked, zlib.compress(packed, 1))
                self._do("REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _do(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Rows; none where the file cannot be used, now or at all. One that is no database any more is made anew."""
        if self._closed:
            return []
        try:
            self._connection = self._connection or self._open()
            return self._connection.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                self.close()
        except sqlite3.DatabaseError:
            self._drop()
            _remove(self.path)
        except OSError:
            self.close()
        return []

    def close(self) -> None:
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        os.utime(self.path)
        _forget_oldest(self.path.parent)
        connection = sqlite3.connect(self.path, timeout=1, isolation_level=None)
        try:
            for command in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", _TABLE):  # it can be made again
                connection.execute(command)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _forget_oldest(folder: Path) -> None:
    with suppress(OSError):  # another process does the same
        for path in sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime_ns)[:-MOST]:
            _remove(path)


def _remove(path: Path) -> None:
    """With its log, and that first: it must not be taken for the log of a new file of this name."""
    with suppress(OSError):
        for part in (f"{path}-wal", f"{path}-shm", path):
            Path(part).unlink(missing_ok=True)


def _stamp(stamp: str) -> str:
    return f"{_code()} {stamp}"


@cache
def _code() -> str:
    """What scores depend on besides answers: this package, file by file, Python and numpy."""
    package = Path(__file__).parent.parent
    files = sorted((str(path), (own := path.stat()).st_mtime_ns, own.st_size) for path in package.rglob("*.py"))
    return sha256(f"{files} {sys.version} {version_of('numpy')}".encode()).hexdigest()[:16]


# -- a result as bytes: its items in columns, each value once ----------------------------------------------------------


def pack(result: Result, texts: Texts = MappingProxyType({})) -> bytes:
    """A result without texts."""
    return _packed(ItemColumns.of(result.items), _without_items(result), texts)


def _packed(items: ItemColumns, bare: bytes, texts: Texts) -> bytes:
    told = {name: [column[0], list(column[1])] if name in _SHARED else list(column)
            for name, column in items.columns.items()}  # fmt: skip
    return msgspec.msgpack.encode([len(items), told, bare, list(texts.items())], enc_hook=_plain)


def _without_items(result: Result) -> bytes:
    return msgspec.msgpack.encode(replace(result, items=()), enc_hook=_plain)


def unpacked(packed: bytes) -> tuple[Result, Texts]:
    count, told, bare, texts = msgspec.msgpack.decode(packed)
    for name, column in told.items():
        shared = name in _SHARED
        if len(column[1] if shared else column) != count or (shared and max(column[1]) >= len(column[0])):
            raise ValueError(name)
        if shared:
            column[0] = [tuple(value) if isinstance(value, list) else value for value in column[0]]
    return replace(_decoder().decode(bare), items=ItemColumns(count, _small(told))), dict(texts)


@cache
def _decoder() -> "msgspec.msgpack.Decoder[Result]":
    return msgspec.msgpack.Decoder(Result)


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not kept")


_EXACT = frozenset((str, int, float, bool, type(None)))
"""What comes back as it was; a tuple of such does where values are shared."""


def _comes_back(packed: bytes, items: ItemColumns, bare: bytes, result: Result, texts: Texts) -> bool:
    """Whether a packed result is the same again, to the last digit and type. Most items are known to be by the types
    in their columns; only others are made and packed once more."""
    if all(_exact(column[0] if name in _SHARED else column) for name, column in items.columns.items()):
        kept = _decoder().decode(bare)
        again = _without_items(kept) == bare
    else:
        kept, _ = unpacked(packed)
        again = pack(kept, texts) == packed
    return again and _bare(kept) == _bare(result)


def _exact(values: Sequence[Any]) -> bool:
    if isinstance(values, array):
        return True
    types = set(map(type, values))
    if tuple in types:
        types = types - {tuple} | {type(part) for value in values if type(value) is tuple for part in value}
    return types <= _EXACT


def _bare(result: Result) -> str:
    """Everything but items, as text, in which a list is no tuple."""
    return repr([getattr(result, name) for name in result.__slots__ if name != "items"])

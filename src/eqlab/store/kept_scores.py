"""Scores kept between starts, so that answers that have not changed are not scored again: a file of its own under
EQLAB_HOME, which may be deleted at any time and is never in the way. What is stale, damaged or of other code is not
used; a folder that may not be written keeps nothing. Models' figures only: no text, and nothing of people."""

import os
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import structs

from eqlab.core.environment import data_folder, default_store, version_of
from eqlab.core.item_columns import ItemColumns, Repeated, only_numbers, packed_column, plain, unpacked_column
from eqlab.core.results import ItemScore, Result
from eqlab.core.values import dataclass
from eqlab.store.location import store_key

Key = tuple[str, str, str, str]
"""Run, subject, benchmark, item set."""
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
    values, reference = (only_numbers(item.values), only_numbers(item.reference)) if numbers else ({}, {})
    return ItemScore(
        item.item, item.trial, item.repeat, item.status, item.score, item.title, "", values, reference, {},
        item.attempts, item.points, item.group, item.topics, "", item.words, item.worst, item.cluster,
    )  # fmt: skip


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
            return Kept(*unpacked(found[0][1]), bool(found[0][0])) if found else None
        except (zlib.error, msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):
            return None  # damaged: it is scored, and kept, again

    def put(self, key: Key, stamp: str, result: Result, *, looked: bool, texts: "Texts | None" = None) -> None:
        """Keep a result without texts, unless it would come back as another."""
        with suppress(msgspec.MsgspecError, TypeError, ValueError, OverflowError):
            items, bare = ItemColumns.of(result.items), _without_items(result)
            packed = _packed(items, bare, texts or {})
            if _comes_back(packed, items, bare, result, texts or {}):
                values = (*key, _stamp(stamp), looked, packed)
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
    """What scores depend on besides answers: this package, file by file, Python, the machine and numpy."""
    package = Path(__file__).parent.parent
    files = sorted((str(path), (own := path.stat()).st_mtime_ns, own.st_size) for path in package.rglob("*.py"))
    return sha256(f"{files} {sys.version} {sys.byteorder} {version_of('numpy')}".encode()).hexdigest()[:16]


# -- a result as bytes: its items in columns, each value once ----------------------------------------------------------


def pack(result: Result, texts: Texts = MappingProxyType({})) -> bytes:
    """A result without texts."""
    return _packed(ItemColumns.of(result.items), _without_items(result), texts)


def _packed(items: ItemColumns, bare: bytes, texts: Texts) -> bytes:
    told = {name: packed_column(column) for name, column in items.columns.items()}
    return msgspec.msgpack.encode([len(items), told, bare, list(texts.items())], enc_hook=plain)


def _without_items(result: Result) -> bytes:
    return msgspec.msgpack.encode(replace(result, items=()), enc_hook=plain)


def unpacked(packed: bytes) -> tuple[Result, Texts]:
    count, told, bare, texts = msgspec.msgpack.decode(packed)
    columns = {name: unpacked_column(column) for name, column in told.items()}
    for name, column in columns.items():
        if len(column.places if isinstance(column, Repeated) else column) != count:
            raise ValueError(name)
    return replace(_decoder().decode(bare), items=ItemColumns(count, columns)), dict(texts)


@cache
def _decoder() -> "msgspec.msgpack.Decoder[Result]":
    return msgspec.msgpack.Decoder(Result)


_EXACT = frozenset((str, int, float, bool, type(None)))
"""What comes back as it was; a tuple of such does where values are shared."""


def _comes_back(packed: bytes, items: ItemColumns, bare: bytes, result: Result, texts: Texts) -> bool:
    """Whether a packed result is the same again, to the last digit and type. Most items are known to be by the types
    in their columns; only others are made and packed once more."""
    if all(_exact(column.values if isinstance(column, Repeated) else column) for column in items.columns.values()):
        kept = _decoder().decode(bare)
        again = _without_items(kept) == bare
    else:
        kept, _ = unpacked(packed)
        again = pack(kept, texts) == packed
    same = replace(kept, items=()) == replace(result, items=())  # a list is no tuple; nor is NaN the same as NaN
    return again and (same or _bare(kept) == _bare(result))


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

"""Getting at a store: one to work in, which may be new; one that must be there; or one to read.

Reading does without SQLAlchemy where it can, which is half a second less, and without writing, so that a store that
may only be read can be. Only a store that needs nothing done first (tables up to date, no answers waiting in files)
is read this way."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqlab.core.environment import default_store
from eqlab.core.errors import StoreError
from eqlab.core.plural import many
from eqlab.store.database import HEAD
from eqlab.store.location import GARBLED, check_there, damaged, is_damage, sqlite_path
from eqlab.store.pending_answers import held, remove_empty, waiting
from eqlab.store.reader import Reader

if TYPE_CHECKING:
    from eqlab.store.reader import Reader
    from eqlab.store.store import Store

_Stamp = tuple[int, int, bool]
_ROOM = 65536
"""Bytes that SQLite needs beside a store to read it: an index of its log."""


class SqliteReader(Reader):
    def __init__(self, where: str, connection: sqlite3.Connection, frozen: Path | None = None) -> None:
        """`frozen`: the file, where it is read without a lock because none can be kept beside it."""
        super().__init__()
        connection.execute("PRAGMA query_only = ON")
        self.where = where
        self._connection = connection
        self._frozen = frozen
        self._stamp = _stamp(frozen) if frozen else None

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        try:
            yield from self._connection.execute(query, values)
        except UnicodeDecodeError as error:
            raise damaged(self.shown, GARBLED) from error
        except sqlite3.Error as error:
            self._check_frozen()
            if is_damage(str(error)):
                raise damaged(self.shown, str(error)) from error
            raise StoreError(
                f"The store {self.shown} cannot be read: {error}.", "Try 'eqlab runs store check'."
            ) from error
        self._check_frozen()

    def _check_frozen(self) -> None:
        if self._frozen and _stamp(self._frozen) != self._stamp:
            raise StoreError(f"Another program is writing to {self.shown}.", "Try again when it has finished.")

    def close(self) -> None:
        self._connection.close()


class EmptyReader(Reader):
    """The user's own store before anything was stored: there is nothing to read, and nothing is made to say so."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        return iter(())

    def close(self) -> None:
        pass


def open_sqlite_reader(where: str) -> SqliteReader | None:
    """A reader of this store; None where the full store has to be opened."""
    path = sqlite_path(where)
    if path is None or not path.is_file():
        return None
    if may_write(path):
        return None if waiting(where) else _up_to_date(SqliteReader(where, sqlite3.connect(path, timeout=30)))
    return _read_only(where, path)


def may_write(path: Path) -> bool:
    """SQLite writes beside its file too, even to read; on a full disk it cannot."""
    folder = path.resolve().parent
    if not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >= _ROOM


def connect_frozen(path: Path) -> tuple[sqlite3.Connection, Path | None]:
    """A connection to a file that may not be written; and the file, where it is read without a lock."""
    log = path.with_name(f"{path.name}-wal")
    uri = path.resolve().as_uri()
    if log.exists() and log.stat().st_size:  # somebody writes, or was killed: the log is part of the store
        return sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30), None
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True), path


def _read_only(where: str, path: Path) -> SqliteReader:
    if not os.access(path, os.R_OK):
        raise StoreError(f"The store {path} may not be read.", "Ask its owner, or name another with --store.")
    reader = SqliteReader(where, *connect_frozen(path))
    if files := waiting(where):
        reader.close()
        raise StoreError(
            f"The store {reader.shown} cannot be written, and answers for it wait in {files[0]}.",
            "Make it writable for one command, which takes them in.",
        )
    try:
        version = _version(reader)
    except StoreError as error:
        reader.close()
        if not any(words in error.message for words in ("unable to open", "disk I/O", "full")):
            raise
        raise StoreError(
            f"The store {reader.shown} was not closed, and cannot be read where nothing can be written.",
            f"Copy it and {path.name}-wal to a folder of your own, and name that with --store.",
        ) from error
    if version != HEAD:
        reader.close()
        age = "an older" if version < HEAD else "a newer"
        way = "Copy it to a folder of your own: it is brought up to date there." if age == "an older" else "Upgrade."
        raise StoreError(f"The store {reader.shown} was written by {age} eqlab and cannot be changed here.", way)
    return reader


def _up_to_date(reader: SqliteReader) -> SqliteReader | None:
    try:
        if _version(reader) == HEAD:
            return reader
    except StoreError:  # no store, or none yet: opening it in full says what is wrong
        pass
    reader.close()
    return None


def _version(reader: SqliteReader) -> str:
    return str(next(iter(reader.rows("SELECT version_num FROM alembic_version", {})), ("",))[0])


def _stamp(path: Path) -> _Stamp:
    """What changes when somebody begins to write."""
    found = path.stat()
    log = path.with_name(f"{path.name}-wal")
    return found.st_mtime_ns, found.st_size, log.exists() and log.stat().st_size > 0


def open_store(where: str = "", *, existing: bool = False) -> "Store":
    """The store at a path or URL; the user's own without one. Answers that it could not take before are taken in.

    `existing`: a store that is named must be there, since only what it holds is wanted."""
    from eqlab.store.store import Store

    if existing:
        check_there(where)
    store = Store(where or default_store())
    try:
        take_in(store)
    except BaseException:
        store.close()
        raise
    return store


def open_reader(where: str = "") -> "Reader":
    """The store at a path or URL, to read; the user's own without one."""
    check_there(where)
    place = where or default_store()
    path = sqlite_path(place)
    if path is not None and not path.exists() and not waiting(place):
        return EmptyReader(place)
    return open_sqlite_reader(place) or open_store(where)


def take_in(store: "Store") -> None:
    """Store the answers that a failing store could not take: all of a file in one transaction, then the file goes.

    Harmless when repeated or interrupted: an answer that is there already is not stored again. A file with answers of
    runs that this store does not know (it is another one of the same name) is left alone."""
    for path in waiting(store.where):
        with held(path) as found:
            if found is None:  # its session is still at work
                continue
            answers, remove = found
            try:
                unknown = store.add_missing(answers)
            except StoreError as error:
                raise StoreError(
                    f"{error.message} {many(len(answers), 'answer still waits', 'answers still wait')} in {path}.",
                    error.hint,
                ) from error
            if not unknown:
                remove()
    remove_empty(store.where)

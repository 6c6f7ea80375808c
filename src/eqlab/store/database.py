"""A database as runs use it: SQL that SQLite and PostgreSQL both take, with named parameters, in transactions.

SQLite is used without SQLAlchemy here, which takes longer to load than a small run to ask; a server through it
(engine.py)."""

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from eqlab.core.errors import StoreError
from eqlab.store.location import GARBLED, damaged, is_damage

HEAD = "0009"
"""The newest migration; a test holds it against the migrations folder."""
BUSY = 30.0
"""Seconds to wait for another program's lock on a SQLite store."""
PATIENCE = 60.0
"""Seconds in which a database server may come back."""
_PAUSE = 0.5
_IDLE = 5
"""Connections that are kept for later."""
_AT_ONCE = 64
"""Rows of one statement: their values stay far below the most that SQLite takes."""
_Done = TypeVar("_Done")


class Transaction(ABC):
    """What is done together, or not at all."""

    @abstractmethod
    def rows(self, query: str, **values: Any) -> list[Sequence[Any]]: ...

    @abstractmethod
    def run(self, command: str, **values: Any) -> None: ...

    @abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None: ...

    @abstractmethod
    def take_turn(self, what: str) -> None:
        """Wait until no other process is at this part of a transaction."""


class Database(ABC):
    is_server: ClassVar[bool]
    errors: ClassVar[tuple[type[Exception], ...]]
    """What it raises when it fails, or refuses a row that is there already."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """Committed at the end, and durable then; rolled back on an error."""

    @abstractmethod
    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        """Fetched as they are asked for."""

    @abstractmethod
    def close(self) -> None:
        """What another thread still uses, or takes after this, is closed when it comes back."""


class SqliteDatabase(Database):
    is_server = False
    errors = (StoreError, sqlite3.Error, OSError)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._connection() as connection:
            # The write lock at once: upgrading a read lock later fails under load.
            connection.execute("BEGIN IMMEDIATE")
            yield _SqliteTransaction(connection)
            connection.commit()

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        with self._connection() as connection, closing(connection.execute(query, values)) as cursor:
            yield from cursor

    def close(self) -> None:
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with sqlite_said_plainly(str(self._path)):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield connection
            finally:
                if connection.in_transaction or len(self._idle) >= _IDLE:
                    connection.close()  # what is not committed is rolled back
                else:
                    self._idle.append(connection)
                if self._closed:
                    self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY, check_same_thread=False)
        try:
            set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection


class _SqliteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, **values: Any) -> list[Sequence[Any]]:
        return self._connection.execute(query, values).fetchall()

    def run(self, command: str, **values: Any) -> None:
        self._connection.execute(command, values)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Many by one statement: a thread that runs one for each row waits after each until the others let it go on.
        Each statement has a power of two of them, so that few kinds are ever prepared."""
        start = 0
        while start < len(rows):
            size = min(_AT_ONCE, 1 << ((len(rows) - start).bit_length() - 1))
            values = list(chain.from_iterable(rows[start : start + size]))
            self._connection.execute(_insertion(table, tuple(columns), size), values)
            start += size

    def take_turn(self, what: str) -> None:
        """SQLite has one writer anyway."""


@cache
def _insertion(table: str, columns: tuple[str, ...], size: int) -> str:
    names, row = '", "'.join(columns), ", ".join("?" * len(columns))
    return f'INSERT INTO {table} ("{names}") VALUES ' + ", ".join([f"({row})"] * size)


def make_file(path: Path) -> None:
    """The file of a SQLite store where there is none yet. Answers may be confidential: only the owner may read them."""
    if not path.name:
        raise StoreError("The store needs a file name.", "Give --store PATH.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"The store {path} cannot be opened: {error.strerror}.",
            "Name another with --store, or another folder with EQLAB_HOME.",
        ) from error


def is_current(path: Path) -> bool:
    """Whether the tables of a SQLite store are those of the newest migration."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY)) as connection:
            return connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]
    except (sqlite3.Error, UnicodeDecodeError):  # no store, or none yet: bringing it up to date says what is wrong
        return False


def set_up(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None  # we begin transactions ourselves
    _keep_log(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", f"busy_timeout={1000 * BUSY:.0f}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA secure_delete=ON")  # what is deleted, or moved within the file, is overwritten


def _keep_log(connection: sqlite3.Connection) -> None:
    """A write-ahead log. While another process changes a new file to one, SQLite does not wait by itself."""
    deadline = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def sqlite_said_plainly(shown: str) -> Iterator[None]:
    """A SQLite store that is damaged, full or locked is a StoreError with the way out."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged(shown, GARBLED) from error
    except sqlite3.Error as error:
        if is_damage(reason(error)):
            raise damaged(shown, reason(error)) from error
        if not isinstance(error, sqlite3.OperationalError):
            raise
        raise failed(shown, error) from error


def failed(shown: str, error: BaseException) -> StoreError:
    """A database that is full, locked or gone, with the way out."""
    return StoreError(f"The store {shown} failed: {reason(error)}.", way_out(reason(error)))


def reason(error: BaseException) -> str:
    """The database's own words, without our SQL, which SQLAlchemy adds."""
    words = str(getattr(error, "orig", None) or error).strip()
    return (words or type(error).__name__).splitlines()[0].rstrip(".")


def way_out(words: str) -> str:
    if "full" in words or "disk I/O" in words:
        return "Make room and run the same command again."
    if "locked" in words:
        return "Another program holds it; end that and run the same command again."
    return "Fix that and run the same command again."


def patiently(database: Database, work: Callable[[], _Done]) -> _Done:
    """Do it as soon as a database server that was restarted is back; SQLite waits for a lock by itself."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreError:
            if not database.is_server or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)

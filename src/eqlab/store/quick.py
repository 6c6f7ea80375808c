"""Reading a SQLite store without SQLAlchemy, so that looking at it takes no time.

Only a store that needs nothing done first (tables up to date, no answers waiting in files) is read this way."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eqlab.core.errors import StoreError
from eqlab.store.place import sqlite_path
from eqlab.store.reader import Reader
from eqlab.store.unstored import waiting


class QuickReader(Reader):
    def __init__(self, where: str, connection: sqlite3.Connection) -> None:
        super().__init__()
        self.where = where
        self._connection = connection

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(f"The store {self.shown} cannot be read: {error}.", "Try 'eqlab store check'.") from error

    def close(self) -> None:
        self._connection.close()


def open_quickly(where: str) -> QuickReader | None:
    """A reader of this store; None where the full store has to be opened."""
    path = sqlite_path(where)
    if path is None or not path.is_file() or waiting(where):
        return None
    connection = sqlite3.connect(path, timeout=30)
    try:
        connection.execute("PRAGMA query_only = ON")
        version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error:  # no store, or none yet: opening it in full says what is wrong
        version = None
    if version != (_newest(),):
        connection.close()
        return None
    return QuickReader(where, connection)


def _newest() -> str:
    """The newest migration, by its file's name."""
    return max(path.name[:4] for path in (Path(__file__).parent / "migrations" / "versions").glob("0*.py"))

"""A new SQLite store in a few milliseconds: the tables that migrations end with, without the way there.

Tests of the store itself (tests/store) go the whole way, on SQLite and on PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from eqlab.store import engine as store_engine
from eqlab.store.store import Store

migrate = store_engine._migrate
"""What the product does."""


def tables_of_a_new_store(folder: Path) -> list[str]:
    """The statements that make a store as migrations leave it, its version included."""
    path = folder / "migrated.db"
    Store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]


@contextmanager
def made_at_once(statements: list[str]) -> Iterator[None]:
    """In this process, an empty SQLite store gets its tables by these statements, in one transaction."""

    def make_tables(engine: Engine) -> None:
        if engine.dialect.name == "sqlite" and _is_empty(engine):
            with store_engine.writing(engine) as connection:
                if _count_tables(connection) == 0:  # no other process was faster
                    for statement in statements:
                        connection.exec_driver_sql(statement)
        else:
            migrate(engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_engine, "_migrate", make_tables)
        yield


def _is_empty(engine: Engine) -> bool:
    with engine.connect() as connection:
        return _count_tables(connection) == 0


def _count_tables(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one())

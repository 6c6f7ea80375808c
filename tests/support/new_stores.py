"""A new SQLite store in a few milliseconds: the tables that migrations end with, without the way there.

Tests of the store itself (tests/store) go the whole way, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from sqlalchemy import Connection, Engine, create_engine

from eqlab.store import engine as store_engine

migrate = store_engine._migrate
"""What the product does."""


@cache
def tables_of_a_new_store() -> tuple[str, ...]:
    """The statements that make a store as migrations leave it, its version included."""
    engine = create_engine("sqlite://")
    try:
        migrate(engine, False)
        with engine.connect() as connection:
            dump = connection.connection.driver_connection.iterdump()
            return tuple(line for line in dump if line not in ("BEGIN TRANSACTION;", "COMMIT;"))
    finally:
        engine.dispose()


@contextmanager
def made_at_once() -> Iterator[None]:
    """In this process, an empty SQLite store gets its tables by these statements, in one transaction."""

    def make_tables(engine: Engine, upgrade: bool) -> None:
        if engine.dialect.name == "sqlite" and _is_empty(engine):
            with store_engine.writing(engine) as connection:
                if _count_tables(connection) == 0:  # no other process was faster
                    for statement in tables_of_a_new_store():
                        connection.exec_driver_sql(statement)
        else:
            migrate(engine, upgrade)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_engine, "_migrate", make_tables)
        yield


def _is_empty(engine: Engine) -> bool:
    with engine.connect() as connection:
        return _count_tables(connection) == 0


def _count_tables(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one())

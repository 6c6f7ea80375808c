"""One process works on a run at a time. The operating system or the database drops the lock when its holder dies,
so a killed run can be continued at once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from eqlab.core.errors import InUseError
from eqlab.store.engine import lock_key
from eqlab.store.store import Store


@contextmanager
def run_lock(store: Store, run: str) -> Iterator[None]:
    if store.engine.dialect.name == "postgresql":
        with _advisory_lock(store, run):
            yield
    else:
        with _file_lock(store, run):
            yield


def _in_use(run: str) -> InUseError:
    return InUseError(f"Run {run} is being worked on by another process.", "Wait for it, or look with 'eqlab runs'.")


@contextmanager
def _file_lock(store: Store, run: str) -> Iterator[None]:
    import fcntl

    database = Path(store.engine.url.database or "")
    folder = database.with_name(f"{database.name}-locks")
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(folder / run, os.O_CREAT | os.O_WRONLY, 0o600)
    with os.fdopen(lock, "w") as file:  # never deleted: a deleted lock file could be locked twice
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(run) from None
        yield


@contextmanager
def _advisory_lock(store: Store, run: str) -> Iterator[None]:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    key = lock_key(f"run {run}")
    own = create_engine(store.engine.url, poolclass=NullPool)  # a sweep holds many locks; the pool is for work
    with own.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar():
            raise _in_use(run)
        try:
            yield
        finally:
            with suppress(OperationalError):  # a database that was restarted has dropped the lock by itself
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})

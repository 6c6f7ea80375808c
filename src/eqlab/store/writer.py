"""Working on a run: one process at a time, and in it one thread that writes answers: each at once when it is alone, all
that came during a commit, or right after it, by the next one.

The operating system or the database drops the lock when its holder dies, so a killed run can be continued at once. A
store that fails stops the run and loses nothing: what arrives from then on goes to a file beside it."""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from eqlab.core.answers import Answer
from eqlab.core.errors import InUseError, StoreError
from eqlab.core.plural import many
from eqlab.store.database import patiently, reason
from eqlab.store.location import sqlite_path
from eqlab.store.pending_answers import PendingAnswers
from eqlab.store.store import NextTurn, Store


@contextmanager
def run_lock(store: Store, run: str) -> Iterator[None]:
    database = sqlite_path(store.where)
    with _advisory_lock(store, run) if database is None else _file_lock(database, run):
        yield


def _in_use(run: str) -> InUseError:
    return InUseError(f"Run {run} is being worked on by another process.", "Wait for it, or look with 'eqlab runs'.")


@contextmanager
def _file_lock(database: Path, run: str) -> Iterator[None]:
    import fcntl

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
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import OperationalError
    from sqlalchemy.pool import NullPool

    from eqlab.store.engine import lock_key

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


_MOST_WAITING = 1000
"""Answers that wait to be stored; a model that is faster than the disk is slowed down, or memory would grow."""

_BETWEEN = 0.05
"""Seconds from one commit to the next: those of a burst share one, which takes many times what an answer takes. A kill
in between costs fewer answers than are under way."""


class Writer:
    """Put answers in; `on_stored` hears of each batch after its commit, `on_failure` of the store's failure, both in
    the writer's thread."""

    def __init__(
        self,
        store: Store,
        on_stored: Callable[[Sequence[Answer]], None],
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._on_stored = on_stored
        self._on_failure = on_failure
        self._queue: queue.SimpleQueue[Answer | NextTurn | threading.Event | None] = queue.SimpleQueue()
        self._hurried = threading.Event()
        """Set when somebody waits for the next commit."""
        self._failure: Exception | None = None
        self._pending = PendingAnswers(store.where)
        self._pending.reserve()
        self._thread = threading.Thread(target=self._work, name="eqlab-writer", daemon=True)
        self._thread.start()

    def put(self, item: Answer | NextTurn) -> None:
        """An answer, or the turn of a talk that follows from one that was put before."""
        while self._queue.qsize() >= _MOST_WAITING:
            self._hurried.set()
            time.sleep(0.001)
        self._queue.put(item)

    def flush(self) -> None:
        """Wait until everything handed over so far is stored, or kept after a failure."""
        done = threading.Event()
        self._queue.put(done)
        self._hurried.set()
        done.wait()

    def close(self) -> None:
        """Wait until everything is stored; raises if the store has failed, and says where the answers are."""
        self._queue.put(None)
        self._hurried.set()
        self._thread.join()
        self._pending.close()
        if self._failure is not None:
            raise self._sad_end(self._failure) from self._failure

    def _sad_end(self, failure: Exception) -> StoreError:
        if isinstance(failure, StoreError):
            what, way_out = failure.message, failure.hint
        else:
            what, way_out = f"The store {self._store.shown} failed: {reason(failure)}.", "Run the same command again."
        kept = self._pending
        if kept.kept:
            files = " and ".join(str(path) for path in kept.paths)
            what += (
                f" {many(kept.kept, 'answer that came after is', 'answers that came after are')} in "
                f"{files}; the next command takes them in."
            )
        if kept.lost:
            what += f" {many(kept.lost, 'answer is', 'answers are')} lost: no folder could be written."
        return StoreError(what, way_out)

    def _work(self) -> None:
        open_, committed = True, 0.0
        while open_:
            batch = [self._queue.get()]
            early = committed + _BETWEEN - time.monotonic()
            if early > 0 and isinstance(batch[0], Answer | NextTurn):
                self._hurried.wait(early)
            self._hurried.clear()
            while not self._queue.empty():
                batch.append(self._queue.get())
            open_ = None not in batch
            answers = [answer for answer in batch if isinstance(answer, Answer)]
            turns = [turn for turn in batch if isinstance(turn, NextTurn)]
            if (answers or turns) and self._failure is None and self._stored(answers, turns):
                committed = time.monotonic()
                self._tell(answers)
            elif answers:  # the turns follow from them, and are found again when they are taken in
                self._pending.keep(answers)
            for waiting in batch:
                if isinstance(waiting, threading.Event):
                    waiting.set()

    def _stored(self, answers: Sequence[Answer], turns: Sequence[NextTurn]) -> bool:
        try:
            try:
                self._store.add_answers(answers, turns)
            except StoreError:
                if not self._store.database.is_server:
                    raise
                # Restarted: the commit may or may not have been done before it went.
                patiently(self._store.database, lambda: self._store.add_answers((), turns))
                patiently(self._store.database, lambda: self._store.add_missing(answers))
        except self._store.database.errors as error:
            self._failure = error
            self._on_failure()
            return False
        return True

    def _tell(self, answers: Sequence[Answer]) -> None:
        """Progress is for people; a terminal that has gone away must not stop the storing."""
        try:
            self._on_stored(answers)
        except (OSError, ValueError, SystemExit):  # the last is what rich makes of a broken pipe
            self._on_stored = lambda _: None

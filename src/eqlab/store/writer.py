"""One thread that writes answers in batches: durable within a fraction of a second, and never in the way of asking."""

import queue
import threading
from collections.abc import Callable, Sequence

from sqlalchemy.exc import SQLAlchemyError

from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError
from eqlab.store.store import Store

_LINGER = 0.04
"""Seconds to wait for company before a commit; far below the 0.2 s in which an answer must be durable."""


class Writer:
    """Put answers in; `on_stored` hears of each batch after its commit, in the writer's thread."""

    def __init__(self, store: Store, on_stored: Callable[[Sequence[Answer]], None]) -> None:
        self._store = store
        self._on_stored = on_stored
        self._queue: queue.SimpleQueue[Answer | threading.Event | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="eqlab-writer", daemon=True)
        self._thread.start()

    def put(self, answer: Answer) -> None:
        """Hand over an answer; raises if the store has failed, so that nothing more is asked in vain."""
        self._raise_failure()
        self._queue.put(answer)

    def flush(self) -> None:
        """Wait until everything handed over so far is stored."""
        stored = threading.Event()
        self._queue.put(stored)
        while not stored.wait(_LINGER):
            self._raise_failure()

    def close(self) -> None:
        """Wait until everything is stored."""
        self._queue.put(None)
        self._wake.set()
        self._thread.join()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise StoreError(
                f"The store {self._store.where} failed: {self._failure}.",
                "Mend it and run the same command again: what was stored before is kept.",
            ) from self._failure

    def _work(self) -> None:
        open_ = True
        while open_:
            batch = [self._queue.get()]
            self._wake.wait(_LINGER)
            while not self._queue.empty():
                batch.append(self._queue.get())
            open_ = None not in batch
            answers = [answer for answer in batch if isinstance(answer, Answer)]
            if answers:
                try:
                    self._store.add_answers(answers)
                except (SQLAlchemyError, OSError) as error:
                    self._failure = error
                    return
                self._on_stored(answers)
            for waiting in batch:
                if isinstance(waiting, threading.Event):
                    waiting.set()

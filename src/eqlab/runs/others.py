"""Other processes of one command, for work that needs nothing from what is done meanwhile."""

import gc
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Others:
    """Started with the first work they are given, and afresh, not forked: a copy of a process with open databases is no
    sound one. Each imports the main program again, which must allow that (`if __name__ == "__main__"`)."""

    def __init__(self, processes: int) -> None:
        """`processes`: with this one."""
        self.count = processes - 1
        self._pool: ProcessPoolExecutor | None = None

    @property
    def started(self) -> bool:
        return self._pool is not None

    def submit(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> Future[T]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, get_context("spawn"), _begin)
        return self._pool.submit(work, *given, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    gc.disable()  # results hold no cycles, and looking for some takes a tenth of the time

"""Work with an event loop of its own, for callers who may have one already (notebooks, servers); and ending it from
outside: Ctrl-C once and twice, and the signal that schedulers send before they kill."""

import asyncio
import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from eqlab.core.values import dataclass

STOPPING = "Stopping: waiting for the answers under way (Ctrl-C again drops them)."
GRACE = 20.0
"""Seconds that answers under way get after SIGTERM: Slurm and Kubernetes kill after 30."""
_COLLECTED = (50_000, 20, 50)
"""How often Python looks for garbage in circles while many requests are under way, all of whose objects stay for now:
every 700 objects, as it comes, takes a sixth of the time of a thousand requests at once."""
T = TypeVar("T")


@dataclass(slots=True)
class StopHandle:
    """Stops the work from another thread, also before it has begun."""

    stopped: bool = False
    _stop: Callable[[], object] | None = None

    def hold(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        if self.stopped:
            stop()

    def stop(self) -> None:
        self.stopped = True
        if self._stop is not None:
            self._stop()


@contextmanager
def garbage_seldom_collected() -> Iterator[None]:
    before = gc.get_threshold()
    if not 0 < before[0] < _COLLECTED[0]:  # the caller's own choice
        yield
        return
    gc.set_threshold(*_COLLECTED)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def run_in_this_thread(work: Callable[[], T], handle: StopHandle) -> T:
    """Done in this thread, or, inside a running loop, in another one that is waited for."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(work).result()
        except KeyboardInterrupt:
            handle.stop()
            raise


async def run_in_other_thread(work: Callable[[], T], handle: StopHandle) -> T:
    """Done in a thread while the caller's loop goes on; cancelled, it is stopped and waited for."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        handle.stop()
        await asyncio.wait([task])
        raise


class on_interrupt:
    """The first Ctrl-C lets requests under way finish, for they are paid for; the second drops them. SIGTERM, which
    schedulers send before they kill, is a first Ctrl-C whose patience ends in time."""

    def __init__(
        self,
        stop: asyncio.Event,
        tasks: Sequence[asyncio.Task[None]],
        say: Callable[[str], None],
        words: str = STOPPING,
    ) -> None:
        self._stop, self._tasks, self._say, self._words = stop, tasks, say, words
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> None:
        try:
            self._loop.add_signal_handler(signal.SIGINT, self._pressed)
            self._loop.add_signal_handler(signal.SIGTERM, self._told_to_end)
        except (ValueError, RuntimeError):  # not in the main thread: the caller's own handling stays
            self._loop = None  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._loop.remove_signal_handler(signal.SIGINT)
            self._loop.remove_signal_handler(signal.SIGTERM)

    def _told_to_end(self) -> None:
        self._stop.set()
        self._say(f"Told to end (SIGTERM): waiting at most {GRACE:g} s for the answers under way.")
        self._loop.call_later(GRACE, self._drop)

    def _drop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _pressed(self) -> None:
        if self._stop.is_set():
            self._drop()
        else:
            self._stop.set()
            self._say(self._words)

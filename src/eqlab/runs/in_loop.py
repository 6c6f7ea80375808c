"""Work that has an event loop of its own, for callers who may have one already: notebooks, servers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Handle:
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


def here(work: Callable[[], T], handle: Handle) -> T:
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


async def beside(work: Callable[[], T], handle: Handle) -> T:
    """Done in a thread while the caller's loop goes on; cancelled, it is stopped and waited for."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        handle.stop()
        await asyncio.wait([task])
        raise

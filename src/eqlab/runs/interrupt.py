"""Ending a run from outside: Ctrl-C once and twice, and the signal that schedulers send before they kill."""

import asyncio
import signal
from collections.abc import Callable, Sequence

STOPPING = "Stopping: waiting for the answers under way (Ctrl-C again drops them)."
GRACE = 20.0
"""Seconds that answers under way get after SIGTERM: Slurm and Kubernetes kill after 30."""


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

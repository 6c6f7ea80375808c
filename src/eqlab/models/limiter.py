"""How many requests an endpoint gets at once: all it was given while it goes well, half after each sign of overload."""

import asyncio
import time
from collections import deque

_CALM = 1.0
"""Seconds between two halvings: one burst of refusals is one sign, not fifty."""


class Limiter:
    """Additive increase, multiplicative decrease (Chiu & Jain 1989), with a pause the server may ask for."""

    def __init__(self, highest: int) -> None:
        self.highest = highest
        self.limit = float(highest)
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._halved_at = float("-inf")

    async def acquire(self) -> None:
        while True:
            pause = self._paused_until - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            elif self._under_way < int(self.limit):
                self._under_way += 1
                return
            else:
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                await turn

    def release(self) -> None:
        self._under_way -= 1
        self._wake()

    def went_well(self) -> None:
        """One more at once for every round of requests that went well."""
        if self.limit < self.highest:
            self.limit = min(self.highest, self.limit + 1 / self.limit)

    def overloaded(self, pause: float = 0.0) -> None:
        """The server refused or timed out; `pause` seconds is what it asked for."""
        now = time.monotonic()
        self._paused_until = max(self._paused_until, now + pause)
        if now - self._halved_at >= _CALM:
            self._halved_at = now
            self.limit = max(1.0, self.limit / 2)

    def pause(self, seconds: float) -> None:
        """Wait without slowing down: the allowance of this window is used up."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def _wake(self) -> None:
        free = int(self.limit) - self._under_way
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

"""How many requests an endpoint gets at once, and how fast: all it was given while it goes well, less after each sign
of overload, and no faster than the rate it turned out to allow."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

Nap = Callable[[float], Awaitable[None]]
_CALM = 1.0
"""Seconds between two halvings: one burst of refusals is one sign, not fifty."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
_FIRST_INTERVAL, _UNKNOWN_INTERVAL, _LONGEST_INTERVAL = 0.1, 1.0, 60.0
"""Seconds between two requests: after the first refusal, at most while none went well, at most."""
_LOOK = 1.0
"""Seconds after which whoever waits looks again: a rate may have been forgotten meanwhile."""
_TRUSTED = 10
"""Requests that went well in a row, after which the rate is tried a good deal higher, not a little."""


class Limiter:
    """Additive increase, multiplicative decrease of what is under way (Chiu & Jain 1989); a pause the server may ask
    for; and, once the server has refused for its rate (429), the same idea for the time between two requests."""

    def __init__(self, highest: int) -> None:
        self.highest = highest
        self.limit = float(highest)
        self.interval = 0.0
        """Seconds between two requests; 0 while no rate is known."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._told_until = 0.0
        """Until when the server itself has asked to wait; that tells nothing of its rate."""
        self._next = 0.0
        self._halved_at = float("-inf")
        self._slowed_at = time.monotonic()
        self._good = 0
        """Requests that went well since the rate was last refused."""
        self._pause = _SHORTEST_PAUSE / 2
        self._bad_since: float | None = None
        """When the first request since the last good one was refused."""

    async def acquire(self, nap: Nap = asyncio.sleep) -> float:
        """Wait for one's turn; returns when that was, which `refused` wants to know. `nap` sleeps out a pause."""
        while (started := self.take()) is None:
            pause = self._free_at - time.monotonic()
            if pause > 0:
                await nap(min(pause, _LOOK))
            elif self.room <= 0:
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                try:
                    await turn
                except asyncio.CancelledError:
                    if not turn.cancelled():  # it was their turn already: the next one's, then
                        self._wake()
                    raise
        return started

    def take(self) -> float | None:
        """One's turn, if it has come: when that was; None where one has to wait."""
        now = time.monotonic()
        if now < self._free_at or self._under_way + 1 > self.limit:
            return None
        self._under_way += 1
        if self.interval:
            self._next = now + self.interval
        return now

    @property
    def _free_at(self) -> float:
        return max(self._paused_until, self._next) if self.interval else self._paused_until

    @property
    def room(self) -> int:
        """Requests that could be under way besides those that are."""
        return int(self.limit) - self._under_way

    def release(self) -> None:
        self._under_way -= 1
        self._wake()

    def went_well(self, patience: float = float("inf")) -> None:
        """One more at once for every round of requests that went well; a little faster, too. After more than `patience`
        seconds in which none did all at once: that was an outage, which tells neither a rate nor what is too much."""
        if self._bad_since is not None and time.monotonic() - self._bad_since > patience:
            self.limit, self.interval, self._pause = float(self.highest), 0.0, _SHORTEST_PAUSE / 2
        self._bad_since = None
        self._good += 1
        if self.limit < self.highest:
            self.limit = min(self.highest, self.limit + 1 / self.limit)
        if self.interval:
            self.interval *= 0.98 if self._good <= _TRUSTED else 0.9
            if self.interval < 0.01:
                self.interval = 0.0

    def overloaded(self, pause: float = 0.0) -> None:
        """The server is overloaded or timed out; `pause` seconds is what it asked for."""
        now = time.monotonic()
        self._bad_since = now if self._bad_since is None else self._bad_since
        self.pause(pause)
        if now - self._halved_at >= _CALM:
            self._halved_at = now
            self.limit = max(1.0, self.limit / 2)

    def refused(self, started: float, pause: float | None = None) -> None:
        """The server refused a request of that moment for its rate; it may have said how long to wait."""
        now = time.monotonic()
        self._bad_since = now if self._bad_since is None else self._bad_since
        opened = max(self._slowed_at, min(self._told_until, now))
        if pause is not None:
            self.pause(pause)
        if started < self._slowed_at:
            return  # sent before we slowed down: the same burst
        if self._good:
            took = (now - opened) / self._good
            self.interval = max(
                _FIRST_INTERVAL, 1.25 * self.interval, min(took, _LONGEST_INTERVAL) if self.interval else 0
            )
            self._pause = max(_SHORTEST_PAUSE, self._pause / 2)
        else:  # in a row: that tells little of a rate, and puts off the next try
            self.interval = max(_FIRST_INTERVAL, self.interval, min(2 * self.interval, _UNKNOWN_INTERVAL))
            self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, 2 * self._pause))
        if pause is None:
            self._paused_until = max(self._paused_until, now + self._pause)
        self._good = 0
        self._slowed_at = now

    def pause(self, seconds: float) -> None:
        """Wait without slowing down: the allowance of this window is used up."""
        self._told_until = max(self._told_until, time.monotonic() + seconds)
        self._paused_until = max(self._paused_until, self._told_until)

    def _wake(self) -> None:
        free = int(self.limit) - self._under_way
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

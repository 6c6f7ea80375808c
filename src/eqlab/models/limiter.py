"""How many requests an endpoint gets at once, and how fast: all it was given while it goes well, less after each sign
of overload, and no faster than the rate it turned out to allow."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

Nap = Callable[[float], Awaitable[None]]
_CALM = 1.0
"""Seconds between two halvings: one burst of refusals is one sign, not fifty."""
_MANY, _MEMORY = 0.2, 20
"""The share of about so many last replies that may tell of overload before less is asked at once: providers have no
room for one question in a hundred at any hour, and that one is only asked again."""
_LONGER, _BREATH = 1.5, 2.0
"""Times what a reply takes, and seconds more, in which a server that is only full gives one: after that it was away."""
_FADES = 90.0
"""Seconds in which half is forgotten of how many went well at once: a server that is away for less has as much room."""
_SAFELY, _CAREFUL = 0.7, 0.25
"""Of what went well at once, what is asked after a sign of overload; and one more for every four replies beyond it."""
_SHORTEST_PAUSE, _LONG_PAUSE = 0.5, 15.0
"""Seconds for which everybody waits after a refusal; after minutes of nothing else twice the longest."""
_FIRST_INTERVAL, _PROBING_INTERVAL, _LONGEST_INTERVAL = 0.1, 1.0, 30.0
"""Seconds between two requests: after a first refusal, at least while none goes well, at most."""
_SLOWER, _FASTER = 1.5, 0.9
"""What a refusal makes of the interval, and what each request that goes well, twice above a second: in balance where
one in five is refused, or one in three. A server that refuses fewer, at random, slows nobody down; nor does time in
which nobody asks anything."""
_FEW = 8
"""Requests under way beyond which each of them makes the interval shorter by less: their replies come late."""
_CLEARLY = 0.1
"""Seconds that a request must be ahead of a refused one to count as taken: refusals come at once, replies do not."""
_TELLING = 5
"""Requests that went well, from which on the time that people waited for them tells how fast the server takes them."""
_NO_INTERVAL, _LATE = 0.005, 0.05
"""Seconds between two that nobody needs to keep; seconds that a late one may make up for."""
_LOOK = 1.0
"""Seconds after which whoever waits looks again: a rate may have been forgotten meanwhile."""


class AtOnce:
    """How many requests may be under way: additive increase, multiplicative decrease (Chiu & Jain 1989). Overload is a
    share of replies, and little of what goes well at once is given up for it."""

    def __init__(self, highest: int) -> None:
        self.highest, self.limit = highest, float(highest)
        self.usual = 0.0
        """Seconds that replies have taken lately."""
        self._overload = 0.0
        """The share of the last replies that told of it."""
        self._full_since: float | None = None
        """When the first reply since the last good one told of it."""
        self._halved_at = float("-inf")
        self._slowly = False
        """Whether the last sign of it was a time-out, of which each takes long: one more at once for each round."""
        self._good_at = deque[float]()
        """When the replies came of the time that one takes: as many as went well at once."""
        self._most_well, self._most_at = 0.0, 0.0
        """The most that did, and when that was told; it fades."""

    def forget(self) -> None:
        self.limit = float(self.highest)

    def went_well(self, now: float, took: float) -> None:
        """One more, or less where some are still refused; all, where in the time before a reply would have come."""
        if self._full_since is not None and now - self._full_since > _LONGER * self.usual + _BREATH:
            self.forget()
        self._full_since = None
        self.usual = 0.8 * self.usual + 0.2 * took if self.usual else took
        self._good_at.append(now)
        self._most_well, self._most_at = max(float(self._well(now)), self._faded(now)), now
        self._overload *= 1 - 1 / _MEMORY
        if self.limit < self.highest:
            step = 1.0 if self.limit < self._most_well else _CAREFUL
            more = 1 / self.limit if self._slowly else step * max(0.0, 1 - self._overload / _MANY)
            self.limit = min(self.highest, self.limit + more)

    def overloaded(self, now: float, under_way: int, timed_out: bool) -> None:
        """Half of what is under way, but no less than what goes well: the replies of the time that one takes."""
        if timed_out:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = now
        self._overload += (1 - self._overload) / _MEMORY
        if (timed_out or self._overload > _MANY) and now - self._halved_at >= _CALM:
            self._halved_at, self._overload, self._slowly = now, 0.0, timed_out
            well = _SAFELY * (self._well(now) if timed_out else self._faded(now))
            self.limit = min(self.limit, max(1.0, well, under_way / 2))

    def _well(self, now: float) -> int:
        """How many requests went well at once lately: the replies that came in the time that one takes."""
        while self._good_at and self._good_at[0] <= now - self.usual:
            self._good_at.popleft()
        return len(self._good_at)

    def _faded(self, now: float) -> float:
        return float(self._most_well * 0.5 ** ((now - self._most_at) / _FADES))


class Rate:
    """The time between two requests, learnt from refusals for it (429): longer after each, shorter for each that goes
    well. Refusals in a row tell little of a rate, and put off the next try."""

    def __init__(self) -> None:
        self.interval = 0.0
        """Seconds between two requests; 0 while no rate is known."""
        self.next = 0.0
        self.waited = 0.0
        """Seconds in which somebody waited since the rate was last refused."""
        self._good = 0
        """Requests that have gone well since then."""
        self._first: float | None = None
        """When the first request since then was sent."""
        self._slowed_at = time.monotonic()
        self._pause = _SHORTEST_PAUSE / 2

    def forget(self) -> None:
        self.interval, self._pause = 0.0, _SHORTEST_PAUSE / 2

    def sent(self, now: float) -> None:
        self._first = now if self._first is None else self._first
        if self.interval:
            self.next = max(self.next, now - _LATE) + self.interval

    def went_well(self, under_way: int, somebody_waits: bool) -> None:
        self._good += 1
        if self.interval:
            self.interval *= _FASTER ** (min(1.0, _FEW / max(1, under_way)) if self.interval < 1 else 2)
            if self.interval < _NO_INTERVAL and not somebody_waits:
                self.interval = 0.0

    def refused(self, now: float, started: float, bad_for: float, told: bool) -> float:
        """For how many seconds nobody should ask, besides what the server has `told`."""
        if started < self._slowed_at:
            return 0.0  # sent before we slowed down: the same burst
        if self._good or self._took_one_before(started, now - started):
            took = self.waited / self._good if self._good >= _TELLING else 0.0
            self.interval = min(_LONGEST_INTERVAL, max(_FIRST_INTERVAL, _SLOWER * self.interval, took))
            self._pause = max(_SHORTEST_PAUSE, self._pause / 2)
            pause = 0.0 if told else self._pause
        else:  # in a row, whatever it said: one tries again then, and not many
            self.interval = max(_PROBING_INTERVAL, self.interval)
            longest = min(2 * _LONG_PAUSE, max(_LONG_PAUSE, bad_for / 4))
            pause = self._pause = min(longest, max(_SHORTEST_PAUSE, 1.5 * self._pause))
        self._good, self.waited, self._first = 0, 0.0, None
        self._slowed_at = now
        return pause

    def _took_one_before(self, started: float, waited: float) -> bool:
        """Whether a request was sent so long before this one that it would have been refused by now."""
        return self._first is not None and self._first < started - waited - _CLEARLY


class Limiter:
    """Whose turn it is: in line, while there is room at once, at the rate that is known, after the pause that the
    server asked for."""

    def __init__(self, highest: int) -> None:
        self.at_once, self.rate = AtOnce(highest), Rate()
        self._under_way = 0
        self._line = asyncio.Lock()
        """Who waits does so in turn, and the first alone looks at the clock."""
        self._room_again = asyncio.Event()
        self._paused_until = 0.0
        self._told_until = 0.0
        """Until when the server itself has asked to wait; that tells nothing of its rate."""
        self._bad_since: float | None = None
        """When the first request since the last good one was refused."""

    async def acquire(self, nap: Nap = asyncio.sleep, late: float = float("inf")) -> float:
        """Wait for one's turn, in line; returns when that was, which `refused` wants to know. `nap` sleeps. Raises
        TimeoutError for whom it comes `late`: the next in line has more of it."""
        async with self._line:
            began = time.monotonic()
            try:
                while True:
                    if time.monotonic() > late:
                        raise TimeoutError
                    if (started := self._take()) is not None:
                        return started
                    pause = self._free_at - time.monotonic()
                    if pause > 0:
                        await nap(min(pause + 0.001, _LOOK))
                    else:
                        self._room_again.clear()
                        await self._room_again.wait()
            finally:
                self.rate.waited += max(0.0, time.monotonic() - max(began, self._told_until))

    def take(self) -> float | None:
        """One's turn, if nobody waits for it: when that was; None where one has to wait."""
        return None if self._line.locked() else self._take()

    def _take(self) -> float | None:
        now = time.monotonic()
        if now < self._free_at or self._under_way + 1 > self.at_once.limit:
            return None
        self._under_way += 1
        self.rate.sent(now)
        return now

    @property
    def _free_at(self) -> float:
        return max(self._paused_until, self.rate.next) if self.rate.interval else self._paused_until

    @property
    def room(self) -> int:
        """Requests that could be under way besides those that are."""
        return int(self.at_once.limit) - self._under_way

    def release(self) -> None:
        self._under_way -= 1
        self._room_again.set()

    def went_well(self, patience: float = float("inf"), took: float = 0.0) -> None:
        """A little more at once, a little faster, too. After more than `patience` seconds in which none went well all
        is forgotten: that was an outage, which tells neither a rate nor what is too much. `took`: seconds since it was
        asked."""
        now = time.monotonic()
        if self._bad_since is not None and now - self._bad_since > patience:
            self.at_once.forget()
            self.rate.forget()
        self._bad_since = None
        self.at_once.went_well(now, took)
        self.rate.went_well(self._under_way, self._line.locked())

    def overloaded(self, pause: float = 0.0, *, timed_out: bool = False) -> None:
        """The server has no room, or let a request time out; `pause` seconds is what it asked for."""
        now = time.monotonic()
        self._bad_since = now if self._bad_since is None else self._bad_since
        self.pause(pause)
        self.at_once.overloaded(now, self._under_way, timed_out)

    def refused(self, started: float, pause: float | None = None) -> None:
        """The server refused a request of that moment for its rate; it may have said how long to wait."""
        now = time.monotonic()
        self._bad_since = now if self._bad_since is None else self._bad_since
        if pause is not None:
            self._told_until = max(self._told_until, now + pause)
            self.pause(pause)
        self.pause(self.rate.refused(now, started, now - self._bad_since, told=pause is not None))

    def pause(self, seconds: float) -> None:
        """Wait without slowing down: the allowance of this window is used up."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

"""Connections to one address that are kept, so that no question gets another's reply.

HTTP gives a reply to whoever asked last. One that is sent twice, or late, by a careless gateway would be stored as the
next question's answer. So a connection rests between two questions: what comes meanwhile was meant for nobody, and from
then on every question has a connection of its own, on which the first reply is the only one."""

import asyncio
import heapq
import time
from collections.abc import Coroutine, Hashable
from typing import Any, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection as Held

from eqlab.models.reach import Names, probed
from eqlab.models.whose import Heard, Ids, Order, Replies

_KEPT = 75.0
"""Seconds after which an idle connection is not used again: routers forget those that are silent."""
_SHORTEST_REST, _LONGEST_REST = 0.1, 2.0
"""Seconds."""
_RECENT = 16
"""Replies that make up what is usual."""
_GLANCE = 0.01
"""Seconds from one look at all that rest to the next: what is noticed at once saves the others, and looking costs."""
_HEADERS, _HEADER = 1024, 65536
"""Of a response, and bytes of one: gateways add many, and policies as long as pages."""
_T = TypeVar("_T")


class Line:
    """One connection, and what has come over it."""

    def __init__(self, origin: str, timeout: aiohttp.ClientTimeout, names: AbstractResolver) -> None:
        self.origin = origin
        self._connector = _Connector(
            limit=0, keepalive_timeout=_KEPT, resolver=names, use_dns_cache=False, socket_factory=probed
        )
        self.session = aiohttp.ClientSession(
            connector=self._connector,
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),  # requests have nothing in common
            auto_decompress=False,  # it would unpack a bomb whole, before anybody can look
            headers={"Accept-Encoding": "gzip, deflate"},
            max_headers=_HEADERS,
            max_field_size=_HEADER,
        )
        self.heard = Heard()
        self.idle_since = 0.0

    @property
    def connected(self) -> bool:
        """Whether it ever was."""
        return self._connector.held is not None

    @property
    def open(self) -> bool:
        """Whether another question can go over it: neither closed, nor with something on it that nobody asked for."""
        held = self._connector.held
        return held is not None and held.is_connected() and not held.should_close

    def unasked(self) -> bytes | None:
        """What came as a good reply though nobody had asked, if only in part; None where nothing did. A farewell (408
        to the idle) is none."""
        held = self._connector.held
        if held is None or not len(held):
            return None
        message, body = _at_once(held.read())
        if not 200 <= message.code < 300:
            return None
        try:
            return bytes(body.read_nowait()) if body.exception() is None else b""
        except TimeoutError:  # the time of the question before it is over
            return b""

    async def close(self) -> None:
        await self.session.close()


class Lines:
    """All connections to an address: in use, or resting."""

    def __init__(self, timeout: aiohttp.ClientTimeout, most: int) -> None:
        self._timeout = timeout
        self._most = 2 * most
        """Connections that may rest: all that are asked at once may end at once, too."""
        self._resting: list[tuple[float, int, Line]] = []
        """By when they have rested enough."""
        self._names: Names | None = None
        self._number = 0
        self._looked = 0.0
        self._usual = 0.0
        """Seconds that a good reply takes, lately."""
        self.known = Replies()

    async def take(self, origin: str) -> Line:
        """A connection for one question: one that has rested, or a new one."""
        if time.monotonic() - self._looked > _GLANCE:
            self.look()
        while self.known.ids is not Ids.PUZZLING and self._resting and self._resting[0][0] <= time.monotonic():
            line = heapq.heappop(self._resting)[2]
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # two turns of the event loop: what lies in its socket is read now
            except asyncio.CancelledError:
                await line.close()
                raise
            self._look(line)
            kept = time.monotonic() - line.idle_since < _KEPT
            if line.open and kept and line.origin == origin and self.known.order is Order.KEPT:
                return line
            await line.close()
        if self._names is None:  # made late: it belongs to the running event loop
            self._names = Names()
        return Line(origin, self._timeout, self._names)

    async def give(self, line: Line, took: float, question: Hashable = None, good: bytes | None = None) -> bool:
        """Back after a whole reply, which took so many seconds; whether it is the question's own. Where it is no good
        one, whose it is makes no difference."""
        own = good is None or self.known.own(line.heard, question, good, line.unasked())
        if good is None:
            line.heard.replies += 1
            self._look(line)
        else:
            self._usual += (took - self._usual) / (_RECENT if self._usual else 1)
        if not own or self.known.order is not Order.KEPT or not line.open:
            await line.close()
            return own
        line.idle_since = time.monotonic()
        self._number += 1
        heapq.heappush(self._resting, (line.idle_since + rest(took, self._usual), self._number, line))
        if len(self._resting) > self._most:
            oldest = heapq.heappop(self._resting)[2]
            self._look(oldest)
            await oldest.close()
        return True

    async def drop(self, line: Line) -> None:
        """After a failure; what comes over it now is its own question's, and too late. What rests may be dead too, or
        take up the room that the server, or this machine, lacks."""
        await line.close()
        await self.clear()

    def look(self) -> None:
        """Whether something has come meanwhile over what rests."""
        self._looked = time.monotonic()
        for _, _, line in self._resting:
            self._look(line)

    async def clear(self) -> None:
        self.look()
        resting, self._resting = self._resting, []
        for _, _, line in resting:
            await line.close()

    def _look(self, line: Line) -> None:
        raw = line.unasked()
        if raw is not None:
            self.known.unasked(line.heard, raw)


class _Connector(aiohttp.TCPConnector):
    """Lets one see the connection that it made."""

    held: ResponseHandler | None = None

    async def connect(self, *args: Any, **named: Any) -> Held:
        found = await super().connect(*args, **named)
        self.held = found.protocol
        return found


def rest(took: float, usual: float) -> float:
    """Seconds, after a reply: half of what it took. One that came sooner than usual may have been late, another
    question's: then until its question's own would have come by."""
    return min(max(_SHORTEST_REST, took / 2, 1.5 * usual - took), _LONGEST_REST)


def _at_once(reading: Coroutine[Any, Any, _T]) -> _T:
    """What a coroutine returns that has nothing to wait for."""
    try:
        reading.send(None)
    except StopIteration as over:
        found: _T = over.value
        return found
    reading.close()
    raise RuntimeError("it waits")

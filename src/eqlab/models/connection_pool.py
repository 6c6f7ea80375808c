"""Connections to one address that are kept, so that no question gets another's reply.

HTTP gives a reply to whoever asked last. One that is sent twice, or late, by a careless gateway would be stored as the
next question's answer. So a connection rests between two questions: what comes meanwhile was meant for nobody, and from
then on every question has a connection of its own, on which the first reply is the only one."""

import asyncio
import heapq
import socket
import time
from collections.abc import Coroutine, Hashable
from typing import Any, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection as Held

from eqlab.models.reply_identity import ConnectionReplies, Ids, Order, ServerReplies

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
_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 60_000}
"""A connection that leads nowhere is noticed within a minute or two, and one that only waits is not forgotten."""
_T = TypeVar("_T")


class NameResolver(AbstractResolver):
    """Addresses of names, asked for again after a while. One that is known is used on while nobody tells it anew."""

    _FRESH, _KNOWN, _UNKNOWN = 10.0, 2.0, 15.0
    """Seconds: how long an answer is good, and how long one is waited for while another is known, or none."""

    def __init__(self) -> None:
        self._asked = aiohttp.ThreadedResolver()
        self._known: dict[tuple[str, int, int], tuple[float, list[Any]]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        key = (host, port, int(family))
        async with self._one_at_a_time:
            at, found = self._known.get(key, (0.0, []))
            if found and time.monotonic() - at < self._FRESH:
                return found
            try:
                asking = self._asked.resolve(host, port, family)
                found = await asyncio.wait_for(asking, self._KNOWN if found else self._UNKNOWN)
            except OSError:  # a time-out is one
                if not found:
                    raise
            self._known[key] = (time.monotonic(), found)
            return found

    async def close(self) -> None:
        await self._asked.close()


class PooledConnection:
    """One connection, and what has come over it."""

    def __init__(self, origin: str, timeout: aiohttp.ClientTimeout, names: AbstractResolver) -> None:
        self.origin = origin
        self._connector = _Connector(
            limit=0, keepalive_timeout=_KEPT, resolver=names, use_dns_cache=False, socket_factory=probed_socket
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
        self.heard = ConnectionReplies()
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


class ConnectionPool:
    """All connections to an address: in use, or resting."""

    def __init__(self, timeout: aiohttp.ClientTimeout, most: int) -> None:
        self._timeout = timeout
        self._most = 2 * most
        """Connections that may rest: all that are asked at once may end at once, too."""
        self._resting: list[tuple[float, int, PooledConnection]] = []
        """By when they have rested enough."""
        self._resolver: NameResolver | None = None
        self._number = 0
        self._looked = 0.0
        self._usual = 0.0
        """Seconds that a good reply takes, lately."""
        self.replies = ServerReplies()

    async def take(self, origin: str) -> PooledConnection:
        """A connection for one question: one that has rested, or a new one."""
        if time.monotonic() - self._looked > _GLANCE:
            self.look()
        while self.replies.ids is not Ids.PUZZLING and self._resting and self._resting[0][0] <= time.monotonic():
            connection = heapq.heappop(self._resting)[2]
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # two turns of the event loop: what lies in its socket is read now
            except asyncio.CancelledError:
                await connection.close()
                raise
            self._look(connection)
            kept = time.monotonic() - connection.idle_since < _KEPT
            if connection.open and kept and connection.origin == origin and self.replies.order is Order.KEPT:
                return connection
            await connection.close()
        if self._resolver is None:  # made late: it belongs to the running event loop
            self._resolver = NameResolver()
        return PooledConnection(origin, self._timeout, self._resolver)

    async def give(
        self, connection: PooledConnection, took: float, question: Hashable = None, good: bytes | None = None
    ) -> bool:
        """Back after a whole reply, which took so many seconds; whether it is the question's own. Where it is no good
        one, whose it is makes no difference."""
        own = good is None or self.replies.own(connection.heard, question, good, connection.unasked())
        if good is None:
            connection.heard.replies += 1
            self._look(connection)
        else:
            self._usual += (took - self._usual) / (_RECENT if self._usual else 1)
        if not own or self.replies.order is not Order.KEPT or not connection.open:
            await connection.close()
            return own
        connection.idle_since = time.monotonic()
        self._number += 1
        heapq.heappush(self._resting, (connection.idle_since + rest(took, self._usual), self._number, connection))
        if len(self._resting) > self._most:
            oldest = heapq.heappop(self._resting)[2]
            self._look(oldest)
            await oldest.close()
        return True

    async def drop(self, connection: PooledConnection) -> None:
        """After a failure; what comes over it now is its own question's, and too late. What rests may be dead too, or
        take up the room that the server, or this machine, lacks."""
        await connection.close()
        await self.clear()

    def look(self) -> None:
        """Whether something has come meanwhile over what rests."""
        self._looked = time.monotonic()
        for _, _, connection in self._resting:
            self._look(connection)

    async def clear(self) -> None:
        self.look()
        resting, self._resting = self._resting, []
        for _, _, connection in resting:
            await connection.close()

    def _look(self, connection: PooledConnection) -> None:
        raw = connection.unasked()
        if raw is not None:
            self.replies.unasked(connection.heard, raw)


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


def probed_socket(address: Any) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):  # each system has some
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made

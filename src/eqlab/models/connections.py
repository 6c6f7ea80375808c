"""Connections to one address that are kept so that no question gets another's reply.

HTTP gives a reply to whoever asked last. One that is sent twice, or late, by a careless gateway would be stored as the
next question's answer. So a connection rests between two questions: what comes meanwhile was meant for nobody, and from
then on every question has a connection of its own, on which the first reply is the only one."""

import asyncio
import errno
import heapq
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import eqlab.models.late_trust  # noqa: F401

# isort: split
import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_parser import RawResponseMessage
from multidict import CIMultiDict
from yarl import URL

from eqlab.models.plain_reply import PlainReply, State
from eqlab.models.reply_identity import ConnectionReplies, Ids, Order, ServerReplies

_KEPT = 75.0
"""Seconds after which an idle connection is not used again: routers forget those that are silent."""
_SHORTEST_REST, _LONGEST_REST = 0.1, 2.0
"""Seconds."""
_RECENT = 16
"""Replies that make up what is usual."""
_HEADERS, _HEADER = 1024, 65536
"""Of a response, and bytes of one: gateways add many, and policies as long as pages."""
_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 60_000}
"""A connection that leads nowhere is noticed within a minute or two, and one that only waits is not forgotten."""
_AHEAD = 64
"""Connections that are opened ahead at a time: those that are open can be used before the last one is."""
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


class RequestTarget:
    """Where questions of one kind go: how to connect, and the head that every one of them begins with."""

    def __init__(
        self, method: str, url: str, headers: Mapping[str, str], proxy: str | None, trust: ssl.SSLContext | bool
    ) -> None:
        fields = CIMultiDict({"Accept-Encoding": "gzip, deflate"})
        fields.update(headers)
        through = URL(proxy) if proxy else None
        if through is not None and through.user is not None and url.startswith("http:"):
            login = aiohttp.encode_basic_auth(through.user, through.password or "")
            fields.setdefault("Proxy-Authorization", login)  # every question says it, over whichever connection
        self.method = method
        self.request = aiohttp.ClientRequest(
            method,
            URL(url),
            headers=fields,
            loop=asyncio.get_running_loop(),
            proxy=through,
            ssl=trust,
        )
        self._head = b""

    def message(self, body: bytes | None) -> bytes:
        """All bytes of a question."""
        if not self._head:
            request = self.request
            through = request.proxy is not None and not request.is_ssl()
            path = str(request.url.with_user(None)) if through else request.url.raw_path_qs
            fields = [f"{name}: {value}" for name, value in request.headers.items() if name.lower() != "content-length"]
            lines = [f"{self.method} {path} HTTP/1.1", *fields]
            if any(mark in line for line in lines for mark in "\r\n\0"):
                raise ValueError("a header holds a line break")
            self._head = "\r\n".join(lines).encode()
        if body is None:
            return self._head + (b"\r\n\r\n" if self.method == "GET" else b"\r\nContent-Length: 0\r\n\r\n")
        return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)


class _Protocol(ResponseHandler):
    """Wakes who has asked when the reply is whole, or turns out to be none that is plain: then it is read as aiohttp
    reads it. Tells when something comes over a connection that rests."""

    on_data: Callable[[], None] | None = None
    """Hears that something has come: a part of a reply, or what nobody asked for."""
    _reply: PlainReply | None = None
    _asker: asyncio.Future[PlainReply | None]

    def ask(self, question: bytes, largest: int, on_part: Callable[[], None]) -> "asyncio.Future[PlainReply | None]":
        """The reply to this; None where it is to be read with `read`."""
        if self.transport is None or self.transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection is closed")
        self._parser, self._reply, self.on_data = None, PlainReply(largest), on_part
        self._asker = self._loop.create_future()
        self.transport.write(question)
        return self._asker

    def give_up(self) -> None:
        """The time of the question is over."""
        if not self._asker.done():
            self._asker.set_exception(TimeoutError())

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        if reply is None:
            self._parse(data)
        elif (state := reply.add(data)) is State.WHOLE:
            self._end(reply)
            return
        elif state is State.ODD:
            self._parse(bytes(reply.raw))
            self._end(None)
        if self.on_data is not None:
            self.on_data()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._reply is not None and self._reply.raw:
            self._parse(bytes(self._reply.raw))
        super().connection_lost(exc)
        if self._reply is not None:
            self._end(None)

    def _parse(self, data: bytes) -> None:
        if self._parser is None:
            self.set_response_params(
                read_until_eof=True,
                auto_decompress=False,  # it would unpack a bomb whole, before anybody can look
                max_field_size=_HEADER,
                max_headers=_HEADERS,
            )
        super().data_received(data)

    def _end(self, reply: PlainReply | None) -> None:
        self._reply = None
        if reply is not None:
            self.on_data = None
        if not self._asker.done():
            self._asker.set_result(reply)


class _Connector(aiohttp.TCPConnector):
    def __init__(self) -> None:
        super().__init__(limit=0, resolver=NameResolver(), use_dns_cache=False, socket_factory=probed_socket)
        self._factory = partial(_Protocol, loop=asyncio.get_running_loop())  # type: ignore[assignment]


class PooledConnection:
    """One connection, and what has come over it."""

    __slots__ = ("_connection", "_socket", "heard", "idle_since", "origin", "protocol")

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.protocol: ResponseHandler | None = None
        self._connection: Connection | None = None
        self._socket = select.poll()
        self.heard = ConnectionReplies()
        self.idle_since = 0.0

    def attach(self, made: "Connection | _Protocol") -> None:
        """`made`: by aiohttp, which wants it back, or by ourselves."""
        self._connection, self.protocol = (None, made) if isinstance(made, _Protocol) else (made, made.protocol)
        if made.transport is not None:
            self._socket.register(made.transport.get_extra_info("socket").fileno(), select.POLLIN)

    def watch(self, on_data: Callable[[], None] | None) -> None:
        """Whom to tell that something has come though nobody has asked."""
        if isinstance(self.protocol, _Protocol):
            self.protocol.on_data = on_data

    @property
    def silent(self) -> bool:
        """Whether nothing lies unread in its socket."""
        return self.protocol is not None and self.protocol.is_connected() and not self._socket.poll(0)

    def ask(self, question: bytes, largest: int, on_part: Callable[[], None]) -> "asyncio.Future[PlainReply | None]":
        """The reply to this, whole; None where it is not a plain one: then `read` has it. `on_part` hears of every part
        of it that is not the last."""
        if not isinstance(self.protocol, _Protocol):
            raise aiohttp.ClientConnectionResetError("it was never connected")
        return self.protocol.ask(question, largest, on_part)

    def give_up(self) -> None:
        """The time of the question is over: who has asked hears of it."""
        if isinstance(self.protocol, _Protocol):
            self.protocol.give_up()

    async def read(self) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
        """The head of a reply that is not plain, and its body, which may still be on its way."""
        if self.protocol is None:
            raise aiohttp.ClientConnectionResetError("it was never connected")
        while True:
            message, body = await self.protocol.read()
            if message.code == 101 or not 100 <= message.code < 200:
                return message, body

    @property
    def connected(self) -> bool:
        """Whether it ever was."""
        return self.protocol is not None

    @property
    def open(self) -> bool:
        """Whether another question can go over it: neither closed, nor with something on it that nobody asked for."""
        protocol = self.protocol
        return protocol is not None and protocol.is_connected() and not protocol.should_close

    def unasked(self) -> bytes | None:
        """What came as a good reply though nobody had asked, if only in part; None where nothing did. A farewell (408
        to the idle) is none."""
        protocol = self.protocol
        if protocol is None or not len(protocol):
            return None
        message, body = _at_once(protocol.read())
        if not 200 <= message.code < 300:
            return None
        try:
            return bytes(body.read_nowait()) if body.exception() is None else b""
        except TimeoutError:  # the time of the question before it is over
            return b""

    def abort(self) -> "asyncio.Future[None] | None":
        """Close it at once: nobody waits for a farewell, nor for what was never read. Returns what is done when it is
        gone."""
        self.watch(None)
        connection, self._connection = self._connection, None
        protocol = self.protocol if connection is None else connection.protocol
        if not isinstance(protocol, ResponseHandler) and connection is None:
            return None
        gone = None if protocol is None else protocol.closed
        if protocol is not None and protocol.transport is not None:
            protocol.abort()
        if connection is not None:
            connection.close()
        return gone

    async def close(self) -> None:
        await _gone([self])


class ConnectionPool:
    """All connections to an address: in use, or resting."""

    def __init__(self, timeout: aiohttp.ClientTimeout, most: int) -> None:
        self._timeout = timeout
        self._most = 2 * most
        """Connections that may rest: all that are asked at once may end at once, too."""
        self._resting: list[tuple[float, int, PooledConnection]] = []
        """By when they have rested enough."""
        self._unused: deque[PooledConnection] = deque()
        """Opened ahead, for questions that wait for another's reply; the oldest first, as a server may take them."""
        self._opening = 0
        self._few = asyncio.Semaphore(_AHEAD)
        self._connector: _Connector | None = None
        """Makes connections, and keeps none."""
        self._first: asyncio.Event | None = None
        """Set once somebody has tried to connect by name; None while nobody has begun to."""
        self._reached: dict[str, tuple[float, tuple[int, Any]]] = {}
        """By origin: when it was last connected to by its name, and where."""
        self._stirred: set[PooledConnection] = set()
        """Those among them over which something has come."""
        self._number = 0
        self._usual = 0.0
        """Seconds that a good reply takes, lately."""
        self._timer: asyncio.TimerHandle | None = None
        """Until the one that rests longest has rested too long."""
        self.replies = ServerReplies()

    async def take(self, origin: str) -> PooledConnection:
        """A connection for one question: one that was opened ahead or has rested, or a new one."""
        while self._unused:
            connection = self._unused.popleft()
            if connection.open and connection.silent and connection.origin == origin:
                return connection
            await connection.close()
        if self._stirred:  # what is noticed at once saves the others
            self.look()
        while self.replies.ids is not Ids.PUZZLING and self._resting and self._resting[0][0] <= time.monotonic():
            connection = self._woken()
            if not connection.silent:
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
        return PooledConnection(origin)

    async def connect(self, connection: PooledConnection, target: RequestTarget) -> None:
        """A server that was reached a moment ago is connected to where it was, in a tenth of the time; whatever fails
        there, and whatever goes through a proxy or TLS, is aiohttp's."""
        at, address = self._reached.get(connection.origin, (0.0, None))
        if address is not None and time.monotonic() - at < NameResolver._FRESH:
            with suppress(OSError):  # a time-out is one
                connection.attach(await self._connect_again(address))
                return
        if self._connector is None:  # made late: it belongs to the running event loop
            self._connector = _Connector()
        if self._first is None:
            self._first = asyncio.Event()
        try:
            made = await self._connector.connect(target.request, [], self._timeout)
        finally:
            self._first.set()
        connection.attach(made)
        if target.request.proxy is None and not target.request.is_ssl() and made.transport is not None:
            line = made.transport.get_extra_info("socket")
            self._reached[connection.origin] = time.monotonic(), (line.family, line.getpeername())

    async def _connect_again(self, address: tuple[int, Any]) -> _Protocol:
        family, place = address
        loop = asyncio.get_running_loop()
        line = probed_socket((family, socket.SOCK_STREAM, 0))
        try:
            line.setblocking(False)
            # A server on this machine is mostly connected to by the time that the first call returns.
            if line.connect_ex(place) and line.connect_ex(place) not in (0, errno.EISCONN):
                async with asyncio.timeout(self._timeout.sock_connect):
                    await loop.sock_connect(line, place)
            _, protocol = await loop.create_connection(partial(_Protocol, loop=loop), sock=line)
        except BaseException:
            line.close()
            raise
        return protocol

    async def connect_ahead(self, origin: str, target: RequestTarget, most: int) -> None:
        """One connection for a question that will be asked soon, unless so many are there. Where none can be made, the
        question will find out, and say why."""
        if len(self._unused) + self._opening >= most:
            return
        self._opening += 1
        connection = PooledConnection(origin)
        try:
            if self._first is not None:  # the question that is asked first finds out where the server is
                await self._first.wait()
            async with self._few:
                await self.connect(connection, target)
        except (aiohttp.ClientError, OSError):
            return
        finally:
            self._opening -= 1
        connection.idle_since = time.monotonic()
        self._unused.append(connection)
        self._watch_age()

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
        connection.watch(partial(self._stirred.add, connection))
        self._number += 1
        heapq.heappush(self._resting, (connection.idle_since + rest(took, self._usual), self._number, connection))
        if len(self._resting) > self._most:
            oldest = self._woken()
            self._look(oldest)
            await oldest.close()
        self._watch_age()
        return True

    async def drop(self, connection: PooledConnection) -> None:
        """After a failure; what comes over it now is its own question's, and too late. What rests may be dead too, or
        take up the room that the server, or this machine, lacks."""
        await connection.close()
        await self.clear()

    def look(self) -> None:
        """Whether something has come meanwhile over what rests."""
        while self._stirred:
            self._look(self._stirred.pop())

    def _watch_age(self) -> None:
        if self._timer is None and (self._resting or self._unused):
            idle = time.monotonic() - min(connection.idle_since for connection in self._idle())
            self._timer = asyncio.get_running_loop().call_later(max(1.0, _KEPT - idle), self._close_old)

    def _idle(self) -> Iterator[PooledConnection]:
        yield from self._unused
        for _, _, connection in self._resting:
            yield connection

    def _close_old(self) -> None:
        """Those that nobody has taken for too long."""
        self.look()
        now = time.monotonic()
        old = {connection for connection in self._idle() if now - connection.idle_since >= _KEPT}
        self._unused = deque(connection for connection in self._unused if connection not in old)
        self._resting = [resting for resting in self._resting if resting[2] not in old]
        heapq.heapify(self._resting)
        _gone(old)
        self._timer = None
        self._watch_age()

    async def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.look()
        resting, self._resting = self._resting, []
        unused, self._unused = self._unused, deque()
        await _gone([*unused, *(connection for _, _, connection in resting)])

    def _woken(self) -> PooledConnection:
        """The one that has rested longest. From now on what comes over it may be a reply, which is its asker's."""
        connection = heapq.heappop(self._resting)[2]
        connection.watch(None)
        self._stirred.discard(connection)
        return connection

    def _look(self, connection: PooledConnection) -> None:
        raw = connection.unasked()
        if raw is not None:
            self.replies.unasked(connection.heard, raw)


def rest(took: float, usual: float) -> float:
    """Seconds, after a reply: half of what it took. One that came sooner than usual may have been late, another
    question's: then until its question's own would have come by."""
    return min(max(_SHORTEST_REST, took / 2, 1.5 * usual - took), _LONGEST_REST)


def _gone(connections: Iterable[PooledConnection]) -> "asyncio.Future[list[Any]]":
    """Closes them at once; done when all are gone, whether anybody waits for that or not."""
    closing = [gone for connection in connections if (gone := connection.abort()) is not None]
    return asyncio.gather(*closing, return_exceptions=True)


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

"""One address over HTTP: connections that all its models share, its limits, and how long is waited for what.

Redirects to another origin are never followed: neither prompts nor keys go where nobody sent them. Proxies and
certificates of the environment are used.

Connections are kept so that no question gets another's reply. HTTP gives a reply to whoever asked last. One that is
sent twice, or late, by a careless gateway would be stored as the next question's answer. So a connection rests
between two questions: what comes meanwhile was meant for nobody, and from then on every question has a connection of
its own, on which the first reply is the only one."""

import asyncio
import errno
import heapq
import math
import os
import select
import socket
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from multidict import CIMultiDict
from yarl import URL

from eqlab.core.errors import ModelError
from eqlab.models.limiter import Limiter
from eqlab.models.reply_identity import ConnectionReplies, Ids, Order, ServerReplies
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE, Timeouts
from eqlab.models.wire.contract import Hopeless, Incoming, TryAgain
from eqlab.models.wire.failures import LOGIN_HINT, NO_LOGIN

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


class _Target:
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

    def whole(self, body: bytes | None) -> bytes:
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


class _Handler(ResponseHandler):
    """Tells when something comes over a connection that rests."""

    stirred: Callable[[], None] | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.stirred is not None:
            self.stirred()


class _Connector(aiohttp.TCPConnector):
    def __init__(self) -> None:
        super().__init__(limit=0, resolver=NameResolver(), use_dns_cache=False, socket_factory=probed_socket)
        self._factory = partial(_Handler, loop=asyncio.get_running_loop())  # type: ignore[assignment]


class PooledConnection:
    """One connection, and what has come over it."""

    __slots__ = ("_connection", "_socket", "heard", "held", "idle_since", "origin")

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.held: ResponseHandler | None = None
        self._connection: Connection | None = None
        self._socket = select.poll()
        self.heard = ConnectionReplies()
        self.idle_since = 0.0

    def take(self, connection: Connection) -> None:
        self._connection, self.held = connection, connection.protocol
        if connection.transport is not None:
            self._socket.register(connection.transport.get_extra_info("socket").fileno(), select.POLLIN)

    def watch(self, stirred: Callable[[], None] | None) -> None:
        """Whom to tell that something has come though nobody has asked."""
        if isinstance(self.held, _Handler):
            self.held.stirred = stirred

    @property
    def silent(self) -> bool:
        """Whether nothing lies unread in its socket."""
        return self.held is not None and self.held.is_connected() and not self._socket.poll(0)

    async def ask(self, question: bytes) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
        """The head of the reply to this, and its body, which may still be on its way."""
        held = self.held
        if held is None or held.transport is None or held.transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection is closed")
        held.set_response_params(
            read_until_eof=True,
            auto_decompress=False,  # it would unpack a bomb whole, before anybody can look
            max_field_size=_HEADER,
            max_headers=_HEADERS,
        )
        held.transport.write(question)
        while True:
            message, body = await held.read()
            if message.code == 101 or not 100 <= message.code < 200:
                return message, body

    @property
    def connected(self) -> bool:
        """Whether it ever was."""
        return self.held is not None

    @property
    def open(self) -> bool:
        """Whether another question can go over it: neither closed, nor with something on it that nobody asked for."""
        held = self.held
        return held is not None and held.is_connected() and not held.should_close

    def unasked(self) -> bytes | None:
        """What came as a good reply though nobody had asked, if only in part; None where nothing did. A farewell (408
        to the idle) is none."""
        held = self.held
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
        self.watch(None)
        connection, self._connection = self._connection, None
        if connection is None or connection.protocol is None:
            return
        protocol = connection.protocol
        gone = protocol.closed
        if protocol.transport is not None:
            protocol.abort()  # nobody waits for a farewell, nor for what was never read
        connection.close()
        if gone is not None:
            await asyncio.gather(gone, return_exceptions=True)


class ConnectionPool:
    """All connections to an address: in use, or resting."""

    def __init__(self, timeout: aiohttp.ClientTimeout, most: int) -> None:
        self._timeout = timeout
        self._most = 2 * most
        """Connections that may rest: all that are asked at once may end at once, too."""
        self._resting: list[tuple[float, int, PooledConnection]] = []
        """By when they have rested enough."""
        self._connector: _Connector | None = None
        """Makes connections, and keeps none."""
        self._stirred: set[PooledConnection] = set()
        """Those among them over which something has come."""
        self._number = 0
        self._usual = 0.0
        """Seconds that a good reply takes, lately."""
        self.replies = ServerReplies()

    async def take(self, origin: str) -> PooledConnection:
        """A connection for one question: one that has rested, or a new one."""
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

    async def connect(self, connection: PooledConnection, target: _Target) -> None:
        if self._connector is None:  # made late: it belongs to the running event loop
            self._connector = _Connector()
        connection.take(await self._connector.connect(target.request, [], self._timeout))

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

    async def clear(self) -> None:
        self.look()
        resting, self._resting = self._resting, []
        for _, _, connection in resting:
            await connection.close()

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


_LARGEST_REPLY = 16 * 2**20
_MOVED = (301, 302, 303, 307, 308)
_REDIRECTS = 3


_TARGETS = 64
"""Kinds of requests that are remembered."""
_OVERTAKEN = 8
"""Requests sent later that may be answered sooner: from then on a silent one is taken for lost, not for queued."""


class _Unheard:
    """A request of which nothing has come back, and until when that is waited for."""

    __slots__ = ("ahead", "answered", "end", "limit")

    def __init__(self, limit: asyncio.Timeout, end: float, ahead: int, answered: int) -> None:
        self.limit, self.end, self.ahead, self.answered = limit, end, ahead, answered


class Silences:
    """Silence is the server's, not a connection's: while it answers others, or says that it is there, a request that
    waits in its queue, or whose prompt is still being read, is not given up."""

    def __init__(self, silence: float) -> None:
        self.silence = silence
        self.probe: Callable[[], Awaitable[bool]] | None = None
        """Asks whether the server is there; None where nobody can be asked."""
        self.slow: Callable[[], None] = lambda: None
        """Called when a probe kept a request alive."""
        self._unheard: set[_Unheard] = set()
        self._answered = 0
        self._heard_at = self._extended_at = 0.0
        self._glance: asyncio.TimerHandle | None = None
        self._probing: asyncio.Task[None] | None = None

    def sent(self, limit: asyncio.Timeout, whole: float = math.inf) -> _Unheard:
        """`whole`: seconds that all of the reply may take."""
        loop = asyncio.get_running_loop()
        mine = _Unheard(limit, loop.time() + whole, len(self._unheard), self._answered)
        self._unheard.add(mine)
        if self.probe is not None and self._glance is None:
            self._glance = loop.call_later(self.silence / 2, self._look)
        return mine

    def heard(self, mine: _Unheard, more: bool = True) -> None:
        """A part of a reply has come: of this one, and a sign of life for those that wait. `more`: there is more of
        it to wait for."""
        now = asyncio.get_running_loop().time()
        self._unheard.discard(mine)
        if more:
            mine.limit.reschedule(min(now + self.silence, mine.end))
        self._alive(now)

    def over(self, mine: _Unheard, answered: bool) -> None:
        self._unheard.discard(mine)
        self._answered += answered
        if not self._unheard and self._glance is not None:
            self._glance.cancel()
            self._glance = None

    def _alive(self, now: float) -> None:
        self._heard_at = now
        if now - self._extended_at < self.silence / 8:
            return
        self._extended_at = now
        for other in self._unheard:
            if self._answered - other.answered - other.ahead < _OVERTAKEN and not other.limit.expired():
                other.limit.reschedule(min(now + self.silence, other.end))

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard_at >= self.silence / 2 and (self._probing is None or self._probing.done()):
            self._probing = loop.create_task(self._ask())
        self._glance = loop.call_later(self.silence / 4, self._look) if self._unheard else None

    async def _ask(self) -> None:
        if self.probe is not None and await self.probe():
            self._alive(asyncio.get_running_loop().time())
            self.slow()

    async def close(self) -> None:
        if self._glance is not None:
            self._glance.cancel()
            self._glance = None
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)


class Transport:
    """One address: connections and a limit that all its models share."""

    def __init__(
        self, concurrency: int, timeout: float = WHOLE, silence: float = SILENCE, patience: float = PATIENCE
    ) -> None:
        self.limiter = Limiter(concurrency)
        self.timeouts = Timeouts(timeout, min(silence, timeout), patience)
        self.silences = Silences(self.timeouts.silence)
        self.met = False
        """Whether the server has ever answered anything sensible."""
        self.bad_since: float | None = None
        """When an outage began, or a rate was first refused; None after a good reply of anybody."""
        self.told = False
        """Whether the user knows of the outage under way."""
        self.pool = ConnectionPool(aiohttp.ClientTimeout(sock_connect=min(timeout, 15.0)), concurrency)
        self._targets: dict[tuple[Any, ...], _Target] = {}
        self._proxies: dict[str, str | None] = {}
        self._tls: ssl.SSLContext | None = None

    @classmethod
    def with_timeouts(cls, concurrency: int, timeouts: Timeouts) -> "Transport":
        return cls(concurrency, timeouts.whole, timeouts.silence, timeouts.patience)

    async def close(self) -> None:
        await self.silences.close()
        await self.pool.clear()

    async def is_there(self, url: str, headers: Mapping[str, str]) -> bool:
        """Whether a server answers this at once, and well."""
        within = min(10.0, self.timeouts.silence / 4)
        connection = PooledConnection(_origin(url))
        try:
            async with asyncio.timeout(within):
                came = await self._over(connection, "GET", url, headers, None, _LARGEST_REPLY, Silences(within))
        except TimeoutError:
            return False
        finally:
            await connection.close()
        return isinstance(came, Incoming) and came.status == 200

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, question: Hashable = None
    ) -> Incoming | TryAgain | Hopeless:
        """What came back, or why nothing did. `question`: equal for requests that may get the same reply again."""
        return await self.request("POST", url, headers, body, question=question)

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        largest: int = 0,
        question: Hashable = None,
    ) -> Incoming | TryAgain | Hopeless:
        """`largest`: bytes of a response at most; 0: those of a reply."""
        for _ in range(_REDIRECTS):
            came = await self._request(method, url, headers, body, largest or _LARGEST_REPLY, question)
            if not isinstance(came, Incoming) or came.status not in _MOVED:
                return came
            try:
                target = urljoin(url, came.headers.get("Location") or "")
                there = _origin(target)
            except ValueError:  # brackets that hold no IPv6, a port above 65535
                return Hopeless("it redirects to something that is not an address", "Check the address.")
            if there != _origin(url):
                return Hopeless(
                    f"it redirects to {there}, where neither prompts nor the key are sent",
                    "If you trust that address, give it with --base-url.",
                )
            if came.status not in (307, 308):
                return Hopeless(
                    f"it sends us to another page (HTTP {came.status}, {urlsplit(target).path or '/'}), as to log in",
                    "Check the address and the key.",
                )
            url = target
        return Hopeless("it redirects in a circle", "Check the address.")

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, largest: int, question: Hashable
    ) -> Incoming | TryAgain | Hopeless:
        connection = await self.pool.take(_origin(url))
        came: Incoming | TryAgain | Hopeless | None = None
        try:
            came = await self._over(connection, method, url, headers, body, largest, self.silences)
        finally:
            if not isinstance(came, Incoming):
                await self.pool.drop(connection)
        if isinstance(came, Incoming):
            good = came.raw if came.well else None
            if not await self.pool.give(connection, came.latency, question, good):
                return TryAgain("a reply that is another question's", unasked=True)
        return came

    async def _over(
        self,
        connection: PooledConnection,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        largest: int,
        silences: Silences,
    ) -> Incoming | TryAgain | Hopeless:
        started = time.perf_counter()
        proxy = self._proxy(url)
        try:
            async with asyncio.timeout(silences.silence) as limit:
                mine = silences.sent(limit, self.timeouts.whole)
                whole = False
                try:
                    target = self._target(method, url, headers, proxy)
                    if connection.held is None:
                        await self.pool.connect(connection, target)
                    head, content = await connection.ask(target.whole(body))
                    silences.heard(mine, more=not content.is_eof())
                    raw = await content.read(largest + 1)
                    while len(raw) <= largest and not content.at_eof():
                        silences.heard(mine)
                        raw += await content.read(largest + 1 - len(raw))
                    raw = unpacked(raw, head.headers.get("Content-Encoding") or "", largest)
                    if len(raw) > largest:
                        return Hopeless(f"the reply is larger than {largest // 2**20} MB", model=False)
                    whole = True
                    return Incoming(head.code, head.headers, raw, time.perf_counter() - started)
                finally:
                    silences.over(mine, whole)
        except TimeoutError:
            took = time.perf_counter() - started
            if not connection.connected:  # nothing was sent
                where = _nearest(proxy, url)
                return TryAgain(f"no connection to {where} within {min(took, self.timeouts.whole):.3g} s", gone=True)
            what = "no reply" if took < self.timeouts.whole else "no whole reply"
            return TryAgain(f"{what} within {min(took, self.timeouts.whole):.3g} s", overload=True, timed_out=True)
        except aiohttp.ClientConnectorCertificateError as error:
            return _untrusted(str(error.certificate_error))
        except aiohttp.ClientHttpProxyError as error:
            return _proxy_refuses(error.status)
        except aiohttp.ClientConnectorError as error:
            of_proxy = proxy is not None and error.host == urlsplit(proxy).hostname
            return TryAgain(f"{'the proxy is away: ' if of_proxy else ''}{no_connection(error)}", gone=True)
        except (aiohttp.ClientError, HttpProcessingError, OSError, asyncio.IncompleteReadError, zlib.error) as error:
            return TryAgain(_broken_off(error))

    def _target(self, method: str, url: str, headers: Mapping[str, str], proxy: str | None) -> _Target:
        key = (method, url, *headers.items())
        target = self._targets.get(key)
        if target is None:
            if len(self._targets) >= _TARGETS:
                self._targets.clear()
            trust = self._trust() if url.startswith("https") else True
            target = self._targets[key] = _Target(method, url, headers, proxy, trust)
        return target

    def _proxy(self, url: str) -> str | None:
        origin = _origin(url)
        if origin not in self._proxies:
            self._proxies[origin] = environment_proxy(url)
        return self._proxies[origin]

    def _trust(self) -> ssl.SSLContext:
        """The system's certificates or SSL_CERT_FILE's, and those that other tools are told of."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
            for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
                bundle = Path(os.environ.get(name) or "")
                try:
                    if bundle.is_file():
                        self._tls.load_verify_locations(cafile=bundle)
                    elif os.environ.get(name) and bundle.is_dir():
                        self._tls.load_verify_locations(capath=bundle)
                except OSError as error:
                    raise ModelError(
                        f"{name} names {bundle}, which holds no certificates ({error}).", "Correct it or unset it."
                    ) from error
        return self._tls


def _untrusted(reason: str) -> Hopeless:
    hint = "Name your authority's certificates with SSL_CERT_FILE."
    if "expired" in reason or "not yet valid" in reason:
        hint = "Its owner has to renew it; or this machine's clock is wrong."
    return Hopeless(f"its certificate is not trusted ({reason})", hint)


def _proxy_refuses(status: int) -> Hopeless | TryAgain:
    if status == 407:
        return Hopeless(NO_LOGIN, LOGIN_HINT)
    if status >= 500 or status in (408, 429):  # it cannot reach the server, or has too much to do
        return TryAgain(f"the proxy gets no connection (HTTP {status})", gone=True, status=status)
    return Hopeless(f"the proxy refuses (HTTP {status})", "Check HTTPS_PROXY and NO_PROXY.")


def _nearest(proxy: str | None, url: str) -> str:
    """Who is connected to."""
    parts = urlsplit(proxy or url)
    return f"{'the proxy ' if proxy else ''}{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def environment_proxy(url: str) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY mean for an address."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):  # going around it in silence would be worse
        raise ModelError(
            f"The environment's proxy for {parts.hostname} is a {proxy.split('://')[0]} proxy, "
            "and only http and https proxies work here.",
            "Set HTTPS_PROXY to one of these, or add the host to NO_PROXY.",
        )
    return proxy


def unpacked(raw: bytes, encoding: str, largest: int) -> bytes:
    """A body as it was before it was packed for the way, up to a byte more than `largest`; raises zlib.error where it
    is not whole, or packed in a way that nobody asked for."""
    kind = encoding.strip().lower()
    if kind in ("", "identity") or len(raw) > largest:
        return raw
    if kind not in ("gzip", "x-gzip", "deflate"):
        raise zlib.error(f"packed as {kind[:20]}, which nobody asked for")
    try:
        return _inflated(raw, zlib.MAX_WBITS + 32, largest)
    except zlib.error:
        if kind != "deflate":
            raise
        return _inflated(raw, -zlib.MAX_WBITS, largest)  # some leave out zlib's own head


def _inflated(raw: bytes, bits: int, largest: int) -> bytes:
    found = b""
    while len(found) <= largest:  # gzip may come in several members
        unpacking = zlib.decompressobj(bits)
        found += unpacking.decompress(raw, largest + 1 - len(found))
        if len(found) <= largest and not unpacking.eof:
            raise zlib.error("it is not whole")
        raw = unpacking.unused_data.lstrip(b"\0")
        if not raw:
            break
    return found


@lru_cache(maxsize=256)
def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def no_connection(error: aiohttp.ClientConnectorError) -> str:
    """Why a server cannot be connected to, in words: aiohttp's own hold addresses, modules and brackets."""
    where = f"{error.host}:{error.port}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        if error.os_error.errno == socket.EAI_AGAIN:
            return f"the name {error.host} cannot be looked up now"
        return f"no address is known for the name {error.host}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return f"{where} does not speak https"
    # several addresses of one name: asyncio puts their errors into one text
    if error.os_error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error.os_error):
        return f"nothing listens at {where}"
    return f"no connection to {where}: {error.os_error.strerror or error.os_error}"


def _broken_off(error: Exception) -> str:
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError | asyncio.IncompleteReadError):
        return "the server closed the connection before its reply was whole"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the reply broke off in the middle"
    if isinstance(error, HttpProcessingError):  # its "400" is nobody's status
        return f"what came back is no HTTP ({' '.join(error.message.split())[:200]})"
    if isinstance(error, zlib.error):
        return f"a reply that cannot be unpacked ({error})"
    return f"{type(error).__name__}: {error}"

"""One address over HTTP: connections that all its models share, its limits, and how long is waited for what.

Redirects to another origin are never followed: neither prompts nor keys go where nobody sent them. Proxies and
certificates of the environment are used."""

import asyncio
import errno
import math
import os
import socket
import ssl
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import eqlab.models.late_trust  # noqa: F401

# isort: split
import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from eqlab.core.errors import ModelError
from eqlab.models.connections import ConnectionPool, PooledConnection, RequestTarget
from eqlab.models.limiter import Limiter
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE, Timeouts
from eqlab.models.wire.contract import Hopeless, Incoming, TryAgain
from eqlab.models.wire.failures import LOGIN_HINT, NO_LOGIN

_LARGEST_REPLY = 16 * 2**20
_MOVED = (301, 302, 303, 307, 308)
_REDIRECTS = 3
_TARGETS = 64
"""Kinds of requests that are remembered."""
_OVERTAKEN = 8
"""Requests sent later that may be answered sooner: from then on a silent one is taken for lost, not for queued."""


class _Awaited:
    """A request under way, and until when it is waited for."""

    __slots__ = ("ahead", "answered", "deadline", "end", "give_up", "heard")

    def __init__(self, give_up: Callable[[], None], deadline: float, end: float, ahead: int, answered: int) -> None:
        self.give_up, self.deadline, self.end, self.ahead, self.answered = give_up, deadline, end, ahead, answered
        self.heard = False
        """Whether something of its reply has come."""


class Silences:
    """Silence is the server's, not a connection's: while it answers others, or says that it is there, a request that
    waits in its queue, or whose prompt is still being read, is not given up. One timer serves all requests."""

    def __init__(self, silence: float) -> None:
        self.silence = silence
        self.probe: Callable[[], Awaitable[bool]] | None = None
        """Asks whether the server is there; None where nobody can be asked."""
        self.slow: Callable[[], None] = lambda: None
        """Called when a probe kept a request alive."""
        self._awaited: set[_Awaited] = set()
        self._unheard = 0
        """Those of which nothing has come."""
        self._answered = 0
        self._heard_at = self._extended_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        """No later than the first deadline: those that are set while it runs lie behind it."""
        self._glance: asyncio.TimerHandle | None = None
        self._probing: asyncio.Task[None] | None = None

    def sent(self, give_up: Callable[[], None], whole: float = math.inf) -> _Awaited:
        """`give_up` is called when it has been silent for too long; `whole`: seconds that all of the reply may take."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        mine = _Awaited(give_up, now + self.silence, now + whole, self._unheard, self._answered)
        self._awaited.add(mine)
        self._unheard += 1
        if self._timer is None:
            self._timer = loop.call_at(mine.deadline, self._expire)
        if self.probe is not None and self._glance is None:
            self._glance = loop.call_later(self.silence / 2, self._look)
        return mine

    def heard(self, mine: _Awaited) -> None:
        """A part of a reply has come: of this one, and a sign of life for those that wait."""
        now = asyncio.get_running_loop().time()
        self._notice(mine)
        mine.deadline = min(now + self.silence, mine.end)
        self._alive(now)

    def over(self, mine: _Awaited, answered: bool) -> None:
        self._notice(mine)
        self._awaited.discard(mine)
        if answered:
            self._answered += 1
            self._alive(asyncio.get_running_loop().time())
        if not self._unheard and self._glance is not None:
            self._glance.cancel()
            self._glance = None
        if not self._awaited and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _notice(self, mine: _Awaited) -> None:
        if not mine.heard:
            mine.heard = True
            self._unheard -= 1

    def _alive(self, now: float) -> None:
        self._heard_at = now
        if now - self._extended_at < self.silence / 8:
            return
        self._extended_at = now
        for other in self._awaited:
            if not other.heard and self._answered - other.answered - other.ahead < _OVERTAKEN:
                other.deadline = min(now + self.silence, other.end)

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for mine in [mine for mine in self._awaited if mine.deadline <= now]:
            self._awaited.discard(mine)
            mine.give_up()
        first = min((mine.deadline for mine in self._awaited), default=None)
        self._timer = None if first is None else loop.call_at(first, self._expire)

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
        for timer in (self._glance, self._timer):
            if timer is not None:
                timer.cancel()
        self._glance = self._timer = None
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)


class Transport:
    """One address: connections and a limit that all its models share."""

    def __init__(
        self, concurrency: int, timeout: float = WHOLE, silence: float = SILENCE, patience: float = PATIENCE
    ) -> None:
        self.limiter = Limiter(concurrency)
        self.paces: dict[str, Limiter] = defaultdict(lambda: Limiter(concurrency))
        """Rates are each model's own: one that is refused holds up no other at its address."""
        self.timeouts = Timeouts(timeout, min(silence, timeout), patience)
        self.silences = Silences(self.timeouts.silence)
        self.met = False
        """Whether the server has ever answered anything sensible."""
        self.bad_since: float | None = None
        """When an outage began, or a rate was first refused; None after a good reply of anybody."""
        self.told = False
        """Whether the user knows of the outage under way."""
        self.pool = ConnectionPool(aiohttp.ClientTimeout(sock_connect=min(timeout, 15.0)), concurrency)
        self._targets: dict[tuple[Any, ...], RequestTarget] = {}
        self._proxies: dict[str, str | None] = {}
        self._tls: ssl.SSLContext | None = None

    @classmethod
    def with_timeouts(cls, concurrency: int, timeouts: Timeouts) -> "Transport":
        return cls(concurrency, timeouts.whole, timeouts.silence, timeouts.patience)

    async def close(self) -> None:
        await self.silences.close()
        await self.pool.clear()

    async def connect_ahead(self, url: str, headers: Mapping[str, str]) -> None:
        """A connection for a question that waits, as far as the limit leaves room for it."""
        proxy = self._proxy(url)
        target = self._target("POST", url, headers, proxy)
        await self.pool.connect_ahead(_origin(url), target, self.limiter.room)

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
        sends: Callable[[], None] = lambda: None,
    ) -> Incoming | TryAgain | Hopeless:
        """`largest`: bytes of a response at most; 0: those of a reply. `sends` is called when there is a connection to
        send it over."""
        for _ in range(_REDIRECTS):
            connection = await self.pool.take(_origin(url))
            came: Incoming | TryAgain | Hopeless | None = None
            try:
                came = await self._over(
                    connection, method, url, headers, body, largest or _LARGEST_REPLY, self.silences, sends
                )
            finally:
                if not isinstance(came, Incoming):
                    await self.pool.drop(connection)
            if not isinstance(came, Incoming):
                return came
            good = came.raw if came.well else None
            if not await self.pool.give(connection, came.latency, question, good):
                return TryAgain("a reply that is another question's", billed=True, unasked=True)
            if came.status not in _MOVED:
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

    async def _over(
        self,
        connection: PooledConnection,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        largest: int,
        silences: Silences,
        sends: Callable[[], None] = lambda: None,
    ) -> Incoming | TryAgain | Hopeless:
        started = time.perf_counter()
        proxy = self._proxy(url)
        try:
            target = self._target(method, url, headers, proxy)
            if connection.protocol is None:
                async with asyncio.timeout(silences.silence):
                    await self.pool.connect(connection, target)
            sends()
            mine = silences.sent(connection.give_up, self.timeouts.whole)
            whole = False
            try:
                plain = await connection.ask(target.message(body), largest, partial(silences.heard, mine))
                if plain is None:
                    status, fields, raw = await self._read(connection, largest, mine)
                else:
                    status, fields, raw = plain.status, plain.headers, plain.body
                if encoding := fields.get("Content-Encoding"):
                    raw = unpacked(raw, encoding, largest)
                if len(raw) > largest:
                    return Hopeless(f"the reply is larger than {largest // 2**20} MB", model=False, billed=True)
                whole = True
                return Incoming(status, fields, raw, time.perf_counter() - started)
            finally:
                silences.over(mine, whole)
        except TimeoutError:
            took = time.perf_counter() - started
            if not connection.connected:  # nothing was sent
                where = _nearest(proxy, url)
                return TryAgain(f"no connection to {where} within {min(took, self.timeouts.whole):.3g} s", gone=True)
            what = "no reply" if took < self.timeouts.whole else "no whole reply"
            reason = f"{what} within {min(took, self.timeouts.whole):.3g} s"
            return TryAgain(reason, overload=True, timed_out=True, billed=True)
        except aiohttp.ClientConnectorCertificateError as error:
            return _untrusted(str(error.certificate_error))
        except aiohttp.ClientHttpProxyError as error:
            return _proxy_refuses(error.status)
        except aiohttp.ClientConnectorError as error:
            of_proxy = proxy is not None and error.host == urlsplit(proxy).hostname
            return TryAgain(f"{'the proxy is away: ' if of_proxy else ''}{no_connection(error)}", gone=True)
        except (aiohttp.ClientError, HttpProcessingError, OSError, asyncio.IncompleteReadError, zlib.error) as error:
            return TryAgain(_broken_off(error), billed=True)

    async def _read(
        self, connection: PooledConnection, largest: int, mine: _Awaited
    ) -> tuple[int, Mapping[str, str], bytes]:
        """A reply that is not plain, up to a byte more than `largest`. Its parts are heard of as they come."""
        async with asyncio.timeout(None) as limit:
            mine.give_up = lambda: limit.reschedule(0.0)
            head, content = await connection.read()
            raw = await content.read(largest + 1)
            while len(raw) <= largest and not content.at_eof():
                raw += await content.read(largest + 1 - len(raw))
            connection.watch(None)
            return head.code, head.headers, raw

    def _target(self, method: str, url: str, headers: Mapping[str, str], proxy: str | None) -> RequestTarget:
        key = (method, url, *headers.items())
        target = self._targets.get(key)
        if target is None:
            if len(self._targets) >= _TARGETS:
                self._targets.clear()
            trust = self._trust() if url.startswith("https") else True
            target = self._targets[key] = RequestTarget(method, url, headers, proxy, trust)
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

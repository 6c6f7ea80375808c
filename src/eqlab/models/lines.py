"""Connections to one address that are kept, so that no question gets another's reply.

HTTP gives a reply to whoever asked last. One that is sent twice, or late, by a careless gateway would be stored as the
next question's answer. So a connection rests between two questions: what comes meanwhile was meant for nobody, and from
then on every question has a connection of its own, on which the first reply is the only one."""

import asyncio
import hashlib
import heapq
import re
import time
from collections import deque
from collections.abc import Coroutine, Hashable
from typing import Any, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection as Held

from eqlab.models.reach import Names, probed

_KEPT = 75.0
"""Seconds after which an idle connection is not used again: routers forget those that are silent."""
_SHORTEST_REST, _LONGEST_REST = 0.1, 2.0
"""Seconds. In between, half of what the last reply took: at most half as many connections again as are in use."""
_REMEMBERED = 8
"""Replies of a connection that the next is held against."""
_HEADERS, _HEADER = 1024, 65536
"""Of a response, and bytes of one: gateways add many, and policies as long as pages."""
_ID = re.compile(rb'"(?:id|responseId)"\s*:\s*"([^"\\]{1,200})"')
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
        self.replies = 0
        self.later = 0
        """Replies that were taken as answers though they were not the first."""
        self.ahead = False
        """Whether a reply was recognised as another question's: what follows is known to be no news."""
        self.idle_since = 0.0
        self._last: deque[tuple[Hashable, bytes, bytes]] = deque(maxlen=_REMEMBERED)

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

    def repeats(self, question: Hashable, raw: bytes) -> bool:
        """Whether this is word for word what another question got over this connection; remembers it if not."""
        mark, digest = reply_id(raw), hashlib.blake2b(raw, digest_size=16).digest()
        if mark and any(digest == other and question != asked for asked, _, other in self._last):
            return True
        self._last.append((question, mark, digest))
        return False

    def brought(self, mark: bytes) -> bool:
        """Whether a reply of this name came over it."""
        return bool(mark) and any(mark == one for _, one, _ in self._last)

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
        self._first_id = b""
        self._first_ids = 0
        """Connections whose first reply had the first id of all."""
        self._ids_differ = False
        self._puzzled = False
        """Whether a reply was the same as another before anybody knew whether ids differ here."""
        self.out_of_turn = False
        """Whether a reply came that nobody had asked for: from then on every question has a connection of its own."""
        self._unproven = 0
        """Answers, not the first on their connection, that was closed before it had rested: something may have been
        left over."""
        self._doubt = False
        """Whether a reply came that nobody had asked for and that was not one of the last again: some before it may
        have been taken for another's."""

    @property
    def suspects(self) -> int:
        """Answers that may be another question's."""
        return self._unproven + sum(line.later for _, _, line in self._resting) if self._doubt else 0

    async def take(self, origin: str) -> Line:
        """A connection for one question: one that has rested, or a new one."""
        puzzled = self._puzzled and not (self._ids_differ or self._ids_alike)
        while not puzzled and self._resting and self._resting[0][0] <= time.monotonic():
            line = heapq.heappop(self._resting)[2]
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)  # two turns of the event loop: what lies in its socket is read now
            except asyncio.CancelledError:
                await self._end(line)
                raise
            self._look(line)
            kept = time.monotonic() - line.idle_since < _KEPT
            if line.open and kept and line.origin == origin and not self.out_of_turn:
                return line
            await self._end(line, rested=True)
        if self._names is None:  # made late: it belongs to the running event loop
            self._names = Names()
        return Line(origin, self._timeout, self._names)

    def took(self, line: Line, question: Hashable, raw: bytes) -> bool:
        """Whether a good reply over a connection is the question's own, as far as can be told."""
        self._note_id(line, raw)
        if line.repeats(question, raw) and (self._ids_differ or not self._ids_alike):
            self._puzzled = True
            self.out_of_turn |= self._ids_differ
            line.ahead = True
            return False
        self._look(line)
        if line.replies and self.out_of_turn:  # noticed just now, or on another connection
            return False
        line.later += line.replies > 0
        return True

    async def give(self, line: Line, took: float) -> None:
        """Back after a whole reply, which took so many seconds."""
        line.replies += 1
        if not line.ahead:
            self._look(line)
        if line.ahead or self.out_of_turn or not line.open:
            await self._end(line)
            return
        line.idle_since = time.monotonic()
        rest = min(max(_SHORTEST_REST, took / 2), _LONGEST_REST)
        self._number += 1
        heapq.heappush(self._resting, (line.idle_since + rest, self._number, line))
        if len(self._resting) > self._most:
            rested, _, line = heapq.heappop(self._resting)
            self._look(line)
            await self._end(line, rested <= time.monotonic())

    async def drop(self, line: Line) -> None:
        """After a failure; what comes over it now is its own question's, and too late. What rests may be dead too, or
        take up the room that the server, or this machine, lacks."""
        await self._end(line)
        await self.clear()

    def look(self) -> None:
        """Whether something has come meanwhile over what rests."""
        for _, _, line in self._resting:
            self._look(line)

    async def clear(self) -> None:
        self.look()
        resting, self._resting = self._resting, []
        for _, _, line in resting:
            await self._end(line)

    async def _end(self, line: Line, rested: bool = False) -> None:
        if self._doubt or not rested:
            self._unproven += line.later
        await line.close()

    def _look(self, line: Line) -> None:
        raw = line.unasked()
        if raw is not None:
            self.out_of_turn = True
            self._doubt |= not (self._ids_differ and line.brought(reply_id(raw)))

    @property
    def _ids_alike(self) -> bool:
        """Some servers give all replies the same id: then it tells nothing."""
        return self._first_ids > 1

    def _note_id(self, line: Line, raw: bytes) -> None:
        if self._ids_differ:
            return
        mark = reply_id(raw)
        self._ids_differ = bool(mark and self._first_id and mark != self._first_id)
        self._first_id = self._first_id or mark
        self._first_ids += bool(mark) and mark == self._first_id and not line.replies
        self.out_of_turn |= self._puzzled and self._ids_differ


class _Connector(aiohttp.TCPConnector):
    """Lets one see the connection that it made."""

    held: ResponseHandler | None = None

    async def connect(self, *args: Any, **named: Any) -> Held:
        found = await super().connect(*args, **named)
        self.held = found.protocol
        return found


def reply_id(raw: bytes) -> bytes:
    """A reply's own name (`chatcmpl-…`, `msg_…`, Gemini's `responseId`); empty where it has none."""
    found = _ID.search(raw)
    return found[1] if found else b""


def _at_once(reading: Coroutine[Any, Any, _T]) -> _T:
    """What a coroutine returns that has nothing to wait for."""
    try:
        reading.send(None)
    except StopIteration as over:
        found: _T = over.value
        return found
    reading.close()
    raise RuntimeError("it waits")

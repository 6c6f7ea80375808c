"""A server's connections: none is held open for nothing, and nobody who asks without pause takes the others' time."""

import asyncio
import re
import resource
from collections import Counter, OrderedDict
from typing import Any, NoReturn

import h11  # which uvicorn's protocol is made of
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqlab.study.web.settings import address_of, network_of

MOST_HEAD = 24 * 1024
"""Bytes of a request's head: the longest query and cookies that are taken, and half as much again."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_IN_NO_HEAD = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
"""Characters at which h11 begins a line anew for each blank before them: one request of 120 kB took 30 s."""
_MOST_AHEAD = 16 * 1024
"""Bytes that are read before their turn, and what came with them."""
_MOST_PENDING = 96 * 1024
"""Bytes that may wait for their turn: no request has more, with its body. Who sends further ones before the reply to
the first would fill the memory."""
_SPARE = 128
"""File descriptors left for the store, logs and what else a process opens."""
_MOST = 4096
"""Connections of people. As many files again are kept for connections to models: strangers' must not stop talks."""
_SHARE = 4
"""One address may hold this part of all connections: a class behind one router has some hundred."""
_AT_ONCE = 4
"""Pieces of what an address has sent that are one turn."""
_LET_IN = 8
"""New connections that may come in between two turns of an address: the event loop takes one at a time."""


class Connections:
    """All connections of a server. When there are too many, or too many of one address, one that nobody uses makes room
    for the newcomer: first one that is kept alive between requests, then one whose request does not come, then one
    whose reply is not read. Behind a proxy all have one address, and only the whole number counts."""

    def __init__(self, most: int, *, shared: bool = False) -> None:
        self.most = most
        self.most_of_one = most if shared else max(16, most // _SHARE)
        self.open: Counter[str] = Counter()
        """By address."""
        self.idle: OrderedDict[TimedProtocol, None] = OrderedDict()
        """Answered, and kept alive for the next request; the one unused for longest first."""
        self.waiting: OrderedDict[TimedProtocol, None] = OrderedDict()
        """Without the head of a request so far, or the rest of it; the oldest first."""
        self.unread: OrderedDict[TimedProtocol, None] = OrderedDict()
        """With more of a reply than anybody has read; the oldest first."""
        self.turns = Turns()

    def make_room(self, newcomer: "TimedProtocol") -> None:
        self.turns.somebody_came = True
        too_many_of_one = self.open[newcomer.address] > self.most_of_one
        if not too_many_of_one and self.open.total() <= self.most:
            return
        unused = (*self.idle, *self.waiting, *self.unread)
        give_way = (protocol for protocol in unused if not too_many_of_one or protocol.address == newcomer.address)
        next(give_way, newcomer).drop()


class Turns:
    """Of what an address has sent a few pieces are taken up at a time; the rest waits in that address's line. So
    everybody else waits for a few requests of a flood, not for all of it."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        """Pieces by address, since its last turn was over."""
        self._lines: dict[str, OrderedDict[TimedProtocol, None]] = {}
        """By address that has had its turn: its connections over which more has come; first come, first served."""
        self.somebody_came = False

    def is_now(self, protocol: "TimedProtocol") -> bool:
        """Otherwise it is called when it is."""
        address = protocol.address
        if (line := self._lines.get(address)) is not None:
            line[protocol] = None
            return False
        self._taken[address] += 1
        if self._taken[address] == _AT_ONCE:
            del self._taken[address]
            if not self._lines:
                protocol.loop.call_soon(self._next, protocol.loop)
            self._lines[address] = OrderedDict()
        return True

    def leave(self, protocol: "TimedProtocol") -> None:
        if line := self._lines.get(protocol.address):
            line.pop(protocol, None)

    def forget(self, address: str) -> None:
        del self._taken[address]

    def _next(self, loop: asyncio.AbstractEventLoop, more: int = _LET_IN) -> None:
        if self.somebody_came and more:
            self.somebody_came = False
            loop.call_soon(self._next, loop, more - 1)
            return
        for address, line in list(self._lines.items()):
            if not line:
                del self._lines[address]
            for _ in range(min(_AT_ONCE, len(line))):
                loop.call_soon(line.popitem(last=False)[0].take_up)
        if self._lines:
            loop.call_soon(self._next, loop)


def most_connections() -> int:
    """Half of the files that the process may have open, less a few; the limit is raised as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 2 * _MOST + _SPARE
    wanted = enough if hard == resource.RLIM_INFINITY else min(hard, enough)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # the system says no: then with what there is
            pass
    return max(32, min(_MOST, (soft - _SPARE) // 2))


def timed_protocol(head_seconds: float, connections: Connections) -> type["TimedProtocol"]:
    """The protocol for one server."""

    class Own(TimedProtocol):
        seconds = head_seconds
        others = connections

    return Own


class _Requests(h11.Connection):
    """Only what h11 reads in linear time comes to it: heads that are short enough, also where one comes at once, and of
    nothing but text; and bodies that tell their length, since chunks have heads of their own."""

    refused = ""
    """Why, in words."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            self._refuse("A body must tell its length (Content-Length), and come without Transfer-Encoding.")
        return event

    def _check_head(self) -> None:
        come, _ = self.trailing_data
        end = _END_OF_HEAD.search(come, 0, MOST_HEAD)
        if end is None and len(come) > MOST_HEAD:
            self._refuse(f"A head has at most {MOST_HEAD} bytes.")
        if end is not None and _IN_NO_HEAD.search(come, 0, end.end()):
            self._refuse("A head has no control characters.")

    def _refuse(self, why: str) -> NoReturn:
        self.refused = why
        raise h11.RemoteProtocolError(why)


class TimedProtocol(H11Protocol):
    """HTTP connections that cannot be held open for nothing: the head of a request comes and a reply is read in time,
    or the connection is closed, and when there are too many one that is idle makes room. Neither uvicorn nor h11 has
    such limits by itself."""

    seconds: float
    others: Connections
    address: str = ""
    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _seen: Any = None
    """The request that came last."""

    def __init__(self, config: uvicorn.Config, *given: Any, **named: Any) -> None:
        super().__init__(config, *given, **named)
        self.conn: _Requests = _Requests(h11.SERVER, MOST_HEAD)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = network_of(peer[0]) if peer else ""
        if self.client and (found := address_of(self.client[0])):  # as --proxy names it, on a socket for both kinds too
            self.client = (str(found), self.client[1])
        self.others.open[self.address] += 1
        self._wait()
        self.others.make_room(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.others.open[self.address] -= 1
        if not self.others.open[self.address]:
            del self.others.open[self.address]
            self.others.turns.forget(self.address)
        self.others.turns.leave(self)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # which uvicorn leaves where the other side has reset the connection
        self._leave()

    def handle_events(self) -> None:
        """What has come is taken up in its turn; until then little more is read."""
        come, _ = self.conn.trailing_data
        if not come:  # a reply has ended, and nothing more is there
            return
        self.others.idle.pop(self, None)
        if len(come) > _MOST_PENDING:
            self.drop()
            return
        if self.others.turns.is_now(self):
            self.take_up()
            return
        if b"\r\n\r\n" in come:  # a head is complete, and the wait is not its sender's
            self._stop_waiting()
        if len(come) > _MOST_AHEAD:
            self.flow.pause_reading()

    def take_up(self) -> None:
        if self.transport.is_closing():
            return
        between = self.cycle is None or self.cycle.response_complete
        self.flow.resume_reading()
        try:
            super().handle_events()
        except Exception as error:
            self.drop()  # nobody else ends it: the event loop only writes down what fails in a later turn
            if not isinstance(error, h11.LocalProtocolError):  # as nonsense after the beginning of a reply
                raise
            return
        if self.cycle is not self._seen:  # a head is complete
            self._seen = self.cycle
            self._stop_waiting()
            self._wait_for_body()
        elif not between:
            self._wait_for_body()
        elif self._late is None:  # a head has begun; trickling does not make it longer
            self._wait()

    def on_response_complete(self) -> None:
        self.others.idle[self] = None
        super().on_response_complete()  # which takes up a request that has come meanwhile
        self._wait_for_body()
        self._wait_for_reader()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(self.conn.refused or msg)
        self._wait_for_reader()

    def shutdown(self) -> None:
        try:
            super().shutdown()
        except h11.LocalProtocolError:  # what is broken must not end the others
            self.drop()

    def pause_writing(self) -> None:
        """Nobody reads what was sent, or slowly."""
        super().pause_writing()
        self._wait_for_reader(paused=True)

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()
        self._wait_for_reader()

    def _wait_for_reader(self, *, paused: bool = False) -> None:
        """Where a connection is closed and stays for its last reply, too: for as long as some of it goes away in the
        time of six heads. The system itself holds megabytes, of which nobody here sees how they go."""
        if not paused and not self.transport.is_closing():
            return
        self._is_read()
        self._look_later()
        self.others.unread[self] = None

    def _look_later(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stuck = self.loop.call_later(6 * self.seconds, self._look, left)

    def _look(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._look_later()
        else:
            self.drop()

    def _is_read(self) -> None:
        self.others.unread.pop(self, None)
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def drop(self) -> None:
        self._leave()
        self.transport.abort()  # also one that is closed, and waits for its reader

    def _leave(self) -> None:
        self.others.idle.pop(self, None)
        self._stop_waiting()
        self._is_read()

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.drop)
        self.others.waiting[self] = None

    def _wait_for_body(self) -> None:
        """The application ends what takes too long; until then it gives way to others."""
        if self.cycle.more_body and not self.cycle.response_complete:
            self.others.waiting.setdefault(self)
        elif self._late is None:
            self.others.waiting.pop(self, None)

    def _stop_waiting(self) -> None:
        self.others.waiting.pop(self, None)
        if self._late is not None:
            self._late.cancel()
            self._late = None

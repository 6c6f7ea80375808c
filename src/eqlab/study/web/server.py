"""Running the application: long keep-alive, no connection held open for nothing, and a stop that lets saves finish."""

import asyncio
import os
import resource
import signal
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import h11  # which uvicorn's protocol is made of
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqlab.core.errors import UsageError
from eqlab.study.web.log import LOG_CONFIG
from eqlab.study.web.settings import ServerSettings, address_of, network_of

if TYPE_CHECKING:
    from eqlab.study.served_study import ServedStudy

KEEP_ALIVE = 75
"""Seconds. With uvicorn's 5, some posts meet a connection that is just being closed."""
GRACE = 20
"""Seconds that a stop waits for requests under way."""
_MOST_PIECES = 500
"""Of a body; one of 64 kB comes in fifty packets."""
_MOST_HEAD = 24 * 1024
"""Bytes of a request's head: the longest query and cookies that are taken, and half as much again."""


def config(
    studies: "Sequence[ServedStudy]", settings: ServerSettings, host: str, port: int, *, quiet: bool = False
) -> uvicorn.Config:
    from eqlab.study.web.app import create_app

    return app_config(create_app(studies, settings), settings, host, port, quiet=quiet)


def app_config(
    app: ASGIApp, settings: ServerSettings, host: str, port: int, *, quiet: bool = False, grace: int = GRACE
) -> uvicorn.Config:
    """How any application of ours is served."""
    return uvicorn.Config(
        app,
        http=timed_protocol(settings.head_seconds, Connections(most_connections(), shared=bool(settings.proxy))),
        host=host,
        port=port,
        workers=1,
        loop="auto",  # uvloop, where there is one for this Python
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=grace,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application does it, for the one proxy it was told of
        log_config=None if quiet else LOG_CONFIG,
        backlog=2048,
        h11_max_incomplete_event_size=_MOST_HEAD,
    )


class Server(uvicorn.Server):
    """Tells when it is ready, and where."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            own = sockets[0] if sockets else self.servers[0].sockets[0]
            self._ready(own.getsockname()[1])


def serve(
    studies: "Sequence[ServedStudy]",
    settings: ServerSettings,
    host: str,
    port: int,
    ready: Callable[[int], None],
    listening: socket.socket | None = None,
) -> None:
    """Serve until stopped by a signal. What is being saved then is saved. `listening` is a socket that several
    processes share."""
    server = Server(config(studies, settings, host, port), ready)
    for name in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal again when it has stopped
        signal.signal(name, lambda *_: None)
    try:
        server.run([listening] if listening else None)
    except SystemExit:  # uvicorn's way to say that it could not begin; it has logged why
        pass
    finally:
        for served in studies:
            served.close()
    if not server.started:
        raise UsageError(f"Nothing can be served on {host}:{port}.", "Is the port in use? Name another with --port.")


@contextmanager
def running(studies: "Sequence[ServedStudy]", settings: ServerSettings, port: int = 0) -> Iterator[str]:
    """A server on loopback in a thread of its own, for simulations and tests: its address. Closes the studies at the
    end."""
    try:
        with in_thread(config(studies, settings, "127.0.0.1", port, quiet=True)) as found:
            yield f"http://127.0.0.1:{found}"
    finally:
        for served in studies:
            served.close()


@contextmanager
def in_thread(config: uvicorn.Config, listening: socket.socket | None = None) -> Iterator[int]:
    """A server in a thread of its own: its port."""
    found: list[int] = []
    begun = threading.Event()

    def ready(where: int) -> None:
        found.append(where)
        begun.set()

    server = Server(config, ready)

    def work() -> None:
        try:
            server.run([listening] if listening else None)
        finally:
            begun.set()

    thread = threading.Thread(target=work, name="eqlab-server", daemon=True)
    thread.start()
    begun.wait(30)
    if not found:
        raise UsageError("The server did not start.", "Is the port in use?")
    try:
        yield found[0]
    finally:
        server.should_exit = True
        thread.join(GRACE + 5)


# -- connections -------------------------------------------------------------------------------------------------------

_SPARE = 128
"""File descriptors left for the store, logs and what else a process opens."""
_MOST = 4096
"""Connections of people. As many files again are kept for connections to models: strangers' must not stop talks."""
_SHARE = 4
"""One address may hold this part of all connections: a class behind one router has some hundred."""


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

    def make_room(self, newcomer: "TimedProtocol") -> None:
        too_many_of_one = self.open[newcomer.address] > self.most_of_one
        if not too_many_of_one and self.open.total() <= self.most:
            return
        unused = (*self.idle, *self.waiting, *self.unread)
        give_way = (protocol for protocol in unused if not too_many_of_one or protocol.address == newcomer.address)
        next(give_way, newcomer).drop()


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


class _Pieces(h11.Connection):
    """A body comes in so many pieces at most: taking one of sixty thousand single bytes apart took a second."""

    count = 0

    def next_event(self) -> Any:
        if self.count > _MOST_PIECES:
            return h11.NEED_DATA
        event = super().next_event()
        self.count = self.count + isinstance(event, h11.Data) if not isinstance(event, h11.Request) else 0
        return event


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
        self.conn: _Pieces = _Pieces(h11.SERVER, config.h11_max_incomplete_event_size or _MOST_HEAD)

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
        self.others.idle.pop(self, None)
        self._stop_waiting()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        between = self.cycle is None or self.cycle.response_complete
        self.others.idle.pop(self, None)
        super().data_received(data)
        if self.conn.count > _MOST_PIECES:
            self.drop()
        elif self.cycle is not self._seen:  # a head is complete
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
        self._seen = self.cycle
        if not self.cycle.response_complete:
            self.others.idle.pop(self, None)
        self._wait_for_body()

    def pause_writing(self) -> None:
        """Nobody reads what was sent; a few kilobytes a second are reading."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.seconds, self.drop)
        self.others.unread[self] = None

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def _is_read(self) -> None:
        self.others.unread.pop(self, None)
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def drop(self) -> None:
        self.others.idle.pop(self, None)
        self._stop_waiting()
        self._is_read()
        if not self.transport.is_closing():
            self.transport.abort()

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


# -- several processes on one address ----------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """A socket that processes made by `share` inherit."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise UsageError(
            f"Nothing can be served on {host}:{port} ({error.strerror}).",
            "Is the port in use? Name another with --port.",
        ) from error
    made.listen(2048)
    made.set_inheritable(True)
    return made


def share(workers: int, work: Callable[[int], None]) -> int:
    """Run `work` in so many processes and wait for all of them; the status to end with. A signal to this one goes to
    all; when one ends by itself, the others are stopped, so that whoever watches the service sees it. Each has its own
    connections to the store, where sessions and limits are: it does not matter which process a request finds."""
    children: dict[int, int] = {}
    for number in range(workers):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(number)
                code = 0
            finally:
                os._exit(code)
        children[child] = number

    def pass_on(what: int, _: object = None) -> None:
        for child in children:
            try:
                os.kill(child, what)
            except ProcessLookupError:
                continue

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, pass_on)
    worst = 0
    while children:
        child, status = os.wait()
        children.pop(child, None)
        worst = worst or os.waitstatus_to_exitcode(status)
        pass_on(signal.SIGTERM)
    return worst

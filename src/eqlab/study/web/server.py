"""Running the application: long keep-alive, one process or several, and a stop that lets saves finish."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from eqlab.core.errors import UsageError
from eqlab.study.web.connections import Connections, most_connections, timed_protocol
from eqlab.study.web.log import LOG_CONFIG
from eqlab.study.web.settings import ServerSettings

if TYPE_CHECKING:
    from eqlab.study.served_study import ServedStudy

KEEP_ALIVE = 75
"""Seconds. With uvicorn's 5, some posts meet a connection that is just being closed."""
GRACE = 20
"""Seconds that a stop waits for requests under way."""
_SWITCH = 0.001
"""Seconds that a thread at the store waits for a busy event loop to let it go on, some dozen times a page."""


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
    sys.setswitchinterval(_SWITCH)
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

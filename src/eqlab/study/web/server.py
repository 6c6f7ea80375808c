"""Running the application: long keep-alive, no connection held open for nothing, and a stop that lets saves finish."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn

from eqlab.core.errors import UsageError
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.app import create_app
from eqlab.study.web.log import LOG_CONFIG
from eqlab.study.web.protocol import Connections, guarded, most_connections
from eqlab.study.web.settings import ServerSettings

KEEP_ALIVE = 75
"""Seconds. With uvicorn's 5, some posts meet a connection that is just being closed."""
GRACE = 20
"""Seconds that a stop waits for requests under way."""


def config(
    studies: Sequence[ServedStudy], settings: ServerSettings, host: str, port: int, *, quiet: bool = False
) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(studies, settings),
        http=guarded(settings.head_seconds, Connections(most_connections())),
        host=host,
        port=port,
        workers=1,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
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
    studies: Sequence[ServedStudy],
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
def running(studies: Sequence[ServedStudy], settings: ServerSettings, port: int = 0) -> Iterator[str]:
    """A server on loopback in a thread of its own, for simulations and tests: its address. Closes the studies at the
    end."""
    found: list[int] = []
    begun = threading.Event()

    def ready(where: int) -> None:
        found.append(where)
        begun.set()

    server = Server(config(studies, settings, "127.0.0.1", port, quiet=True), ready)

    def work() -> None:
        try:
            server.run()
        finally:
            begun.set()

    thread = threading.Thread(target=work, name="eqlab-study", daemon=True)
    thread.start()
    begun.wait(30)
    if not found:
        raise UsageError("The study's server did not start.", "Is the port in use?")
    try:
        yield f"http://127.0.0.1:{found[0]}"
    finally:
        server.should_exit = True
        thread.join(GRACE + 5)
        for served in studies:
            served.close()

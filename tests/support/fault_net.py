"""What can break on the way to a server: names, addresses, certificates, proxies."""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from fault_world import World, in_the_middle
from in_thread import in_thread

NAME = "models.test"
AGAIN, UNKNOWN = int(socket.EAI_AGAIN), int(socket.EAI_NONAME)

_RESOLVER = """
import socket, time
import eqlab.models.connections
eqlab.models.connections.NameResolver._FRESH = 0.0
_began, _real = [], socket.getaddrinfo
def _found(host, port, *more, **named):
    if host != "models.test":
        return _real(host, port, *more, **named)
    _began.append(time.monotonic())
    answer = [one for after, one in STEPS if time.monotonic() - _began[0] >= after][-1]
    if isinstance(answer, int):
        raise socket.gaierror(answer, "no")
    families = [socket.AF_INET6 if ":" in one else socket.AF_INET for one in answer]
    return [(family, socket.SOCK_STREAM, 6, "", (one, port, 0, 0)[: 4 if ":" in one else 2])
            for family, one in zip(families, answer)]
socket.getaddrinfo = _found
"""


def names(*steps: tuple[float, int | tuple[str, ...]]) -> str:
    """Python for a process in which `models.test` means something else after so many seconds: addresses, or a failure.
    Nothing is remembered, so that every new connection asks."""
    return _RESOLVER.replace("STEPS", repr(steps))


_DOWN = """
import os, socket
_real = socket.getaddrinfo
def _found(host, port, *more, **named):
    if host == "models.test" and os.path.exists(DOWN):
        raise socket.gaierror(socket.EAI_AGAIN, "no")
    return _real("127.0.0.1" if host == "models.test" else host, port, *more, **named)
socket.getaddrinfo = _found
"""


def down_while(there: Path) -> str:
    """Python for any process, such as a worker that others start: `models.test` is here, and cannot be looked up while
    that file is there."""
    return _DOWN.replace("DOWN", repr(str(there)))


HERE = names((0.0, ("127.0.0.1",)))


@contextmanager
def deaf_place(address: str, port: int) -> Iterator[None]:
    """A place that neither takes a connection nor refuses one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listening, ExitStack() as waiting:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket(family))
            caller.setblocking(False)
            caller.connect_ex((address, port))
        yield


def deaf(address: str) -> Callable[[World], Iterator[None]]:
    """Such a place at the server's port."""

    def around(world: World) -> Iterator[None]:
        with deaf_place(address, urlsplit(world.server.url).port or 0):
            yield

    return around


def context_of(folder: Path) -> ssl.SSLContext:
    """A server's, with a good certificate; the others lie beside it."""
    from certificates import write_certificates

    write_certificates(folder)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(folder / "good.pem")
    return made


def certificate(name: str) -> Callable[[World], Iterator[None]]:
    """Another certificate in the middle; the good one comes back."""

    def around(world: World) -> Iterator[None]:
        tls = world.server.tls
        if tls is None:
            raise ValueError("the server has no certificate to replace")
        yield from in_the_middle(world, lambda _: tls.load_cert_chain(world.folder / f"{name}.pem"))
        tls.load_cert_chain(world.folder / "good.pem")

    return around


class Proxy:
    """Connects whoever asks (CONNECT); what it says can be changed, and it can go away."""

    def __init__(self) -> None:
        self.says = b"HTTP/1.1 200 OK\r\n\r\n"
        self.away = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.away:
            writer.transport.abort()
            return
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(self.says)
        if b" 200 " not in self.says:
            writer.close()
            return
        host, port = head.split()[1].rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while not self.away and (data := await source.read(65536)):
                    target.write(data)
            target.close()

        await asyncio.gather(copy(reader, back), copy(there, writer))


def behind_proxy(happens: Callable[[Proxy, threading.Event], None]) -> Callable[[World], Iterator[None]]:
    """HTTPS_PROXY is set, and in the middle something happens to it."""

    def around(world: World) -> Iterator[None]:
        proxy = Proxy()

        @asynccontextmanager
        async def listening() -> AsyncIterator[int]:
            opened = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
            yield int(opened.sockets[0].getsockname()[1])
            opened.close()

        with in_thread(listening) as port:
            os.environ["https_proxy"] = f"http://127.0.0.1:{port}"
            try:
                yield from in_the_middle(world, lambda over: happens(proxy, over))
            finally:
                del os.environ["https_proxy"]

    return around


def dies_for(seconds: float) -> Callable[[Proxy, threading.Event], None]:
    def happens(proxy: Proxy, over: threading.Event) -> None:
        proxy.away = True
        over.wait(seconds)
        proxy.away = False

    return happens


def then_says(status: str) -> Callable[[Proxy, threading.Event], None]:
    """Of new connections; the old ones end."""

    def happens(proxy: Proxy, over: threading.Event) -> None:
        proxy.away = True
        proxy.says = f"HTTP/1.1 {status}\r\n\r\n".encode()
        over.wait(0.5)
        proxy.away = False

    return happens

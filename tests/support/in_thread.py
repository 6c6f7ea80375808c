"""A server in a thread of this process, on loopback, for as long as a block of code lasts."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

from aiohttp import web


async def some_turns() -> None:
    """Of the event loop: a connection that is taken reaches its handler in five, and is closed two after that."""
    for _ in range(10):
        await asyncio.sleep(0)


@contextmanager
def in_thread(open_server: Callable[[], AbstractAsyncContextManager[int]]) -> Iterator[int]:
    """Opens it in an event loop of its own and says its port; what is still under way at the end is cancelled."""
    loop = asyncio.new_event_loop()
    started, over = threading.Event(), asyncio.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with open_server() as port:
            ports.append(port)
            started.set()
            await over.wait()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await some_turns()  # what was closed is closed

    def work() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(serve())
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield ports[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(over.set)
        thread.join(10)


@contextmanager
def served(*routes: web.RouteDef, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[int]:
    """An application of these routes, at a port or at any; says which."""

    @asynccontextmanager
    async def listening() -> AsyncIterator[int]:
        app = web.Application(client_max_size=2**26)
        app.router.add_routes(routes)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
        try:
            yield int(runner.addresses[0][1])
        finally:
            await runner.cleanup()

    with in_thread(listening) as found:
        yield found

"""The application: a store in, screens out. One file a screen beside this one, which puts them together."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from eqlab.core.errors import EqlabError
from eqlab.study.web.guard import RequestGuard
from eqlab.study.web.server import app_config, in_thread, listen
from eqlab.study.web.settings import ServerSettings
from eqlab.view import compare, items, judges, rate, runs, start, studies, talks, trend
from eqlab.view.door import TOKEN, Door, new_token
from eqlab.view.site import ViewSite, address, root_of, site_of

HOST = "127.0.0.1"
_GRACE = 2
"""Seconds that a stop waits: pages that listen for news never end by themselves."""
_PAUSE = 1.0
_REFUSED = {
    401: (
        "This page needs the address with its token.",
        "Open the address that 'eqlab view' printed: this browser then keeps a cookie.",
    ),
    403: ("Another site sent this.", "Nothing was done. Use the pages of this server."),
    404: ("There is no such page.", "Go back to the list of runs."),
    405: ("There is no such page.", "Go back to the list of runs."),
    413: ("That is too much at once.", "Send less."),
    431: ("The address is too long.", "Choose fewer runs, models or words."),
    421: ("This server answers for its own address only.", "Open the address that 'eqlab view' printed."),
}
_BROKEN = ("Something went wrong here.", "What is stored is as it was; the terminal says where it happened.")


def create_app(site: ViewSite, port: int) -> Starlette:
    """The application; it starts and ends the shelf."""

    @asynccontextmanager
    async def shelf(_: Starlette) -> AsyncIterator[None]:
        site.shelf.start()
        yield
        await asyncio.to_thread(start.end_all, site)
        await asyncio.to_thread(site.shelf.close)

    def refuse(scope: Scope, status: int) -> Response:
        return _message(site, scope, status, *_REFUSED.get(status, _BROKEN))

    async def strangers(scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(scope, 401)(scope, receive, send)

    app = Starlette(
        routes=[
            Route("/static/{name}", static),
            Route("/live", live),
            *runs.ROUTES,
            *trend.ROUTES,
            *compare.ROUTES,
            *items.ROUTES,
            *talks.ROUTES,
            *judges.ROUTES,
            *studies.ROUTES,
            *rate.ROUTES,
            *start.ROUTES,
        ],
        middleware=[
            Middleware(RequestGuard, settings=settings_of(port), refuse=refuse),
            Middleware(Door, token=site.token, refuse=strangers),
        ],
        exception_handlers={EqlabError: _said, HTTPException: _turned_away},
        lifespan=shelf,
    )
    app.state.site = site
    return app


def settings_of(port: int) -> ServerSettings:
    """Requests must be for exactly this address: another name that leads here could be anybody's."""
    return ServerSettings(b"", public_url=f"http://{HOST}:{port}", address_limit=20_000)  # a comparison of many runs


async def static(request: Request) -> Response:
    file = site_of(request).files.get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    return file.response("gzip" in request.headers.get("accept-encoding", ""))


async def live(request: Request) -> Response:
    """Says when there is something new; what it is, the page asks for itself."""
    site = site_of(request)

    async def events() -> AsyncIterator[str]:
        def state() -> str:
            return f"{site.shelf.watched()}.{sum(run.going for run in site.started.values())}"

        last = state()
        yield f"retry: 3000\ndata: {last}\n\n"
        while not site.closing and not await request.is_disconnected():
            await asyncio.sleep(_PAUSE)
            now = state()
            yield f"data: {now}\n\n" if now != last else ": nothing new\n\n"
            last = now

    return StreamingResponse(events(), media_type="text/event-stream")


async def _said(request: Request, error: Exception) -> Response:
    message, hint = (error.message, error.hint) if isinstance(error, EqlabError) else _BROKEN
    return _message(site_of(request), request.scope, 400, message, hint)


async def _turned_away(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _message(site_of(request), request.scope, status, *_REFUSED.get(status, _BROKEN))


def _message(site: ViewSite, scope: Scope, status: int, message: str, hint: str) -> Response:
    root = root_of(scope)
    bare = {"type": "http", "root_path": root, "path": "", "headers": [], "query_string": b"", "method": "GET"}
    return site.page(Request(bare), "message", status, message=message, hint=hint)


@contextmanager
def serving(site: ViewSite, port: int = 0, path: str = "/") -> Iterator[str]:
    """A server in a thread of its own: the address to open, with its token."""
    listening = listen(HOST, port)
    actual = int(listening.getsockname()[1])
    app: ASGIApp = create_app(site, actual)
    config = app_config(app, settings_of(actual), HOST, actual, grace=_GRACE)
    with listening, in_thread(config, listening):
        try:
            yield f"http://{HOST}:{actual}{address(path, [(TOKEN, site.token)])}"
        finally:
            site.closing = True  # pages that wait for news would wait for ever


def make_site(where: str, **more: object) -> ViewSite:
    return ViewSite(where, new_token(), **more)  # type: ignore[arg-type]

"""What every request passes first, in a study's application and in `eqlab view`: body size, host, same origin, and the
headers of every reply. Plain ASGI, so that it costs next to nothing."""

import asyncio
import logging
import time
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eqlab.study.web.log import say, where
from eqlab.study.web.settings import ServerSettings, is_address, is_loopback

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: with it a browser on plain http sends "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_HEADERS = 100
_FIELD = 16
"""Characters of a usual query that are a field: four thousand empty ones took 10 ms."""


class TooLarge(Exception):
    """A body beyond the limit."""


class TooSlow(Exception):
    """A body that does not come to its end."""


class RequestGuard:
    """Turns away what is too large, too slow, not for this host or not from our own page."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, refuse: Any) -> None:
        """`refuse(scope, status) -> Response` makes the page for a request that is turned away."""
        self._app, self._settings, self._refuse = app, settings, refuse
        always = HEADERS | ({"strict-transport-security": "max-age=31536000"} if settings.https else {})
        self._headers = [(name.encode(), value.encode()) for name, value in always.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False
        read = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = message["headers"]
                kept = any(name == b"cache-control" for name, _ in own)
                more = [] if kept else [(b"cache-control", b"no-store")]
                if scope.get("eqlab_close"):
                    more.append((b"connection", b"close"))
                message["headers"] = [*own, *self._headers, *more]
                if message["status"] >= 500:
                    say(logging.ERROR, "failed", status=message["status"], route=_route(scope))
            await send(message)

        deadline = time.monotonic() + self._settings.body_seconds
        complete = scope["method"] in _SAFE

        async def limited() -> Message:
            nonlocal read, complete
            if complete:  # nothing but the end of the connection is waited for
                return await receive()
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):  # needs no task, as wait_for does
                    message = await receive()
            except TimeoutError:
                raise TooSlow from None
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > self._settings.body_limit:
                raise TooLarge
            return message

        status = self._verdict(scope)
        if status:
            await self._refuse(scope, status)(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, limited, send_with_headers)
        except (TooLarge, TooSlow) as error:
            if not begun:
                scope["eqlab_close"] = True
                status = 413 if isinstance(error, TooLarge) else 408
                await self._refuse(scope, status)(scope, receive, send_with_headers)
        except ClientDisconnect:  # gone before everything had come: nobody is there to be told
            return
        except Exception as error:  # noqa: BLE001 - the last line: nobody is shown a trace, and the server goes on
            say(logging.ERROR, "error", error=where(error), route=_route(scope))
            if not begun:
                await self._refuse(scope, 500)(scope, receive, send_with_headers)

    def _verdict(self, scope: Scope) -> int:
        """0, or the status with which the request is turned away."""
        if len(scope["headers"]) > _MOST_HEADERS:
            return 431
        headers = Headers(scope=scope)
        if not self._our_host(headers.get("host", "").lower(), scope["path"]):
            return 421
        asked = (scope["query_string"], headers.get("cookie", ""))
        if max(map(len, asked)) > self._settings.address_limit:
            return 431
        if scope["query_string"].count(b"&") > self._settings.address_limit // _FIELD:
            return 431
        length = headers.get("content-length", "")
        if length and (not length.isdecimal() or int(length) > self._settings.body_limit):
            return 413
        if scope["method"] in _SAFE or scope["path"].startswith("/hooks/"):
            return 0
        return 0 if same_origin(headers, self._settings.origin or _own_origin(scope, headers)) else 403

    def _our_host(self, host: str, path: str) -> bool:
        """Whether a request is for the address that participants know: another name that leads here could be
        anybody's. A proxy may call us by a name of this machine, and so may a monitor. Where no address was told, a
        number or this machine's own name is meant; any other name could have been made to lead here."""
        ours = self._settings.host
        if ours and host == ours:
            return True
        try:
            name = "" if "@" in host else urlsplit(f"//{host}").hostname or ""
        except ValueError:  # a bracket that does not close
            return False
        here = name == "localhost" or is_loopback(name)
        if not ours:
            return here or is_address(name) or name == gethostname().lower()
        return here and (bool(self._settings.proxy) or path == "/health")


def same_origin(headers: Headers, ours: str) -> bool:
    """Whether a browser says that a post comes from our own page. `Sec-Fetch-Site` cannot be forged by a page; browsers
    that do not send it (old, or plain http) send `Origin`, and one that names no site must not name another origin."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site == "same-origin" or (site == "none" and origin is None):
        return True
    return site in (None, "none") and bool(ours) and (origin or "").lower() == ours.lower()


def linked_by_us(scope: Scope, settings: ServerSettings) -> bool:
    """Whether a browser says that a link of our own page led here, or nobody's: the same for what only reads, and is
    written down. Links have no `Origin`; browsers that do not send `Sec-Fetch-Site` send a `Referer` from our pages."""
    headers = Headers(scope=scope)
    ours = settings.origin or _own_origin(scope, headers)
    if same_origin(headers, ours):
        return True
    try:
        page = urlsplit(headers.get("referer", ""))
    except ValueError:  # no address at all
        return False
    silent = "sec-fetch-site" not in headers and "origin" not in headers
    return silent and bool(ours) and f"{page.scheme}://{page.netloc}".lower() == ours.lower()


def _own_origin(scope: Scope, headers: Headers) -> str:
    host = headers.get("host", "")
    return f"{scope['scheme']}://{host}" if host and not urlsplit(f"//{host}").path else ""


def _route(scope: Scope) -> str:
    """The pattern of the address, never the address."""
    return getattr(scope.get("route"), "path", "")


def parse_cookies(header: str) -> dict[str, list[str]]:
    """A Cookie header, as browsers write it: other programs on the same host put anything into theirs, and pages of
    sibling hosts can set cookies of our names. So a name may have several values, and which is ours is not told. A name
    is taken as the browser has it: with another blank than these before it, anybody may set it."""
    found: dict[str, list[str]] = {}
    for part in header.split(";"):
        name, is_pair, value = part.partition("=")
        if is_pair:
            found.setdefault(name.strip(" \t"), []).append(value.strip(" \t").strip('"'))
    return found

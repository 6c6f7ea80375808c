"""Who may look: whoever opened the address that the command printed. The token stands in an address once and becomes a
cookie, for addresses under a secret path only: a browser sends cookies to every port of a host, another user's among
them. Requests for another host, or sent by another site's page, are turned away before (`study.web.guard`)."""

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from socket import inet_aton
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from eqlab.study.web.guard import parse_cookies

TOKEN = "token"
COOKIE = "eqlab_view"
_OPEN = "/static/"
"""Styles and scripts, which tell nothing."""
_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Where Linux says whose each connection is."""


def new_token() -> str:
    return secrets.token_urlsafe(32)


def derived(token: str, what: str) -> str:
    """Cookie, path and form mark are made of the token, and do not tell it."""
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()


def for_browser(address: str) -> str:
    """The address that a browser is started with, which others may read in process lists: its token lets in nobody but
    this user's processes, and tells nothing of the other."""
    before, _, token = address.rpartition("=")
    return f"{before}={derived(token, 'browser')}"


def of_another_user(scope: Scope) -> bool:
    """Whether another user's process holds the other end of a connection; False where the system does not tell."""
    here, there = (f"{inet_aton(host)[::-1].hex()}:{port:04x}" for host, port in (scope["client"], scope["server"]))
    tables = []
    for table in _CONNECTIONS:
        with suppress(OSError):
            tables.append(table.read_text().lower().splitlines()[1:])
    for fields in (line.split() for lines in tables for line in lines):
        if fields[1].endswith(here) and fields[2].endswith(there):  # IPv6 has the address of IPv4 at its end
            return int(fields[7]) not in (0, os.getuid())
    return bool(tables)


def same(one: str, other: str) -> bool:
    """In the same time whether they are alike or not."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


class Door:
    def __init__(self, app: ASGIApp, token: str, refuse: ASGIApp) -> None:
        """`refuse` answers who has no token, or not both cookie and path."""
        self._app, self._token, self._refuse = app, token, refuse
        self._cookie = derived(token, "cookie")
        self._for_browser = derived(token, "browser")
        self._root = f"/{derived(token, 'path')[:32]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_OPEN):
            await self._app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN]
        if given and scope["method"] == "GET" and self._opens(given[0], scope):
            await self._let_in(scope["path"], query)(scope, receive, send)
            return
        cookies = parse_cookies(Headers(scope=scope).get("cookie", ""))
        known = any(same(value, self._cookie) for value in cookies.get(COOKIE, ()))
        if not known or not same(scope["path"][: len(self._root) + 1], f"{self._root}/"):
            await self._refuse(scope, receive, send)
            return
        scope["root_path"] = self._root  # every page says it in its links, and a refusal that came before does not
        await self._app(scope, receive, send)

    def _opens(self, token: str, scope: Scope) -> bool:
        return same(token, self._token) or (same(token, self._for_browser) and not of_another_user(scope))

    def _let_in(self, path: str, query: list[tuple[str, str]]) -> Response:
        """To the same page without the token, which no history or referrer then holds."""
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        local = self._root + path.removeprefix(self._root)
        reply = RedirectResponse(f"{local}?{rest}" if rest else local, 303)
        reply.set_cookie(COOKIE, self._cookie, httponly=True, samesite="strict", path=f"{self._root}/")
        return reply

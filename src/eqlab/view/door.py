"""Who may look: whoever opened the address that the command printed. The token stands in an address once and becomes a
cookie; requests for another host, or sent by another site's page, are turned away before (`study.web.guard`)."""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from eqlab.study.web.guard import parse_cookies

TOKEN = "token"
_OPEN = "/static/"
"""Styles and scripts, which tell nothing."""


def new_token() -> str:
    return secrets.token_urlsafe(32)


def derived(token: str, what: str) -> str:
    """Cookie and form mark are made of the token, and do not tell it."""
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """In the same time whether they are alike or not."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


class Door:
    def __init__(self, app: ASGIApp, token: str, port: int, refuse: ASGIApp) -> None:
        """`refuse` answers who has neither token nor cookie."""
        self._app, self._token, self._refuse = app, token, refuse
        self._name = f"eqlab_view_{port}"  # cookies know no ports: several views stay apart by name
        self._cookie = derived(token, "cookie")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_OPEN):
            await self._app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN]
        if given and scope["method"] == "GET" and same(given[0], self._token):
            await self._let_in(scope["path"], query)(scope, receive, send)
            return
        cookies = parse_cookies(Headers(scope=scope).get("cookie", ""))
        known = any(same(value, self._cookie) for value in cookies.get(self._name, ()))
        await (self._app if known else self._refuse)(scope, receive, send)

    def _let_in(self, path: str, query: list[tuple[str, str]]) -> Response:
        """To the same page without the token, which no history or referrer then holds."""
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        local = "/" + path.lstrip("/\\")  # "//elsewhere" would be another site
        reply = RedirectResponse(f"{local}?{rest}" if rest else local, 303)
        reply.set_cookie(self._name, self._cookie, httponly=True, samesite="strict", path="/")
        return reply

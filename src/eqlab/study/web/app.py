"""The web application: studies in, pages out. Handlers live in the files beside; this one puts them together, after
what every request passes first (`guard`).

A panel's signed messages come here, too: whose submission was returned or has timed out gives the place back at
once. Prolific signs with base64(HMAC-SHA256(secret, timestamp + body)) in X-Prolific-Request-Signature, the
timestamp in X-Prolific-Request-Timestamp; it delivers at least once, with the same X-Event-ID each time
(docs.prolific.com/api-reference/webhooks)."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from eqlab.core.errors import StoreError
from eqlab.core.moves import Unknown
from eqlab.study.panels import derive, panel_hash
from eqlab.study.served_study import ServedStudy
from eqlab.study.web import api, pages, researcher
from eqlab.study.web.guard import RequestGuard
from eqlab.study.web.log import say
from eqlab.study.web.settings import ServerSettings, network_of
from eqlab.study.web.site import Site, SomebodyElse, client_of, redirect, site_of, study_of

_HEALTHY = 2.0
"""Seconds for which a write that worked is believed."""
_PING = 5.0
"""Seconds after which a write that has not ended counts as none."""
_FAILED = 10.0
"""Seconds for which a write that failed is remembered."""

router = APIRouter(include_in_schema=False)
FRESH_SECONDS = 15 * 60
"""Older messages are not believed; Prolific stamps each delivery anew."""
RELEASES = frozenset({"RETURNED", "TIMED-OUT", "TIMED_OUT"})
SIGNING = frozenset({"prolific"})


@router.post("/hooks/{study}/{panel}")
async def hook(request: Request, study: str, panel: str) -> Response:
    site = site_of(request)
    served = site.studies.get(study)
    if served is None or panel not in SIGNING or served.study.panel.name.casefold() != panel:
        return JSONResponse({"detail": "There is no such study."}, 404)
    if not site.hooks.allows(network_of(client_of(request))):
        return JSONResponse({"detail": "Too many."}, 429, {"retry-after": "60"})
    body = await request.body()
    stamp = request.headers.get("x-prolific-request-timestamp", "")
    signature = request.headers.get("x-prolific-request-signature", "")
    if not genuine(site.settings.hook_secret, stamp, body, signature, time.time()):
        say(logging.WARNING, "a panel's message was not believed", study=study)
        return JSONResponse({"detail": "The signature is not right."}, 401)
    told = _read(body)
    if told is None:
        return JSONResponse({"outcome": "ignored"})
    person, status, resource = told
    # Event ids are kept hashed: with some panels they name a submission.
    event = request.headers.get("x-event-id") or f"{resource} {status}"
    key = hmac.new(derive(site.settings.secret, "event"), event.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
    released = await served.write(
        served.participation.release, panel_hash(site.settings.secret, person), key, status.lower().replace("_", "-")
    )
    return JSONResponse({"outcome": "released" if released else "ignored"})


def genuine(secret: bytes, stamp: str, body: bytes, signature: str, now: float) -> bool:
    """Whether the panel has signed this, lately."""
    if not secret or not stamp.isascii() or not stamp.isdecimal() or len(stamp) > 13:
        return False
    seconds = int(stamp) / (1000 if len(stamp) == 13 else 1)
    if abs(now - seconds) > FRESH_SECONDS:
        return False
    good = base64.b64encode(hmac.new(secret, stamp.encode() + body, hashlib.sha256).digest())
    return hmac.compare_digest(good, signature.encode("utf-8", "replace"))


def _read(body: bytes) -> tuple[str, str, str] | None:
    """(person, status, submission) of a message that gives a place back; None for any other."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("event_type") != "submission.status.change":
        return None
    person, status, resource = (told.get(key) for key in ("participant_id", "status", "resource_id"))
    if not isinstance(person, str) or not isinstance(status, str):
        return None
    status = status.upper().replace(" ", "-")
    return (person, status, str(resource)) if status in RELEASES and person.strip() else None


_MESSAGES = {
    401: "login",
    403: "refused",
    404: "missing",
    405: "missing",
    408: "late",
    413: "large",
    431: "large",
    421: "missing",
    429: "busy",
}


class StudyApp(FastAPI):
    """Participants' pages go past the framework's own layers: they have no schema, and the layers cost as much as a
    page."""

    pages: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/s/"):
            scope["app"] = self
            await self.pages(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(studies: Sequence[ServedStudy], settings: ServerSettings) -> FastAPI:
    """The application for these studies. The caller closes the studies."""
    site = Site(studies, settings)
    app = StudyApp(
        title="EQ Lab study", version=version("eqlab"), docs_url=None, redoc_url=None,
        description="Participants' pages for programs. Same cookie and same commits as the pages in the browser.",
        lifespan=lambda _: _lifetime(studies),
    )  # fmt: skip
    app.state.site = site
    app.include_router(api.router)
    app.include_router(router)
    app.include_router(researcher.router)
    app.add_api_route("/health", health, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/static/{name}", static, methods=["GET"], include_in_schema=False)
    app.add_api_route("/", front, methods=["GET"], include_in_schema=False)
    handlers: dict[Any, Any] = {
        HTTPException: _turned_away,
        Unknown: _stranger,
        SomebodyElse: _somebody_else,
        RequestValidationError: _malformed,
    }
    for error, handler in handlers.items():
        app.add_exception_handler(error, handler)
    layers = [Middleware(RequestGuard, settings=settings, refuse=lambda scope, status: _refusal(site, scope, status))]
    if settings.proxy:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        layers.append(Middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxy))
    app.pages = ExceptionMiddleware(Router(pages.ROUTES), handlers=handlers)
    for layer, args, options in layers:  # the last one is the first that a request meets
        app.add_middleware(layer, *args, **options)
        app.pages = layer(app.pages, *args, **options)
    return app


@asynccontextmanager
async def _lifetime(studies: Sequence[ServedStudy]) -> AsyncIterator[None]:
    """What an earlier server left is taken up; models that people talk with are let go of when the server stops."""
    for served in studies:
        await served.begin()
    yield
    await asyncio.gather(*(served.talks.close() for served in studies if served.talks is not None))


async def health(request: Request) -> Response:
    """Whether answers can be saved: something is written, at most every other second, however often it is asked. Where
    somebody's answer was not taken a moment ago they cannot, for a full disk still has room for a small row."""
    site = site_of(request)
    async with site.health_turn:
        saves = all(time.monotonic() - served.failed_at > _FAILED for served in site.studies.values())
        if saves and time.monotonic() - site.healthy_at > _HEALTHY:
            try:
                await asyncio.wait_for(site.first.write(site.first.participation.store.ping), _PING)
                site.healthy_at = time.monotonic()
            except (StoreError, TimeoutError):  # a database that hangs saves nothing either
                saves = False
    if not saves:
        say(logging.ERROR, "nothing can be saved")
    status = "ok" if saves else "nothing can be saved"
    return JSONResponse({"status": status, "version": version("eqlab")}, 200 if saves else 503)


async def static(request: Request, name: str) -> Response:
    packed = "gzip" in request.headers.get("accept-encoding", "")
    found = site_of(request).render.file(name, packed)
    if found is None:
        raise HTTPException(404)
    return found


async def front(request: Request) -> Response:
    """With one study, its first page; with several nobody is told which there are."""
    studies = site_of(request).studies
    if len(studies) == 1:
        return RedirectResponse(f"/s/{next(iter(studies))}", 303)
    raise HTTPException(404)


async def _turned_away(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if request.url.path.startswith("/api/"):
        detail = error.detail if isinstance(error, HTTPException) else "Error"
        return JSONResponse({"detail": str(detail)}, status, getattr(error, "headers", None))
    key = "role" if isinstance(error, researcher.OtherRole) else ""
    refused = _refusal(site_of(request), request.scope, status, key)
    refused.headers.update(getattr(error, "headers", None) or {})
    return refused


async def _stranger(request: Request, _: Exception) -> Response:
    """Somebody without our cookie, or whose data are gone."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": "Come in through the study's link first."}, 401)
    if pages.wants_json(request):
        return JSONResponse({"outcome": "unknown"}, 401)
    site, served = study_of(request)
    if await pages.end_of_erased(site, served, request) is not None:
        return redirect(served.study, "deleted")
    gone = site.person(request, served.study.id) is not None
    return site.render.message("unknown", served.study.language, 401, study=served.study, gone=gone)


async def _somebody_else(request: Request, _: Exception) -> Response:
    """Nothing is kept, and no way leads on: it would be the other person's. The script shows what it is told, or sends
    the form itself."""
    site, served = study_of(request)
    language = served.study.language
    if pages.wants_json(request):
        return JSONResponse({"outcome": "refused", "problems": {"": site.render.texts(language)("moved_text")}}, 409)
    return site.render.page("swap", language, 409, study=served.study, key="moved")


_MOST_TOLD = 10
"""Of what is wrong with a body: a short one can be wrong in thousands of ways."""


async def _malformed(_: Request, error: Exception) -> Response:
    """What is wrong with the body, without repeating what was sent."""
    found: list[dict[str, Any]] = []
    if isinstance(error, RequestValidationError):
        told = error.errors()[:_MOST_TOLD]
        found = [{"loc": list(one["loc"]), "msg": one["msg"], "type": one["type"]} for one in told]
    return JSONResponse({"detail": found}, 422)


def _refusal(site: Site, scope: Scope, status: int, key: str = "") -> Response:
    """The page, or for programs the JSON, for a request that is turned away."""
    if scope["path"].startswith("/api/"):
        words = site.render.texts("en")(f"{_MESSAGES.get(status, 'broken')}_title")
        return JSONResponse({"detail": words}, status)
    parts = scope["path"].split("/")
    served = site.studies.get(parts[2]) if len(parts) > 2 and parts[1] == "s" else None
    language = served.study.language if served else "en"
    key = key or _MESSAGES.get(status, "broken")
    return site.render.message(key, language, status, study=served.study if served else None)

"""The web application: studies in, pages out. Handlers live in the files beside; this one puts them together."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Scope

from eqlab.core.moves import Unknown
from eqlab.study.served_study import ServedStudy
from eqlab.study.web import api, hooks, pages, researcher
from eqlab.study.web.middleware import RequestGuard
from eqlab.study.web.settings import ServerSettings
from eqlab.study.web.site import Site, site_of, study_of

_MESSAGES = {
    401: "login",
    403: "refused",
    404: "missing",
    405: "missing",
    408: "late",
    413: "large",
    421: "missing",
    429: "busy",
}


def create_app(studies: Sequence[ServedStudy], settings: ServerSettings) -> FastAPI:
    """The application for these studies. The caller closes the studies."""
    site = Site(studies, settings)

    app = FastAPI(
        title="EQ Lab study", version=version("eqlab"), docs_url=None, redoc_url=None,
        description="Participants' pages for programs. Same cookie and same commits as the pages in the browser.",
        lifespan=lambda _: _talks(studies),
    )  # fmt: skip
    app.state.site = site
    app.router.routes.extend(pages.ROUTES)
    app.include_router(api.router)
    app.include_router(hooks.router)
    app.include_router(researcher.router)
    app.add_api_route("/health", health, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/static/{name}", static, methods=["GET"], include_in_schema=False)
    app.add_api_route("/", front, methods=["GET"], include_in_schema=False)
    app.add_exception_handler(HTTPException, _turned_away)
    app.add_exception_handler(Unknown, _stranger)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_middleware(RequestGuard, settings=settings, refuse=lambda scope, status: _refusal(site, scope, status))
    if settings.proxy:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxy)
    return app


@asynccontextmanager
async def _talks(studies: Sequence[ServedStudy]) -> AsyncIterator[None]:
    """Models that people talk with are let go of when the server stops."""
    yield
    for served in studies:
        if served.talks is not None:
            await served.talks.close()


async def health(request: Request) -> Response:
    """Whether the server can read its store."""
    for served in site_of(request).studies.values():
        await served.read(served.participation.store.ping)
    return JSONResponse({"status": "ok", "version": version("eqlab")})


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
        return JSONResponse({"detail": str(detail)}, status)
    return _refusal(site_of(request), request.scope, status)


async def _stranger(request: Request, _: Exception) -> Response:
    """Somebody without our cookie, or whose data are gone."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": "Come in through the study's link first."}, 401)
    if pages.wants_json(request):
        return JSONResponse({"outcome": "unknown"}, 401)
    site, served = study_of(request)
    return site.render.message("unknown", served.study.language, 401, study=served.study)


async def _malformed(_: Request, error: Exception) -> Response:
    """What is wrong with the body, without repeating what was sent."""
    found: list[dict[str, Any]] = []
    if isinstance(error, RequestValidationError):
        found = [{"loc": list(one["loc"]), "msg": one["msg"], "type": one["type"]} for one in error.errors()]
    return JSONResponse({"detail": found}, 422)


def _refusal(site: Site, scope: Scope, status: int) -> Response:
    """The page, or for programs the JSON, for a request that is turned away."""
    if scope["path"].startswith("/api/"):
        words = site.render.texts("en")(f"{_MESSAGES.get(status, 'broken')}_title")
        return JSONResponse({"detail": words}, status)
    parts = scope["path"].split("/")
    served = site.studies.get(parts[2]) if len(parts) > 2 and parts[1] == "s" else None
    language = served.study.language if served else "en"
    return site.render.message(
        _MESSAGES.get(status, "broken"), language, status, study=served.study if served else None
    )

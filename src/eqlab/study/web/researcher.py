"""The researcher's pages: login, the studies, one study live, its exports. English only."""

import time
from dataclasses import asdict
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from eqlab.study.results.export import FORMATS, TABLES, export_table
from eqlab.study.results.status import StudyStatus, study_status
from eqlab.study.served import ServedStudy
from eqlab.study.web.cookies import parse_cookies
from eqlab.study.web.limiter import network_of
from eqlab.study.web.site import Site, client_of, is_https, site_of

router = APIRouter(prefix="/researcher", include_in_schema=False)
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown; charset=utf-8",
}
_STALE = 2.0
"""Seconds for which a status is shown again without looking."""


@router.get("/login")
async def ask_login(request: Request) -> Response:
    site = site_of(request)
    return _to("") if _known(site, request) else site.render.page("login", "en", study=None, wrong=False)


@router.post("/login")
async def login(request: Request) -> Response:
    site = site_of(request)
    client = network_of(client_of(request))
    if not site.login.allows(client) or site.gate.crowded:
        return site.busy()
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
    if not await site.gate.opens(fields.get("password", "")):
        return site.render.page("login", "en", 401, study=None, wrong=True)
    site.login.forgive(client)
    reply = _to("")
    site.cookies.set_researcher(reply, site.clock(), is_https(request))
    return reply


@router.post("/logout")
async def logout(request: Request) -> Response:
    reply = _to("login")
    site_of(request).cookies.forget_researcher(reply)
    return reply


@router.get("/")
async def overview(request: Request) -> Response:
    site = site_of(request)
    if not _known(site, request):
        return _to("login")
    found = [await _status(site, served) for served in site.studies.values()]
    return site.render.page("studies", "en", study=None, studies=found)


@router.get("/{study}")
async def one(request: Request, study: str) -> Response:
    site = site_of(request)
    if not _known(site, request):
        return _to("login")
    served = _find(site, study)
    link = f"{site.settings.public_url.rstrip('/') or str(request.base_url).rstrip('/')}/s/{study}"
    now = await _status(site, served)
    return site.render.page(
        "status", "en", study=None, now=now, about=served.study, link=link, tables=TABLES, formats=FORMATS
    )


@router.get("/{study}/status.json")
async def status_json(request: Request, study: str) -> Response:
    site = site_of(request)
    _admit(site, request)
    return JSONResponse(asdict(await _status(site, _find(site, study))))


@router.get("/{study}/export/{name}")
async def export(request: Request, study: str, name: str) -> Response:
    site = site_of(request)
    _admit(site, request)
    served = _find(site, study)
    what, _, fmt = name.partition(".")
    if what not in TABLES or (fmt not in FORMATS and name != "codebook.md"):
        raise HTTPException(404)
    content = await served.read(export_table, served.participation, what, fmt)  # type: ignore[arg-type]
    headers = {"content-disposition": f'attachment; filename="{study}-{name}"'}
    return Response(content, headers=headers, media_type=_TYPES[fmt])


# -- steps of the above ----------------------------------------------------------------------------------------


def _known(site: Site, request: Request) -> bool:
    return site.cookies.read_researcher(parse_cookies(request.headers.get("cookie", "")), site.clock())


def _admit(site: Site, request: Request) -> None:
    """Programs get no login page; whether the study exists is not told either."""
    if not _known(site, request):
        raise HTTPException(401)


def _find(site: Site, study: str) -> ServedStudy:
    served = site.studies.get(study)
    if served is None:
        raise HTTPException(404)
    return served


def _to(where: str) -> Response:
    return RedirectResponse(f"/researcher/{where}", 303)


async def _status(site: Site, served: ServedStudy) -> StudyStatus:
    kept = site.statuses.get(served.study.id)
    if kept is not None and time.monotonic() - kept[0] < _STALE:
        return kept[1]
    found = await served.read(study_status, served.participation)
    site.statuses[served.study.id] = (time.monotonic(), found)
    return found

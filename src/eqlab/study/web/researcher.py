"""The researcher's pages: login, the studies, one study live, its people, its exports. English only."""

import secrets
import time
from dataclasses import asdict
from typing import Literal
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from eqlab.store.study.researchers import (
    ROLES,
    Researcher,
    Role,
    begin_session,
    end_session,
    read_audit,
    read_researchers,
    session_name,
)
from eqlab.store.study.studies import Status, set_status
from eqlab.study.results.charts import charts
from eqlab.study.results.export import FORMATS, TABLES, export_table
from eqlab.study.results.people import look, people_rows
from eqlab.study.results.status import StudyStatus, study_status
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.cookies import RESEARCHER, RESEARCHER_SECONDS, parse_cookies
from eqlab.study.web.site import Site, is_https, site_of

router = APIRouter(prefix="/researcher", include_in_schema=False)
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown; charset=utf-8",
}
OWNER = "researcher"
"""Who has the server's own password."""
_DOORS: dict[str, Status] = {"pause": "paused", "resume": "open", "close": "closed"}
_WAYS: dict[str, Literal["returned", "banned"]] = {"release": "returned", "ban": "banned"}
_STALE = 2.0
"""Seconds for which a status is shown again without looking."""


@router.get("/login")
async def ask_login(request: Request) -> Response:
    site = site_of(request)
    if await known_researcher(request) is not None:
        return _to("")
    return site.render.page("login", "en", study=None, wrong=False, several=bool(await _others(site)))


@router.post("/login")
async def login(request: Request) -> Response:
    site = site_of(request)
    if not await site.allows(request, "login") or site.gate.crowded:
        return site.busy()
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
    others = {one.name: one for one in await _others(site)}
    name = fields.get("name", "").strip() or OWNER
    wanted = None if name == OWNER else others[name].password_hash if name in others else ""
    if not await site.gate.opens(fields.get("password", ""), wanted):
        return site.render.page("login", "en", 401, study=None, wrong=True, several=bool(others))
    await site.forgive(request, "login")
    token = secrets.token_urlsafe(32)
    reply = _to("")
    site.cookies.set_session(reply, token, is_https(request))
    session = site.cookies.read_session({RESEARCHER: token}) or ""
    served = site.first
    await served.write(begin_session, served.participation.store, site.session_id(session, name), name, site.clock())
    return reply


@router.post("/logout")
async def logout(request: Request) -> Response:
    site = site_of(request)
    session = site.cookies.read_session(parse_cookies(request.headers.get("cookie", "")))
    if session is not None:
        served = site.first
        for name in (OWNER, *(one.name for one in await _others(site))):
            session_id = site.session_id(session, name)
            await served.write(end_session, served.participation.store, session_id, site.clock())
    reply = _to("login")
    site.cookies.forget_researcher(reply)
    return reply


@router.get("/")
async def overview(request: Request) -> Response:
    site = site_of(request)
    if await known_researcher(request) is None:
        return _to("login")
    found = [await _status(site, served) for served in site.studies.values()]
    return site.render.page("studies", "en", study=None, studies=found)


@router.get("/{study}")
async def one(request: Request, study: str) -> Response:
    site = site_of(request)
    me = await known_researcher(request)
    if me is None:
        return _to("login")
    served = _find(site, study)
    link = f"{site.settings.public_url.rstrip('/') or str(request.base_url).rstrip('/')}/s/{study}"
    now = await _status(site, served)
    return site.render.page(
        "status", "en", study=None, now=now, about=served.study, link=link, tables=TABLES, formats=FORMATS,
        me=me, charts=charts(now),
    )  # fmt: skip


@router.get("/{study}/status.json")
async def status_json(request: Request, study: str) -> Response:
    site = site_of(request)
    await _admit(request)
    return JSONResponse(asdict(await _status(site, _find(site, study))))


@router.get("/{study}/export/{name}")
async def export(request: Request, study: str, name: str) -> Response:
    site = site_of(request)
    me = await _admit(request, "manager")
    served = _find(site, study)
    what, _, fmt = name.partition(".")
    if what not in TABLES or (fmt not in FORMATS and name != "codebook.md"):
        raise HTTPException(404)
    content = await served.read(export_table, served.participation, what, fmt)  # type: ignore[arg-type]
    if what in ("answers", "participants"):
        await served.write(look, served.participation, me.name, f"{what}.{fmt}")
    headers = {"content-disposition": f'attachment; filename="{study}-{name}"'}
    return Response(content, headers=headers, media_type=_TYPES[fmt])


@router.get("/{study}/people")
async def people(request: Request, study: str) -> Response:
    """Everybody who came, with what a manager can do about them."""
    site = site_of(request)
    me = await _admit(request, "manager")
    served = _find(site, study)
    found = await served.read(people_rows, served.participation)
    done = await served.read(read_audit, served.participation.store, study)
    return site.render.page("people", "en", study=None, about=served.study, people=found, audit=done[-50:][::-1], me=me)


@router.post("/{study}/act")
async def act(request: Request, study: str) -> Response:
    """Pause, resume, close; release or ban one person."""
    site = site_of(request)
    me = await _admit(request, "manager")
    served = _find(site, study)
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
    what, person = fields.get("what", ""), fields.get("person", "")
    site.statuses.pop(study, None)
    if what in _DOORS:
        await served.write(set_status, served.participation, _DOORS[what], me.name)
        return _to(study)
    if what in _WAYS:
        await served.write(served.participation.send_away, person, _WAYS[what], me.name)
        return _to(f"{study}/people")
    raise HTTPException(404)


# -- steps of the above ----------------------------------------------------------------------------------------


async def known_researcher(request: Request) -> Researcher | None:
    """Who is logged in. A session ends by logging out, after half a day, or with a new password."""
    site = site_of(request)
    session = site.cookies.read_session(parse_cookies(request.headers.get("cookie", "")))
    if session is None:
        return None
    served, since = site.first, site.clock() - RESEARCHER_SECONDS
    owner = Researcher(OWNER, "manager")
    for one in (owner, *await _others(site)):
        session_id = site.session_id(session, one.name)
        if await served.read(session_name, served.participation.store, session_id, since) == one.name:
            return one
    return None


async def _others(site: Site) -> list[Researcher]:
    served = site.first
    return await served.read(read_researchers, served.participation.store)


async def _admit(request: Request, role: Role = "viewer") -> Researcher:
    """Programs get no login page; whether the study exists is not told either."""
    me = await known_researcher(request)
    if me is None:
        raise HTTPException(401)
    if ROLES.index(me.role) < ROLES.index(role):
        raise HTTPException(403)
    return me


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

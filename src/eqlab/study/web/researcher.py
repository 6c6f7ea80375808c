"""The researcher's pages: login, the studies, one study live, its people, its exports. English only."""

import secrets
import time
from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from eqlab.core.errors import StoreError
from eqlab.core.moves import Unknown
from eqlab.core.plural import many
from eqlab.core.results import as_dict
from eqlab.core.text import people as people_in_words
from eqlab.core.values import dataclass
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
from eqlab.study.results.analysis import log_look, read_moment
from eqlab.study.results.export import FORMATS, export_table, table_names
from eqlab.study.results.people import people_rows
from eqlab.study.results.status import StudyStatus, study_status
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.guard import linked_by_us
from eqlab.study.web.site import RESEARCHER_SECONDS, Site, cookies_of, is_https, site_of, small_form

router = APIRouter(prefix="/researcher", include_in_schema=False)
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown; charset=utf-8",
}
OWNER = "researcher"
"""Who has the server's own password."""
_STATUSES: dict[str, Status] = {"pause": "paused", "resume": "open", "close": "closed"}
_SENT_AWAY: dict[str, Literal["returned", "banned"]] = {"release": "returned", "ban": "banned"}
_STALE = 2.0
"""Seconds for which a status is shown again without looking."""


class OtherRole(HTTPException):
    """Somebody who is known, and may not do this."""

    def __init__(self) -> None:
        super().__init__(403, "A manager may.")


@router.get("/login")
async def ask_login(request: Request) -> Response:
    site = site_of(request)
    wanted = request.query_params.get("study", "")
    if await known_researcher(request) is not None:
        return _to_study(site, wanted)
    return site.render.page("login", "en", study=None, wrong=False, several=bool(await _others(site)), wanted=wanted)


@router.post("/login")
async def login(request: Request) -> Response:
    site = site_of(request)
    if not await site.allows(request, "login") or site.gate.crowded:
        return site.busy()
    fields = small_form(await request.body())
    others = {researcher.name: researcher for researcher in await _others(site)}
    name, study = fields.get("name", "").strip() or OWNER, fields.get("study", "")
    wanted = None if name == OWNER else others[name].password_hash if name in others else ""
    if not await site.gate.opens(fields.get("password", ""), wanted):
        return site.render.page("login", "en", 401, study=None, wrong=True, several=bool(others), wanted=study)
    await site.forgive(request, "login")
    token = secrets.token_urlsafe(32)
    reply = _to_study(site, study)
    site.cookies.set_session(reply, token, is_https(request))
    session = site.cookies.read_session({site.cookies.researcher: [token]}) or ""
    served = site.first
    await served.write(begin_session, served.participation.store, site.session_id(session, name), name, site.clock())
    return reply


@router.post("/logout")
async def logout(request: Request) -> Response:
    site = site_of(request)
    session = site.cookies.read_session(cookies_of(request))
    if session is not None:
        served = site.first
        for name in (OWNER, *(researcher.name for researcher in await _others(site))):
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
        return _to(f"login?{urlencode({'study': study})}")
    return await _one(request, _find(site, study), me)


async def _one(request: Request, served: ServedStudy, me: Researcher, refused: str = "") -> Response:
    """`refused`: why what was asked for was not done."""
    site = site_of(request)
    link = f"{site.settings.public_url.rstrip('/') or str(request.base_url).rstrip('/')}/s/{served.study.id}"
    link += f"?{served.study.panel.person}=…" if served.study.panel.person else ""
    now = await _status(site, served)
    return site.render.page(
        "status", "en", 409 if refused else 200, study=None, now=now, about=served.study, link=link,
        tables=table_names(served.participation.design), formats=FORMATS, me=me, charts=charts(now), refused=refused,
    )  # fmt: skip


@router.get("/{study}/status.json")
async def status_json(request: Request, study: str) -> Response:
    site = site_of(request)
    await _admit(request)
    return JSONResponse(as_dict(await _status(site, _find(site, study))))


@router.get("/{study}/export/{name}")
async def export(request: Request, study: str, name: str) -> Response:
    site = site_of(request)
    me = await _admit(request, "manager")
    if not linked_by_us(request.scope, site.settings):  # no other page looks in a manager's name
        raise HTTPException(403)
    served = _find(site, study)
    what, _, fmt = name.partition(".")
    if what not in table_names(served.participation.design) or (fmt not in FORMATS and name != "codebook.md"):
        raise HTTPException(404)
    if what in ("codebook", "questions"):
        content = await served.read_all(export_table, served.participation, what, fmt)
    else:  # events too tell how somebody got on, and in which arm
        stands, _, participants = await served.read_all(read_moment, served.participation)
        content = await served.read_all(export_table, served.participation, what, fmt, participants)
        await served.write(log_look, served.participation, me.name, "exported", stands)
    headers = {"content-disposition": f'attachment; filename="{study}-{name}"'}
    return Response(content, headers=headers, media_type=_TYPES[fmt])


@router.get("/{study}/people")
async def people(request: Request, study: str) -> Response:
    """Everybody who came, with what a manager can do about them."""
    site = site_of(request)
    me = await _admit(request, "manager")
    served = _find(site, study)
    found = await served.read_all(people_rows, served.participation)
    shut = await served.read(served.participation.store.shut, served.participation.design.run.id)
    done = await served.read(read_audit, served.participation.store, study)
    return site.render.page(
        "people", "en", study=None, about=served.study, people=found, audit=done[-50:][::-1], me=me, shut=bool(shut)
    )


@router.post("/{study}/act")
async def act(request: Request, study: str) -> Response:
    """Pause, resume, close; release or ban one person."""
    site = site_of(request)
    me = await _admit(request, "manager")
    served = _find(site, study)
    fields = small_form(await request.body())
    what, person = fields.get("what", ""), fields.get("person", "")
    site.statuses.pop(study, None)
    if what in _STATUSES:
        try:
            await served.write(set_status, served.participation, _STATUSES[what], me.name)
        except StoreError as error:  # somebody has closed it meanwhile
            return await _one(request, served, me, f"{error.message} {error.hint}")
        return _to(study)
    if what in _SENT_AWAY:
        try:
            await served.write(served.participation.send_away, person, _SENT_AWAY[what], me.name)
        except Unknown as error:
            raise HTTPException(404) from error
        return _to(f"{study}/people")
    raise HTTPException(404)


# -- steps of the above ----------------------------------------------------------------------------------------


async def known_researcher(request: Request) -> Researcher | None:
    """Who is logged in. A session ends by logging out, after half a day, or with a new password."""
    site = site_of(request)
    session = site.cookies.read_session(cookies_of(request))
    if session is None:
        return None
    served, since = site.first, site.clock() - RESEARCHER_SECONDS
    owner = Researcher(OWNER, "manager")
    for researcher in (owner, *await _others(site)):
        session_id = site.session_id(session, researcher.name)
        if await served.read(session_name, served.participation.store, session_id, since) == researcher.name:
            return researcher
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
        raise OtherRole
    return me


def _find(site: Site, study: str) -> ServedStudy:
    served = site.studies.get(study)
    if served is None:
        raise HTTPException(404)
    return served


def _to(where: str) -> Response:
    return RedirectResponse(f"/researcher/{where}", 303)


def _to_study(site: Site, name: str) -> Response:
    """To the page that was asked for before the login, or to the list."""
    return _to(name if name in site.studies else "")


async def _status(site: Site, served: ServedStudy) -> StudyStatus:
    kept = site.statuses.get(served.study.id)
    if kept is not None and time.monotonic() - kept[0] < _STALE:
        return kept[1]
    status = await served.read_all(study_status, served.participation)
    site.statuses[served.study.id] = (time.monotonic(), status)
    return status


# -- charts: shapes in a box, which the page draws ---------------------------------------------------------------------

WIDTH, HEIGHT = 320.0, 120.0
_LEFT, _TOP, _BOTTOM = 30.0, 8.0, 18.0


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    says: str
    """The same in words, for whoever cannot see it."""
    bars: tuple[Bar, ...] = ()
    line: str = ""
    """Points of a line, as SVG wants them."""
    top: str = ""
    """What the highest line means."""
    ends: tuple[str, str] = ("", "")
    """Words under the left and the right end."""


def charts(now: StudyStatus) -> tuple[Chart, ...]:
    return (_progress(now), _leaving(now), _minutes(now))


def _progress(now: StudyStatus) -> Chart:
    """People who finished, over the time since the first came."""
    ends, start = now.finished_at, now.first_at
    says = f"Finished: {len(ends)} of {many(now.places, 'place')}."
    if not ends or start is None:
        return Chart("Finished", says)
    span = max(now.at - start, 1.0)
    top = max(now.places, len(ends))
    points = [(0.0, 0)]
    for number, at in enumerate(sorted(ends), start=1):
        points += [((at - start) / span, number - 1), ((at - start) / span, number)]
    points.append((1.0, len(ends)))
    line = " ".join(f"{_x(share):.1f},{_y(count / top):.1f}" for share, count in points)
    return Chart("Finished", says, line=line, top=str(top), ends=("first came", "now"))


def _leaving(now: StudyStatus) -> Chart:
    """How many reached each page."""
    counts = [page.reached for page in now.pages]
    left = sum(page.left for page in now.pages)
    says = f"Left on the way: {left}; reached the last page: {counts[-1] if counts else 0}."
    titles = [f"page {page.number} ({page.kind}): {page.reached} reached, {page.left} left" for page in now.pages]
    return Chart(
        "Reached each page", says, _bars(counts, titles), top=str(max(counts, default=0)), ends=("first", "last")
    )


def _minutes(now: StudyStatus) -> Chart:
    """Times of those who finished, in classes of equal width."""
    minutes = now.minutes
    if not minutes:
        return Chart("Minutes needed", "Nobody has finished yet.")
    width = max(1.0, max(minutes) / 12)
    counts = [0] * (int(max(minutes) / width) + 1)
    for minute in minutes:
        counts[int(minute / width)] += 1
    titles = [
        f"{n * width:.0f} to {(n + 1) * width:.0f} min: {people_in_words(count)}" for n, count in enumerate(counts)
    ]
    says = f"From {min(minutes):.0f} to {max(minutes):.0f} minutes."
    ends = ("0", f"{len(counts) * width:.0f} min")
    return Chart("Minutes needed", says, _bars(counts, titles), top=str(max(counts)), ends=ends)


def _bars(counts: Sequence[int], titles: Sequence[str]) -> tuple[Bar, ...]:
    top = max(counts, default=0) or 1
    step = (WIDTH - _LEFT) / max(len(counts), 1)
    return tuple(
        Bar(_LEFT + n * step, _y(count / top), max(step - 1.5, 0.5), HEIGHT - _BOTTOM - _y(count / top), title)
        for n, (count, title) in enumerate(zip(counts, titles, strict=True))
    )


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (HEIGHT - _BOTTOM - _TOP)

"""The way into a study: who comes with which id, in which browser, and what those read who cannot come in. Looking at
the address without a browser's GET changes nothing."""

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from eqlab.core.moves import ENDED, Arrival, Unknown
from eqlab.store.study.records import find_by_panel
from eqlab.study.panels import (
    SIGNATURE,
    is_signed,
    panel_hash,
    read_panel_id,
    resume_code,
    same_code,
    tombstone,
)
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.settings import device_class
from eqlab.study.web.site import Site, is_https, redirect, study_of, visit_of

SIMULATED = "x-eqlab-simulated"
"""Header with which a simulated person says so."""


async def arrive(request: Request) -> Response:
    """A study's link."""
    site, served = study_of(request)
    study, panel = served.study, served.study.panel
    if request.method == "HEAD":  # a preview of the link, or a monitor: nobody has come
        return Response()
    given = read_panel_id(request.query_params, panel, any_form=_simulated(site, request))
    here = site.person(request, study.id)
    if given is None and here is not None:
        return redirect(study, "page")
    if not panel.person:
        return site.render.page("start", study.language, study=study)
    if given is None:
        return site.render.message("panel", study.language, 403, study=study)
    signed = is_signed(site.settings.secret, study.id, given, request.query_params.get(SIGNATURE, ""))
    if panel.signed and not signed:
        return site.render.message("panel", study.language, 403, study=study)
    if here is not None and await _another(served, here, panel_hash(site.settings.secret, given)):
        return site.render.page("swap", study.language, 409, study=study)
    return await _let_in(request, site, served, given, signed, here)


async def start(request: Request) -> Response:
    site, served = study_of(request)
    if served.study.panel.person:
        return site.render.message("panel", served.study.language, 403, study=served.study)
    here = site.person(request, served.study.id)
    if here is not None:
        return redirect(served.study, "page")
    return await _let_in(request, site, served, None, False, None)


async def inside(request: Request) -> Response:
    """Right after coming in: who has no cookie here has a browser that keeps none."""
    site, served = study_of(request)
    if site.person(request, served.study.id) is None:
        return site.render.message("cookies", served.study.language, 400, study=served.study)
    return redirect(served.study, "page")


async def elsewhere(request: Request) -> Response:
    """Somebody who cannot consent here: they have done so with the same id in another browser, or were erased."""
    visit = visit_of(request)
    found = await visit.served.read(visit.served.participation.why_not, visit.person)
    return visit.to("page") if found is None else _turned_away(visit.site, visit.served, *found)


async def leave(request: Request) -> Response:
    """Somebody else wants to take part in this browser: it forgets who was here."""
    site, served = study_of(request)
    reply = site.render.message("left", served.study.language, 200, study=served.study)
    site.cookies.forget_person(reply, served.study.id)
    return reply


async def resume(request: Request) -> Response:
    """On with the code that stands on every page, in another browser."""
    site, served = study_of(request)
    study = served.study
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
    person = site.cookies.unseal(fields.get("who", ""), site.clock())
    if person is None:
        return site.render.message("unknown", study.language, 401, study=study)
    if not await site.allows(request, "resume", f"{study.id} {person}"):
        return site.busy(study.language)
    if not same_code(fields.get("code", ""), resume_code(site.settings.secret, study.id, person)):
        sealed = site.cookies.seal(person, site.clock())
        return site.render.page("resume", study.language, 403, study=study, who=sealed, wrong=True)
    reply = redirect(study, "in")
    site.cookies.set_person(reply, study.id, person, is_https(request))
    return reply


# -- steps of the above ----------------------------------------------------------------------------------------


async def _let_in(
    request: Request, site: Site, served: ServedStudy, given: str | None, signed: bool, here: str | None
) -> Response:
    study, secret = served.study, site.settings.secret
    hashed = None if given is None else panel_hash(secret, given)
    known = hashed is not None and await served.read(served.participation.knows, hashed, here)
    if not known and not await site.allows(request, "door"):
        return site.busy(study.language)
    arrival = Arrival(
        hashed,
        study.language,
        vouched=signed,
        session=here,
        tombstone=None if given is None else tombstone(secret, study.id, given),
        device=device_class(request.headers.get("user-agent", "")),
        simulated=_simulated(site, request),
    )
    arrived = await served.make(arrival)
    if arrived.outcome == "turned_away":
        owner = await served.read(find_by_panel, served.participation, hashed or "")
        return _turned_away(site, served, str(arrived.problems[""]), owner)
    reply = redirect(study, "in")
    site.cookies.set_person(reply, study.id, arrived.person, is_https(request))
    return reply


def _turned_away(site: Site, served: ServedStudy, why: str, owner: str | None) -> Response:
    study = served.study
    if why != "elsewhere":
        return site.render.message(f"door_{why}", study.language, 403, study=study)
    sealed = site.cookies.seal(owner or "", site.clock())
    return site.render.page("resume", study.language, 403, study=study, who=sealed, wrong=False)


async def _another(served: ServedStudy, here: str, hashed: str) -> bool:
    """Whether this browser is on its way through the study as somebody else: a link must not swap the person behind
    their back. Who has come to an end makes room for the next, as in a laboratory."""
    if await served.read(find_by_panel, served.participation, hashed) == here:
        return False
    try:
        view = await served.look(here)
    except Unknown:
        return False
    return view.state not in ENDED and view.number > 0


def _simulated(site: Site, request: Request) -> bool:
    """Simulated people say so, and only a rehearsal takes them."""
    if SIMULATED not in request.headers:
        return False
    if not site.settings.rehearsal:
        raise HTTPException(403, "Simulated people may come to a rehearsal only.")
    return True

"""Participants' pages: the door, the current page, stopping, the end. One page is one form and one commit; the reply
leaves after the commit."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from eqlab.core.trials import Trial
from eqlab.people.desk import Desk
from eqlab.people.door import panel_hash, read_panel_id, way_back
from eqlab.people.erase import erase_person
from eqlab.people.moves import Arrival, Consent, FilledPage, Saved, Unknown, View
from eqlab.people.texts import Texts
from eqlab.people.web.post import Post, believable, read_form
from eqlab.people.web.shown import blocks, questions
from eqlab.people.web.site import Site, is_https, site_of

router = APIRouter(include_in_schema=False)


@router.api_route("/s/{study}", methods=["GET", "HEAD"])
async def door(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    if desk is None:
        return site.render.message("missing", "en", 404)
    language = desk.study.language
    panel = desk.study.panel
    given = read_panel_id(request.query_params, panel)
    if given is None and site.person(request, study) is not None:
        return _to(study, "page")
    if panel.person and given is None:
        return site.render.message("panel", language, 403, study=desk.study)
    if not panel.person:
        return site.render.page("start", language, study=desk.study)
    if not site.may_enter(request):
        return site.busy(language)
    arrived = await desk.make(Arrival(panel_hash(site.settings.secret, given or ""), language))
    return _welcome(site, request, study, arrived.person)


@router.post("/s/{study}/start")
async def start(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    if desk is None:
        return site.render.message("missing", "en", 404)
    if desk.study.panel.person:
        return site.render.message("panel", desk.study.language, 403, study=desk.study)
    if site.person(request, study) is not None:
        return _to(study, "page")
    if not site.may_enter(request):
        return site.busy(desk.study.language)
    arrived = await desk.make(Arrival(None, desk.study.language))
    return _welcome(site, request, study, arrived.person)


@router.get("/s/{study}/page")
async def page(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    person = site.person(request, study)
    if desk is None or person is None:
        return _stranger(site, desk)
    try:
        view = await desk.look(person)
    except Unknown:
        return _stranger(site, desk)
    return _to(study, "done") if view.step is None else _show(site, desk, view)


@router.post("/s/{study}/page")
async def answer(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    person = site.person(request, study)
    as_json = "application/json" in request.headers.get("accept", "")
    if desk is None or person is None:
        return JSONResponse({"outcome": "unknown"}, 401) if as_json else _stranger(site, desk)
    post = read_form(await request.body())
    try:
        saved = await save(desk, person, post) if post else Saved(person, "refused", {"": "unknown"})
        if as_json:
            status = 422 if saved.outcome == "refused" else 200
            body = {"outcome": saved.outcome, "problems": dict(saved.problems), "next": f"/s/{study}/page"}
            return JSONResponse(body, status)
        if saved.outcome != "refused":
            return _to(study, "page")
        view = await desk.look(person)
    except Unknown:
        return JSONResponse({"outcome": "unknown"}, 401) if as_json else _stranger(site, desk)
    if view.step is None:
        return _to(study, "done")
    return _show(site, desk, view, post, saved.problems)


async def save(desk: Desk, person: str, post: Post) -> Saved:
    """Keep what was posted. Returns when it is on disk."""
    register = desk.register
    if post.step == 0:
        if post.agree is None:
            view = await desk.look(person)
            at_consent = view.step is not None and view.step.kind == "consent"
            return Saved(person, "refused", {"agree": "missing"}) if at_consent else Saved(person, "again")
        return await desk.make(Consent(person, post.agree))
    shown, away = believable(post, register.clock())
    return await desk.make(FilledPage(person, post.step, post.attempt, post.values, shown, away))


@router.get("/s/{study}/stop")
async def ask_stop(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    person = site.person(request, study)
    if desk is None or person is None:
        return _stranger(site, desk)
    try:
        view = await desk.look(person)
    except Unknown:
        return _stranger(site, desk)
    return site.render.page("stop", desk.study.language, study=desk.study, ended=view.step is None)


@router.post("/s/{study}/stop")
async def stop(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    person = site.person(request, study)
    if desk is None or person is None:
        return _stranger(site, desk)
    wish = (await request.body()).decode("ascii", "replace")
    try:
        if wish == "what=delete":
            await desk.write(erase_person, desk.register, person)
            gone = site.render.page("deleted", desk.study.language, study=desk.study)
            site.cookies.forget_person(gone, study)
            return gone
        if wish == "what=keep":
            await desk.write(desk.register.stop, person)
            return _to(study, "done")
    except Unknown:
        return _stranger(site, desk)
    return _to(study, "stop")


@router.get("/s/{study}/done")
async def done(request: Request, study: str) -> Response:
    site, desk = _find(request, study)
    person = site.person(request, study)
    if desk is None or person is None:
        return _stranger(site, desk)
    try:
        view = await desk.look(person)
    except Unknown:
        return _stranger(site, desk)
    if view.step is not None:
        return _to(study, "page")
    panel = desk.study.panel
    code = panel.code(view.ending) if view.ending else ""
    back = way_back(panel, view.ending) if view.ending else ""
    return site.render.page(
        "done", desk.study.language, study=desk.study, ending=view.ending or "stopped", code=code, back=back,
        panel=panel.name.capitalize(),
    )  # fmt: skip


# -- steps of the above ----------------------------------------------------------------------------------------


def _find(request: Request, study: str) -> tuple[Site, Desk | None]:
    site = site_of(request)
    return site, site.desks.get(study)


def _to(study: str, where: str) -> Response:
    return RedirectResponse(f"/s/{study}/{where}", 303)


def _welcome(site: Site, request: Request, study: str, person: str) -> Response:
    reply = _to(study, "page")
    site.cookies.set_person(reply, study, person, is_https(request))
    return reply


def _stranger(site: Site, desk: Desk | None) -> Response:
    if desk is None:
        return site.render.message("missing", "en", 404)
    return site.render.message("unknown", desk.study.language, 401, study=desk.study)


def _show(
    site: Site, desk: Desk, view: View, post: Post | None = None, problems: Mapping[str, str] | None = None
) -> Response:
    """The person's current page; with `problems`, again, what was chosen kept."""
    study, step = desk.study, view.step
    if step is None:
        return _to(study.id, "done")
    t = site.render.texts(study.language)
    trial = view.trial
    said = _words(t, view, problems or {})
    common: dict[str, Any] = {
        "study": study,
        "view": view,
        "number": view.number + 1,
        "shown": f"{desk.register.clock():.3f}",
        "mark": site.cookies.mark(study.id, view.person),
        "problems": [(_anchor(trial, key), text) for key, text in said.items()],
    }
    status = 422 if said else 200
    if step.kind == "consent":
        return site.render.page("consent", study.language, status, text=blocks(study.consent.text), **common)
    if trial is None:
        return site.render.page("debrief", study.language, status, text=blocks(study.debrief), **common)
    chosen = {k: v for k, v in post.values.items() if isinstance(v, int)} if post else {}
    asked = questions(trial.form, chosen, _beside(t, said), quiz=step.kind == "quiz")
    return site.render.page("trial", study.language, status, text=blocks(trial.stimulus), questions=asked, **common)


def _anchor(trial: Trial | None, key: str) -> str:
    """The element that an error is about."""
    return f"q-{trial.form.keys.index(key) + 1}" if trial and key else key


def _beside(t: Texts, said: Mapping[str, str]) -> dict[str, str]:
    """The shorter words that stand beside a field."""
    return dict.fromkeys(said, t("error_here"))


def _words(t: Texts, view: View, problems: Mapping[str, str]) -> dict[str, str]:
    """Problems in words, in the order of the page."""
    if "agree" in problems:
        return {"agree": t("error_agree")}
    scales = {scale.key: scale.text for scale in view.trial.form.scales} if view.trial else {}
    said = {
        key: t("error_missing" if problems[key] == "missing" else "error_off", question=text)
        for key, text in scales.items()
        if key in problems
    }
    return said or ({"": t("error_unknown")} if problems else {})

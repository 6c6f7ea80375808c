"""Participants' pages: the door, the current page, stopping, the end. One page is one form and one commit; the reply
leaves after the commit."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from eqlab.core.forms import Field, Number, Writing, settled
from eqlab.core.moves import Arrival, Consent, FilledPage, Saved, View
from eqlab.core.trials import Trial
from eqlab.store.study.erase import erase_person
from eqlab.study.panel_ids import panel_hash, read_panel_id, way_back
from eqlab.study.texts import Texts
from eqlab.study.web.post import Post, believable, read_form
from eqlab.study.web.shown import blocks, columns, questions
from eqlab.study.web.site import is_https
from eqlab.study.web.visit import Visit, desk_of, to, visit_of


async def door(request: Request) -> Response:
    site, served = desk_of(request)
    study, panel = served.study, served.study.panel
    given = read_panel_id(request.query_params, panel)
    if given is None and site.person(request, study.id) is not None:
        return to(study, "page")
    if panel.person and given is None:
        return site.render.message("panel", study.language, 403, study=study)
    if not panel.person:
        return site.render.page("start", study.language, study=study)
    return await _let_in(request, panel_hash(site.settings.secret, given or ""))


async def start(request: Request) -> Response:
    site, served = desk_of(request)
    if served.study.panel.person:
        return site.render.message("panel", served.study.language, 403, study=served.study)
    if site.person(request, served.study.id) is not None:
        return to(served.study, "page")
    return await _let_in(request, None)


async def page(request: Request) -> Response:
    visit = visit_of(request)
    view = await visit.look()
    return visit.to("done") if view.step is None else _show(visit, view)


async def answer(request: Request) -> Response:
    visit = visit_of(request)
    post = read_form(await request.body())
    saved = await save(visit, post) if post else Saved(visit.person, "refused", {"": "unknown"})
    if wants_json(request):
        status = 422 if saved.outcome == "refused" else 200
        body = {"outcome": saved.outcome, "problems": dict(saved.problems), "next": f"/s/{visit.study.id}/page"}
        return JSONResponse(body, status)
    if saved.outcome != "refused":
        return visit.to("page")
    view = await visit.look()
    return visit.to("done") if view.step is None else _show(visit, view, post, saved.problems)


async def save(visit: Visit, post: Post) -> Saved:
    """Keep what was posted. Returns when it is on disk."""
    if post.step == 0:
        if post.agree is None:
            view = await visit.look()
            at_consent = view.step is not None and view.step.kind == "consent"
            problems = {"agree": "missing"} if at_consent else {}
            return Saved(visit.person, "refused" if at_consent else "again", problems)
        return await visit.served.make(Consent(visit.person, post.agree))
    shown, away = believable(post, visit.served.participation.clock())
    return await visit.served.make(
        FilledPage(visit.person, post.step, post.attempt, post.values, shown, away, post.pasted)
    )


async def ask_stop(request: Request) -> Response:
    visit = visit_of(request)
    return visit.page("stop", ended=(await visit.look()).step is None)


async def stop(request: Request) -> Response:
    visit = visit_of(request)
    wish = (await request.body()).decode("ascii", "replace")
    if wish == "what=delete":
        await visit.served.write(erase_person, visit.served.participation, visit.person)
        gone = visit.page("deleted")
        visit.site.cookies.forget_person(gone, visit.study.id)
        return gone
    if wish == "what=keep":
        await visit.served.write(visit.served.participation.stop, visit.person)
        return visit.to("done")
    return visit.to("stop")


async def done(request: Request) -> Response:
    visit = visit_of(request)
    view = await visit.look()
    if view.step is not None:
        return visit.to("page")
    panel = visit.study.panel
    code = panel.code(view.ending) if view.ending else ""
    back = way_back(panel, view.ending) if view.ending else ""
    return visit.page("done", ending=view.ending or "stopped", code=code, back=back, panel=panel.name.capitalize())


# Plain routes: pages have no schema, and FastAPI's own handling of a request costs more than the page.
ROUTES = [
    Route("/s/{study}", door, methods=["GET"]),
    Route("/s/{study}/start", start, methods=["POST"]),
    Route("/s/{study}/page", page, methods=["GET"]),
    Route("/s/{study}/page", answer, methods=["POST"]),
    Route("/s/{study}/stop", ask_stop, methods=["GET"]),
    Route("/s/{study}/stop", stop, methods=["POST"]),
    Route("/s/{study}/done", done, methods=["GET"]),
]

# -- steps of the above ----------------------------------------------------------------------------------------


def wants_json(request: Request) -> bool:
    """The page's script does; a browser that posts the form itself wants a page."""
    return "application/json" in request.headers.get("accept", "")


async def _let_in(request: Request, panel: str | None) -> Response:
    site, served = desk_of(request)
    if not site.may_enter(request):
        return site.busy(served.study.language)
    arrived = await served.make(Arrival(panel, served.study.language))
    reply = to(served.study, "page")
    site.cookies.set_person(reply, served.study.id, arrived.person, is_https(request))
    return reply


def _show(visit: Visit, view: View, post: Post | None = None, problems: Mapping[str, str] | None = None) -> Response:
    """The person's current page; with `problems`, again, what was chosen kept."""
    study, step = visit.study, view.step
    if step is None:
        return visit.to("done")
    t = visit.site.render.texts(study.language)
    trial = view.trial
    said = _words(t, view, problems or {})
    common: dict[str, Any] = {
        "view": view,
        "number": view.number + 1,
        "shown": f"{visit.served.participation.clock():.3f}",
        "mark": visit.site.cookies.mark(study.id, view.person),
        "problems": [(_anchor(trial, key), text) for key, text in said.items()],
    }
    status = 422 if said else 200
    if step.kind == "consent":
        return visit.page("consent", status, text=blocks(study.consent.text), **common)
    if trial is None:
        return visit.page("debrief", status, text=blocks(study.debrief), **common)
    chosen = settled(trial.form, post.values) if post else {}
    asked = questions(trial.form, chosen, _beside(t, said), quiz=step.kind == "quiz")
    above, beside = columns(trial.stimulus)
    shown = [blocks(one) for one in beside]
    return visit.page("trial", status, text=blocks(above), beside=shown, questions=asked, **common)


def _anchor(trial: Trial | None, key: str) -> str:
    """The element that an error is about."""
    return f"q-{trial.form.keys.index(key) + 1}" if trial and key else key


def _beside(t: Texts, said: Mapping[str, str]) -> dict[str, str]:
    """The words that stand beside a field: shorter ones where only an answer is missing."""
    return {
        key: t("error_here") if text.startswith(t("error_missing", question="")) else text for key, text in said.items()
    }


def _word(t: Texts, field: Field, problem: str) -> str:
    if problem == "short" and isinstance(field, Writing):
        return t("error_short", question=field.text, least=field.least_words)
    if problem == "long" and isinstance(field, Writing):
        return t("error_long", question=field.text, most=field.most)
    if isinstance(field, Number) and problem == "off":
        return t("error_number", question=field.text, low=f"{field.low:g}", high=f"{field.high:g}")
    if problem == "missing" and isinstance(field, Number | Writing):
        return t("error_fill", question=field.text)
    return t("error_missing" if problem == "missing" else "error_off", question=field.text)


def _words(t: Texts, view: View, problems: Mapping[str, str]) -> dict[str, str]:
    """Problems in words, in the order of the page."""
    if "agree" in problems:
        return {"agree": t("error_agree")}
    fields = view.trial.form.fields if view.trial else ()
    said = {one.key: _word(t, one, problems[one.key]) for one in fields if one.key in problems}
    return said or ({"": t("error_unknown")} if problems else {})

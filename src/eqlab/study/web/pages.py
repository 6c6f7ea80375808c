"""Participants' pages: the current one, the one before it to be corrected, stopping, the end. One page is one form and
one commit; the reply leaves after the commit.

The way into a study: who comes with which id, in which browser, and what those read who cannot come in. Looking at
the address without a browser's GET changes nothing."""

import math
import re
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from eqlab.core.forms import Field, Number, Scale, Several, Writing, points_left, settled
from eqlab.core.moves import ENDED, ENDING, Arrival, ConsentMove, FilledPage, Saved, State, Unknown, View
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.store.study.records import find_by_panel
from eqlab.study.panels import (
    SIGNATURE,
    ending_of,
    is_signed,
    panel_hash,
    read_panel_id,
    resume_code,
    same_code,
    shown_name,
    tombstone,
    way_back,
)
from eqlab.study.results.participants import with_feedback
from eqlab.study.served_study import ServedStudy
from eqlab.study.texts import Texts
from eqlab.study.web import talk
from eqlab.study.web.render import Block, blocks, columns, questions
from eqlab.study.web.settings import device_class, network_of
from eqlab.study.web.site import (
    SIMULATED,
    End,
    Site,
    Visit,
    client_of,
    cookies_of,
    is_https,
    redirect,
    small_form,
    study_of,
    visit_of,
)


async def arrive(request: Request) -> Response:
    """A study's link."""
    site, served = study_of(request)
    study, panel = served.study, served.study.panel
    if request.method == "HEAD":  # a preview of the link, or a monitor: nobody has come
        return Response()
    if not _by_a_person(request):
        return Response(status_code=403)
    simulated = _simulated(site, request)
    given = read_panel_id(request.query_params, panel, any_form=simulated)
    here = await _here(site, served, request)
    if given is None and here is not None:
        return await _back(request, site, served, here)
    if not panel.person:
        return site.render.page("start", study.language, study=study, given=())
    if given is None:
        return site.render.message("panel", study.language, 403, study=study)
    sign = request.query_params.get(SIGNATURE, "")
    signed = is_signed(site.settings.secret, study.id, given, sign, site.clock())
    hashed = panel_hash(site.settings.secret, given)
    own = here is not None and await served.read(find_by_panel, served.participation, hashed) == here
    if panel.signed and not signed and not simulated:
        if own and here is not None:  # their link has run out, and not their way
            return await _back(request, site, served, here)
        return site.render.message("panel", study.language, 403, study=study)
    if here is not None and not own and await _on_the_way(served, here):
        return site.render.page("swap", study.language, 409, study=study, key="swap")
    if not own and _led_by_a_script(request):
        fields = {panel.person: given, **({SIGNATURE: sign} if sign else {})}
        return site.render.page("start", study.language, study=study, given=fields.items())
    return await _let_in(request, site, served, given, signed, here)


def _by_a_person(request: Request) -> bool:
    """Whether a browser shows what comes, as far as it says so: no image or script of another site's page is somebody
    who arrives, nor is a link that is fetched in case somebody follows it."""
    asked = request.headers
    return asked.get("sec-fetch-dest", "document") == "document" and "prefetch" not in asked.get("sec-purpose", "")


def _led_by_a_script(request: Request) -> bool:
    """Whether another site's page went to this link by itself, as far as the browser says so (Safari
    tells no click). It could do that all the time, unseen in a tab of its own, and change who this browser is: so
    somebody must press a button first."""
    asked = request.headers
    return asked.get("sec-fetch-site") in ("cross-site", "same-site") and "sec-fetch-user" not in asked


async def start(request: Request) -> Response:
    site, served = study_of(request)
    if served.study.panel.person:
        return site.render.message("panel", served.study.language, 403, study=served.study)
    here = await _here(site, served, request)
    if here is not None:
        return await _back(request, site, served, here)
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
    return visit.to("page") if found is None else await _turned_away(request, visit.site, visit.served, *found)


async def leave(request: Request) -> Response:
    """Somebody else wants to take part in this browser: it forgets who was here."""
    site, served = study_of(request)
    reply = site.render.message("left", served.study.language, 200, study=served.study, gone=True)
    site.cookies.forget_person(reply, served.study.id)
    site.cookies.forget_end(reply, served.study.id)
    return reply


async def resume(request: Request) -> Response:
    """On with the code that stands on every page, in another browser."""
    site, served = study_of(request)
    study = served.study
    fields = small_form(await request.body())
    person = site.cookies.unseal(fields.get("who", ""), site.clock())
    if person is None:
        return site.render.message("unknown", study.language, 401, study=study)
    if not await site.allows(request, "resume", f"{study.id} {person} {network_of(client_of(request))}"):
        return site.busy(study)
    if not same_code(fields.get("code", ""), resume_code(site.settings.secret, study.id, person)):
        sealed = site.cookies.seal(person, site.clock())
        return site.render.page("resume", study.language, 403, study=study, who=sealed, wrong=True)
    reply = redirect(study, "in")
    site.cookies.set_person(reply, study.id, person, is_https(request))
    return reply


# -- steps of the above ----------------------------------------------------------------------------------------


async def _here(site: Site, served: ServedStudy, request: Request) -> str | None:
    """Whom this browser has been so far: nobody, once their data are gone. Who came to a server before 0.3 goes on if
    they have consented: then no newcomer can be made to consent as somebody else."""
    person = site.person(request, served.study.id)
    old = site.cookies.read_old_person(cookies_of(request), served.study.id) if person is None else None
    if person is None and old is None:
        return None
    try:
        view = await served.look(person or old or "")
    except Unknown:
        return None
    return view.person if person or view.number else None


async def _back(request: Request, site: Site, served: ServedStudy, here: str) -> Response:
    """Somebody whom this browser knows, without an id: where they were, or in, if the study was full and is not now."""
    if served.study.panel.person or (await served.look(here)).state != "full":
        reply = redirect(served.study, "page")
        site.cookies.set_person(reply, served.study.id, here, is_https(request))
        return reply
    return await _let_in(request, site, served, None, False, here)


async def _let_in(
    request: Request, site: Site, served: ServedStudy, given: str | None, signed: bool, here: str | None
) -> Response:
    study, secret = served.study, site.settings.secret
    hashed = None if given is None else panel_hash(secret, given)
    known = here is not None if hashed is None else await served.read(served.participation.knows, hashed, here)
    if not known and not await site.allows(request, "door"):
        return site.busy(study)
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
        return await _turned_away(request, site, served, str(arrived.problems[""]), owner)
    reply = redirect(study, "in")
    site.cookies.set_person(reply, study.id, arrived.person, is_https(request))
    return reply


async def _turned_away(request: Request, site: Site, served: ServedStudy, why: str, owner: str | None) -> Response:
    study = served.study
    if why == "erased" and await end_of_erased(site, served, request) is not None:
        return redirect(study, "deleted")
    if why != "elsewhere":
        return site.render.message(f"door_{why}", study.language, 403, study=study, gone=why == "erased")
    sealed = site.cookies.seal(owner or "", site.clock())
    return site.render.page("resume", study.language, 403, study=study, who=sealed, wrong=False)


async def _on_the_way(served: ServedStudy, here: str) -> bool:
    """Whether this browser is on its way through the study: a link must not swap the person behind their back. Who has
    come to an end makes room for the next, as in a laboratory."""
    view = await served.look(here)
    return view.state not in ENDED and view.number > 0


def _simulated(site: Site, request: Request) -> bool:
    """Simulated people say so, and only a rehearsal takes them."""
    if SIMULATED not in request.headers:
        return False
    if not site.settings.rehearsal:
        raise HTTPException(403, "Simulated people may come to a rehearsal only.")
    return True


_MOST_FIELDS = 400
_MONTH = 30 * 24 * 3600.0
_MOST_NUMBER = 100_000


@dataclass(frozen=True, slots=True)
class PostedPage:
    """An answer to a page, from a form's body or from JSON."""

    step: int
    attempt: int
    values: dict[str, Any] = field(default_factory=dict)
    """By field, as text; several of a list as a list of texts; None where declined. The form makes values of them."""
    agree: bool | None = None
    shown: float | None = None
    """When the person got the page."""
    away: float = 0.0
    pasted: int | None = None
    """Characters that were pasted; None where no script has counted them."""
    correct: bool = False
    """Whether it changes the answer to the page before."""
    typed: bool = False
    """Whether a program has sent it, as JSON."""


async def page(request: Request) -> Response:
    visit = visit_of(request)
    view = await visit.look()
    dropped = "dropped" in request.query_params
    if view.step is not None and view.step.kind == "talk":
        told = {"": visit.site.render.texts(visit.study.language)("dropped")} if dropped else {}
        return await talk.show(visit, view, problems=told)
    return visit.to("done") if view.step is None else await _show(visit, view, dropped=dropped)


async def answer(request: Request) -> Response:
    visit = visit_of(request)
    body = await request.body()
    visit.expects(body)
    post = read_form(body)
    saved = await save(visit, post) if post else Saved(visit.person, "refused", {"": "unknown"})
    if saved.outcome == "turned_away":
        where = f"/s/{visit.study.id}/elsewhere"
        return JSONResponse({"outcome": "ended", "next": where}) if wants_json(request) else visit.to("elsewhere")
    where = "page?dropped=1" if post and saved.outcome == "again" and await is_dropped(visit, post) else "page"
    if wants_json(request):
        status = 422 if saved.outcome == "refused" else 200
        told = {"outcome": saved.outcome, "problems": dict(saved.problems), "next": f"/s/{visit.study.id}/{where}"}
        return JSONResponse(told, status)
    if saved.outcome != "refused":
        return visit.to(where)
    if post is not None and post.correct:
        found = await visit.served.read(visit.served.participation.look_back, visit.person)
        return await _show(visit, found[0], post, saved.problems) if found else visit.to("page")
    view = await visit.look()
    if view.step is not None and view.step.kind == "talk":
        return visit.to("page")
    return visit.to("done") if view.step is None else await _show(visit, view, post, saved.problems)


async def save(visit: Visit, post: PostedPage) -> Saved:
    """Keep what was posted. Returns when it is on disk."""
    if post.step == 0:
        if post.agree is None:
            view = await visit.look()
            at_consent = view.step is not None and view.step.kind == "consent"
            problems = {"agree": "missing"} if at_consent else {}
            return Saved(visit.person, "refused" if at_consent else "again", problems)
        return await visit.served.make(ConsentMove(visit.person, post.agree))
    shown, away = believable(post, visit.served.participation.clock())
    page = FilledPage(
        visit.person, post.step, post.attempt, post.values, shown, away, post.pasted, post.correct, post.typed
    )
    return await visit.served.make(page)


async def is_dropped(visit: Visit, post: PostedPage) -> bool:
    """Whether another answer than this one is kept, of a page that was answered before: in another tab, say."""
    found = await visit.served.read(visit.served.participation.answered, visit.person, post.step)
    if found is None:
        return False
    trial, kept = found
    return dict(settled(trial.form, post.values, typed=post.typed)) != dict(kept)


async def back(request: Request) -> Response:
    """The page before with what was answered, until the next one is."""
    visit = visit_of(request)
    found = await visit.served.read(visit.served.participation.look_back, visit.person)
    if found is None:
        return visit.to("page")
    view, values = found
    return await _show(visit, view, PostedPage(view.number, view.attempt, dict(values), correct=True))


async def ask_stop(request: Request) -> Response:
    visit = visit_of(request)
    visit.expects(request.scope["query_string"])
    view = await visit.look()
    end = end_of(view)
    returns = bool(visit.study.panel.person) and ending_of(visit.study, end.state, assigned=end.assigned) != "complete"
    passes_on = visit.served.passes_on
    asked = visit.page("stop", ended=view.step is None, returns=returns, mark=visit.mark, passes_on=passes_on)
    visit.remember_end(request, asked, end)  # now: the reply to a deletion may be lost, and then nobody knows them
    return asked


async def stop(request: Request) -> Response:
    visit = visit_of(request)
    body = await request.body()
    visit.expects(body)
    wish = small_form(body).get("what")
    if wish == "delete":
        end = end_of(await visit.look())
        clean = await visit.served.erase(visit.person)
        gone = visit.to("deleted")
        visit.remember_end(request, gone, replace(end, clean=clean))
        visit.site.cookies.forget_person(gone, visit.study.id)
        return gone
    if wish == "keep":
        await visit.served.write(visit.served.participation.stop, visit.person)
        return visit.to("done")
    return visit.to("stop")


async def deleted(request: Request) -> Response:
    """What somebody is told who has deleted their answers, as often as their browser asks."""
    site, served = study_of(request)
    found = await end_of_erased(site, served, request)
    if found is None:
        return visit_of(request).to("page")
    end, person = found
    told = {"clean": end.clean, "passes_on": served.passes_on, **_at_the_end(served.study, end.state, end.assigned)}
    reply = site.render.page("deleted", served.study.language, study=served.study, **told)
    site.cookies.set_end(reply, served.study.id, person, end, is_https(request))  # clean, another server may not know
    return reply


async def done(request: Request) -> Response:
    visit = visit_of(request)
    view = await visit.look()
    if view.step is not None:
        return visit.to("page")
    end = end_of(view)
    ended = visit.page("done", mark=visit.mark, **_at_the_end(visit.study, end.state, end.assigned))
    visit.remember_end(request, ended, end)
    return ended


# Plain routes: pages have no schema, and FastAPI's own handling of a request costs more than the page.
ROUTES = [
    Route("/s/{study}/page", page, methods=["GET"]),  # first: nearly all requests are for it
    Route("/s/{study}/page", answer, methods=["POST"]),
    Route("/s/{study}", arrive, methods=["GET"]),
    Route("/s/{study}/start", start, methods=["POST"]),
    Route("/s/{study}/in", inside, methods=["GET"]),
    Route("/s/{study}/elsewhere", elsewhere, methods=["GET"]),
    Route("/s/{study}/leave", leave, methods=["POST"]),
    Route("/s/{study}/resume", resume, methods=["POST"]),
    Route("/s/{study}/back", back, methods=["GET"]),
    Route("/s/{study}/stop", ask_stop, methods=["GET"]),
    Route("/s/{study}/stop", stop, methods=["POST"]),
    Route("/s/{study}/deleted", deleted, methods=["GET"]),
    Route("/s/{study}/done", done, methods=["GET"]),
    *talk.ROUTES,
]

# -- steps of the above ----------------------------------------------------------------------------------------


def end_of(view: View) -> End:
    """How it ends for somebody who stops now, or has ended before."""
    return End(view.state if view.state in ENDED else "stopped", view.arm is not None)


async def end_of_erased(site: Site, served: ServedStudy, request: Request) -> tuple[End, str] | None:
    """How the study ended for whom this browser was, and who that was, if nothing of them is left. A button pressed
    twice, a reply that was lost and the link once more all lead to the end that they were promised."""
    found = site.cookies.read_end(cookies_of(request), served.study.id)
    if found is None or site.person(request, served.study.id) not in (None, found[1]):
        return None
    end, person = found
    try:
        await served.look(person)
    except Unknown:
        return replace(end, clean=end.clean or served.cleaner.has_cleaned(person)), person
    return None


def _at_the_end(study: Study, state: State, assigned: bool) -> dict[str, Any]:
    """What somebody is told, gets and has to do."""
    panel, ending = study.panel, ending_of(study, state, assigned=assigned)
    completed = ENDING.get(state) == "complete"  # and told at the end of the study
    return {
        "ending": ENDING.get(state, state),
        "code": panel.code(ending) if ending else "",
        "back": way_back(panel, ending) if ending else "",
        "panel": shown_name(panel),
        "at_panel": bool(panel.person),
        "talked": talk.told_at_end(study, assigned=assigned) if not completed else None,
    }


def wants_json(request: Request) -> bool:
    """The page's script does; a browser that posts the form itself wants a page."""
    return "application/json" in request.headers.get("accept", "")


async def _show(
    visit: Visit,
    view: View,
    post: PostedPage | None = None,
    problems: Mapping[str, str] | None = None,
    *,
    dropped: bool = False,
) -> Response:
    """The person's current page; with `problems`, again, what was chosen kept. `dropped`: the answer that they have
    just sent is not the one that is kept."""
    study, step = visit.study, view.step
    if step is None:
        return visit.to("done")
    t = visit.site.render.texts(study.language)
    trial, left = view.trial, visit.minutes_left(view)
    said = _words(t, view, problems or {})
    own = {
        "shown": f"{visit.served.participation.clock():.3f}",
        "mark": visit.mark,
        "resume": visit.resume_code(view),
    }
    common: dict[str, Any] = {
        "view": view,
        "number": view.number + 1,
        "place": visit.place(view),
        "problems": [(_anchor(trial, key), text) for key, text in said.items()],
        "correct": post is not None and post.correct,
        "dropped": dropped,
        "minutes_left": left,
    }
    if trial is None and step.kind != "consent":
        told = await visit.served.read(with_feedback, study.debrief, visit.served.participation, view.person)
        return visit.page("debrief", 422 if said else 200, text=blocks(told), **common, **own)

    def content() -> dict[str, Any]:
        if trial is None:
            return {"text": blocks(study.consent.text), "minutes": visit.minutes, **common}
        chosen = settled(trial.form, post.values) if post else {}
        written = any(isinstance(one, Writing) for one in trial.form.fields)  # nothing is rated where people write
        text, beside = _stimulus(trial.stimulus, written)
        return {
            "text": text,
            "beside": beside,
            "questions": questions(trial.form, chosen, _beside(t, said), quiz=step.kind == "quiz"),
            "total": trial.form.total,
            "left": None if trial.form.total is None else f"{points_left(trial.form, chosen):g}",
            **common,
        }

    name = "consent" if trial is None else "trial"
    if post is None and not said and not dropped:
        here = (view.number, view.total, view.attempt, view.back, left, bool(own["resume"]))
        key = (study.id, step.kind, step.trial, *here)
        return visit.site.render.page_for_many(name, study.language, key, own, lambda: {"study": study, **content()})
    return visit.page(name, 422 if said else 200, **content(), **own)


@lru_cache(maxsize=4096)
def _stimulus(text: str, written: bool) -> tuple[list[Block], list[list[Block]]]:
    """What stands above and side by side, laid out once for all who see it."""
    above, beside = columns(text)
    return blocks(above, rated=False if beside or written else None), [blocks(one, rated=True) for one in beside]


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
    if problem == "both" and not isinstance(field, Scale):
        declined = field.alone if isinstance(field, Several) else field.declined
        return t("error_both", question=field.text, declined=declined)
    if isinstance(field, Number) and problem == "off":
        return t("error_number", question=field.text, low=field.shown[0], high=field.shown[1])
    if problem == "missing" and isinstance(field, Number | Writing):
        return t("error_fill", question=field.text)
    return t("error_missing" if problem == "missing" else "error_off", question=field.text)


def _words(t: Texts, view: View, problems: Mapping[str, str]) -> dict[str, str]:
    """Problems in words, in the order of the page."""
    if "agree" in problems:
        return {"agree": t("error_agree")}
    fields = view.trial.form.fields if view.trial else ()
    said = {one.key: _word(t, one, problems[one.key]) for one in fields if one.key in problems}
    if problems.get("") == "total" and view.trial:
        return {"": t("error_total", total=view.trial.form.total)}
    return said or ({"": t("error_unknown")} if problems else {})


# -- reading a post --------------------------------------------------------------------------------------------------


def read_form(body: bytes) -> PostedPage | None:
    """None when it is not a post of one of our pages."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    fields = dict(pairs)
    step, attempt = _whole(fields.get("step", "")), _whole(fields.get("attempt", "1"))
    if not isinstance(step, int) or not isinstance(attempt, int) or not 0 <= step <= _MOST_NUMBER:
        return None
    values = _values(pairs)
    agree = {"yes": True, "no": False}.get(fields.get("agree", ""))
    pasted = _whole(fields.get("pasted", ""))
    return PostedPage(
        step,
        attempt,
        values,
        agree,
        _number(fields.get("shown", "")),
        _number(fields.get("away", "")) or 0.0,
        max(pasted, 0) if isinstance(pasted, int) else None,
        fields.get("correct") == "yes",
    )


def _values(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        key = name[2:]
        if name.startswith("v.") and value != "":
            before = found.get(key)
            found[key] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    for name, _ in pairs:
        if name.startswith("d."):  # ticked "prefer not to say"
            given = found.get(name[2:])
            found[name[2:]] = [given, None] if given and str(given).strip() else None
    return found


def believable(post: PostedPage, now: float) -> tuple[float | None, float]:
    """When the page was shown and for how long it was out of sight, as far as a browser can be believed."""
    shown = post.shown if post.shown is not None and now - _MONTH < post.shown <= now + 1 else None
    away = min(max(post.away, 0.0), _MONTH if shown is None else max(0.0, now - shown))
    return shown, away


def _whole(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d{1,6}", text, flags=re.ASCII) else text


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

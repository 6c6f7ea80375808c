"""The JSON API: the same pages and the same commits for programs. It never tells the arm, the key or a right answer."""

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from eqlab.core import forms
from eqlab.core.moves import State, View
from eqlab.study.talks import State as TalkState
from eqlab.study.web.pages import PostedPage, is_dropped, save
from eqlab.study.web.site import visit_of
from eqlab.study.web.talk import Do, PostedTurn, act, conversations_of, plain


class _KnownFirst(APIRoute):
    """Who asks is known before what they send is read: a body costs more to check than a stranger is worth."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            visit_of(request)
            return await handle(request)

        return handled


router = APIRouter(prefix="/api/s/{study}", tags=["participants"], route_class=_KnownFirst)


class FieldBody(BaseModel):
    """One field of the form."""

    field: Literal["scale", "several", "number", "writing"]
    key: str
    text: str
    low: float | None = None
    high: float | None = None
    anchors: list[tuple[int, str]] = []
    options: list[str] = []
    """several: their numbers, from 1, are the values."""
    alone: str = ""
    """several: an option, with the next number, that excludes the others."""
    optional: bool = False
    declined: str = ""
    """number, writing: null is an answer, and means this."""
    least_words: int = 0
    most: int | None = None
    """writing: characters."""


class PageBody(BaseModel):
    """Where a participant stands."""

    state: State
    number: int
    """Of the page, from 0."""
    total: int
    kind: str | None
    """consent, question, instrument, quiz, trial, talk (its turns go to /talk) or debrief; null when taking part has
    ended. A check is a trial to whoever looks from outside."""
    attempt: int
    stimulus: str
    form: list[FieldBody]
    ending: str | None


Value = StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=20_000)] | list[StrictInt] | None
"""Of a scale or several the number of an answer, or their list; a number; a text; null where that is an answer."""


_MOST_VALUES, _MOST_CHOICES, _MOST_NAMES = 400, 400, 20


def _plausible(given: Any) -> Any:
    """Seen at a glance, before each value is tried as everything that it may be and told of."""
    for value in given.values() if isinstance(given, dict) else ():
        listed = value if isinstance(value, list) else (value,)
        if len(listed) > _MOST_CHOICES or any(isinstance(one, dict | list) for one in listed):
            raise ValueError("a value is a number, a text, null or a list of numbers")
        if isinstance(value, list) and any(type(one) is not int for one in value):
            raise ValueError("a list has the numbers of options")
    return given


class _Body(BaseModel):
    """What a program sends."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_names(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > _MOST_NAMES:
            raise ValueError(f"more than {_MOST_NAMES} names")
        return given


class PostBody(_Body):
    """The answer to one page."""

    step: Annotated[StrictInt, Field(ge=0, le=100_000)]
    attempt: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    values: Annotated[dict[str, Value], Field(max_length=_MOST_VALUES), BeforeValidator(_plausible)] = {}
    agree: bool | None = None
    shown: Annotated[float, Field(ge=0, le=1e11)] | None = None
    away: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    correct: bool = False
    """Change the answer to the page before the current one."""


class SavedBody(BaseModel):
    """What became of it. `saved` and `again` mean that it is on disk; `again` with the problem `dropped`, that another
    answer was there before, and this one is not kept."""

    outcome: Literal["saved", "again", "ahead", "ended", "refused", "turned_away"]
    problems: dict[str, str]


class Detail(BaseModel):
    detail: str


UNKNOWN: dict[int | str, dict[str, object]] = {
    400: {"model": Detail, "description": "The body is no JSON"},
    401: {"model": Detail, "description": "No cookie of this study"},
    403: {"model": Detail, "description": "Not from our own page"},
    404: {"model": Detail, "description": "No such study"},
    413: {"model": Detail, "description": "Body too large"},
    429: {"model": Detail, "description": "Too many requests of one person, or of newcomers of one address"},
    431: {"model": Detail, "description": "Query or cookies too large"},
}
_READ: dict[int | str, dict[str, object]] = {key: UNKNOWN[key] for key in (401, 404, 429, 431)}


@router.get("/page", responses=_READ)
async def read_page(request: Request, study: str) -> PageBody:
    """The participant's current page."""
    return _body(await visit_of(request).look())


@router.post("/page", responses=UNKNOWN)
async def post_page(request: Request, study: str, body: PostBody) -> SavedBody:
    """Keep the answer to a page. Repeating it changes nothing."""
    post = PostedPage(
        body.step, body.attempt, dict(body.values), body.agree, body.shown, body.away, correct=body.correct, typed=True
    )
    visit = visit_of(request)
    saved = await save(visit, post)
    lost = {"page": "dropped"} if saved.outcome == "again" and await is_dropped(visit, post) else {}
    return SavedBody(outcome=saved.outcome, problems={**saved.problems, **lost})


def _kind(kind: str) -> str:
    """As little as a participant's page tells: whatever stands among the trials is one."""
    return kind if kind in ("consent", "question", "instrument", "quiz", "talk", "debrief") else "trial"


def _body(view: View) -> PageBody:
    trial = view.trial
    return PageBody(
        state="finished" if view.state == "extra" else view.state,
        number=view.number,
        total=view.total,
        kind=_kind(view.step.kind) if view.step else None,
        attempt=view.attempt,
        stimulus=trial.stimulus if trial else "",
        form=[_field(field) for field in trial.form.fields] if trial else [],
        ending=view.ending,
    )


def _field(field: forms.Field) -> FieldBody:
    """What FieldBody names of it, and nothing else."""
    return FieldBody.model_validate({"field": type(field).__name__.lower(), **asdict(field)})


# -- talks, as the page has them; a program looks again while the state is `wait` -----------------------------------

_PROBLEMS = {"error_long": "long", "error_says": "missing", "error_feel": "off"}
"""As the other pages call them; a person reads them in words."""


class LineBody(BaseModel):
    who: Literal["you", "other"]
    text: str


class TalkBody(BaseModel):
    """How a talk stands."""

    step: int
    turn: int
    """What the next post must name."""
    state: TalkState
    """say: it is your turn; wait: the other one writes; down: no reply comes; spent: a limit of the study; over."""
    lines: list[LineBody]
    shown: str
    """What to talk about; empty where you listen."""
    feels: bool
    """Whether the next turn tells an emotion."""
    speaks: bool
    """Whether it may say something."""
    ends: bool
    """Whether it may end the talk, `satisfied` or `hurt`."""
    emotion: int | None
    """What you told last."""
    most: int
    """Characters of a message."""


class TurnBody(_Body):
    """One turn, or another thing to do at a talk."""

    step: Annotated[StrictInt, Field(ge=0, le=100_000)]
    turn: Annotated[StrictInt, Field(ge=0, le=100_000)]
    do: Do = "send"
    """send, or end the talk with it (satisfied, hurt); close: end it without a word; retry: ask a model again that is
    down; without: go on without its reply; next: leave a talk that is over."""
    says: Annotated[StrictStr, Field(max_length=100_000)] = ""
    feeling: Annotated[StrictStr, Field(max_length=20_000)] = ""
    emotion: Annotated[StrictInt, Field(ge=0, le=100)] | None = None


class TurnedBody(BaseModel):
    """What became of it. `kept` and `again` mean that it is on disk; `again` with the problem `dropped`, that another
    turn was there before, and this one is not kept. `refused`, with what is `missing`, `long`, `off` or `unasked`."""

    outcome: Literal["kept", "again", "ahead", "ended", "refused", "busy"]
    problems: dict[str, str]


_NO_TALK: dict[int | str, dict[str, object]] = {
    **UNKNOWN,
    404: {"model": Detail, "description": "No such study, or none with talks"},
    409: {"model": Detail, "description": "The current page is no talk"},
}


@router.get("/talk", responses={**_READ, **{key: _NO_TALK[key] for key in (404, 409)}})
async def read_talk(request: Request, study: str) -> TalkBody:
    """The talk of the current page. If it is the model's turn, it is asked."""
    visit, talks = conversations_of(request)
    view = await talks.look(visit.person)
    if view is None:
        raise HTTPException(409, "The current page is no talk.")
    return TalkBody(
        step=view.step,
        turn=view.turn,
        state=view.state,
        lines=[LineBody(who=line.who, text=line.text) for line in view.lines],
        shown=view.shown,
        feels=view.feels,
        speaks=view.speaks,
        ends=view.ends,
        emotion=view.emotion,
        most=talks.terms.characters,
    )


@router.post(
    "/talk",
    response_model=TurnedBody,
    responses={
        **{key: _NO_TALK[key] for key in (400, 401, 403, 404, 413, 431)},
        429: {"model": TurnedBody | Detail, "description": "Too many messages in a minute, of one person or of all"},
    },
)
async def post_turn(request: Request, study: str, body: TurnBody) -> Response:
    """Keep a turn, without waiting for the reply. Repeating it changes nothing."""
    visit, talks = conversations_of(request)
    emotion = "" if body.emotion is None else str(body.emotion)
    feeling = " ".join(plain(body.feeling).split())
    turn = PostedTurn(body.step, body.turn, body.do, plain(body.says), feeling, emotion)
    outcome, found = await act(visit, talks, turn)
    untold = {"error_feel": "missing"} if body.emotion is None else {}
    problems = {key or "talk": {**_PROBLEMS, **untold}.get(why, why) for key, why in found.items()}
    return JSONResponse({"outcome": outcome, "problems": problems}, 429 if outcome == "busy" else 200)

"""Talks in the JSON API: how a talk stands, and a turn of it, with the same checks, limits and commits as the page. A
program looks again while the state is `wait`."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from eqlab.study.talk.view import State
from eqlab.study.web.api import UNKNOWN, Detail
from eqlab.study.web.talk import Do, PostedTurn, act, plain, room_of

router = APIRouter(prefix="/api/s/{study}", tags=["participants"])
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
    state: State
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


class TurnBody(BaseModel):
    """One turn, or another thing to do at a talk."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step: Annotated[StrictInt, Field(ge=0, le=100_000)]
    turn: Annotated[StrictInt, Field(ge=0, le=100_000)]
    do: Do = "send"
    """send, or end the talk with it (satisfied, hurt); close: end it without a word; retry: ask a model again that is
    down; without: go on without its reply; next: leave a talk that is over."""
    says: Annotated[StrictStr, Field(max_length=100_000)] = ""
    feeling: Annotated[StrictStr, Field(max_length=20_000)] = ""
    emotion: Annotated[StrictInt, Field(ge=0, le=100)] | None = None


class TurnedBody(BaseModel):
    """What became of it. `kept` and `again` mean that it is on disk."""

    outcome: Literal["kept", "again", "ahead", "ended", "refused", "busy"]
    problems: dict[str, str]


_NO_TALK: dict[int | str, dict[str, object]] = {
    **UNKNOWN,
    404: {"model": Detail, "description": "No such study, or none with talks"},
    409: {"model": Detail, "description": "The current page is no talk"},
}


@router.get("/talk", responses={key: _NO_TALK[key] for key in (401, 404, 409)})
async def read_talk(request: Request, study: str) -> TalkBody:
    """The talk of the current page. If it is the model's turn, it is asked."""
    visit, room = room_of(request)
    view = await room.look(visit.person)
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
        most=room.terms.characters,
    )


@router.post(
    "/talk",
    response_model=TurnedBody,
    responses={
        **{key: _NO_TALK[key] for key in (400, 401, 403, 404, 413)},
        429: {"model": TurnedBody, "description": "Too many messages in a minute, of one person or of all"},
    },
)
async def post_turn(request: Request, study: str, body: TurnBody) -> Response:
    """Keep a turn, without waiting for the reply. Repeating it changes nothing."""
    visit, room = room_of(request)
    emotion = "" if body.emotion is None else str(body.emotion)
    feeling = " ".join(plain(body.feeling).split())
    given = PostedTurn(body.step, body.turn, body.do, plain(body.says), feeling, emotion)
    outcome, found = await act(visit, room, given)
    untold = {"error_feel": "missing"} if body.emotion is None else {}
    problems = {key or "talk": {**_PROBLEMS, **untold}.get(why, why) for key, why in found.items()}
    return JSONResponse({"outcome": outcome, "problems": problems}, 429 if outcome == "busy" else 200)

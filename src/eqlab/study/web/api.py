"""The JSON API: the same pages and the same commits for programs. It never tells the arm, the key or a right answer."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from eqlab.core import forms
from eqlab.core.moves import State, View
from eqlab.study.web.pages import PostedPage, save
from eqlab.study.web.site import visit_of

router = APIRouter(prefix="/api/s/{study}", tags=["participants"])


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


class PostBody(BaseModel):
    """The answer to one page."""

    model_config = ConfigDict(extra="forbid", strict=True)

    step: Annotated[StrictInt, Field(ge=0, le=100_000)]
    attempt: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    values: Annotated[dict[str, Value], Field(max_length=400)] = {}
    agree: bool | None = None
    shown: Annotated[float, Field(ge=0, le=1e11)] | None = None
    away: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    correct: bool = False
    """Change the answer to the page before the current one."""


class SavedBody(BaseModel):
    """What became of it. `saved` and `again` mean that it is on disk."""

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
}


@router.get("/page", responses={key: UNKNOWN[key] for key in (401, 404)})
async def read_page(request: Request, study: str) -> PageBody:
    """The participant's current page."""
    return _body(await visit_of(request).look())


@router.post("/page", responses=UNKNOWN)
async def post_page(request: Request, study: str, body: PostBody) -> SavedBody:
    """Keep the answer to a page. Repeating it changes nothing."""
    post = PostedPage(
        body.step, body.attempt, dict(body.values), body.agree, body.shown, body.away, correct=body.correct, typed=True
    )
    saved = await save(visit_of(request), post)
    return SavedBody(outcome=saved.outcome, problems=dict(saved.problems))


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
        form=[_field(one) for one in trial.form.fields] if trial else [],
        ending=view.ending,
    )


def _field(one: forms.Field) -> FieldBody:
    if isinstance(one, forms.Scale):
        return FieldBody(
            field="scale", key=one.key, text=one.text, low=one.low, high=one.high, anchors=list(one.anchors)
        )
    if isinstance(one, forms.Several):
        return FieldBody(
            field="several",
            key=one.key,
            text=one.text,
            options=list(one.options),
            alone=one.alone,
            optional=one.optional,
        )
    common = {"key": one.key, "text": one.text, "optional": one.optional, "declined": one.declined}
    if isinstance(one, forms.Number):
        return FieldBody.model_validate({"field": "number", "low": one.low, "high": one.high, **common})
    return FieldBody.model_validate({"field": "writing", "least_words": one.least_words, "most": one.most, **common})

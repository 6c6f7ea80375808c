"""The page of a talk: lines, a slider, a message. With a script the reply is streamed as server-sent events, without
one an ordinary post waits for it. What is streamed is on disk already, at one pace for every model: neither a crash
nor a model's speed shows."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from eqlab.core.moves import Unknown, View
from eqlab.core.study import Study
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.study.conversations import Conversations
from eqlab.study.talks import TalkView
from eqlab.study.web.render import Block, blocks
from eqlab.study.web.site import Visit, visit_of

_WAIT = 10.0
"""Seconds that a post without a script waits for the reply."""
_STREAM = 100.0
"""Seconds after which a stream ends; the browser opens another."""
_SIGN = 10.0
"""Seconds between two signs of life in a stream while a model is asked here: hundreds wait at once, and each sign looks
into the store. A model that another process asks is looked for more often."""
_SOON = 1.0
"""Seconds in which a limit that is reached is found."""
_MOST_STREAMS = 4
"""Of one person: a few tabs."""
_MOST_FIELDS, _MOST_LINE = 40, 500
Do = Literal["send", "satisfied", "hurt", "close", "retry", "without", "next"]
DOINGS: tuple[Do, ...] = ("send", "satisfied", "hurt", "close", "retry", "without", "next")
_LEAVES = {"satisfied": 1, "hurt": 2}
_SAYS = ("send", *_LEAVES)


@dataclass(frozen=True, slots=True)
class PostedTurn:
    step: int
    turn: int
    do: Do
    says: str = ""
    feeling: str = ""
    emotion: str = ""
    moved: bool = True
    """Whether the slider was moved, as far as a script can tell."""
    pasted: int | None = None
    """Characters of what is said that were pasted; None where no script has counted them."""


def read_turn(body: bytes) -> PostedTurn | None:
    """None when it is no post of a talk's page."""
    try:
        fields = dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return None
    numbers = [fields.get(name, "") for name in ("step", "turn")]
    if not all(number.isascii() and number.isdigit() and len(number) <= 6 for number in numbers):
        return None
    do = next((one for one in DOINGS if one == fields.get("do", "send")), None)
    if do is None:
        return None
    return PostedTurn(
        int(numbers[0]),
        int(numbers[1]),
        do,
        plain(fields.get("v.says", "")),
        " ".join(plain(fields.get("v.feeling", "")).split()),
        fields.get("v.emotion", "").strip(),
        fields.get("script") != "1" or fields.get("moved") == "1",
        int(pasted)
        if (pasted := fields.get("pasted", "")).isascii() and pasted.isdigit() and len(pasted) <= 6
        else None,
    )


def plain(text: str) -> str:
    """As it will be stored: no carriage returns, nothing that no text has."""
    return text.replace("\r\n", "\n").replace("\0", "").strip()


async def post(request: Request) -> Response:
    visit, talks = conversations_of(request)
    body = await request.body()
    visit.expects(body)
    turn = read_turn(body)
    problems: dict[str, str] = {}
    outcome = "refused"
    if turn is not None:
        outcome, problems = await act(visit, talks, turn)
    if "application/json" in request.headers.get("accept", ""):
        status = {"refused": 422, "busy": 429}.get(outcome, 200)
        told = {key: _word(talks, key, why) for key, why in problems.items()}
        return JSONResponse({"outcome": outcome, "problems": told, "next": f"/s/{visit.study.id}/page"}, status)
    if outcome in ("refused", "busy") or problems:
        dropped = outcome == "again"
        if dropped:
            await _until_answered(talks, visit.person)  # then there is a place for what was written
        view = await visit.look()
        if view.step is None or view.step.kind != "talk":
            return visit.to("page?dropped=1" if dropped else "page")
        return await show(visit, view, turn, problems, {"busy": 429, "again": 409}.get(outcome, 422))
    if outcome == "kept" and turn is not None and turn.do in ("send", "retry"):
        await _until_answered(talks, visit.person)
    return visit.to("page")


async def act(visit: Visit, talks: Conversations, turn: PostedTurn) -> tuple[str, dict[str, str]]:
    """What becomes of a post; a repeated one changes nothing. Of another than the one that is kept, sent in another tab
    say, the person is told."""
    outcome, problems = await _act(visit, talks, turn)
    if outcome == "again" and turn.do in _SAYS:
        leaves = str(_LEAVES.get(turn.do, 0))
        said = {"says": turn.says, "leaves": leaves, "emotion": turn.emotion, "feeling": turn.feeling}
        kept = await talks.has_said(visit.person, turn.step, turn.turn, said)
        problems = {} if kept else {"": "dropped"}
    return outcome, problems


async def _act(visit: Visit, talks: Conversations, turn: PostedTurn) -> tuple[str, dict[str, str]]:
    person = visit.person
    view = await talks.look(person)
    if view is None or turn.step != view.step:
        return "again", {}
    if turn.do == "next":
        return await talks.go_on(person, turn.step), {}
    if turn.do == "retry":
        if view.state != "down":
            return "again", {}
        if not await _allowed(visit, talks):
            return "busy", {"": "busy"}
        await talks.retry(person)
        return "kept", {}
    if turn.do == "close":  # whatever has come since the page was made
        return await talks.close_talk(person, "left"), {}
    if turn.turn != view.turn:
        return ("again" if turn.turn < view.turn else "ahead"), {}
    if turn.do == "without":
        if view.state == "wait":  # another process may know already that none comes
            await talks.wait(person, _SOON)
            view = await talks.look(person) or view
        allowed = view.state == "spent" or (view.state == "down" and talks.terms.if_down == "go_on")
        return (await talks.close_talk(person, "down") if allowed else "refused"), {}
    if view.state != "say":
        return "ahead", {}
    values, problems = turn_values(talks, view, turn)
    if problems:
        return "refused", problems
    ends = bool(values.get("leaves"))  # no model is asked, and nobody is kept in a talk
    if view.speaks and not ends and not await _allowed(visit, talks):
        return "busy", {"": "busy"}
    text = json.dumps(values, ensure_ascii=False, sort_keys=True) if view.feels else turn.says
    counted = {} if turn.pasted is None else {"pasted": turn.pasted}
    kept = await talks.say(person, turn.turn, values, text, moved=turn.moved, **counted)
    return kept, {}


def turn_values(talks: Conversations, view: TalkView, turn: PostedTurn) -> tuple[dict[str, Any], dict[str, str]]:
    """What a turn says, and what is wrong with it."""
    problems: dict[str, str] = {}
    leaves = _LEAVES.get(turn.do, 0) if view.ends else 0
    if len(turn.says) > talks.terms.characters:
        problems["says"] = "error_long"
    elif not turn.says and view.speaks and not leaves:
        problems["says"] = "error_says"
    elif turn.says and not view.speaks:  # no page has a place for it
        problems["says"] = "unasked"
    if not view.feels:
        return {"words": count_words(turn.says)}, problems
    number = int(turn.emotion) if turn.emotion.isascii() and turn.emotion.isdigit() and len(turn.emotion) < 4 else -1
    if not 0 <= number <= 100:
        problems["emotion"] = "error_feel"
    elif not turn.moved:
        problems["emotion"] = "moved"
    if len(turn.feeling) > _MOST_LINE:
        problems["feeling"] = "error_long"
    elif turn.feeling and not talks.terms.why:
        problems["feeling"] = "unasked"
    return {"feeling": turn.feeling, "emotion": number, "leaves": leaves, "says": turn.says}, problems


async def _allowed(visit: Visit, talks: Conversations) -> bool:
    """The limits of messages in a minute, of one person and of all; shared by all processes of a server."""
    study, terms = visit.study.id, talks.terms
    for whom, most in ((f"{study} {visit.person}", terms.per_minute), (study, terms.per_minute_all)):
        key = visit.site.limit_key("talk", whom)
        if not await visit.site.limits.allows(key, float(most), most / 60):
            return False
    return True


async def _until_answered(talks: Conversations, person: str) -> None:
    deadline = asyncio.get_running_loop().time() + _WAIT
    while (left := deadline - asyncio.get_running_loop().time()) > 0:
        view = await talks.look(person)
        if view is None or view.state != "wait":
            return
        await talks.wait(person, min(left, 1.0))


@dataclass(frozen=True, slots=True)
class ToldAtEnd:
    """What somebody who stops in a study of talks is told and gets all the same."""

    machine: str
    debrief: list[Block]


def told_at_end(study: Study, *, assigned: bool) -> ToldAtEnd | None:
    """None where no talk could have begun."""
    if study.talk is None or not assigned:
        return None
    terms = study.talk
    return ToldAtEnd(terms.machine if terms.told == "debrief" else "", blocks(study.debrief))


# -- the page ------------------------------------------------------------------------------------------------------


async def show(
    visit: Visit,
    view: View,
    turn: PostedTurn | None = None,
    problems: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    """The person's talk as it stands; with `problems`, what was written kept."""
    talks = visit.served.talks
    talk = await talks.look(visit.person) if talks else None
    if talks is None or talk is None:
        return visit.to("page")
    words = talks.kind.words
    said = {key: _word(talks, key, why) for key, why in (problems or {}).items()}
    return visit.page(
        "talk",
        status,
        view=view,
        number=view.number + 1,
        place=visit.place(view),
        talk=talk,
        terms=talks.terms,
        w=words,
        shown=blocks(talk.shown or words["listener"]),
        problems=said,
        given=turn or PostedTurn(talk.step, talk.turn, "send"),
        resume=visit.resume_code(view),
        minutes_left=visit.minutes_left(view),
        mark=visit.mark,
    )


def _word(talks: Conversations, key: str, why: str) -> str:
    most = _MOST_LINE if key == "feeling" else talks.terms.characters
    return talks.kind.words[why].format(most=most) if why in talks.kind.words else why


# -- the stream ----------------------------------------------------------------------------------------------------


async def reply(request: Request) -> Response:
    """What the other one says after the lines that the page has already."""
    visit, talks = conversations_of(request)
    asked = request.query_params.get("lines", "")
    lines = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 5 else 0
    if talks.streams[visit.person] >= _MOST_STREAMS:
        return visit.site.busy(visit.study)
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(_counted(talks, visit.person, lines), media_type="text/event-stream", headers=headers)


async def _counted(talks: Conversations, person: str, lines: int) -> AsyncIterator[str]:
    talks.streams[person] += 1
    try:
        async for part in _parts(talks, person, lines):
            yield part
    finally:
        talks.streams[person] -= 1
        if not talks.streams[person]:
            del talks.streams[person]


async def _parts(talks: Conversations, person: str, lines: int) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _STREAM
    yield "retry: 2000\n\n"
    while loop.time() < deadline:
        try:
            view = await talks.look(person)
        except Unknown:  # deleted meanwhile, in another tab
            view = None
        if view is None or view.state != "wait":
            for line in view.lines[lines:] if view else ():
                if line.who == "other":
                    async for part in _paced(line.text, talks.terms.pace):
                        yield part
            yield _event("done", {"state": view.state if view else "over"})
            return
        yield _event("wait", {})  # a comment would be a sign to proxies alone
        await talks.wait(person, _SIGN)


async def _paced(text: str, pace: int) -> AsyncIterator[str]:
    """Word by word, as somebody types; at once with a pace of 0."""
    if not pace:
        yield _event("part", {"text": text})
        return
    start = 0
    while start < len(text):
        end = text.find(" ", start + 1)
        end = len(text) if end < 0 else end
        yield _event("part", {"text": text[start:end]})
        await asyncio.sleep((end - start) / pace)
        start = end


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def conversations_of(request: Request) -> tuple[Visit, Conversations]:
    visit = visit_of(request)
    if visit.served.talks is None:
        raise HTTPException(404, "There is no talk in this study.")
    return visit, visit.served.talks


ROUTES = [
    Route("/s/{study}/talk", post, methods=["POST"]),
    Route("/s/{study}/talk/reply", reply, methods=["GET"]),
]

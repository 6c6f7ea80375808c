"""What gateways in front of models really do under load: their own words for an end, comments before JSON, statuses of
their own, pages where an API was. None of it is in hostile_server.py or hostile_wire.py.

`DRESSED` are good replies, read at once; `FAILED` are none and asked again; `CUT` and `WITHHELD` say in a gateway's own
words that a reply was cut by its room, or taken by a filter."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from fault_server import Asked, Fault
from hostile_server import Reply, text_of


def _raw(make: Callable[[Asked], str], kind: str = "application/json", **more: Any) -> Reply:
    async def reply(asked: Asked) -> web.StreamResponse:
        return web.Response(body=make(asked).encode(), content_type=kind, **more)

    return reply


def _choice(asked: Asked, **changed: Any) -> str:
    choice = asked.good["choices"][0] | changed
    return json.dumps(asked.good | {"choices": [{key: one for key, one in choice.items() if one != "left out"}]})


def _stream(*pieces: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps({'choices': [{'index': 0, **one}]})}\n\n" for one in pieces)


def _ended(finish: str, keep: float = 1.0) -> Reply:
    """With a finish of its own, after a part of the words."""

    def make(asked: Asked) -> str:
        text = text_of(asked)
        return _choice(
            asked, finish_reason=finish, message={"content": text[: max(1, int(len(text) * keep)) - (keep < 1)]}
        )

    return _raw(make)


def _said_twice(name: str, other: str) -> Callable[[Asked], str]:
    """A name that stands twice in one object: first with another value, as JSON."""
    return lambda asked: json.dumps(asked.good).replace(f'"{name}": ', f'"{name}": {other}, "{name}": ', 1)


WAITING = ": OPENROUTER PROCESSING\n\n" * 3
ERROR = json.dumps({"error": {"message": "upstream gave up", "code": 502}})

DRESSED: dict[str, Reply] = {
    "comments before JSON": _raw(lambda asked: WAITING + json.dumps(asked.good)),
    "white space before JSON": _raw(lambda asked: "\n \n" * 40 + json.dumps(asked.good)),
    "comments before a stream called JSON": _raw(
        lambda asked: WAITING + _stream({"delta": {"content": text_of(asked)}}, {"delta": {}, "finish_reason": "stop"})
    ),
    "a whole reply called a stream": _raw(lambda asked: json.dumps(asked.good), "text/event-stream"),
    "a content twice, once without a value": _raw(_said_twice("content", "null")),
    "two thoughts, as NVIDIA sends them": _raw(
        lambda asked: json.dumps(asked.good).replace(
            '"content": ', '"reasoning_content": "a", "reasoning_content": "b", "content": ', 1
        )
    ),
    "no finish at all": _raw(lambda asked: _choice(asked, finish_reason=None)),
    "a finish of another server": _ended("eos_token"),
    "no usage, no role, no object": _raw(
        lambda asked: json.dumps({"choices": [{"message": {"content": text_of(asked)}, "finish_reason": "stop"}]})
    ),
    "roles that change in a stream": _raw(
        lambda asked: _stream(
            {"delta": {"role": "assistant", "content": text_of(asked)[:5]}},
            {"delta": {"role": "model", "content": text_of(asked)[5:]}},
            {"delta": {"role": "assistant"}, "finish_reason": "stop"},
        ),
        "text/event-stream",
    ),
}

FAILED: dict[str, Reply] = {
    "two contents": _raw(_said_twice("content", '"I would rather not say."')),
    "two lists of choices": _raw(_said_twice("choices", '[{"message": {"content": "no"}, "finish_reason": "stop"}]')),
    "two finishes": _raw(_said_twice("finish_reason", '"length"')),
    "white space, then an error": _raw(lambda asked: " \n" * 30 + ERROR),
    "comments, then an error": _raw(lambda asked: WAITING + ERROR, "text/event-stream"),
    "no message": _raw(lambda asked: _choice(asked, message=None)),
    "text where a message should be": _raw(lambda asked: _choice(asked, message="left out", text=text_of(asked))),
    "a piece of a stream as a reply": _raw(
        lambda asked: _choice(asked, message="left out", delta={"content": text_of(asked)[:9]})
    ),
    "JSON in a string": _raw(lambda asked: json.dumps(json.dumps(asked.good))),
    "a list of replies": _raw(lambda asked: json.dumps([asked.good])),
    "words after the JSON": _raw(lambda asked: json.dumps(asked.good) + "\ndata: [DONE]\n\n"),
    "202, queued": _raw(lambda asked: json.dumps({"id": f"req-{asked.number}", "status": "queued"}), status=202),
    "206, a part": _raw(
        lambda asked: json.dumps(asked.good)[:-30], status=206, headers={"Content-Range": "bytes 0-9/*"}
    ),
    **{f"ended by {word}": _ended(word, 0.5) for word in ("abort", "insufficient_system_resource", "network_error")},
    **{f"status {code}": _raw(lambda asked: ERROR, status=code) for code in (424, 460, 498, 499)},
    "429, Retry-After in the past": _raw(
        lambda asked: ERROR, status=429, headers={"Retry-After": "Thu, 01 Jan 1998 00:00:00 GMT"}
    ),
}

CUT: dict[str, Reply] = {
    word: _ended(word, 0.99) for word in ("max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded")
}
"""A last 10 cut to 1, said in other words than OpenAI's."""
WITHHELD: dict[str, Reply] = {word: _ended(word, 0.5) for word in ("sensitive", "SAFETY", "prohibited_content")}

PAGES: dict[str, Reply] = {
    "a firewall's page": _raw(lambda asked: "<!DOCTYPE html><title>Just a moment...</title>", "text/html", status=403),
    "a router without a backend": _raw(lambda asked: "default backend - 404", "text/plain", status=404),
}


def in_the_middle(reply: Reply, first: int = 4, last: int = 8) -> Fault:
    async def fault(asked: Asked) -> web.StreamResponse | None:
        return await reply(asked) if first < asked.number <= last else None

    return fault


def mixed() -> Fault:
    """Each prompt fails in up to two ways, is cut once, and is then answered in a strange dress."""
    failed, cut, dressed = list(FAILED.values()), list(CUT.values()), list(DRESSED.values())

    async def fault(asked: Asked) -> web.StreamResponse | None:
        kind = sum(map(ord, text_of(asked)))
        if asked.seen <= kind % 3:
            return await failed[(kind + asked.seen) % len(failed)](asked)
        if asked.seen == kind % 3 + 1:
            return await cut[kind % len(cut)](asked)
        return await dressed[kind % len(dressed)](asked)

    return fault

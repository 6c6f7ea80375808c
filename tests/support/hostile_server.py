"""A server of our own invention that does what no list of faults foresaw, for tests and for bench/faults.py.

`DISGUISED` are good replies in a strange dress: each is to be read at once, as it was meant. `BROKEN` are no replies:
each is to be asked again, never read. `mixed` throws both at a client with many requests under way, by chance."""

import asyncio
import gzip
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from fault_server import Asked, Fault

BOM = "\ufeff".encode()
Reply = Callable[[Asked], Awaitable[web.StreamResponse]]


def text_of(asked: Asked) -> str:
    return str(asked.good["choices"][0]["message"]["content"])


def _with(asked: Asked, content: Any, **choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return asked.good | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"} | choice]}


def _piece(content: Any, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}], "model": "m"}


def _sse(*pieces: dict[str, Any] | str, end: str = "\n\n") -> str:
    return "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}{end}" for one in pieces)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _said(make: Callable[[Asked], bytes | str], kind: str = "application/json", **more: Any) -> Reply:
    async def reply(asked: Asked) -> web.StreamResponse:
        body = make(asked)
        return web.Response(body=body.encode() if isinstance(body, str) else body, content_type=kind, **more)

    return reply


def _plainly(make: Callable[[Asked], dict[str, Any]]) -> Reply:
    return _said(lambda asked: json.dumps(make(asked)))


def _streamed(make: Callable[[Asked], bytes | str]) -> Reply:
    return _said(make, "text/event-stream")


async def _close_in_the_middle(asked: Asked) -> web.StreamResponse:
    """HTTP/1.0 manners: no length, and the connection closed after half of the body."""
    raw = json.dumps(asked.good).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Connection": "close"})
    response.force_close()
    await response.prepare(asked.request)
    await response.write(raw[: len(raw) // 2])
    return response


async def _gone_before_the_headers(asked: Asked) -> web.StreamResponse:
    """A kept connection that turns out to be closed."""
    if asked.request.transport is not None:
        asked.request.transport.abort()
    return web.Response()


async def _endless(asked: Asked) -> web.StreamResponse:
    """Chunks without an end."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(asked.request)
    try:
        while True:
            await response.write(b" " * 2**20)
    except (ConnectionError, asyncio.CancelledError):
        pass
    return response


def _bomb(asked: Asked) -> bytes:
    """Forty megabytes in forty kilobytes."""
    return gzip.compress(json.dumps(_with(asked, "la " * 13_000_000)).encode(), 9)


DISGUISED: dict[str, Reply] = {
    "a mark before the JSON": _said(lambda asked: BOM + json.dumps(asked.good).encode()),
    "UTF-16": _said(lambda asked: json.dumps(asked.good).encode("utf-16")),
    "a charset that is none": _said(lambda asked: json.dumps(asked.good), charset="klingon"),
    "content in parts": _plainly(
        lambda asked: _with(asked, [{"type": "thinking", "thinking": []}, *_parts_of(text_of(asked))])
    ),
    "another choice first": _plainly(
        lambda asked: asked.good | {"choices": [_other(), *_with(asked, text_of(asked))["choices"]]}
    ),
    "status 203": _said(lambda asked: json.dumps(asked.good), status=203),
    "a stream nobody asked for, after a mark": _streamed(
        lambda asked: BOM + _sse(*map(_piece, _halves(text_of(asked))), _piece("", "stop"), "[DONE]").encode()
    ),
    "a stream without empty lines": _streamed(
        lambda asked: _sse(*map(_piece, _halves(text_of(asked))), _piece("", "stop"), end="\n")
    ),
    "a stream with comments and CRLF": _streamed(
        lambda asked: ": hold on\r\n\r\n" + _sse(_piece(text_of(asked)), _piece(None, "stop"), end="\r\n\r\n")
    ),
    "a stream of parts": _streamed(lambda asked: _sse(_piece(_parts_of(text_of(asked))), _piece("", "stop"))),
    "usage that lies": _plainly(
        lambda asked: asked.good | {"usage": {"prompt_tokens": -5, "completion_tokens": "many", "cost": "1e999"}}
    ),
    "NUL and half a character after the answer": _plainly(
        lambda asked: _with(asked, text_of(asked) + "\n\0 \ud83d \x1b[31m")
    ),
    "fields of other types": _plainly(
        lambda asked: asked.good | {"id": [], "created": "soon", "object": None, "usage": [], "system_fingerprint": {}}
    ),
    "cookies": _said(lambda asked: json.dumps(asked.good), headers={"Set-Cookie": "who=you; Path=/"}),
    "absurd limits": _said(
        lambda asked: json.dumps(asked.good),
        headers={"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1e400", "Retry-After": "never"},
    ),
}


def _parts_of(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": half} for half in _halves(text)]


def _other() -> dict[str, Any]:
    return {"index": 1, "message": {"role": "assistant", "content": "the second best"}, "finish_reason": "stop"}


BROKEN: dict[str, Reply] = {
    "a page to log in": _said(lambda asked: "<!doctype html><title>Sign in</title>", "text/html"),
    "an empty body": _said(lambda asked: ""),
    "no choice": _plainly(lambda asked: asked.good | {"choices": []}),
    "content that is a number": _plainly(lambda asked: _with(asked, 7)),
    "Latin-1": _said(
        lambda asked: json.dumps(_with(asked, "é" + text_of(asked)), ensure_ascii=False).encode("latin-1")
    ),
    "every event twice": _streamed(
        lambda asked: "".join(2 * _sse(one) for one in (*map(_piece, _halves(text_of(asked))), _piece("", "stop")))
    ),
    "a stream that begins again": _streamed(
        lambda asked: 2 * _sse(*map(_piece, _halves(text_of(asked))), _piece("", "stop"))
    ),
    "a stream cut in an event": _streamed(lambda asked: _sse(_piece(text_of(asked)), _piece("", "stop"))[:-30]),
    "an error in the middle of a stream": _streamed(
        lambda asked: _sse(_piece(_halves(text_of(asked))[0]), {"error": {"message": "worker died"}})
    ),
    "status 204": _said(lambda asked: "", status=204),
    "gzip that is none": _said(lambda asked: json.dumps(asked.good), headers={"Content-Encoding": "gzip"}),
    "closed in the middle": _close_in_the_middle,
    "gone before the headers": _gone_before_the_headers,
    "brackets without an end": _said(lambda asked: "[" * 100_000),
}

TOO_LARGE: dict[str, Reply] = {
    "a gzip bomb": _said(_bomb, headers={"Content-Encoding": "gzip"}),
    "chunks without an end": _endless,
}
"""Read up to the limit, never further; asked again before the run ends."""

CIRCLES: dict[str, Reply] = {
    "a circle of redirects": _said(lambda asked: "", status=307, headers={"Location": "/v1/chat/completions"}),
    "a redirect to a page to log in": _said(lambda asked: "", status=302, headers={"Location": "/login"}),
    "a redirect to nowhere": _said(lambda asked: "", status=308, headers={"Location": "http://[:::99999/"}),
}
"""These end the model, with the reason."""


STRANGE: dict[str, Reply] = {
    "Anthropic's reply": _plainly(
        lambda asked: {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text_of(asked)}],
            "stop_reason": "end_turn",
        }
    ),
    "a detail": _plainly(lambda asked: {"detail": "The model is warming up"}),
    "a tool call": _plainly(lambda asked: asked.good | {"choices": [_tool_call()]}),
    "capitals": _plainly(lambda asked: asked.good | {"model": "M" if asked.number % 2 else "m"}),
}
"""JSON with nothing broken, and yet no reply; or one that only looks like another model's."""


def _tool_call() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "feel", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"index": 0, "message": message, "finish_reason": "tool_calls"}


def page(status: int, times: int) -> Fault:
    """A gateway's page, from the second request on."""
    text = f"<!DOCTYPE html><html><head><title>{status}: Connection timed out</title></head>{'<p>' * 900}"

    async def fault(asked: Asked) -> web.StreamResponse | None:
        there = 1 < asked.number <= 1 + times
        return web.Response(status=status, text=text, content_type="text/html") if there else None

    return fault


def month_over(after: int) -> Fault:
    """A 429 that no waiting ends."""
    error = {"message": "You have reached your monthly usage limit.", "type": "rate_limit_error"}

    async def fault(asked: Asked) -> web.StreamResponse | None:
        return web.json_response({"error": error}, status=429) if asked.number > after else None

    return fault


def always(reply: Reply) -> Fault:
    async def fault(asked: Asked) -> web.StreamResponse | None:
        return await reply(asked)

    return fault


def once(reply: Reply) -> Fault:
    """On the first sight of each prompt."""

    async def fault(asked: Asked) -> web.StreamResponse | None:
        return await reply(asked) if asked.seen == 1 else None

    return fault


def mixed(seed: int = 0, most: int = 3) -> Fault:
    """Up to `most` broken replies a prompt, after waits of their own, then one that is good or in disguise."""
    draw = random.Random(seed)
    left: dict[str, int] = {}

    async def fault(asked: Asked) -> web.StreamResponse | None:
        prompt = text_of(asked)
        if prompt not in left:
            left[prompt] = draw.randrange(most + 1)
        await asyncio.sleep(draw.random() * 0.05)
        if left[prompt] > 0:
            left[prompt] -= 1
            return await draw.choice(list(BROKEN.values()))(asked)
        return await draw.choice(list(DISGUISED.values()))(asked) if draw.random() < 0.8 else None

    return fault

"""A chat server on loopback that misbehaves in one chosen way, for tests and for bench/faults.py.

A fault looks at the request and either answers itself or returns None for a good answer. Most strike on the first
sight of a prompt only: what follows shows whether the client came back."""

import asyncio
import json
import ssl
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from in_thread import served
from server import answer_to


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a fault sees it."""

    request: web.Request
    number: int
    """Of all requests, from 1."""
    seen: int
    """How often this prompt was asked, this time included."""
    good: dict[str, Any]
    """The reply that a healthy server would give."""
    body: dict[str, Any] = field(default_factory=dict)
    """What was asked."""


Fault = Callable[[Asked], Awaitable[web.StreamResponse | None]]


def completion(prompt: str, model: str, text: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer_to(prompt) if text is None else text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"model": model, "choices": [choice], "usage": {"prompt_tokens": 400, "completion_tokens": 20}}


@dataclass
class FaultServer:
    fault: Fault
    url: str = ""
    requests: int = 0
    good: int = 0
    """Answers that were sent in full: what a provider would charge for."""
    seen: Counter[str] = field(default_factory=Counter)
    tls: ssl.SSLContext | None = None
    _held: Any = None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        prompt = body["messages"][-1]["content"]
        self.requests += 1
        self.seen[prompt] += 1
        good = completion(prompt, body["model"])
        answer = await self.fault(Asked(request, self.requests, self.seen[prompt], good, body))
        if answer is not None:
            return answer
        self.good += 1
        return web.json_response(good)

    def heal(self) -> None:
        self.fault = none

    def open(self, port: int = 0) -> None:
        self._held = served(web.post("/v1/chat/completions", self.chat), port=port, tls=self.tls)
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self._held.__enter__()}/v1"

    def close(self) -> None:
        """Nobody listens any more: connections are refused."""
        self._held.__exit__(None, None, None)

    def away(self, over: threading.Event, seconds: float) -> None:
        """Closed, and open again at the same port after a while, or when the event is set."""
        port = int(self.url.split(":")[2].split("/")[0])
        self.close()
        over.wait(seconds)
        self.open(port)


@contextmanager
def serving(fault: Fault, tls: ssl.SSLContext | None = None) -> Iterator[FaultServer]:
    server = FaultServer(fault, tls=tls)
    server.open()
    try:
        yield server
    finally:
        server.close()


# -- the faults ------------------------------------------------------------------------------------------------


async def none(asked: Asked) -> web.StreamResponse | None:
    return None


async def slowly(asked: Asked) -> web.StreamResponse | None:
    """A good answer after a while, so that something can happen in the middle of a run."""
    await asyncio.sleep(0.2)
    return None


async def silence(asked: Asked) -> web.StreamResponse | None:
    """Nothing comes, for longer than any client waits."""
    if asked.seen == 1 and asked.number <= 4:
        await asyncio.sleep(3600)
    return None


async def reset_in_body(asked: Asked) -> web.StreamResponse | None:
    if asked.seen > 1:
        return None
    raw = json.dumps(asked.good).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(raw))})
    await response.prepare(asked.request)
    await response.write(raw[: len(raw) // 2])
    if asked.request.transport is not None:
        asked.request.transport.abort()
    return response


def refusing(status: int, headers: dict[str, str], until: int) -> Fault:
    """An HTTP error for the first `until` requests."""

    async def fault(asked: Asked) -> web.StreamResponse | None:
        if asked.number > until:
            return None
        return web.json_response({"error": {"message": "try later"}}, status=status, headers=headers)

    return fault


def saying(make: Callable[[Asked], web.Response]) -> Fault:
    """A strange 200 on the first sight of each prompt."""

    async def fault(asked: Asked) -> web.StreamResponse | None:
        return make(asked) if asked.seen == 1 else None

    return fault


def truncated(asked: Asked) -> web.Response:
    return web.Response(text=json.dumps(asked.good)[:-40], content_type="application/json")


def no_choices(asked: Asked) -> web.Response:
    return web.json_response(asked.good | {"choices": []})


def html(asked: Asked) -> web.Response:
    return web.Response(text="<html><body>Please log in</body></html>", content_type="text/html")


def text_plain(asked: Asked) -> web.Response:
    """A good answer under a wrong content type."""
    return web.Response(text=json.dumps(asked.good), content_type="text/plain")


def stream_twice(asked: Asked) -> web.Response:
    """A stream that nobody asked for, every event twice."""
    delta = {"choices": [{"delta": {"content": asked.good["choices"][0]["message"]["content"]}}]}
    event = f"data: {json.dumps(delta)}\n\n"
    return web.Response(text=event + event + "data: [DONE]\n\n", content_type="text/event-stream")


async def drip(asked: Asked) -> web.StreamResponse | None:
    """A byte now and then: each keeps the connection alive, all together never end."""
    if asked.seen > 1 or asked.number > 4:
        return None
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(asked.request)
    with suppress(ConnectionResetError):  # the client has had enough
        for byte in json.dumps(asked.good).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(0.2)
    return response


async def refusal(asked: Asked) -> web.StreamResponse | None:
    """About half of the prompts are declined, at every try."""
    if sum(map(ord, asked.good["choices"][0]["message"]["content"])) % 2:
        return None
    said = "I'm sorry, but as an AI I don't have feelings and can't rate them."
    return web.json_response(completion("", asked.good["model"], said))


def huge(size: int) -> Fault:
    """The answer after a preamble of `size` bytes."""

    async def fault(asked: Asked) -> web.StreamResponse | None:
        said = "la " * (size // 3) + "\n\n" + asked.good["choices"][0]["message"]["content"]
        return web.json_response(completion("", asked.good["model"], said)) if asked.seen == 1 else None

    return fault


async def nan_usage(asked: Asked) -> web.StreamResponse | None:
    usage = {"prompt_tokens": float("nan"), "completion_tokens": float("inf")}
    return web.Response(text=json.dumps(asked.good | {"usage": usage}), content_type="application/json")


def revoked(after: int) -> Fault:
    """The key is taken back after some answers; `server.fault = none` gives it again."""

    async def fault(asked: Asked) -> web.StreamResponse | None:
        if asked.number <= after:
            return None
        return web.json_response({"error": {"message": "this key was revoked"}}, status=401)

    return fault


def _finished(asked: Asked, text: str, finish: str, **more: Any) -> web.Response:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish} | more
    return web.json_response(asked.good | {"choices": [choice]})


def cut(asked: Asked) -> web.Response:
    """A last 10 that was cut to 1, and says so in its finish alone."""
    return _finished(asked, asked.good["choices"][0]["message"]["content"][:-1], "length")


def failed_within(asked: Asked) -> web.Response:
    """The provider failed after it had begun."""
    return _finished(asked, asked.good["choices"][0]["message"]["content"][:10], "error")


async def filtered(asked: Asked) -> web.StreamResponse | None:
    """A filter took the content of every third reply, for good."""
    third = sum(map(ord, asked.good["choices"][0]["message"]["content"])) % 3 == 0
    return _finished(asked, "", "content_filter") if third else None


async def another_model(asked: Asked) -> web.StreamResponse | None:
    """Good answers, the later ones under another name."""
    return web.json_response(asked.good | {"model": "m-2024-08-06" if asked.number <= 6 else "m-mini"})


async def empty(asked: Asked) -> web.StreamResponse | None:
    return _finished(asked, "", "stop")


async def fails_on_schema(asked: Asked) -> web.StreamResponse | None:
    """As llama.cpp's Python server did."""
    return web.json_response({"error": "grammar"}, status=500) if "response_format" in asked.body else None


def rate(most: int, seconds: float) -> Fault:
    """So many requests in a window, the rest refused without a word on how long."""
    taken: list[float] = []

    async def fault(asked: Asked) -> web.StreamResponse | None:
        now = asyncio.get_running_loop().time()
        taken[:] = [moment for moment in taken if now - moment < seconds]
        if len(taken) >= most:
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        taken.append(now)
        return None

    return fault


def bucket(most: int, seconds: float, burst: int = 5) -> Fault:
    """So many in a while, one after the other: a bucket that refills, as most providers have."""
    left, at = float(burst), 0.0

    async def fault(asked: Asked) -> web.StreamResponse | None:
        nonlocal left, at
        now = asyncio.get_running_loop().time()
        left, at = min(float(burst), left + (now - at) * most / seconds), now
        if left < 1:
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        left -= 1
        return None

    return fault


def outage(after: int, seconds: float) -> Fault:
    """A gateway with nobody behind it, for a while."""
    began: list[float] = []

    async def fault(asked: Asked) -> web.StreamResponse | None:
        now = asyncio.get_running_loop().time()
        if asked.number <= after or (began and now - began[0] > seconds):
            return None
        began[:] = began or [now]
        return web.Response(status=502, text="<html>Bad gateway</html>")

    return fault


# -- rates and keys -----------------------------------------------------------------------------------------------


def limited(headers: dict[str, str], details: Any = None, times: int = 4, start: int = 4) -> Fault:
    """429 for some requests in the middle, which says how long to wait in one provider's own way."""
    error = {"message": "Resource exhausted", "code": 429, "details": details or []}

    async def fault(asked: Asked) -> web.StreamResponse | None:
        if not start < asked.number <= start + times:
            return None
        return web.json_response({"error": error}, status=429, headers=headers)

    return fault


async def repeats_the_key(asked: Asked) -> web.StreamResponse | None:
    """An error whose text is JSON again, with the key in it."""
    if asked.seen > 1:
        return None
    sent = asked.request.headers.get("Authorization", "")
    inner = json.dumps({"headers": {"authorization": sent}}).replace("/", "\\/")
    return web.json_response({"error": {"message": f"upstream said {inner}"}}, status=413)


async def wants_other_names(asked: Asked) -> web.StreamResponse | None:
    """A field by another name, said in words in which a short key occurs."""
    if "max_tokens" not in asked.body:
        return None
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    error = {"message": said, "param": "max_tokens", "code": "unsupported_parameter"}
    return web.json_response({"error": error}, status=400)


async def elsewhere(asked: Asked) -> web.StreamResponse | None:
    """Sent to another origin: the same machine by another name."""
    there = str(asked.request.url).replace("127.0.0.1", "localhost")
    return web.Response(status=307, headers={"Location": there})

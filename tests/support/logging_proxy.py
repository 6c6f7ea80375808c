"""A proxy that passes everything on and keeps the bytes, and a checker that holds stored texts against them: whatever
was stored for a prompt is what the server sent for exactly that prompt."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from in_thread import served

from eqlab.models.chat import split_reasoning
from eqlab.store.reader import Reader


@dataclass
class Seen:
    """Requests and what came back, in the order of their ends."""

    url: str = ""
    pairs: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)

    def replies(self, prompt: str) -> list[tuple[str, Any]]:
        """(text, usage) of each whole reply to a prompt, put together from the bytes without our own reader."""
        return [_said(raw) for body, raw in self.pairs if body["messages"][-1]["content"] == prompt and raw]


def _said(raw: bytes) -> tuple[str, Any]:
    if raw.lstrip().startswith(b"{"):
        whole = json.loads(raw)
        return whole["choices"][0]["message"]["content"], whole.get("usage")
    text, usage = "", None
    for line in raw.splitlines():
        if line.startswith(b"data: {"):
            piece = json.loads(line[6:])
            usage = piece.get("usage") or usage
            for choice in piece["choices"]:
                text += choice["delta"].get("content") or ""
    return text, usage


@contextmanager
def logging_proxy(server: str) -> Iterator[Seen]:
    """In front of a server whose address is given without a path."""
    seen = Seen()

    async def pass_on(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        said = {"Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.request(request.method, server + request.path_qs, data=body or None, headers=said) as came,
        ):
            response = web.StreamResponse(status=came.status, headers={"Content-Type": came.content_type})
            await response.prepare(request)
            raw = b""
            async for chunk in came.content.iter_any():
                raw += chunk
                await response.write(chunk)
            if body and came.status == 200:
                seen.pairs.append((json.loads(body), raw))
            return response

    with served(web.route("*", "/{path:.*}", pass_on)) as port:
        seen.url = f"http://127.0.0.1:{port}/v1"
        yield seen


def differences(store: Reader, run: str, subject: str, benchmark: str, seen: Seen) -> list[str]:
    """Every stored answer whose text, or tokens, are not those of a reply that the proxy saw for its prompt."""
    found = []
    for scored in store.scored(run, subject, benchmark):
        replies = seen.replies(scored.trial.prompt)
        known = [(split_reasoning(text)[0], usage) for text, usage in replies]
        for answer in scored.attempts:
            counts = {"prompt_tokens": answer.tokens_in, "completion_tokens": answer.tokens_out}
            if answer.status != "error" and not any(
                answer.text == text and (usage is None or {name: usage[name] for name in counts} == counts)
                for text, usage in known
            ):
                found.append(f"{answer.trial}: {answer.text!r} {counts}, and the proxy saw {known}")
    return found

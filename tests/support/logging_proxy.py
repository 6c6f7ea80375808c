"""A proxy that passes everything on and keeps the bytes, and a checker that holds stored texts against them: whatever
was stored for a prompt is what the server sent for exactly that prompt. Replies are put together from the bytes here,
without the product's readers."""

import asyncio
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

_HOPS = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "content-encoding", "expect"}
Said = tuple[str, int | None, int | None]
"""Text, tokens in, tokens out of a whole reply; None where the server counts none."""


@dataclass
class Seen:
    """Requests and what came back, in the order of their ends."""

    root: str = ""
    pairs: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    """Of what was answered with 200: body and bytes."""
    statuses: list[int] = field(default_factory=list)
    """Of every request; 0 where the server was gone."""
    asked: list[str] = field(default_factory=list)
    """Every prompt that was sent, answered or not."""
    most: int | None = None
    """Requests that are passed on; those beyond it wait until this is None."""

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def replies(self, prompt: str) -> list[Said]:
        """Of each whole reply to a prompt."""
        return [_said(raw) for body, raw in self.pairs if prompt_of(body) == prompt and raw]

    @property
    def streamed(self) -> int:
        return sum(not raw.lstrip().startswith(b"{") for _, raw in self.pairs)


def prompt_of(body: dict[str, Any]) -> str:
    """What was asked last, in any dialect."""
    turn = (body.get("messages") or body.get("input") or body.get("contents") or [{"content": ""}])[-1]
    content = turn.get("content", turn.get("parts"))
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _storable(text: str) -> str:
    """As a store can hold it: halves of a letter from two pieces are one again; no half is left, and no NUL."""
    return split_reasoning(_joined(text))[0].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _said(raw: bytes) -> Said:
    whole = raw.lstrip().startswith(b"{")
    pieces = [json.loads(raw)] if whole else [json.loads(x[6:]) for x in raw.splitlines() if x.startswith(b"data: {")]
    first = pieces[0]
    if "choices" in first:
        return _chat(pieces)
    if "candidates" in first or "promptFeedback" in first:
        return _gemini(pieces)
    if str(first.get("type", "")).startswith(("message", "content_block")):  # llama.cpp may leave out message_start
        return _messages(pieces)
    return _responses(pieces)


def _counts(tokens_in: int | None, tokens_out: int | None) -> tuple[int | None, int | None]:
    """A server that reports 0 and 0 beside a text has counted nothing."""
    return (tokens_in, tokens_out) if tokens_in or tokens_out else (None, None)


def _chat(pieces: list[dict[str, Any]]) -> Said:
    text, usage = "", {}
    for piece in pieces:
        usage = piece.get("usage") or usage
        for choice in piece.get("choices") or []:
            text += (choice.get("message") or choice.get("delta") or {}).get("content") or ""
    return text, *_counts(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def _gemini(pieces: list[dict[str, Any]]) -> Said:
    text, usage = "", {}
    for piece in pieces:
        usage = piece.get("usageMetadata") or usage
        for candidate in piece.get("candidates") or []:
            parts = (candidate.get("content") or {}).get("parts") or []
            text += "".join(part.get("text", "") for part in parts if not part.get("thought"))
    return text, *_counts(usage.get("promptTokenCount"), usage.get("candidatesTokenCount"))


def _messages(pieces: list[dict[str, Any]]) -> Said:
    text, usage = "", {}
    for piece in pieces:
        usage |= (piece.get("message") or {}).get("usage") or piece.get("usage") or {}
        blocks = piece.get("content") or [piece.get("delta") or {}]
        text += "".join(block.get("text") or block.get("partial_json") or "" for block in blocks)
        text += "".join(json.dumps(block["input"], ensure_ascii=False) for block in blocks if "input" in block)
    sums = [usage.get(f"{name}input_tokens") for name in ("", "cache_read_", "cache_creation_")]
    known = sum(filter(None, sums)) if sums[0] is not None else None
    return text, *_counts(known, usage.get("output_tokens"))


def _responses(pieces: list[dict[str, Any]]) -> Said:
    last = pieces[-1].get("response", pieces[-1])
    blocks = [block for item in last.get("output") or [] for block in item.get("content") or []]
    whole = "".join(block.get("text", "") for block in blocks if block.get("type") == "output_text")
    streamed = "".join(x["delta"] for x in pieces if x.get("type") == "response.output_text.delta")
    assert not streamed or not whole or _joined(streamed) == whole
    usage = last.get("usage") or {}
    return whole or streamed, *_counts(usage.get("input_tokens"), usage.get("output_tokens"))


@contextmanager
def logging_proxy(server: str, port: int = 0) -> Iterator[Seen]:
    """In front of a server whose address is given without a path; a server that is gone cuts the line."""
    seen = Seen()
    lines: dict[str, dict[str, Any]] = {}  # of files for batches: name of a line → its request

    async def pass_on(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = request.headers.get("Content-Type", "")
        asks = json.loads(body) if "json" in kind and body else {}
        if prompt := prompt_of(asks):
            seen.asked.append(prompt)
            number = len(seen.asked)
            while seen.most is not None and number > seen.most:
                await asyncio.sleep(0.01)
        if "multipart" in kind:
            for line in body.split(b"\n"):
                if line.startswith(b'{"custom_id"'):
                    lines[json.loads(line)["custom_id"]] = json.loads(line)["body"]
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOPS}
        response, raw = None, b""
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
                session.request(request.method, server + request.path_qs, data=body or None, headers=headers) as came,
            ):
                sent = {name: value for name, value in came.headers.items() if name.lower() not in _HOPS}
                response = web.StreamResponse(status=came.status, headers=sent)
                await response.prepare(request)
                async for chunk in came.content.iter_any():
                    raw += chunk
                    await response.write(chunk)
        except aiohttp.ClientError:
            if request.transport is not None:
                request.transport.abort()
            seen.statuses.append(0)
            return response or web.Response(status=502)
        if prompt:
            seen.statuses.append(came.status)
        if prompt and came.status == 200 and not raw.startswith(b"{malformed"):
            seen.pairs.append((asks, raw))
        if request.path.startswith("/v1/files/") and request.path.endswith("/content"):
            for found in map(json.loads, filter(None, raw.split(b"\n"))):
                if found.get("response"):
                    answered = lines[found["custom_id"]], json.dumps(found["response"]["body"]).encode()
                    seen.pairs.append(answered)
        return response

    with served(web.route("*", "/{path:.*}", pass_on), port=port) as found:
        seen.root = f"http://127.0.0.1:{found}"
        yield seen


def differences(store: Reader, run: str, subject: str, benchmark: str, seen: Seen) -> list[str]:
    """Every stored answer whose text, or tokens, are not those of a reply that the proxy saw for its prompt."""
    found = []
    for scored in store.scored(run, subject, benchmark):
        known = [(_storable(text), *tokens) for text, *tokens in seen.replies(scored.trial.prompt)]
        for answer in scored.attempts:
            if answer.status != "error" and not any(
                answer.text == text
                and tokens_in in (None, answer.tokens_in)
                and tokens_out in (None, answer.tokens_out)
                for text, tokens_in, tokens_out in known
            ):
                held = answer.text, answer.tokens_in, answer.tokens_out
                found.append(f"{answer.trial}: {held}, and the proxy saw {known}")
    return found

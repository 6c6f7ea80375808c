"""Providers on loopback, as strict as their documentation: unknown fields, wrong headers and wrong paths are refused,
with the error bodies that the real ones send. Each answers the questions of the open EQ-Bench items.

A prompt is flagged, where a provider filters, by its position among those seen: the same prompt always alike."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web
from in_thread import served

THOUGHT = 300
"""Tokens that the thinking models here need before they say a word."""


class Refused(Exception):
    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}


class Strict:
    """One provider. `faults` maps the number of a request to what goes wrong with it."""

    def __init__(
        self, provider: "Provider", *, latency: float = 0.02, faults: dict[int, Callable[[], Any]] | None = None
    ):
        self.provider, self.latency, self.faults = provider, latency, faults or {}
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.refused: list[str] = []
        """What was refused, in the server's words."""
        self.prompts: list[str] = []
        self.port = 0

    def base(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def flagged(self, prompt: str, every: int) -> bool:
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        return self.prompts.index(prompt) % every == every - 1

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.requests.append(body)
        self.paths.append(request.path_qs)
        self.headers.append(dict(request.headers))
        fault = self.faults.get(len(self.requests))
        await asyncio.sleep(self.latency)
        try:
            if fault is not None:
                made = fault()
                if isinstance(made, web.StreamResponse):
                    return made
                raise made
            said = self.provider(self, request, body)
        except Refused as refused:
            self.refused.append(json.dumps(refused.body))
            return web.json_response(refused.body, status=refused.status, headers=refused.headers)
        if isinstance(said, list):  # events
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
            await response.prepare(request)
            for event in said:
                kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
                data = event if isinstance(event, str) else json.dumps(event)
                await response.write(f"{kind}data: {data}\n\n".encode())
            return response
        return web.json_response(said)


Provider = Callable[[Strict, web.Request, dict[str, Any]], Any]


@contextmanager
def serving(provider: Provider, **more: Any) -> Iterator[Strict]:
    server = Strict(provider, **more)
    with served(web.post("/{path:.*}", server.handle)) as server.port:
        yield server


def overloaded() -> Refused:
    return Refused(503, {"error": {"message": "The server is overloaded.", "type": "server_error", "code": None}})


def broken() -> Refused:
    return Refused(500, {"error": {"message": "The server had an error.", "type": "server_error"}})

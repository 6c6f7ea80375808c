"""Batches on loopback, as strict as the providers' documentation: every body is held against the types of the
providers' own libraries, and so is every answer that these servers give. Each keeps a ledger of what it was asked.

`hold` names a moment at which the server falls silent until it is let go: the moment to kill a client."""

import asyncio
import json
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from aiohttp import web
from strict_servers import Refused

KEY = "sk-strict-0123456789"
Results = list[dict[str, Any]]


class House:
    """One provider with its batches."""

    prefix = ""

    def __init__(self) -> None:
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.sent: list[str] = []
        """Every request that a batch was made of, by its prompt."""
        self.keys: list[str] = []
        self.direct = 0
        self.looks = 0
        self.looks_needed = 2
        """How often a batch is looked at until it has ended."""
        self.hold = ""
        self.held = threading.Event()
        self.let_go = threading.Event()
        self.mischief: Callable[[Results, int], Results] = lambda results, number: results
        """What the results of the n-th batch really are."""
        self.ends = "completed"
        self.refuses_create: list[Refused] = []
        self.port = 0
        self.prompts: list[str] = []
        self.flagged_every = 10**9

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    def flagged(self, prompt: str, every: int) -> bool:
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        return self.prompts.index(prompt) % self.flagged_every == self.flagged_every - 1

    async def pause(self, moment: str, request: web.Request) -> bool:
        """Whether the client died here."""
        if self.hold != moment:
            return False
        self.hold = ""
        self.held.set()
        while not self.let_go.is_set():
            await asyncio.sleep(0.01)
            if request.transport is None or request.transport.is_closing():
                return True
        return False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self.check_key(request)
            said = await self.route(request)
        except Refused as refused:
            return web.json_response(refused.body, status=refused.status, headers=refused.headers)
        if isinstance(said, bytes):
            return web.Response(body=said, content_type="application/octet-stream")
        return said if isinstance(said, web.StreamResponse) else web.json_response(said)

    def check_key(self, request: web.Request) -> None:
        raise NotImplementedError

    async def route(self, request: web.Request) -> Any:
        raise NotImplementedError

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        """What the model says to one request of a batch."""
        try:
            return 200, self.one(body)
        except Refused as refused:
            return refused.status, refused.body

    def one(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    def ended(self, batch: dict[str, Any]) -> bool:
        batch["looks"] += 1
        self.looks += 1
        return batch["looks"] >= self.looks_needed


@cache
def _validator(kind: Any) -> Any:
    """Made once: for the types of a request it takes a quarter of a second."""
    import pydantic

    return pydantic.TypeAdapter(kind)


def adapter(kind: Any, body: Any) -> None:
    _validator(kind).validate_python(body)


def streamed(said: Any) -> Any:
    """A direct reply, streamed where that was asked for."""
    if not isinstance(said, list):
        return said
    text = ""
    for event in said:
        kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        text += f"{kind}data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
    return web.Response(text=text, content_type="text/event-stream")

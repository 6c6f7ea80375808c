"""A loopback chat server that answers after a fixed latency: the floor that the runner is measured against.

Runs in a process of its own, so that its CPU time is not counted as the client's."""

import argparse
import asyncio
import json
import re
from typing import Any

from aiohttp import web

_LISTED = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_PIECES = re.compile(r"\S*\s*(?!\Z)|\S+")
_WORDS = re.compile(r"\n\n[^\n]*(?:feel|at the end)[^\n]*\n((?:\w+\n){4})")


_TURN = "Feeling: It is something.\nEmotion: 50\nLeaves: no\nSays: There is more to tell."


def answer_to(prompt: str) -> str:
    """A line for each thing that is asked: the four emotions of a dialogue, or the items of a questionnaire."""
    found = _WORDS.search(prompt)
    if found:
        return "\n".join(f"{word}: {(len(word) * 7 + i) % 10 + 1}" for i, word in enumerate(found.group(1).split()))
    return "\n".join(f"{item}: {len(item) % 4 + 1}" for item in _LISTED.findall(prompt)) or "I see."


class Ledger:
    """What was asked. An answer is lost if its question comes again although a living client had got it."""

    def __init__(self) -> None:
        self.requests = self.repeated = self.lost = 0
        self.asked: set[str] = set()
        self.answered: set[str] = set()

    def ask(self, question: str) -> None:
        self.requests += 1
        self.repeated += question in self.asked
        self.lost += question in self.answered
        self.asked.add(question)

    def as_data(self) -> dict[str, int]:
        return {
            "requests": self.requests,
            "answered": len(self.answered),
            "repeated": self.repeated,
            "lost": self.lost,
        }


def application(latency: float, *, streams: bool = False) -> web.Application:
    """`streams`: a request that asks for a stream gets one, word by word; else nobody does."""
    ledger = Ledger()

    async def asked(request: web.Request) -> web.Response:
        return web.json_response(ledger.as_data())

    async def forget(request: web.Request) -> web.Response:
        nonlocal ledger
        ledger = Ledger()
        return web.json_response({})

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["messages"][-1]["content"]
        own, question = ledger, f"{body['model']}: {prompt}"
        own.ask(question)
        await asyncio.sleep(latency)
        if request.transport is not None and not request.transport.is_closing():
            own.answered.add(question)
        speaks = "Says: (" in body["messages"][0]["content"]  # a speaker's turn in a talk has a form of its own
        message = {"role": "assistant", "content": _TURN if speaks else answer_to(prompt)}
        if streams and body.get("stream"):
            return await streamed(request, body["model"], message["content"])
        return web.Response(
            body=json.dumps(
                {
                    "id": "bench",
                    "object": "chat.completion",
                    "created": 0,
                    "model": body["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
                }
            ),
            content_type="application/json",
        )

    async def streamed(request: web.Request, model: str, text: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        head = {"id": "bench", "object": "chat.completion.chunk", "created": 0, "model": model}
        words = _PIECES.findall(text)
        pieces: list[dict[str, Any]] = [
            {"index": 0, "delta": {"content": word}, "finish_reason": None} for word in words
        ]
        pieces.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        usage = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
        events = [{**head, "choices": [piece]} for piece in pieces] + [{**head, "choices": [], "usage": usage}]
        await response.write("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/asked", asked)
    app.router.add_post("/forget", forget)
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--streams", action="store_true")
    arguments = parser.parse_args()
    app = application(arguments.latency, streams=arguments.streams)
    web.run_app(app, host="127.0.0.1", port=arguments.port, print=None, access_log=None)


if __name__ == "__main__":
    main()

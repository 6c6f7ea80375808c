"""Scripted models on loopback for simulated people: they speak the chat format that every server speaks, are asked
through the same room as real ones, and say what the study's kind has written down for them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.messages import Message
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import Conversing
from eqlab.study.kinds.registry import kind_of


@contextmanager
def scripted_models(design: Design) -> Iterator[dict[str, ModelConfig] | None]:
    """A model for each arm, by arm, while the block lasts; None where a study has no talks."""
    kind = kind_of(design.study)
    if not design.talks or not isinstance(kind, Conversing):
        yield None
        return
    arms = [name for name, _ in design.study.arms]
    real = kind.models(design.study)

    async def chat(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        messages = [Message(one["role"], str(one["content"])) for one in body["messages"]]
        text = kind.scripted(design.study, arms[int(str(body["model"]).rpartition("-")[2])], messages)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})

    loop = asyncio.new_event_loop()
    ready = threading.Event()
    port: list[int] = []

    async def begin() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.append(int(runner.addresses[0][1]))
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(begin())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, name="eqlab-scripted", daemon=True)
    thread.start()
    if not ready.wait(15):
        raise UsageError("The scripted models did not start.", "Try again.")
    base = f"http://127.0.0.1:{port[0]}/v1"
    try:
        yield {
            arm: ModelConfig(f"scripted-{number}", base, real[arm].structured, role=real[arm].role)
            for number, arm in enumerate(arms)
        }
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)

"""A model server as vLLM and llama.cpp are started: a command, a port, /health. Answers EQ-Bench's questions."""

import os
import sys
from pathlib import Path

from aiohttp import web
from small_sweep import good


async def chat(request: web.Request) -> web.Response:
    body = await request.json()
    message = {"role": "assistant", "content": good(body)}
    return web.json_response({"model": "tiny", "choices": [{"message": message, "finish_reason": "stop"}]})


async def health(request: web.Request) -> web.Response:
    return web.Response()


def main() -> None:
    port, *pid_file = sys.argv[1:]
    for path in pid_file:
        Path(path).write_text(str(os.getpid()))
    app = web.Application()
    app.router.add_get("/health", health)
    app.router.add_post("/v1/chat/completions", chat)
    web.run_app(app, host="127.0.0.1", port=int(port), print=None)


if __name__ == "__main__":
    main()

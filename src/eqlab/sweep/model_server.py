"""A model of a sweep, open for as long as there is work for it: at an address, in process, or behind a server of its
own (vLLM, llama.cpp, any other) that is started on this machine."""

import asyncio
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import IO

from eqlab.core.errors import ModelError
from eqlab.models.chat import Chat
from eqlab.models.open import is_local, open_chat
from eqlab.models.transport import Transport
from eqlab.sweep.file import SweepModel
from eqlab.sweep.grid import Target

_TAIL = 400
"""Characters of what a failed server said last."""


@asynccontextmanager
async def open_model(
    target: Target, transport: Callable[[], Transport], say: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Chat]:
    """`transport` gives the way to the address: a shared one, which stays open, or one of its own."""
    if target.model.start:
        say(f"{target.model.name}: starting its server.")
        async with started_server(target.model) as address:
            own = transport()
            try:
                # The address differs each time, so it is no part of the run's configuration.
                yield open_chat(replace(target.config, base_url=address), own, key_variable=target.key, say=say)
            finally:
                await own.close()
    elif is_local(target.config):
        chat = open_chat(target.config, None, say=say)
        try:
            yield chat
        finally:
            await chat.close()
    else:
        yield open_chat(target.config, transport(), key_variable=target.key, say=say)


@asynccontextmanager
async def started_server(model: SweepModel) -> AsyncIterator[str]:
    """Start the model's server and wait until it is healthy; the base URL of its chat API."""
    port = _free_port()
    command = [part.replace("{port}", str(port)) for part in shlex.split(model.start)]
    with tempfile.TemporaryFile() as said:
        guard = subprocess.Popen(
            [sys.executable, "-m", "eqlab.sweep.orphan_guard", *command],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            await _healthy(model, guard, f"http://127.0.0.1:{port}{model.health}", said)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if guard.stdin is not None:
                guard.stdin.close()
            await asyncio.to_thread(guard.wait)


async def _healthy(model: SweepModel, guard: subprocess.Popen[bytes], url: str, said: IO[bytes]) -> None:
    import aiohttp

    loop = asyncio.get_running_loop()
    deadline = loop.time() + model.start_timeout
    pause = 0.05
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while True:
            if guard.poll() is not None:
                raise ModelError(
                    f"The server of {model.name} ended with {guard.returncode} before it was ready: {_last(said)}.",
                    "Try its 'start' command by hand.",
                )
            try:
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # not listening yet
            if loop.time() > deadline:
                raise ModelError(
                    f"The server of {model.name} was not healthy within {model.start_timeout:g} s: {_last(said)}.",
                    "Raise start_timeout, or fix 'health'.",
                )
            await asyncio.sleep(pause)
            pause = min(2.0, pause * 1.5)


def _last(said: IO[bytes]) -> str:
    size = said.seek(0, 2)
    said.seek(max(0, size - _TAIL))
    return said.read().decode("utf-8", "replace").strip().rstrip(".") or "it said nothing"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

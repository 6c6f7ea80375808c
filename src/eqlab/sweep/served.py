"""A model server (vLLM, llama.cpp, any other) that lives as long as the work on its model, on the same machine."""

import asyncio
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

from eqlab.core.errors import ModelError
from eqlab.sweep.file import SweepModel

_TAIL = 400
"""Characters of what a failed server said last."""


@asynccontextmanager
async def served(model: SweepModel) -> AsyncIterator[str]:
    """Start the model's server and wait until it is healthy; the base URL of its chat API."""
    port = _free_port()
    command = [part.replace("{port}", str(port)) for part in shlex.split(model.start)]
    with tempfile.TemporaryFile() as said:
        warden = subprocess.Popen(
            [sys.executable, "-m", "eqlab.sweep.warden", *command],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            await _healthy(model, warden, f"http://127.0.0.1:{port}{model.health}", said)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if warden.stdin is not None:
                warden.stdin.close()
            await asyncio.to_thread(warden.wait)


async def _healthy(model: SweepModel, warden: subprocess.Popen[bytes], url: str, said: IO[bytes]) -> None:
    import aiohttp

    loop = asyncio.get_running_loop()
    deadline = loop.time() + model.start_timeout
    pause = 0.05
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while True:
            if warden.poll() is not None:
                raise ModelError(
                    f"The server of {model.name} ended with {warden.returncode} before it was ready: {_last(said)}.",
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

"""A model run in this process by llama.cpp: the embedded one, or any GGUF file.

Requests are asked one after another on one slot whose cache keeps the prefix that they share, which is faster on few
cores than several slots at once. Seeds make sampling repeatable."""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eqlab.core.errors import ModelError
from eqlab.models.chat import ChatReply, ChatRequest, TransportError
from eqlab.models.gguf import is_gguf
from eqlab.models.weights import embedded_weights, sha256

_CONTEXT = 8192
_WHOLE_HASH = 2**30
"""Bytes up to which a file is hashed whole; larger ones take too long at every start."""


def open_local(spec: str, say: Callable[[str], None] = lambda _: None) -> "LocalChat":
    """`embedded` or `gguf:PATH`. Raises ModelError when the model cannot be loaded."""
    _require_runtime()
    if spec == "embedded":
        return LocalChat(embedded_weights(say))
    path = Path(spec.removeprefix("gguf:")).expanduser()
    try:
        if not is_gguf(path):
            raise ModelError(f"{path} is no GGUF file.", "Give the path of a model in GGUF format.")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", "Check the path after 'gguf:'.") from error
    return LocalChat(path)


def _require_runtime() -> Any:
    # Spinning threads would starve everything else on a busy machine: 2.6 against 17.5 tokens/s were measured.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(
            "Models in this process need an extra.", "Install it with: pip install 'eqlab[embedded]'"
        ) from error
    return xllamacpp


class LocalChat:
    concurrency = 1

    def __init__(self, path: Path, threads: int | None = None) -> None:
        runtime = _require_runtime()
        self._path = path
        self._threads = threads or min(8, os.cpu_count() or 1)
        parameters = runtime.CommonParams()
        parameters.model.path = str(path)
        parameters.n_parallel = 1
        parameters.n_ctx = _CONTEXT
        parameters.cpuparams.n_threads = self._threads
        parameters.cpuparams_batch.n_threads = self._threads
        parameters.warmup = False
        parameters.verbosity = -1
        # The runtime insists on an HTTP listener of its own; a socket in a private folder keeps everyone else out.
        self._folder = tempfile.TemporaryDirectory(prefix="eqlab-")
        parameters.hostnames = [f"{self._folder.name}/llama.sock"]
        try:
            self._server = runtime.Server(parameters)
        except (RuntimeError, ValueError) as error:
            self._folder.cleanup()
            raise ModelError(
                f"{path} cannot be loaded: {error}.", "Is it a chat model in GGUF format, and whole?"
            ) from error
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="eqlab-local")

    def identity(self) -> Mapping[str, Any]:
        size = self._path.stat().st_size
        whole = {"sha256": sha256(self._path)} if size <= _WHOLE_HASH else {"bytes": size}
        return {
            "runtime": f"xllamacpp {version('xllamacpp')}",
            "weights": self._path.name,
            **whole,
            "threads": self._threads,
            "slots": 1,
            "prefix_cache": True,
        }

    async def ask(self, request: ChatRequest) -> ChatReply:
        stop = threading.Event()
        started = time.perf_counter()
        try:
            chunks = await asyncio.get_running_loop().run_in_executor(self._thread, self._stream, _body(request), stop)
        except asyncio.CancelledError:
            stop.set()  # Ctrl-C: the model stops at its next token instead of finishing in vain
            raise
        except (RuntimeError, ValueError) as error:
            raise TransportError(f"llama.cpp: {error}") from error
        return _read(chunks, self._path.name, time.perf_counter() - started)

    def _stream(self, body: Mapping[str, Any], stop: threading.Event) -> list[Mapping[str, Any]]:
        """Runs in the model's own thread. Streamed, so that it can be stopped midway."""
        chunks: list[Mapping[str, Any]] = []

        def heard(chunk: Mapping[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()

        if not stop.is_set():
            self._server.handle_chat_completions(body, heard)
        return chunks

    async def close(self) -> None:
        """Frees the model in the thread that used it; waits for a request that is under way."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._free)
        self._thread.shutdown()

    def _free(self) -> None:
        self._server = None
        self._folder.cleanup()


def _body(request: ChatRequest) -> dict[str, Any]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {
        "messages": [*system, {"role": "user", "content": request.prompt}],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "cache_prompt": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None:
        body["json_schema"] = dict(request.schema)
    return body | dict(request.settings)


def _read(chunks: Sequence[Mapping[str, Any]], name: str, latency: float) -> ChatReply:
    text, reasoning, finish = "", "", ""
    usage: Mapping[str, Any] = {}
    for chunk in chunks:
        if "error" in chunk:
            raise TransportError(f"llama.cpp: {chunk['error'].get('message', chunk['error'])}")
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices", ()):
            text += choice["delta"].get("content") or ""
            reasoning += choice["delta"].get("reasoning_content") or ""
            finish = choice.get("finish_reason") or finish
    tokens_in, tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return ChatReply(text, reasoning, name, finish, tokens_in, tokens_out, latency)

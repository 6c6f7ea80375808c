"""A model run in this process by llama.cpp: the embedded one, or any GGUF file.

The same request with the same seed gives the same text, whatever was asked before, beside it or by how many threads.
llama.cpp does not give that by itself: a token's last bits depend on how many tokens are evaluated with it, and the
text follows. So each slot is a runtime of its own that takes one request at a time (no batches of several), attention
is not the fused kind and the cache holds 32-bit floats. Then a prompt whose first part is still cached gives the same
bits as one read from the start, as long as no batch of tokens is thin; such prompts are read from the start."""

import asyncio
import json
import os
import platform
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eqlab.core.errors import ModelError
from eqlab.core.values import dataclass
from eqlab.models.chat import ChatReply, ChatRequest, TransportError
from eqlab.models.weights import MAGIC, WHEEL, embedded_weights, explain_failure, fingerprint

_CONTEXT, _LARGE_CONTEXT = 4096, 8192
_BATCH = 256
"""Tokens evaluated at once. Between batches a request can be given up, so this bounds how long Ctrl-C takes."""
_THIN = 4
"""Fewer tokens at once than this go through other kernels, whose last bits differ."""
_ARM = ("aarch64", "arm64")
_COMPACT = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
"""A small model left free to put white space into JSON may go on with it until its tokens are used up."""

_ONE_PARAGRAPH = ("\n\n",)
"""The embedded model finds no end of its own: after a paragraph it goes round in circles until its room is used up."""


def open_local(spec: str, say: Callable[[str], None] | None = None) -> "LocalChat":
    """`embedded` or `gguf:PATH`. Raises ModelError when the model cannot be loaded."""
    runtime = _runtime()
    cores = _cores()
    if spec == "embedded":
        # The arm64 wheel is built for armv8-a, without the dot products that make 4-bit weights fast.
        widened = platform.machine() in _ARM and "DOTPROD" not in runtime.get_system_info()
        path = embedded_weights(say or (lambda _: None), widened=widened)
        origin = f"{WHEEL}, {'Q4_1 stored as F32' if widened else 'as shipped'}"
        # Two threads of one request wait for each other half of the time; a second request fills the gaps. Widened
        # weights take twice the memory, and gained nothing by it.
        slots = max(1 if widened else min(2, cores), min(4, cores // 4))
        threads = max(cores, slots * min(2, cores))
        name = "SmolLM2-135M-Instruct"
        return LocalChat(path, name=name, origin=origin, threads=threads, slots=slots, stop=_ONE_PARAGRAPH)
    return LocalChat(Path(spec.removeprefix("gguf:")).expanduser(), context=_LARGE_CONTEXT)


class LocalChat:
    """One GGUF file. `slots` requests are worked on at once, each by its share of `threads`."""

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        origin: str = "",
        seed: int = 1,
        threads: int | None = None,
        slots: int = 1,
        context: int = _CONTEXT,
        stop: tuple[str, ...] = (),
        share_prefix: bool = True,
        batch: int = 1,
    ) -> None:
        """`stop` ends free text where nobody asked for other ends.
        `share_prefix` and `batch`, how many requests a slot evaluates together, are for measuring what they bring
        (bench/embedded.py): more than one at once is faster and loses the bits, so no run does it."""
        runtime = _runtime()
        _require_gguf(path)
        self._path, self._name, self._origin, self._seed = path, name or path.stem, origin, seed
        self._grammar = runtime.json_schema_to_grammar
        self._slots, self._context, self._stop = slots, context, stop
        self._threads = max(1, (threads or _cores()) // slots)
        exact = _on_cpu_alone(runtime)
        self._shares_prefix = exact and share_prefix
        self._batch = batch
        self._read = Read()
        self._reading = threading.Lock()
        self._system = str(runtime.get_system_info()).strip(" |\n")
        self._closing = threading.Event()
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()  # a lone talk goes on where its beginning is cached
        for _ in range(slots):
            server = _load(runtime, path, self._threads, context, fused=not exact, batch=batch)
            for _ in range(batch):
                self._idle.put(server)
        self._pool = ThreadPoolExecutor(slots * batch, thread_name_prefix="eqlab-local")

    @property
    def concurrency(self) -> int:
        return self._slots * self._batch

    @property
    def path(self) -> Path:
        return self._path

    @property
    def read(self) -> "Read":
        """Prompt tokens so far."""
        return self._read

    def identity(self) -> Mapping[str, Any]:
        return {
            "runtime": f"xllamacpp {version('xllamacpp')}",
            "system": self._system,
            "file": self._path.name,
            **({"origin": self._origin} if self._origin else {}),
            "sha256": fingerprint(self._path),
            "slots": self._slots,
            "threads": self._threads,
            "context": self._context,
            "shared_prefix": "read once, to the bit" if self._shares_prefix else "read every time",
        }

    async def ask(self, request: ChatRequest) -> ChatReply:
        if self._closing.is_set():
            raise ModelError(f"{self._name} was closed.")
        if request.effort is not None:
            raise ModelError(f"{self._name} runs in this process and takes no effort.", "Leave out --effort.")
        given_up = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, request, given_up)
        except asyncio.CancelledError:
            given_up.set()
            raise

    def learnt(self) -> Sequence[str]:
        return ()

    def hurry(self) -> None:
        """Nothing waits here but for the machine."""

    def most_tokens(self, request: ChatRequest, thinks: bool = True) -> int:
        return (request.max_tokens if request.token_limit is None else request.token_limit) + request.more_tokens

    async def close(self) -> None:
        """Gives up what is under way and frees the model. Interpreters that forget to close exit cleanly too."""
        self._closing.set()
        await asyncio.to_thread(self._free)

    def _free(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get()

    def _answer(self, request: ChatRequest, given_up: threading.Event) -> ChatReply:
        server = self._idle.get()
        try:
            started = time.perf_counter()
            body = self._body(request)
            call = _Call(self._shares_prefix, lambda: given_up.is_set() or self._closing.is_set())
            server.handle_chat_completions(body | {"cache_prompt": self._shares_prefix}, call.receive)
            if call.thin:
                call = _Call(False, call.given_up)
                server.handle_chat_completions(body | {"cache_prompt": False}, call.receive)
            with self._reading:
                self._read = self._read.and_of(call)
            reply = call.reply(self._name, time.perf_counter() - started, _sent(body))
            if request.schema is not None and reply.finish == "stop":
                # llama.cpp drops a schema that it cannot follow without a word.
                json.loads(reply.text)
            return reply
        except json.JSONDecodeError as error:
            raise TransportError(f"{self._name}: the runtime did not follow the JSON schema ({error})") from error
        except (ValueError, RuntimeError, TypeError) as error:
            raise TransportError(f"{self._name}: {error}") from error
        finally:
            self._idle.put(server)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        # 2**32 - 1 asks llama.cpp for a random seed.
        seed = (self._seed if request.seed is None else request.seed) % (2**32 - 1)
        body: dict[str, Any] = {
            "seed": seed,
            "max_tokens": (request.max_tokens if request.token_limit is None else request.token_limit)
            + request.more_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.schema is not None:
            body["grammar"] = self._grammar({**_COMPACT, **request.schema})
        if stop := request.stop or (self._stop if request.schema is None else ()):
            body["stop"] = list(stop)
        body |= request.extra
        body["messages"] = [{"role": message.role, "content": message.text} for message in request.messages]
        # A stream can be given up between tokens; a whole reply could not.
        return body | {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}


@dataclass(frozen=True, slots=True)
class Read:
    """Tokens of prompts: evaluated, and taken from the cache instead."""

    evaluated: int = 0
    reused: int = 0

    def and_of(self, call: "_Call") -> "Read":
        return Read(self.evaluated + call.total - call.cached, self.reused + call.cached)


class _Call:
    """Gathers the pieces of one reply. `receive` says True when the rest is not wanted."""

    def __init__(self, shares_prefix: bool, given_up: Callable[[], bool]) -> None:
        self.shares_prefix, self.given_up = shares_prefix, given_up
        self.thin = False
        self.total = self.cached = 0
        """Tokens of the prompt, and how many of them were not evaluated again."""
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish = self.error = ""
        self.usage: Mapping[str, Any] = {}

    def receive(self, piece: Mapping[str, Any]) -> bool:
        if "error" in piece:
            self.error = str(piece["error"].get("message", piece["error"]))
        if progress := piece.get("prompt_progress"):
            self.total, self.cached = total, cached = progress["total"], progress["cache"]
            self.thin = self.shares_prefix and cached > 0 and (_ends_thin(total) or _ends_thin(total - cached))
        for choice in piece.get("choices", ()):
            delta = choice.get("delta", {})
            self.text.append(delta.get("content") or "")
            self.reasoning.append(delta.get("reasoning_content") or "")
            self.finish = choice.get("finish_reason") or self.finish
        self.usage = piece.get("usage") or self.usage
        return self.thin or self.given_up()

    def reply(self, model: str, latency: float, sent: Mapping[str, Any]) -> ChatReply:
        if self.error or not self.finish:
            raise TransportError(f"{model}: {self.error or 'the reply was given up'}")
        return ChatReply(
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            model=model,
            finish=self.finish,
            tokens_in=self.usage.get("prompt_tokens"),
            tokens_out=self.usage.get("completion_tokens"),
            latency=latency,
            sent=sent,
        )


def _sent(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a request."""
    names = {"temperature": "temperature", "top_p": "top_p", "seed": "seed", "room": "max_tokens", "stop": "stop"}
    return {"dialect": "llama.cpp"} | {name: body[field] for name, field in names.items() if field in body}


def _ends_thin(tokens: int) -> bool:
    return 0 < tokens % _BATCH < _THIN


def _runtime() -> Any:
    # Spinning threads would starve everything else on a busy machine: 2.6 against 17.5 tokens/s were measured.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise ModelError("The embedded model needs an extra.", "pip install 'eqlab[embedded]'") from error
    except ImportError as error:
        raise ModelError(f"The embedded model's runtime does not load here: {error}.", "Use an HTTP model.") from error
    return xllamacpp


def _require_gguf(path: Path) -> None:
    if path.is_dir():
        raise ModelError(f"gguf:{path} names a folder.", "Name a file: gguf:PATH.")
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", "Check the path after 'gguf:'.") from error
    raise ModelError(f"{path} is not a GGUF file.", "Give the path of a model in GGUF format.")


def _load(runtime: Any, path: Path, threads: int, context: int, *, fused: bool, batch: int = 1) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path = str(path)
    parameters.n_parallel = batch
    parameters.n_ctx = context * batch
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    if not fused:
        parameters.flash_attn_type = runtime.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        parameters.cache_type_k = parameters.cache_type_v = runtime.ggml_type.GGML_TYPE_F32
        parameters.no_extra_bufts = True
    # The runtime insists on listening for HTTP: on a socket that is gone as soon as it is there, nobody can.
    folder = tempfile.mkdtemp(prefix="eqlab-")
    parameters.hostnames = [f"{folder}/http.sock"]
    parameters.n_threads_http = 1
    parameters.endpoint_metrics = True
    try:
        server = runtime.Server(parameters)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"llama.cpp cannot load {path}: {explain_failure(path)}.", "Is it a chat model in GGUF format, and whole?"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    # Freed before its loop has begun, the runtime would wait for ever; an answer from the loop shows that it has.
    server.handle_metrics()
    return server


def _on_cpu_alone(runtime: Any) -> bool:
    """A GPU, or a BLAS library, picks its kernels by the number of tokens, so a cached prefix would change the bits."""
    cpu = runtime.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    return all(device["type"] == cpu for device in runtime.get_device_info())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

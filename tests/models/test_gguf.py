"""Widening Q4_1 weights, against the format's definition written out weight by weight."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest

from eqlab.models.weights import dequantized_q4_1, explain_failure, read_header, rewrite_as_f32


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

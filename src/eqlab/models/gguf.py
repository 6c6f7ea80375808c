"""Reads the header of a GGUF file, and rewrites its Q4_1 weights as F32, value for value.
Where llama.cpp has no fast kernel for 4-bit weights (arm64 wheels), F32 takes a third less time.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"GGUF"
_F32, _Q4_1 = 0, 3
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_Q4_1_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", 16)])
_WEIGHTS_PER_BLOCK = 32


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

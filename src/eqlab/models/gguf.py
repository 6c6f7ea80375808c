"""GGUF files: is this one, and the same weights stored as 32-bit floats instead of packed 4-bit numbers.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 3)."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"GGUF"
_F32, _Q4_1 = 0, 3
_Q4_1_BLOCK = 32
_Q4_1_BYTES = 20
"""Two half floats (scale d, minimum m), then 32 numbers q of four bits; a weight is d·q + m."""
_SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int


def is_gguf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == MAGIC


def unpack_q4_1(source: Path, target: Path) -> None:
    """Copy a GGUF file with its Q4_1 tensors written as F32. Exact: the runtime multiplies the same numbers."""
    with source.open("rb") as file, target.open("wb") as out:
        header = file.read(24)
        magic, version, n_tensors, n_keys = struct.unpack("<4sIQQ", header)
        if magic != MAGIC or version != 3:
            raise ValueError(f"{source} is no GGUF file of version 3")
        start = file.tell()
        alignment = _skip_keys(file, n_keys)
        keys_end = file.tell()
        tensors = [_read_tensor(file) for _ in range(n_tensors)]
        data = _aligned(file.tell(), alignment)
        file.seek(0, 2)
        sizes = _sizes(tensors, file.tell() - data)
        new_sizes = [
            4 * int(np.prod(one.shape)) if one.kind == _Q4_1 else size for one, size in zip(tensors, sizes, strict=True)
        ]
        file.seek(start)
        out.write(header + file.read(keys_end - start))
        offset = 0
        for one, size in zip(tensors, new_sizes, strict=True):
            kind = _F32 if one.kind == _Q4_1 else one.kind
            out.write(struct.pack("<Q", len(one.name)) + one.name + struct.pack("<I", len(one.shape)))
            out.write(struct.pack(f"<{len(one.shape)}QIQ", *one.shape, kind, offset))
            offset = _aligned(offset + size, alignment)
        _pad(out, alignment)
        for one, size in zip(tensors, sizes, strict=True):
            file.seek(data + one.offset)
            raw = file.read(size)
            out.write(_floats(raw, int(np.prod(one.shape))).tobytes() if one.kind == _Q4_1 else raw)
            _pad(out, alignment)


def _floats(raw: bytes, count: int) -> NDArray[np.float32]:
    blocks = np.frombuffer(raw, np.uint8, count // _Q4_1_BLOCK * _Q4_1_BYTES).reshape(-1, _Q4_1_BYTES)
    ends = blocks[:, :4].copy().view(np.float16).astype(np.float32)
    packed = blocks[:, 4:]
    numbers = np.concatenate([packed & 0x0F, packed >> 4], axis=1).astype(np.float32)
    return np.asarray(ends[:, :1] * numbers + ends[:, 1:], np.float32)


def _sizes(tensors: list[_Tensor], total: int) -> list[int]:
    """Bytes of each tensor, padding included: up to the next one's offset. Known kinds are cut to their own size."""
    ends = [*sorted(one.offset for one in tensors)[1:], total]
    after = dict(zip(sorted(one.offset for one in tensors), ends, strict=True))
    exact = {_F32: lambda n: 4 * n, _Q4_1: lambda n: n // _Q4_1_BLOCK * _Q4_1_BYTES}
    return [
        exact[one.kind](int(np.prod(one.shape))) if one.kind in exact else after[one.offset] - one.offset
        for one in tensors
    ]


def _read_tensor(file: BinaryIO) -> _Tensor:
    name = file.read(_number(file, "<Q"))
    shape = struct.unpack(f"<{(n := _number(file, '<I'))}Q", file.read(8 * n))
    return _Tensor(name, shape, _number(file, "<I"), _number(file, "<Q"))


def _skip_keys(file: BinaryIO, count: int) -> int:
    """Step over the metadata; returns the alignment it states."""
    alignment = 32
    for _ in range(count):
        name = file.read(_number(file, "<Q"))
        kind = _number(file, "<I")
        if name == b"general.alignment":
            alignment = _number(file, "<I")
        else:
            _skip_value(file, kind)
    return alignment


def _skip_value(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        file.seek(_number(file, "<Q"), 1)
    elif kind == _ARRAY:
        inner, count = _number(file, "<I"), _number(file, "<Q")
        if inner in _SCALARS:
            file.seek(count * _SCALARS[inner], 1)
        else:
            for _ in range(count):
                _skip_value(file, inner)
    else:
        file.seek(_SCALARS[kind], 1)


def _number(file: BinaryIO, form: str) -> int:
    value: int = struct.unpack(form, file.read(struct.calcsize(form)))[0]
    return value


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _pad(out: BinaryIO, alignment: int) -> None:
    out.write(b"\0" * (_aligned(out.tell(), alignment) - out.tell()))

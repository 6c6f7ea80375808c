"""Server-sent events: the data of a whole stream, one JSON object after the other."""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any

from eqlab.models.wire.body import unambiguous


def is_stream(headers: Mapping[str, str], raw: bytes) -> bool:
    """By what was said, or by what it looks like: some servers stream although nobody asked."""
    if raw[:10].removeprefix(BOM_UTF8).startswith(b"{"):
        return False  # an error, or a whole reply, under a stream's name
    if "event-stream" in (headers.get("Content-Type") or ""):
        return True
    return raw[:10].removeprefix(BOM_UTF8).startswith((b"data:", b"event:"))


def without_comments(raw: bytes) -> bytes:
    """A body without what some gateways send first to keep a connection open: `: PROCESSING`, and white space."""
    while raw[:1] == b":" or raw[:1].isspace():
        raw = raw.lstrip() if raw[:1].isspace() else raw.partition(b"\n")[2]
    return raw


def events(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a stream. Raises ValueError where one cannot be read, or where each comes twice: which words were
    meant once is nobody's guess. Comments and `[DONE]` are left out."""
    found = list(_data(raw.removeprefix(BOM_UTF8)))
    if len(found) > 3 and found[::2] == found[1::2]:
        raise ValueError("every event of the stream comes twice")
    for data in found:
        for one in _objects(data):
            if isinstance(one, dict):
                yield one


def _data(raw: bytes) -> Iterator[bytes]:
    lines: list[bytes] = []
    for line in [*raw.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].strip())
        elif not line and lines:
            data, lines = b"\n".join(lines), []
            if data and data != b"[DONE]":
                yield data


def _objects(data: bytes) -> Iterator[Any]:
    """One object; or several, from a server that forgets the empty line between its events."""
    try:
        yield unambiguous(data)
    except ValueError:
        lines = [line for line in data.splitlines() if line and line != b"[DONE]"]
        if len(lines) == len(data.splitlines()) == 1:
            raise
        yield from [unambiguous(line) for line in lines]

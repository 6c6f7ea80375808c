"""Server-sent events: the data of a whole stream, one JSON object after the other."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def is_stream(headers: Mapping[str, str], raw: bytes) -> bool:
    """By what was said, or by what it looks like: some servers stream although nobody asked."""
    if "event-stream" in (headers.get("Content-Type") or ""):
        return True
    return raw[:6] in (b"data: ", b"event:") or raw[:5] == b"data:"


def events(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a stream. Raises ValueError where one cannot be read; comments and `[DONE]` are left out."""
    lines: list[bytes] = []
    for line in [*raw.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].strip())
        elif not line and lines:
            data, lines = b"\n".join(lines), []
            if data and data != b"[DONE]":
                event = json.loads(data)
                if isinstance(event, dict):
                    yield event

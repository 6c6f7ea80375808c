"""The body of a reply: JSON in which no name that matters stands twice, counts and amounts out of it, and server-sent
events, one JSON object after the other."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any

_CHAT = ("choices", "message", "delta", "content", "text", "refusal", "finish_reason", "index")
_RESPONSES_AND_ANTHROPIC = ("output", "status", "role", "type", "stop_reason", "input")
_GEMINI = ("candidates", "parts", "thought", "finishReason")
_DECIDES = frozenset((*_CHAT, *_RESPONSES_AND_ANTHROPIC, *_GEMINI))
"""Names whose values make up an answer. Two for another do no harm: NVIDIA sends `reasoning_content` twice."""


def unambiguous(raw: bytes | str) -> Any:
    """Raises ValueError where an answer could be one thing or another. A value beats none, and may be said again."""
    return json.loads(raw, object_pairs_hook=_one_meaning)


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For what the model itself wrote: what it means by two values is its reader's to judge, in its own words."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name comes twice")
    return dict(pairs)


def _one_meaning(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for name, value in pairs:
        before = found.get(name)
        if before and value and value != before and name in _DECIDES:
            raise ValueError(f'"{name}" is there twice, with two values')
        found[name] = value or before or value
    return found


def count(value: Any) -> int | None:
    if type(value) is int and 0 <= value < 2**31:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or not 0 <= value < 2**31:
        return None
    return int(value)


def amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or not 0 <= value < 1e6:
        return None
    return float(value)


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def known(**values: Any) -> dict[str, Any]:
    """What is known of these, without zeros: nothing was cached, nothing thought."""
    return {name: value for name, value in values.items() if value}


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

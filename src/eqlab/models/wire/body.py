"""JSON of a reply in which a name stands twice: Python takes the last value without a word, others the first."""

import json
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

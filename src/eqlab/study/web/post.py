"""A post of a page, read from its urlencoded body or from JSON into one shape."""

import math
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

_MOST_FIELDS = 400
_MONTH = 30 * 24 * 3600.0
_MOST_NUMBER = 100_000


@dataclass(frozen=True, slots=True)
class PostedPage:
    step: int
    attempt: int
    values: dict[str, Any] = field(default_factory=dict)
    """By field, as text; several of a list as a list of texts; None where declined. The form makes values of them."""
    agree: bool | None = None
    shown: float | None = None
    """When the person got the page."""
    away: float = 0.0
    pasted: int = 0
    """Characters that were pasted, as far as a browser tells."""
    correct: bool = False
    """Whether it changes the answer to the page before."""
    typed: bool = False
    """Whether a program has sent it, as JSON."""


def read_form(body: bytes) -> PostedPage | None:
    """None when it is not a post of one of our pages."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    fields = dict(pairs)
    step, attempt = _whole(fields.get("step", "")), _whole(fields.get("attempt", "1"))
    if not isinstance(step, int) or not isinstance(attempt, int) or not 0 <= step <= _MOST_NUMBER:
        return None
    values = _values(pairs)
    agree = {"yes": True, "no": False}.get(fields.get("agree", ""))
    pasted = _whole(fields.get("pasted", ""))
    return PostedPage(
        step,
        attempt,
        values,
        agree,
        _number(fields.get("shown", "")),
        _number(fields.get("away", "")) or 0.0,
        max(pasted, 0) if isinstance(pasted, int) else 0,
        fields.get("correct") == "yes",
    )


def _values(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        key = name[2:]
        if name.startswith("v.") and value != "":
            before = found.get(key)
            found[key] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    for name, _ in pairs:
        if name.startswith("d."):
            found[name[2:]] = None  # ticked "prefer not to say"
    return found


def believable(post: PostedPage, now: float) -> tuple[float | None, float]:
    """When the page was shown and for how long it was out of sight, as far as a browser can be believed."""
    shown = post.shown if post.shown is not None and now - _MONTH < post.shown <= now + 1 else None
    away = min(max(post.away, 0.0), _MONTH if shown is None else max(0.0, now - shown))
    return shown, away


def _whole(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d{1,6}", text, flags=re.ASCII) else text


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

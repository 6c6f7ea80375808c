"""How long a server asks to be left alone: headers and error details of every provider, read with suspicion."""

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

LONGEST_WAIT = 600.0
"""Seconds. A server that asks for more is waited for this long."""
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "": 1.0}
_PIECE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([mµun]?s|[dhm]|)")
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:[mµun]?s|[dhm])\s*)+|[0-9]+(?:\.[0-9]+)?")
LIMITS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
)


def wait_asked(headers: Mapping[str, str], error: Any = None) -> float | None:
    """Seconds, uncapped, that a refusal asks for; None when it does not say."""
    found = retry_after(headers)
    if found is None:
        found = _retry_delay(error)
    if found is None:
        found = window_wait(headers) or None
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, milliseconds or as a date; None when the server did not say."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        text = headers.get(name) or ""
        try:
            seconds = float(text) * unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    until = _date(headers.get("Retry-After") or "")
    if until is None:
        return None
    now = _date(headers.get("Date") or "")  # the server's own clock: ours may be wrong
    return max(0.0, until - (time.time() if now is None else now))


def window_wait(headers: Mapping[str, str]) -> float:
    """Seconds until the allowance is renewed, when the headers say that none is left."""
    longest = 0.0
    for remaining, reset in LIMITS:
        if headers.get(remaining) == "0":
            longest = max(longest, _until(headers.get(reset) or "", headers))
    return longest


def _until(text: str, headers: Mapping[str, str]) -> float:
    """A duration, a moment (RFC 3339, Unix seconds or milliseconds) or nothing."""
    if "T" in text:
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
        now = _date(headers.get("Date") or "")
        return max(0.0, moment - (time.time() if now is None else now))
    seconds = duration(text)
    for finer in (1e14, 1e11):  # microseconds, milliseconds
        if seconds > finer:
            seconds /= 1000
    return max(0.0, seconds - time.time()) if seconds > 1e9 else seconds


def _retry_delay(error: Any) -> float | None:
    """Google's RetryInfo: {"retryDelay": "17s"}."""
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(delay := detail.get("retryDelay"), str):
            return duration(delay)
    return None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def duration(text: str) -> float:
    """'6m0s', '1.5s', '20ms' or plain seconds; 0 for what is none: 'soon', '-5', '1e400'."""
    if not _DURATION.fullmatch(text.strip()):
        return 0.0
    total = sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))
    return total if math.isfinite(total) else 0.0

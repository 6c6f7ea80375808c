"""What comes over the wire, read with suspicion: replies, error texts, headers that ask for patience."""

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from eqlab.core.secrets import without_secrets
from eqlab.models.chat import ChatReply

LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more than ten times this is not waited for as long as it says."""


LONG_KEY = 16
"""Characters; a shorter key is no secret (`EMPTY`, `none`) or may stand in a text by chance."""
HIDDEN = "(your key)"


class TryAgain(Exception):
    def __init__(self, reason: str, *, overload: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.overload = overload
        self.wait = wait
        """Seconds the server asked for; None: our own backoff."""


def read_reply(raw: bytes, latency: float, retries: int) -> ChatReply:
    """The reply in a 200 body; anything that is not one is worth another try."""
    try:
        body = json.loads(raw)
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        refusal = message.get("refusal") or ""
        if isinstance(text, list):  # some servers send parts
            text = "".join(part.get("text", "") for part in text)
        if not (isinstance(text, str) and isinstance(reasoning, str) and isinstance(refusal, str)):
            raise TypeError("content is not text")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise TryAgain(f"a reply that cannot be read ({type(error).__name__}: {error})") from error
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    return ChatReply(
        text=text or refusal,
        reasoning=reasoning,
        model=str(body.get("model") or ""),
        finish=str(choice.get("finish_reason") or ""),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        latency=latency,
        transport_retries=retries,
    )


def _count(value: Any) -> int | None:
    """A token count, or None for what is none (missing, NaN, text, negative)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or not 0 <= value < 2**31:
        return None
    return int(value)


def error_text(raw: bytes, key: str = "") -> str:
    """The server's own words, on one line and not too long, without the key that some servers repeat."""
    text = raw[:4000].decode("utf-8", "replace")
    try:
        body = json.loads(text)
        error = body.get("error", body) if isinstance(body, dict) else body
        text = str(error.get("message") or error) if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        pass
    return _without_key(" ".join(text.split()), key)[:300]


def _without_key(text: str, key: str) -> str:
    """Whole or cut short, and whatever else looks like a key."""
    if key:
        text = text.replace(key, HIDDEN)
    if len(key) >= LONG_KEY:
        text = re.sub(re.escape(key[: LONG_KEY // 2]) + r"[^\s'\"]*", HIDDEN, text)
    return without_secrets(text)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, milliseconds or as a date; None when the server did not say."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        text = headers.get(name, "")
        try:
            seconds = float(text) * unit
        except ValueError:
            continue
        return min(10 * LONGEST_WAIT, max(0.0, seconds)) if seconds == seconds else None
    until = _date(headers.get("Retry-After", ""))
    if until is None:
        return None
    now = _date(headers.get("Date", ""))  # the server's own clock: ours may be wrong
    return min(10 * LONGEST_WAIT, max(0.0, until - (time.time() if now is None else now)))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def window_wait(headers: Mapping[str, str]) -> float:
    """Seconds until the allowance is renewed, when the headers say that none is left."""
    if headers.get("x-ratelimit-remaining-requests") != "0":
        return 0.0
    return min(LONGEST_WAIT, _duration(headers.get("x-ratelimit-reset-requests", "")))


def _duration(text: str) -> float:
    """'6m0s', '1.5s', '20ms' or plain seconds."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
    parts = re.findall(r"([\d.]+)(ms|[hms]|$)", text)
    return sum(float(number) * units[unit] for number, unit in parts if number.strip("."))

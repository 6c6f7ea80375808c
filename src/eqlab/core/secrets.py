"""Keeping keys and passwords out of whatever is stored, shown or logged."""

import re

_LEFT_OUT = "(left out)"
_SECRET_NAME = re.compile(r"(^|[_-])(api[_-]?key|key|token|secret|password|authorization|credentials?)$", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
_ASSIGNED = re.compile(r"(?<!\w)([\w-]*(?:key|token|secret|password|authorization))=[^&#\s]+", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer\s+)[^\s'\"]+", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|pk|gsk|xai|hf|key)[-_][A-Za-z0-9_-]{16,}")


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds something that nobody else may see; `max_tokens` does not."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(address: str) -> bool:
    """Whether an address carries a password or a key."""
    return without_secrets(address) != address


def without_secrets(text: str) -> str:
    """A text without user names and passwords in URLs, values of `api_key=…`, bearer tokens and what looks like a
    provider's key."""
    text = _ASSIGNED.sub(rf"\1={_LEFT_OUT}", _USERINFO.sub("", text))
    return _KEY.sub(_LEFT_OUT, _BEARER.sub(rf"\1{_LEFT_OUT}", text))

"""Keeping keys and passwords out of whatever is stored, shown or logged."""

import re
from collections.abc import Mapping
from typing import Any

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


def secret_among(settings: Mapping[str, Any]) -> str | None:
    """The name of a setting, at any depth, that looks like a key or holds what looks like one."""
    for name, value in settings.items():
        inner = value if isinstance(value, list) else [value]
        if is_secret(name) or any(isinstance(one, str) and holds_secret(one) for one in inner):
            return name
        for one in inner:
            if isinstance(one, Mapping) and (found := secret_among(one)):
                return f"{name}.{found}"
    return None


def without_secrets(text: str) -> str:
    """A text without user names and passwords in URLs, values of `api_key=…`, bearer tokens and what looks like a
    provider's key."""
    text = _ASSIGNED.sub(rf"\1={_LEFT_OUT}", _USERINFO.sub("", text))
    return _KEY.sub(_LEFT_OUT, _BEARER.sub(rf"\1{_LEFT_OUT}", text))

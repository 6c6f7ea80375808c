"""Settings as a user writes them ('name=value'), and keeping keys and passwords out of whatever is stored, shown or
logged."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.errors import UsageError

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


_PROTOCOL = ("model", "messages", "stream", "response_format")
"""What a benchmark's protocol decides, and no setting."""


def read_pairs(flag: str, pairs: Sequence[str], example: str = "name=value") -> dict[str, str]:
    """{'name': 'value'} from 'name=value' arguments."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} '{pair}' is not of the form name=value.", f"Write {flag} {example}.")
        if name.strip() in settings:
            raise UsageError(f"{flag} '{name.strip()}' is given twice.", "Give each name once.")
        settings[name.strip()] = value.strip()
    return settings


def read_settings(pairs: Sequence[str], flag: str = "--set") -> dict[str, Any]:
    """Model settings: numbers, true, false, null and JSON become such; the rest stays text."""
    settings: dict[str, Any] = {}
    for name, value in read_pairs(flag, pairs, "temperature=0").items():
        if name in _PROTOCOL:
            raise UsageError(f"{flag} {name} would change the protocol.", "Set sampling settings only.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings

"""'name=value' pairs as a user writes them, and model settings among them."""

import json
from collections.abc import Sequence
from typing import Any

from eqlab.core.errors import UsageError

_PROTOCOL = ("model", "messages", "stream", "response_format")
"""What a benchmark's protocol decides, and no setting."""


def read_pairs(flag: str, pairs: Sequence[str]) -> dict[str, str]:
    """{'name': 'value'} from 'name=value' arguments."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} '{pair}' is not of the form name=value.", f"Write {flag} temperature=0.")
        found[name.strip()] = value.strip()
    return found


def read_settings(pairs: Sequence[str], flag: str = "--set") -> dict[str, Any]:
    """Model settings: numbers, true, false, null and JSON become such; the rest stays text."""
    settings: dict[str, Any] = {}
    for name, value in read_pairs(flag, pairs).items():
        if name in _PROTOCOL:
            raise UsageError(f"{flag} {name} would change the protocol.", "Set sampling settings only.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings

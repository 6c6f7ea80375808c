"""Counts and amounts out of a reply, or None for what is none (missing, NaN, text, negative)."""

from collections.abc import Mapping
from typing import Any


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

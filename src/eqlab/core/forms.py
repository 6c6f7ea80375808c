"""What a subject fills in: scales, or one free-text field. A form knows its JSON schema, so every
benchmark has a structured answer mode without code of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Scale:
    """One closed question."""

    key: str
    text: str
    low: int
    high: int
    anchors: tuple[tuple[int, str], ...] = ()
    """(value, label) pairs; may name every value or only the ends."""
    reverse: bool = False

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Form:
    """An ordered tuple of scales; without scales, one free-text field."""

    scales: tuple[Scale, ...] = ()
    keys: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(scale.key for scale in self.scales))


def json_schema(form: Form) -> dict[str, Any]:
    """The scales as a JSON schema. Values are an enum, which every server's constrained decoding knows. A free text
    is never asked for as JSON: it would gain nothing."""
    properties: dict[str, Any] = {
        scale.key: {"type": "integer", "enum": list(range(scale.low, scale.high + 1))} for scale in form.scales
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def check_values(form: Form, values: Mapping[str, Any]) -> str:
    """Why these values do not fill in the form; empty when they do."""
    missing = [key for key in form.keys if key not in values]
    if missing:
        return f"no value for {', '.join(missing)}"
    unknown = [key for key in values if key not in form.keys]
    if unknown:
        return f"unknown key {', '.join(sorted(unknown))}"
    for scale in form.scales:
        value = values[scale.key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not scale.holds(value):
            return f"{scale.key}: {value!r} is not a value from {scale.low} to {scale.high}"
    return ""

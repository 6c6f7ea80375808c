"""A user's settings in one meaning for every dialect: `max_tokens` is room for the answer everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.errors import UsageError
from eqlab.core.messages import Message, one_prompt
from eqlab.models.chat import EFFORTS, ChatRequest, Effort

_NUMBERS = ("temperature", "top_p")
_COUNTS = ("max_tokens", "seed", "thinking_tokens")
_WHOLE_ROOM = ("max_completion_tokens", "max_output_tokens", "maxOutputTokens", "n_predict")
"""The providers' names for all tokens of a reply; whoever writes one of them means exactly that."""
_ELSEWHERE = ("dialect",)
"""Read where the model is opened."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings, sorted: those with a meaning everywhere, and fields of one provider's own."""

    chosen: Mapping[str, Any] = field(default_factory=dict)
    """By the name of a ChatRequest's field."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    def request(
        self,
        messages: tuple[Message, ...],
        *,
        temperature: float | None,
        max_tokens: int,
        seed: int | None = None,
        schema: Mapping[str, Any] | None = None,
        more_room: int = 0,
        faults: int = 6,
    ) -> ChatRequest:
        """A question as its protocol asks it, with what the user chose instead."""
        if not self.own and not self.extra:
            return ChatRequest(messages, temperature, max_tokens, seed, schema, more_room=more_room, faults=faults)
        fields: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed, **self.chosen}
        return ChatRequest(
            messages, schema=schema, more_room=more_room, faults=faults, extra=self.extra, own=self.own, **fields
        )


def sort_settings(settings: Mapping[str, Any]) -> Settings:
    """Raises UsageError where a setting's value makes no sense."""
    chosen: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in settings.items():
        if name in _NUMBERS:
            chosen[name] = _number(name, value)
        elif name in _COUNTS:
            chosen[name] = _count(name, value)
        elif name in _WHOLE_ROOM:
            chosen["room"] = _count(name, value)
        elif name in ("effort", "reasoning_effort") and value is not None:
            chosen["effort"] = effort_named(value)
        elif name == "stop":
            chosen["stop"] = (value,) if isinstance(value, str) else tuple(str(one) for one in value or ())
        elif name not in _ELSEWHERE:
            extra[name] = value
    return Settings(chosen, extra, frozenset(chosen))


def prompted(
    prompt: str,
    system: str = "",
    *,
    temperature: float | None = 0.0,
    max_tokens: int = 256,
    seed: int | None = None,
    schema: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """A single question outside a run."""
    return sort_settings(settings or {}).request(
        one_prompt(prompt, system), temperature=temperature, max_tokens=max_tokens, seed=seed, schema=schema
    )


def effort_named(value: Any) -> Effort:
    for effort in EFFORTS:
        if value == effort:
            return effort
    if value == "xhigh":
        return "max"
    raise UsageError(f"'{value}' is not a level of effort.", f"Choose {', '.join(EFFORTS)}.")


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None  # not to be sent
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"The setting {name} is '{value}', which is not a number.", f"Write --set {name}=0.7.")
    return value


def _count(name: str, value: Any) -> int | None:
    if value is None and name == "seed":
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or (value < 0 if name == "thinking_tokens" else value < 1 and name != "seed")
    ):
        raise UsageError(f"The setting {name} is '{value}', which is not a whole number.", f"Write --set {name}=8000.")
    return value

"""A talk as data: who said what. A prompt is a talk of one message."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    text: str


def one_prompt(prompt: str, system: str = "") -> tuple[Message, ...]:
    """The messages of a single question."""
    asked = Message("user", prompt)
    return (Message("system", system), asked) if system else (asked,)

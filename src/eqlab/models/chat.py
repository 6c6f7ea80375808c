"""What every way of reaching a model has in common: one request, one reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from eqlab.core.messages import Message


@dataclass(frozen=True, slots=True)
class ChatRequest:
    prompt: str
    system: str = ""
    temperature: float = 0.0
    max_tokens: int = 256
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply must follow (structured answers)."""
    earlier: tuple[Message, ...] = ()
    """What was said before the prompt."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The user's own settings; they win over everything above."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str
    """The whole reply, a thinking model's inline reasoning included."""
    reasoning: str = ""
    """Reasoning that the server sent in a field of its own."""
    model: str = ""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float = 0.0
    transport_retries: int = 0


class TransportError(Exception):
    """The request failed for good after its retries; the model said nothing. The run goes on with other trials."""

    def __init__(self, message: str, retries: int = 0) -> None:
        super().__init__(message)
        self.retries = retries


class Chat(Protocol):
    """A model that can be asked. `ask` may be called by many tasks at once; the implementation queues what it must."""

    @property
    def concurrency(self) -> int:
        """How many requests are worth having under way at once."""
        ...

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Raises TransportError for one lost request, ModelError when the model cannot be asked at all."""
        ...

    async def close(self) -> None: ...

    def identity(self) -> Mapping[str, Any]:
        """What provenance records about the model (endpoint, weights' hash, runtime version). Never a key."""
        ...

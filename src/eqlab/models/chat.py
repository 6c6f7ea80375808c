"""What every way of reaching a model has in common: one request, one reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from eqlab.core.answers import LENGTH as LENGTH
from eqlab.core.messages import Message

Effort = Literal["none", "minimal", "low", "medium", "high", "max"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "max")

FILTERED = "content_filter"
REFUSED = "refusal"
"""The finish of a reply that a provider's filter cut, or that the provider calls a refusal. With LENGTH, for one cut by
its room, every wire format says these three alike; other reasons are kept in the provider's own words."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question in one meaning; each wire format says it in its own words."""

    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    max_tokens: int = 256
    """Room for the answer. What a model needs for thinking is added where it thinks."""
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply must follow (structured answers)."""
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    effort: Effort | None = None
    """How hard to think; None leaves it to the model."""
    thinking_tokens: int | None = None
    """Room for thinking, beside the answer's; None: a generous one that follows the effort."""
    room: int | None = None
    """All tokens of the reply together, exactly: what somebody sets who uses a provider's own name for it."""
    more_room: int = 0
    """Added when a reply to the same question was cut before."""
    faults: int = 6
    """How many failures of the server this question may still cost."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the provider's own, sent as they are; they win over everything above."""
    own: frozenset[str] = frozenset()
    """Which of the fields above the user chose: they are never dropped in silence."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str
    """The whole reply, a thinking model's inline reasoning included."""
    reasoning: str = ""
    """Reasoning that the server sent in a field of its own."""
    model: str = ""
    finish: str = ""
    refusal: str = ""
    """The provider's code where it, and not the model's text, declined: the answer counts as refused."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float = 0.0
    transport_retries: int = 0
    sent: Mapping[str, Any] = field(default_factory=dict)
    """What was really sent: `temperature`, `top_p`, `seed`, `effort`, `room`, `dialect`; what is absent was not."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """What else came back: `reasoning_tokens`, `cached_tokens`, `cost` (US dollars, where the provider says it)."""


class TransportError(Exception):
    """The request failed for good after its retries; the model said nothing. The run goes on with other trials."""

    def __init__(
        self, message: str, retries: int = 0, sent: Mapping[str, Any] | None = None, timed_out: int = 0
    ) -> None:
        super().__init__(message)
        self.retries = retries
        self.timed_out = timed_out
        """Requests that were given up for their silence: probably billed."""
        self.sent: Mapping[str, Any] = sent or {}


class Unasked(TransportError):
    """The session ended while a question waited for its turn, or for the server to come back: it was not under way."""


class LimitReached(Exception):
    """A question that a limit of cost or tokens forbids: it was not sent, and the run ends as planned."""


class Chat(Protocol):
    """A model that can be asked. `ask` may be called by many tasks at once; the implementation queues what it must."""

    @property
    def concurrency(self) -> int:
        """How many requests are worth having under way at once."""
        ...

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Raises TransportError for one lost request, ModelError when the model cannot be asked at all."""
        ...

    def hurry(self) -> None:
        """The session ends: what is under way is finished, what only waits is given up (Unasked)."""
        ...

    async def close(self) -> None: ...

    def most_tokens(self, request: ChatRequest, thinks: bool = True) -> int:
        """Tokens that a reply to this may have at the most. `thinks`: whether a model of which that is not known yet
        is taken to think."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """What provenance records about the model (endpoint, weights' hash, runtime version). Never a key."""
        ...

    def learnt(self) -> Sequence[str]:
        """What was found out about the model while it was asked, in words; kept with the run."""
        ...

"""The contract of a wire format: a pure pair. `build` turns a request into what is posted, `read` turns what came back
into a verdict. A package adds one under the entry point group `eqlab.wires`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from eqlab.models.chat import ChatReply, ChatRequest
from eqlab.models.fit import Adaptation, Fit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. The key is read from the environment, kept in memory, and shown nowhere."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    takes_seed: bool = True
    wire: str = "openai_chat"
    streams: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Whatever else the provider wants said with every request (organisation, version)."""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is posted."""

    path: str
    """After the endpoint's base URL, its query included."""
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    sent: Mapping[str, Any]
    """What is recorded of it: dialect, room, temperature, seed, effort … as they were really sent."""
    request: ChatRequest
    fit: Fit
    """What was known of the model when this was built; a refusal is held against it."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """What came back: a whole body, or a whole stream of events."""

    status: int
    headers: Mapping[str, str]
    raw: bytes
    latency: float = 0.0

    @property
    def well(self) -> bool:
        """Whether the status says so: some gateways say 201 or 203 of a reply."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The server's fault, or its overload: the same request may go well later."""

    reason: str
    overload: bool = False
    """Too few machines, or nothing in time: fewer requests at once."""
    rate: bool = False
    """Too many requests (429): everybody slows down, and waiting is not counted as a failure."""
    wait: float | None = None
    """Seconds that the server asked for; None: our own."""
    gone: bool = False
    """Nobody answered, or only a gateway: an outage, which is waited for."""
    timed_out: bool = False
    """Perhaps billed: repeated twice at most."""
    unasked: bool = False
    """Another question's reply: asked again at once, on a connection of its own, and no failure of this question."""
    status: int = 0


@dataclass(frozen=True, slots=True)
class Adapt:
    """The server does not take a thing as it was sent; the same question in other words may go well."""

    change: Adaptation
    said: str


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No request like this one will be answered."""

    message: str
    hint: str = ""
    model: bool = True
    """Whether the whole model is meant (its key, its name, its account) or this request alone."""
    gateway: bool = False
    """Whether it is no API's word, but some page or text: after good replies, a gateway's hiccup."""


Verdict = ChatReply | TryAgain | Adapt | Hopeless
"""A refusal is a reply whose `refusal` names the provider's code: it is data, not a failure."""


class Wire(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def thinks(self) -> bool:
        """Whether models behind it think unless told otherwise, so that room for it is added from the start."""
        ...

    def build(self, endpoint: Endpoint, request: ChatRequest, fit: Fit) -> Outgoing: ...

    def read(self, outgoing: Outgoing, incoming: Incoming) -> Verdict: ...

"""What a model was found to take: learnt from its server's refusals, shared by all its requests, said once.

A refusal is held against the request that was refused: one that was under way when something was learnt is only sent
again. So nothing is lost, and nothing is learnt twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from eqlab.models.chat import ChatRequest

ALLOWANCE = {None: 16384, "none": 0, "minimal": 2048, "low": 4096, "medium": 16384, "high": 32768, "max": 65536}
"""Tokens for thinking by effort, beside the answer's own; an upper limit that costs nothing by itself."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How one model is asked. `dropped` and `ways` are by meaning (`temperature`, `room`, `schema` …), not by the
    name that a wire format gives it."""

    wire: str
    dropped: frozenset[str] = frozenset()
    ways: Mapping[str, str] = field(default_factory=dict)
    """How a thing is said where there are several ways: {"room": "max_completion_tokens", "schema": "tool"}."""
    room_limit: int | None = None
    thinks: bool = False
    """Whether thinking takes tokens of its own, so that room for it is added."""
    streams: bool = False

    def takes(self, name: str) -> bool:
        return name not in self.dropped


@dataclass(frozen=True, slots=True)
class Adaptation:
    """One thing to learn."""

    kind: Literal["drop", "way", "limit", "wire", "thinks", "streams"]
    name: str = ""
    value: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "drop":
                return f"{self.name} is not sent"
            case "way":
                return f"{self.name} is sent as {self.value}"
            case "limit":
                return f"replies have at most {self.value} tokens"
            case "wire":
                return f"the dialect is {self.value}"
            case "thinks":
                return "it thinks: room for that is added"
            case "streams":
                return "replies are streamed"


def changed(fit: Fit, change: Adaptation) -> Fit:
    """The fit with one more thing learnt; the same when it was known."""
    match change.kind:
        case "drop":
            return replace(fit, dropped=fit.dropped | {change.name})
        case "way":
            thinks = fit.thinks or change.value == "max_completion_tokens"  # only thinking models demand that name
            return replace(fit, ways={**fit.ways, change.name: change.value}, thinks=thinks)
        case "limit":
            limit = int(change.value)
            return fit if fit.room_limit is not None and fit.room_limit <= limit else replace(fit, room_limit=limit)
        case "wire":
            return replace(fit, wire=change.value)
        case "thinks":
            return replace(fit, thinks=True, streams=True)
        case "streams":
            return replace(fit, streams=fit.takes("stream"))


def allowance(request: ChatRequest, fit: Fit) -> int:
    """Tokens for thinking that are added to the answer's room."""
    if request.effort == "none" or not (fit.thinks or request.effort):
        return 0
    return ALLOWANCE[request.effort] if request.thinking_tokens is None else request.thinking_tokens


def room(request: ChatRequest, fit: Fit) -> int:
    """All tokens that a reply may have."""
    whole = request.max_tokens + allowance(request, fit) if request.room is None else request.room
    whole += request.more_room
    return whole if fit.room_limit is None else min(whole, fit.room_limit)

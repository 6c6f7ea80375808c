"""The contract of a wire format: a pure pair. `build` turns a request into what is posted, `read` turns what came back
into a reply or a failure. A package adds one under the entry point group `eqlab.wires`.

How one model is asked, its profile, is learnt from its server's refusals, shared by all its requests and told once. A
refusal is held against the request that was refused: one that was under way when something was learnt is only sent
again. So nothing is lost, and nothing is learnt twice.

The body of a reply is JSON in which no name that matters stands twice, or server-sent events, one JSON object after the
other."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from importlib import import_module
from typing import Any, Literal, Protocol

import msgspec
import orjson

from eqlab.core.environment import entry_points
from eqlab.core.errors import UsageError, did_you_mean
from eqlab.core.values import dataclass
from eqlab.models.chat import ChatReply, ChatRequest

_CHAT = ("choices", "message", "delta", "content", "text", "refusal", "finish_reason", "index")
_RESPONSES_AND_ANTHROPIC = ("output", "status", "role", "type", "stop_reason", "input")
_GEMINI = ("candidates", "parts", "thought", "finishReason")
_DECIDES = frozenset((*_CHAT, *_RESPONSES_AND_ANTHROPIC, *_GEMINI))
"""Names whose values make up an answer. Two for another do no harm: NVIDIA sends `reasoning_content` twice."""


def unambiguous(raw: bytes | str) -> Any:
    """Raises ValueError where an answer could be one thing or another. A value beats none, and may be said again."""
    if isinstance(raw, str):
        return json.loads(raw, object_pairs_hook=_one_meaning)
    found = _read_plainly(raw)
    return found[0] if found is not None else _DECODER.decode(raw.decode(json.detect_encoding(raw), "surrogatepass"))


def _read_plainly(*texts: bytes) -> list[Any] | None:
    """What these texts say, where no name stands twice in an object: it would be there once in what was read, and with
    it two quotation marks or more would be gone. None where one does, where a quotation mark is written by its number,
    and for what the standard library alone knows: other encodings, halves of letters, NaN."""
    raw = b"\n".join(texts)
    try:
        found = [orjson.loads(text) for text in texts]
        return found if b"\\u0022" not in raw and raw.count(b'"') == orjson.dumps(found).count(b'"') else None
    except (ValueError, TypeError):
        return None


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For what the model itself wrote: what it means by two values is its reader's to judge, in its own words."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name comes twice")
    return dict(pairs)


def _one_meaning(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for name, value in pairs:
        before = found.get(name)
        if before and value and value != before and name in _DECIDES:
            raise ValueError(f'"{name}" is there twice, with two values')
        found[name] = value or before or value
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_one_meaning)
"""Made once: `json.loads` with a hook makes one for every reply."""


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


def tokens_told(tokens_in: Any, tokens_out: Any) -> tuple[int, int] | None:
    """What a failure took, where its server says both."""
    given, made = count(tokens_in), count(tokens_out)
    return None if given is None or made is None else (given, made)


_CHARACTERS_A_TOKEN = 32
"""A tokenizer's longest tokens are about half as long; runs of one sign aside, no text has fewer tokens."""
_SERVERS_OWN = 10_000
"""Tokens that a server may add to a prompt, or think beyond its room."""


def believed(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """The reply without counts that cannot be: 0 beside a text, far fewer or far more than its text has. They are
    unknown then, and kept in `usage` as they were reported."""
    odd: dict[str, int] = {}
    if reply.tokens_in is not None and not 0 < reply.tokens_in <= _SERVERS_OWN:
        asked = sum(len(message.text.encode("utf-8", "replace")) for message in request.messages)
        asked += len(str(request.schema)) if request.schema is not None else 0
        if not 0 < reply.tokens_in <= asked + _SERVERS_OWN:
            odd["reported_in"] = reply.tokens_in
    if reply.tokens_out is not None:
        written = reply.text + reply.reasoning
        if len(written) <= _CHARACTERS_A_TOKEN * reply.tokens_out and reply.tokens_out <= _SERVERS_OWN and not odd:
            return reply
        most = max(reply.sent.get("room") or 0, len(written.encode("utf-8", "replace")))
        most += reply.usage.get("reasoning_tokens", 0) + _SERVERS_OWN
        if not len(written) / _CHARACTERS_A_TOKEN <= reply.tokens_out <= most:
            odd["reported_out"] = reply.tokens_out
    if not odd:
        return reply
    return msgspec.structs.replace(
        reply,
        tokens_in=None if "reported_in" in odd else reply.tokens_in,
        tokens_out=None if "reported_out" in odd else reply.tokens_out,
        usage={**reply.usage, **odd},
    )


def added_usage(before: Any, now: Any) -> Any:
    """What a stream has reported so far: counts grow from piece to piece, and one that falls back to 0 says nothing."""
    if isinstance(before, dict) and isinstance(now, dict):
        return before | {name: added_usage(before.get(name), value) for name, value in now.items()}
    was, is_now = amount(before), amount(now)
    return before if now is None or (was is not None and (is_now is None or was > is_now)) else now


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def known(**values: Any) -> dict[str, Any]:
    """What is known of these, without zeros: nothing was cached, nothing thought."""
    return {name: value for name, value in values.items() if value}


def is_stream(headers: Mapping[str, str], raw: bytes) -> bool:
    """By what was said, or by what it looks like: some servers stream although nobody asked."""
    if raw[:10].removeprefix(BOM_UTF8).startswith(b"{"):
        return False  # an error, or a whole reply, under a stream's name
    if "event-stream" in (headers.get("Content-Type") or ""):
        return True
    return raw[:10].removeprefix(BOM_UTF8).startswith((b"data:", b"event:"))


def without_comments(raw: bytes) -> bytes:
    """A body without what some gateways send first to keep a connection open: `: PROCESSING`, and white space."""
    while raw[:1] == b":" or raw[:1].isspace():
        raw = raw.lstrip() if raw[:1].isspace() else raw.partition(b"\n")[2]
    return raw


def events(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a stream. Raises ValueError where one cannot be read, or where each comes twice: which words were
    meant once is nobody's guess. Comments and `[DONE]` are left out."""
    found = list(_data(raw.removeprefix(BOM_UTF8)))
    if len(found) > 3 and found[::2] == found[1::2]:
        raise ValueError("every event of the stream comes twice")
    pieces = _read_plainly(*found)
    for one in pieces if pieces is not None else (one for data in found for one in _objects(data)):
        if isinstance(one, dict):
            yield one


def _data(raw: bytes) -> Iterator[bytes]:
    lines: list[bytes] = []
    for line in [*raw.splitlines(), b""]:
        if line.startswith(b"data:"):
            lines.append(line[5:].strip())
        elif not line and lines:
            data, lines = b"\n".join(lines), []
            if data and data != b"[DONE]":
                yield data


def _objects(data: bytes) -> Iterator[Any]:
    """One object; or several, from a server that forgets the empty line between its events."""
    try:
        yield unambiguous(data)
    except ValueError:
        lines = [line for line in data.splitlines() if line and line != b"[DONE]"]
        if len(lines) == len(data.splitlines()) == 1:
            raise
        yield from [unambiguous(line) for line in lines]


_OWN = {
    "openai_chat": "eqlab.models.wire.openai_chat:OpenAiChat",
    "openai_responses": "eqlab.models.wire.openai_responses:OpenAiResponses",
    "anthropic": "eqlab.models.wire.anthropic:AnthropicMessages",
    "gemini": "eqlab.models.wire.gemini:Gemini",
    "azure": "eqlab.models.wire.openai_chat:AzureOpenAi",
}
_SHORT = {"openai": "openai_chat", "responses": "openai_responses", "google": "gemini"}
_GROUP = "eqlab.wires"
ALLOWANCE = {None: 16384, "none": 0, "minimal": 2048, "low": 4096, "medium": 16384, "high": 32768, "max": 65536}
"""Tokens for thinking by effort, beside the answer's own; an upper limit that costs nothing by itself."""


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
class RequestProfile:
    """How one model is asked. `dropped` and `ways` are by meaning (`temperature`, `room`, `schema` …), not by the
    name that a wire format gives it."""

    wire: str
    dropped: frozenset[str] = frozenset()
    ways: Mapping[str, str] = field(default_factory=dict)
    """How a thing is said where there are several ways: {"room": "max_completion_tokens", "schema": "tool"}."""
    token_limit: int | None = None
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


class Outgoing(msgspec.Struct, frozen=True):
    """What is posted."""

    path: str
    """After the endpoint's base URL, its query included."""
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    sent: Mapping[str, Any]
    """What is recorded of it: dialect, room, temperature, seed, effort … as they were really sent."""
    request: ChatRequest
    profile: RequestProfile
    """What was known of the model when this was built; a refusal is held against it."""


class Incoming(msgspec.Struct, frozen=True):
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
    """Billed, probably: repeated twice at most."""
    billed: bool = False
    """Whether it may be: a model was at work, or had been."""
    tokens: tuple[int, int] | None = None
    """In and out, where the server has counted them."""
    cost: float | None = None
    """In US dollars, where the server says it."""
    unasked: bool = False
    """Another question's reply: asked again at once, on a connection of its own, and no failure of this question."""
    status: int = 0


@dataclass(frozen=True, slots=True)
class Adapt:
    """The server does not take a thing as it was sent; the same question in other words may go well."""

    change: Adaptation
    reason: str
    """In the server's words."""
    model: bool = True
    """Whether it holds for the whole model, or for this request alone: what a context leaves beside its prompt."""
    billed: bool = False
    """Whether it may be all the same, as of a stream that had begun."""
    tokens: tuple[int, int] | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No request like this one will be answered."""

    message: str
    hint: str = ""
    model: bool = True
    """Whether the whole model is meant (its key, its name, its account) or this request alone."""
    gateway: bool = False
    """Whether it is no API's word, but some page or text: after good replies, a gateway's hiccup."""
    billed: bool = False
    """Whether it may be all the same."""
    tokens: tuple[int, int] | None = None
    cost: float | None = None


ReplyOrFailure = ChatReply | TryAgain | Adapt | Hopeless
"""A refusal is a reply whose `refusal` names the provider's code: it is data, not a failure."""


class Wire(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def thinks(self) -> bool:
        """Whether models behind it think unless told otherwise, so that room for it is added from the start."""
        ...

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing: ...

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure: ...


@cache
def wire(name: str) -> Wire:
    """The wire format of this name."""
    name = name if name in _OWN else named_wire(name)
    if name in _OWN:
        module, _, kind = _OWN[name].partition(":")
        made: Wire = getattr(import_module(module), kind)()
        return made
    (point,) = entry_points(group=_GROUP, name=name)
    loaded: Wire = point.load()()
    return loaded


def wire_names() -> list[str]:
    """Every dialect there is."""
    return [*_OWN, *sorted(point.name for point in entry_points(group=_GROUP) if point.name not in _OWN)]


def named_wire(name: str) -> str:
    """The full name of a dialect; raises UsageError when there is none of that name."""
    found = _SHORT.get(name, name)
    if found in _OWN:
        return found
    found = found if found in wire_names() else found.replace("-", "_")
    if found not in wire_names():
        raise UsageError(
            f"There is no dialect '{name}'.", did_you_mean(name, wire_names(), f"There are: {', '.join(wire_names())}.")
        )
    return found


def adapted(profile: RequestProfile, change: Adaptation) -> RequestProfile:
    """The fit with one more thing learnt; the same when it was known."""
    match change.kind:
        case "drop":
            return replace(profile, dropped=profile.dropped | {change.name})
        case "way":
            thinks = profile.thinks or change.value == "max_completion_tokens"  # only thinking models demand that name
            return replace(profile, ways={**profile.ways, change.name: change.value}, thinks=thinks)
        case "limit":
            limit = int(change.value)
            return (
                profile
                if profile.token_limit is not None and profile.token_limit <= limit
                else replace(profile, token_limit=limit)
            )
        case "wire":
            return replace(profile, wire=change.value)
        case "thinks":
            return replace(profile, thinks=True, streams=True)
        case "streams":
            return replace(profile, streams=profile.takes("stream"))


def token_limit(request: ChatRequest, profile: RequestProfile) -> int:
    """All tokens that a reply may have."""
    whole = request.max_tokens + allowance(request, profile) if request.token_limit is None else request.token_limit
    whole += request.more_tokens
    return whole if profile.token_limit is None else min(whole, profile.token_limit)


def allowance(request: ChatRequest, profile: RequestProfile) -> int:
    """Tokens for thinking that are added to the answer's room."""
    if request.effort == "none" or not (profile.thinks or request.effort):
        return 0
    return ALLOWANCE[request.effort] if request.thinking_tokens is None else request.thinking_tokens


def unstreamed(profile: RequestProfile) -> RequestProfile:
    """Nothing is streamed from a batch."""
    return replace(profile, streams=False)


def profile_to_json(profile: RequestProfile) -> dict[str, Any]:
    return {
        "wire": profile.wire,
        "dropped": sorted(profile.dropped),
        "ways": dict(profile.ways),
        "room_limit": profile.token_limit,
        "thinks": profile.thinks,
    }


def profile_from_json(values: Mapping[str, Any]) -> RequestProfile:
    return RequestProfile(
        values["wire"],
        frozenset(values["dropped"]),
        dict(values["ways"]),
        values["room_limit"],
        bool(values["thinks"]),
    )

"""One request, one reply: what every way of reaching a model has in common.

A user's settings have one meaning in every dialect (`max_tokens` is room for the answer everywhere); a thinking model's
inline reasoning is separated from its answer, kept, and never parsed."""

import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

import msgspec

from eqlab.core.answers import LENGTH as LENGTH
from eqlab.core.errors import UsageError, did_you_mean
from eqlab.core.trials import Message, one_prompt
from eqlab.core.values import dataclass

Effort = Literal["none", "minimal", "low", "medium", "high", "max"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "max")
FILTERED = "content_filter"
REFUSED = "refusal"
"""The finish of a reply that a provider's filter cut, or that the provider calls a refusal. With LENGTH, for one cut by
its room, every wire format says these three alike; other reasons are kept in the provider's own words."""
_HALVES = re.compile("[\ud800-\udfff]")


class Bill:
    """What one question may cost beside its reply: its requests that were sent and brought none. Whoever sends writes
    it; whoever pays may read it at any time."""

    __slots__ = ("broken", "cost", "cost_in", "cost_out", "room", "sent", "tokens_in", "tokens_out", "under_way")

    def __init__(self) -> None:
        self.under_way = False
        """Whether a request is sent, and nothing known of it yet."""
        self.broken = 0
        """Requests that may be billed, and nobody said for how much."""
        self.tokens_in = self.tokens_out = 0
        """Of failures whose server counted them."""
        self.cost, self.cost_in, self.cost_out = 0.0, 0, 0
        """In US dollars, of failures whose server said it, and the tokens that it is for."""
        self.sent: Mapping[str, Any] = {}
        """What was sent last."""
        self.room = math.inf
        """Tokens of a reply that whoever pays is prepared for."""

    def sends(self) -> None:
        self.under_way = True

    def ended(self, billed: bool, tokens: tuple[int, int] | None = None, cost: float | None = None) -> None:
        """The request that was under way is over, without a reply or with one that tells what it took."""
        if self.under_way and tokens is not None:
            self.tokens_in, self.tokens_out = self.tokens_in + tokens[0], self.tokens_out + tokens[1]
        elif self.under_way and (billed or cost):
            self.broken += 1
        if self.under_way and cost:
            given, made = tokens or (0, 0)
            self.cost, self.cost_in, self.cost_out = self.cost + cost, self.cost_in + given, self.cost_out + made
        self.under_way = False

    @property
    def lost(self) -> int:
        """Requests that count at their worst."""
        return self.broken + self.under_way

    def usage(self) -> dict[str, float]:
        """As it is kept with an answer."""
        told: dict[str, float] = {"timed_out": self.lost, "failed_in": self.tokens_in, "failed_out": self.tokens_out}
        told |= {"failed_cost": self.cost, "failed_cost_in": self.cost_in, "failed_cost_out": self.cost_out}
        return {name: value for name, value in told.items() if value}


class ChatRequest(msgspec.Struct, frozen=True):
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
    token_limit: int | None = None
    """All tokens of the reply together, exactly: what somebody sets who uses a provider's own name for it."""
    more_tokens: int = 0
    """Added when a reply to the same question was cut before."""
    faults: int = 6
    """How many failures of the server this question may still cost."""
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Fields of the provider's own, sent as they are; they win over everything above."""
    user_set: frozenset[str] = frozenset()
    """Which of the fields above the user chose: they are never dropped in silence."""
    stands_alone: bool = False
    """A person's, to a model that others talk with too: it fails for itself, and what its words may have brought about
    is not learnt for others."""
    within: float = math.inf
    """Seconds for which somebody waits for the reply: it is not asked for when it could not come in time."""
    wanted: Callable[[], Awaitable[bool]] | None = None
    """Asked before the question is sent where it had to wait: whether somebody still wants the reply."""
    again: Callable[[], Awaitable[None]] | None = None
    """Awaited before the question is sent once more, for whatever reason but its rate. May raise LimitReached."""
    more_room: Callable[[int], Awaitable[None]] | None = None
    """Awaited before the question is sent with more room than its bill's, with that room: where it was learnt meanwhile
    that the model thinks. May raise LimitReached."""
    bill: Bill | None = None


class ChatReply(msgspec.Struct, frozen=True):
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
    sent: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What was really sent: `temperature`, `top_p`, `seed`, `effort`, `room`, `dialect`; what is absent was not."""
    usage: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What else came back: `reasoning_tokens`, `cached_tokens`, `cost` (US dollars, where the provider says it)."""

    def __post_init__(self) -> None:
        if (self.text + self.reasoning + self.model + self.finish + self.refusal).isascii():  # as most are
            return
        for name in ("text", "reasoning", "model", "finish", "refusal"):
            written = getattr(self, name)
            if _HALVES.search(written):
                msgspec.structs.force_setattr(self, name, with_whole_letters(written))


def with_whole_letters(text: str) -> str:
    """Servers in JavaScript cut a stream between the halves of a letter beyond U+FFFF: joined, they are one again. A
    half that stays alone can be neither encoded nor stored: it becomes a question mark."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "replace").decode()


class TransportError(Exception):
    """The request failed for good after its retries; the model said nothing. The run goes on with other trials."""

    def __init__(self, message: str, retries: int = 0, sent: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.retries = retries
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


_NUMBERS = ("temperature", "top_p")
_COUNTS = ("max_tokens", "seed", "thinking_tokens")
_TOKEN_LIMITS = ("max_completion_tokens", "max_output_tokens", "maxOutputTokens", "n_predict")
"""The providers' names for all tokens of a reply; whoever writes one of them means exactly that."""
_ELSEWHERE = ("dialect",)
"""Read where the model is opened."""
_MEANT = (*_NUMBERS, *_COUNTS, *_TOKEN_LIMITS, *_ELSEWHERE, "effort", "reasoning_effort", "stop")
_USUAL = ("top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "user")
"""Fields that many providers take; another name that is nearly one of these is a typing error."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings, sorted: those with a meaning everywhere, and fields of one provider's own."""

    chosen: Mapping[str, Any] = field(default_factory=dict)
    """By the name of a ChatRequest's field."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def request(
        self,
        messages: tuple[Message, ...],
        *,
        temperature: float | None,
        max_tokens: int,
        seed: int | None = None,
        schema: Mapping[str, Any] | None = None,
        more_tokens: int = 0,
        faults: int = 6,
    ) -> ChatRequest:
        """A question as its protocol asks it, with what the user chose instead."""
        if not self.chosen and not self.extra:
            return ChatRequest(messages, temperature, max_tokens, seed, schema, more_tokens=more_tokens, faults=faults)
        fields: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed, **self.chosen}
        return ChatRequest(
            messages,
            schema=schema,
            more_tokens=more_tokens,
            faults=faults,
            extra=self.extra,
            user_set=frozenset(self.chosen),
            **fields,
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
        elif name in _TOKEN_LIMITS:
            chosen["token_limit"] = _count(name, value)
        elif name in ("effort", "reasoning_effort") and value is not None:
            chosen["effort"] = effort_named(value)
        elif name == "stop":
            chosen["stop"] = (value,) if isinstance(value, str) else tuple(str(one) for one in value or ())
        elif name not in _ELSEWHERE:
            extra[name] = value
            if name not in _USUAL and (hint := did_you_mean(name, (*_MEANT, *_USUAL), cutoff=0.85)):
                raise UsageError(f"There is no setting '{name}'.", hint)
    return Settings(chosen, extra)


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
    raise UsageError(
        f"'{value}' is not a level of effort.", did_you_mean(value, EFFORTS, f"Choose {', '.join(EFFORTS)}.")
    )


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


_TAG = "think|thinking|reasoning|thought"
_OPENING = f"(?i)<({_TAG})>"
_CLOSE = f"(?is)^(.*)</(?:{_TAG})>"
_CHANNEL = r"(?s)<\|channel\|>(?:analysis|commentary)<\|message\|>(.*?)<\|end\|>"
_CHANNEL_FINAL = r"(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<\|return\|>|<\|end\|>"


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning). A block that was cut off is all reasoning; one whose start the server ate is too."""
    if "<" not in text:
        return text, ""
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match.group(1))
        return ""

    rest = text
    if "<|channel|>" in text:
        end = text.rfind("<|end|>") + len("<|end|>")  # nothing closes behind it
        rest = re.sub(_CHANNEL_FINAL, "", re.sub(_CHANNEL, take, text[:end]) + text[end:])
    rest = _without_blocks(rest, thoughts)
    rest = re.sub(_CLOSE, take, rest)
    if not thoughts:
        return text, ""
    return rest.strip(), "\n".join(thought.strip() for thought in thoughts)


def _without_blocks(text: str, thoughts: list[str]) -> str:
    """The text outside <think>…</think>; from the first tag that is never closed on, everything is thought.

    One pass: a model that loops on "<think>" writes thousands of them."""
    outside: list[str] = []
    after, unclosed = 0, None
    for opening in re.finditer(_OPENING, text):
        if opening.start() < after or (unclosed and unclosed[1].lower() == opening[1].lower()):
            continue
        closing = re.compile(f"(?i)</{opening[1]}>").search(text, opening.end())
        if closing is None:
            unclosed = unclosed or opening
            continue
        if unclosed:  # a block inside what was cut off is part of it
            continue
        outside.append(text[after : opening.start()])
        thoughts.append(text[opening.end() : closing.start()])
        after = closing.end()
    if unclosed:
        outside.append(text[after : unclosed.start()])
        thoughts.append(text[unclosed.end() :])
    else:
        outside.append(text[after:])
    return "".join(outside)

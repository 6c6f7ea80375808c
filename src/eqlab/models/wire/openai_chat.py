"""OpenAI's chat completions, and the many servers that speak them: POST …/chat/completions.

Azure has them at a deployment, with a key in a header of its own and the API's version in the query. An address that
ends in /openai/v1 is Azure's newer one, with the model in the body."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from eqlab.core.trials import Message
from eqlab.models.chat import EFFORTS, FILTERED, LENGTH, REFUSED, ChatReply, ChatRequest
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Hopeless,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    RequestProfile,
    TryAgain,
    added_usage,
    amount,
    count,
    events,
    is_stream,
    known,
    mapping,
    token_limit,
    tokens_told,
    unambiguous,
    without_comments,
)
from eqlab.models.wire.failures import ErrorBody, classify, error_in, named_limit, quoted, read_error, unreadable

API_VERSION = "2024-10-21"
"""The newest that is generally available at deployments; OPENAI_API_VERSION names another."""
MEANINGS = {
    "max_tokens": "room",
    "max_completion_tokens": "room",
    "max_output_tokens": "room",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
    "reasoning_effort": "effort",
    "response_format": "schema",
    "stream": "stream",
    "stream_options": "stream_options",
}
CUT = (
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "model_length",
    "token_limit",
    "model_context_window_exceeded",
)
FAILED = (
    "error",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "insufficient_system_resource",
    "network_error",
    "timeout",
)
WITHHELD = (FILTERED, "sensitive", "safety", "prohibited_content", "blocklist", "spii", "recitation")
"""How servers and gateways say that a reply was cut by its room (Anthropic's and Mistral's words among them), that they
failed in the middle of it (DeepSeek, vLLM, Zhipu), or that a filter took it."""
BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


class OpenAiChat:
    name = "openai_chat"
    thinks = False

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        headers = {"Content-Type": "application/json", **endpoint.headers}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        return chat_request(self.name, "/chat/completions", headers, endpoint, request, profile)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
        return read_chat(outgoing, incoming)


class AzureOpenAi:
    name = "azure"
    thinks = False

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        headers = {"Content-Type": "application/json", **endpoint.headers}
        version = headers.pop("api-version", API_VERSION)
        if endpoint.key and "Authorization" not in headers:
            headers["api-key"] = endpoint.key
        path = "/chat/completions"
        if not endpoint.base_url.endswith("/v1"):
            path = f"/deployments/{endpoint.model}/chat/completions?api-version={version}"
        return chat_request(self.name, path, headers, endpoint, request, profile)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
        return read_chat(outgoing, incoming)


def chat_request(
    name: str, path: str, headers: Mapping[str, str], endpoint: Endpoint, request: ChatRequest, profile: RequestProfile
) -> Outgoing:
    """What chat completions are asked with, here and at Azure."""
    tokens = token_limit(request, profile)
    sent: dict[str, Any] = {"dialect": name, "room": tokens}
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": turns(request.messages, profile),
        profile.ways.get("room", "max_tokens"): tokens,
    }
    if request.temperature is not None and "temperature" not in profile.dropped:
        body["temperature"] = sent["temperature"] = request.temperature
    if (
        request.seed is not None
        and "seed" not in profile.dropped
        and (endpoint.takes_seed or "seed" in request.user_set)
    ):
        body["seed"] = sent["seed"] = request.seed
    if request.top_p is not None and "top_p" not in profile.dropped:
        body["top_p"] = sent["top_p"] = request.top_p
    if request.stop:
        body["stop"] = list(request.stop)
    if request.effort is not None:
        body["reasoning_effort"] = sent["effort"] = profile.ways.get("effort", request.effort)
    if request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "form", "strict": True, "schema": dict(request.schema)},
        }
        sent["schema"] = "json_schema"
    if profile.streams and "stream" not in profile.dropped:
        body["stream"] = True
        if "stream_options" not in profile.dropped:
            body["stream_options"] = {"include_usage": True}
    if request.extra:
        body |= request.extra
    return Outgoing(path, headers, body, sent, request, profile)


def turns(messages: Sequence[Message], profile: RequestProfile) -> list[dict[str, str]]:
    """The messages by role; a model that takes no system message gets it at the head of the first question."""
    if profile.ways.get("system") != "user":
        return [{"role": message.role, "content": message.text} for message in messages]
    return [{"role": message.role, "content": message.text} for message in without_system(messages)]


def without_system(messages: Sequence[Message]) -> list[Message]:
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    talk = [message for message in messages if message.role != "system"]
    if system and talk:
        talk[0] = Message(talk[0].role, f"{system}\n\n{talk[0].text}")
    return talk


def read_chat(outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
    if not incoming.well:
        problem = read_error(incoming.raw)
        return with_usage(not_taken(outgoing, incoming, problem), problem.usage)
    try:
        raw = without_comments(incoming.raw)
        body = _gathered(raw) if is_stream(incoming.headers, raw) else unambiguous(raw)
        if not body.get("choices") and body.get("error"):  # a failure after the 200 was sent
            return with_usage(not_taken(outgoing, incoming, error_in(body)), body.get("usage"))
        return read_body(body, outgoing, incoming.latency)
    except BROKEN as error:
        return unreadable(error, incoming)


def read_body(body: Mapping[str, Any], outgoing: Outgoing, latency: float) -> ReplyOrFailure:
    """A chat completion. Raises what BROKEN names when it is none."""
    choices = body["choices"]
    choice = choices[0]
    if choice.get("index"):
        choice = next((one for one in choices if not one.get("index")), choice)
    finish = str(choice.get("finish_reason") or "")
    kind = finish.lower()
    message = choice.get("message")
    if message is None and kind not in (*CUT, *FAILED, *WITHHELD) and not body.get("error"):
        raise TypeError("a choice without a message")
    message = message or {}
    if kind in FAILED or (body.get("error") and not message.get("content")):
        problem = error_in(choice if choice.get("error") else body)
        why = problem.text[:200] if choice.get("error") or body.get("error") else finish
        failure = TryAgain(f"the provider failed while answering ({why})", billed=True)
        return with_usage(failure, body.get("usage"))
    text = _words(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    declined = message.get("refusal") or ""
    if not (isinstance(reasoning, str) and isinstance(declined, str)):
        raise TypeError("content is not text")
    usage = mapping(body.get("usage"))
    refusal = ""
    if kind in WITHHELD:
        refusal, finish = _filters(choice) or kind, FILTERED
    elif kind in CUT:
        finish = LENGTH
    elif declined and not text:
        refusal, finish = REFUSED, REFUSED
    more = {}
    if "completion_tokens_details" in usage or "prompt_tokens_details" in usage or "cost" in usage:
        more = known(
            reasoning_tokens=_thought(usage),
            cached_tokens=count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
            cost=amount(usage.get("cost")),
        )
    return ChatReply(
        text=text or declined,
        reasoning=reasoning,
        model=str(body.get("model") or ""),
        finish=finish,
        refusal=refusal,
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=_tokens_out(usage),
        latency=latency,
        sent=outgoing.sent,
        usage=more,
    )


def with_usage(failure: ReplyOrFailure, told: Any) -> ReplyOrFailure:
    """A failure with what it took, where its server says so."""
    usage = mapping(told)
    tokens = tokens_told(usage.get("prompt_tokens"), _tokens_out(usage))
    cost = amount(usage.get("cost"))
    return failure if isinstance(failure, ChatReply) else replace(failure, tokens=tokens, cost=cost)


def _thought(usage: Mapping[str, Any]) -> int | None:
    return count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))


def _tokens_out(usage: Mapping[str, Any]) -> int | None:
    """Tokens of the reply and of the thought before it. Some servers (xAI) leave thought out of the reply's, and bill
    it: their total then has both; without a total, more was thought than replied."""
    said, thought = count(usage.get("completion_tokens")), _thought(usage)
    if said is None or not thought:
        return said
    asked, whole = count(usage.get("prompt_tokens")), count(usage.get("total_tokens"))
    apart = thought > said if asked is None or whole is None else whole >= asked + said + thought
    return said + thought if apart else said


def _words(content: Any) -> str:
    """Text, or the parts of one that some servers send; what a part thinks is no text."""
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)
    if not isinstance(content, str | None):
        raise TypeError("content is not text")
    return content or ""


def _filters(choice: Mapping[str, Any]) -> str:
    """Azure says which of its filters it was."""
    results = mapping(choice.get("content_filter_results"))
    found = [name for name, result in results.items() if mapping(result).get("filtered")]
    return f"{FILTERED}: {', '.join(found)}" if found else ""


def not_taken(outgoing: Outgoing, incoming: Incoming, problem: ErrorBody) -> ReplyOrFailure:
    """OpenAI's own refusals, then what all providers have in common."""
    sent, text = outgoing.body, problem.text
    if "v1/responses" in text or "Responses API" in text:
        return Adapt(Adaptation("wire", "dialect", "openai_responses"), f"HTTP {incoming.status}: {text}")
    if incoming.status in (400, 422):
        if "max_tokens" in sent and _unknown_room(outgoing, problem):
            return Adapt(Adaptation("way", "room", "max_completion_tokens"), text)
        if problem.param.startswith("messages") and "'system'" in text:
            return Adapt(Adaptation("way", "system", "user"), text)
        if "reasoning_effort" in sent and (level := nearest_effort(problem, str(outgoing.request.effort))):
            return Adapt(Adaptation("way", "effort", level), text)
    failure = classify(outgoing, incoming, problem, MEANINGS)
    if isinstance(failure, Hopeless) and outgoing.request.schema is not None and "json_schema" in text:
        return Hopeless(f"it does not take a JSON schema ({text[:300]})", "Run without --structured.")
    return failure


def _unknown_room(outgoing: Outgoing, problem: ErrorBody) -> bool:
    """Whether the field itself is refused, and not its size."""
    if "max_completion_tokens" in problem.text:
        return "too large" not in problem.text
    named = "max_tokens" in (problem.param or problem.text)
    return (
        named
        and named_limit(problem, int(outgoing.sent["room"])) is None
        and "nsupported" in problem.text + problem.code
    )


def nearest_effort(problem: ErrorBody, wanted: str) -> str:
    """The level that comes nearest to the one that was refused, of those the error names."""
    if "effort" not in problem.param + problem.text or "upported values" not in problem.text:
        return ""
    order = [*EFFORTS[:-1], "xhigh", "max"]
    offered = [word for word in quoted(problem.text.split("upported values", 1)[1]) if word in order]
    at = order.index(wanted)
    return min(offered, key=lambda level: abs(order.index(level) - at)) if offered else ""


def _gathered(raw: bytes) -> dict[str, Any]:
    """A stream's pieces as the completion they make up. Raises ValueError when it ended before its end."""
    text: list[str] = []
    reasoning: list[str] = []
    refusal: list[str] = []
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    for piece in events(raw):
        if piece.get("error"):
            return whole | piece
        whole["model"] = piece.get("model") or whole.get("model")
        if piece.get("usage") is not None:
            whole["usage"] = added_usage(whole.get("usage"), piece["usage"])
        for part in piece.get("choices") or ():
            if part.get("index"):
                continue
            delta = part.get("delta") or part.get("message") or {}
            words = _words(delta.get("content"))
            if words and choice.get("finish_reason"):
                raise ValueError("the stream goes on after its end")
            text.append(words)
            reasoning.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
            refusal.append(delta.get("refusal") or "")
            for name in ("finish_reason", "content_filter_results", "error"):
                if part.get(name):
                    choice[name] = part[name]
    if not choice.get("finish_reason"):
        raise ValueError("the stream ended in the middle")
    message = {"content": "".join(text), "reasoning": "".join(reasoning), "refusal": "".join(refusal)}
    return whole | {"choices": [choice | {"message": message}]}

"""Anthropic's Messages API: POST …/messages. Structured answers by output format, or by a tool where there is none."""

import json
from collections.abc import Mapping
from typing import Any

from eqlab.models.chat import LENGTH, REFUSED, ChatReply, ChatRequest
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Hopeless,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    RequestProfile,
    added_usage,
    allowance,
    count,
    events,
    is_stream,
    known,
    mapping,
    token_limit,
    unambiguous,
    without_twins,
)
from eqlab.models.wire.failures import ErrorBody, classify, error_in, quoted, read_error, unreadable
from eqlab.models.wire.openai_chat import BROKEN, nearest_effort

VERSION = "2023-06-01"
_TOOL = "form"
_LEAST_BUDGET = 1024
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "max": "max"}
_MEANINGS = {
    "max_tokens": "room",
    "temperature": "temperature",
    "top_p": "top_p",
    "stop_sequences": "stop",
    "output_config": "effort",
    "thinking": "effort",
    "effort": "effort",
    "stream": "stream",
}
_STATUS = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": 404,
    "invalid_request_error": 400,
}
"""What a stream's error event means: its HTTP status was 200 by then."""


class AnthropicMessages:
    """Takes no seed: it is not sent, and what is stored says so."""

    name = "anthropic"
    thinks = False

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        headers = {"Content-Type": "application/json", "anthropic-version": VERSION, **endpoint.headers}
        if endpoint.key and "Authorization" not in headers:
            headers["x-api-key"] = endpoint.key
        tokens = token_limit(request, profile)
        sent: dict[str, Any] = {"dialect": self.name, "room": tokens}
        body: dict[str, Any] = {"model": endpoint.model, "max_tokens": tokens}
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        if system:
            body["system"] = system
        body["messages"] = [
            {"role": message.role, "content": message.text} for message in request.messages if message.role != "system"
        ]
        thinking = _effort(request, profile, tokens, body, sent)
        if request.temperature is not None and profile.takes("temperature") and not thinking:
            # Thinking goes with the default alone; the scale ends at 1.
            body["temperature"] = sent["temperature"] = min(1.0, request.temperature)
        if request.top_p is not None and profile.takes("top_p"):
            body["top_p"] = sent["top_p"] = request.top_p
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if request.schema is not None:
            _schema(request.schema, profile, body, sent)
        if profile.streams and profile.takes("stream"):
            body["stream"] = True
        return Outgoing("/messages", headers, body | dict(request.extra), sent, request, profile)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
        if not incoming.well:
            return _not_taken(outgoing, incoming, read_error(incoming.raw))
        try:
            streamed = is_stream(incoming.headers, incoming.raw)
            body = _gathered(incoming.raw) if streamed else unambiguous(incoming.raw)
            if body.get("type") == "error" or ("content" not in body and body.get("error")):
                problem = error_in(body)
                late = Incoming(_STATUS.get(problem.kind, 500), incoming.headers, incoming.raw, incoming.latency)
                return _not_taken(outgoing, late, problem)
            return _read(body, outgoing, incoming.latency)
        except BROKEN as error:
            return unreadable(error, incoming)


def _effort(
    request: ChatRequest, profile: RequestProfile, tokens: int, body: dict[str, Any], sent: dict[str, Any]
) -> bool:
    """Newer models think as they see fit under an effort; older ones get a budget. Returns whether it thinks."""
    if request.effort is None:
        return False
    if request.effort == "none":
        body["thinking"] = {"type": "disabled"}
        sent["effort"] = "none"
        return False
    way = profile.ways.get("thinking", "adaptive")
    if way == "budget":
        budget = max(_LEAST_BUDGET, min(allowance(request, profile), tokens - 1))
        body["max_tokens"] = sent["room"] = max(tokens, budget + request.max_tokens)
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        sent["effort"] = f"{request.effort} ({budget} tokens)"
        return True
    level = profile.ways.get("effort", _EFFORTS[request.effort])
    body["thinking"] = {"type": "adaptive"}
    if profile.takes("output_effort"):
        body["output_config"] = {"effort": level}
        sent["effort"] = level
    else:
        sent["effort"] = "adaptive"
    return True


def _schema(schema: Mapping[str, Any], profile: RequestProfile, body: dict[str, Any], sent: dict[str, Any]) -> None:
    if profile.ways.get("schema") == "tool":
        body["tools"] = [{"name": _TOOL, "description": "The form to fill in.", "input_schema": dict(schema)}]
        body["tool_choice"] = {"type": "tool", "name": _TOOL}
        sent["schema"] = "tool"
        return
    body["output_config"] = {**body.get("output_config", {}), "format": {"type": "json_schema", "schema": dict(schema)}}
    sent["schema"] = "json_schema"


def _not_taken(outgoing: Outgoing, incoming: Incoming, problem: ErrorBody) -> ReplyOrFailure:
    """Anthropic's own refusals name the field in their words only."""
    if incoming.status == 400:
        found = _own(outgoing, problem)
        if found is not None:
            return found
    return classify(outgoing, incoming, problem, _MEANINGS)


def _own(outgoing: Outgoing, problem: ErrorBody) -> ReplyOrFailure | None:
    request, body, text = outgoing.request, outgoing.body, problem.text
    low = text.lower()
    if "thinking" in body and request.effort not in (None, "none"):
        adaptive = body["thinking"]["type"] == "adaptive"
        if adaptive and "adaptive" in low and "support" in low:
            return Adapt(Adaptation("way", "thinking", "budget"), text)
        if not adaptive and "thinking" in low and "adaptive" in low:
            return Adapt(Adaptation("way", "thinking", "adaptive"), text)
    if body.get("output_config", {}).get("effort") and "effort" in low:
        level = nearest_effort(problem, str(request.effort)) or _offered(text)
        if level and level != body["output_config"]["effort"]:
            return Adapt(Adaptation("way", "effort", level), text)
        if "support" in low:
            return Adapt(Adaptation("way", "thinking", "budget"), text)
    if request.schema is not None and any(
        word in low for word in ("output_config", "output format", "structured output", "json_schema")
    ):
        if outgoing.sent.get("schema") != "tool":
            return Adapt(Adaptation("way", "schema", "tool"), text)
        return Hopeless(f"it does not take a JSON schema ({text[:300]})", "Run without --structured.")
    if "cannot both be specified" in low and "temperature" not in request.user_set:
        return Adapt(Adaptation("drop", "temperature"), text)
    return None


def _offered(text: str) -> str:
    """The highest level that an error offers instead."""
    offered = [word for word in quoted(text) if word in ("low", "medium", "high", "xhigh")]
    return offered[-1] if offered else ""


def _read(body: Mapping[str, Any], outgoing: Outgoing, latency: float) -> ChatReply:
    text: list[str] = []
    thoughts: list[str] = []
    for block in body["content"]:
        match block.get("type"):
            case "text":
                text.append(block["text"])
            case "thinking":
                thoughts.append(block.get("thinking") or "")
            case "tool_use" if block.get("name") == _TOOL:
                text.append(json.dumps(block.get("input"), ensure_ascii=False))
    reason = str(body.get("stop_reason") or "")
    details = mapping(body.get("stop_details"))
    cut = reason in ("max_tokens", "model_context_window_exceeded")
    usage = mapping(body.get("usage"))
    cached = count(usage.get("cache_read_input_tokens")) or 0
    new = count(usage.get("input_tokens"))
    thought = count(mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
    return ChatReply(
        "".join(text),
        "\n".join(thoughts),
        model=str(body.get("model") or ""),
        finish=LENGTH if cut else REFUSED if reason == "refusal" else reason,
        refusal=str(details.get("category") or REFUSED) if reason == "refusal" else "",
        tokens_in=None if new is None else new + cached + (count(usage.get("cache_creation_input_tokens")) or 0),
        tokens_out=count(usage.get("output_tokens")),
        latency=latency,
        sent=outgoing.sent,
        usage=known(reasoning_tokens=thought, cached_tokens=cached),
    )


def _gathered(raw: bytes) -> dict[str, Any]:
    """A stream's events as the message they make up. Raises ValueError when it ended before its end."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    ended = False
    for event in events(raw):
        match event.get("type"):
            case "error":
                return event
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                for name in ("text", "thinking"):
                    if name in delta:
                        block[name] = block.get(name, "") + delta[name]
                if "partial_json" in delta:
                    inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
            case "message_delta":
                message |= event.get("delta") or {}
                message["usage"] = added_usage(message.get("usage"), event.get("usage"))
            case "message_stop":
                ended = True
    if not ended:
        raise ValueError("the stream ended in the middle")
    for index, text in inputs.items():
        try:
            blocks[index]["input"] = json.loads(text, object_pairs_hook=without_twins)
        except ValueError:  # cut by its room, or a name twice
            blocks[index] = {"type": "text", "text": text}
    return message | {"content": [blocks[index] for index in sorted(blocks)]}

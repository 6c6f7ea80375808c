"""Google's Gemini API: POST …/models/NAME:generateContent. Its schemas know enums of strings only, so numbers go out as
strings and come back as numbers."""

import json
from collections.abc import Mapping
from typing import Any

from eqlab.models.chat import LENGTH, ChatReply, ChatRequest
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    RequestProfile,
    TryAgain,
    added_usage,
    allowance,
    count,
    events,
    is_stream,
    known,
    mapping,
    token_limit,
    tokens_told,
    unambiguous,
    without_twins,
)
from eqlab.models.wire.failures import ErrorBody, classify, error_in, read_error, refused, unreadable
from eqlab.models.wire.openai_chat import BROKEN, without_system

FILTERS = (
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "JAILBREAK",
)
"""Reasons to end, or to block a prompt, that are a filter's."""
_LEVELS = {"none": "minimal", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "max": "high"}
_BUDGETS = {"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24576, "max": 24576}
_SETTINGS = {
    "maxOutputTokens": "room",
    "temperature": "temperature",
    "topP": "top_p",
    "seed": "seed",
    "stopSequences": "stop",
    "responseSchema": "schema",
    "responseMimeType": "schema",
    "thinkingConfig": "effort",
}


class Gemini:
    name = "gemini"
    thinks = True

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        headers = {"Content-Type": "application/json", **endpoint.headers}
        if endpoint.key:
            headers["x-goog-api-key"] = endpoint.key
        tokens = token_limit(request, profile)
        sent: dict[str, Any] = {"dialect": self.name, "room": tokens}
        settings: dict[str, Any] = {"maxOutputTokens": tokens}
        if request.temperature is not None and profile.takes("temperature"):
            settings["temperature"] = sent["temperature"] = request.temperature
        if request.seed is not None and profile.takes("seed"):
            settings["seed"] = sent["seed"] = request.seed
        if request.top_p is not None and profile.takes("top_p"):
            settings["topP"] = sent["top_p"] = request.top_p
        if request.stop:
            settings["stopSequences"] = list(request.stop)
        if request.effort is not None:
            settings["thinkingConfig"] = _thinking(request, profile, sent)
        if request.schema is not None:
            settings["responseMimeType"] = "application/json"
            settings["responseSchema"] = as_google_schema(request.schema)
            sent["schema"] = "responseSchema"
        messages = list(request.messages)
        if profile.ways.get("system") == "user":
            messages = without_system(messages)
        body: dict[str, Any] = {
            "contents": [
                {"role": "model" if message.role == "assistant" else "user", "parts": [{"text": message.text}]}
                for message in messages
                if message.role != "system"
            ],
            "generationConfig": settings | dict(request.extra),
        }
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        verb = "streamGenerateContent?alt=sse" if profile.streams and profile.takes("stream") else "generateContent"
        model = endpoint.model.removeprefix("models/")
        return Outgoing(f"/models/{model}:{verb}", headers, body, sent, request, profile)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
        if not incoming.well:
            return _not_taken(outgoing, incoming, read_error(incoming.raw))
        try:
            streamed = is_stream(incoming.headers, incoming.raw)
            body = _gathered(incoming.raw) if streamed else unambiguous(incoming.raw)
            if body.get("error"):
                return _not_taken(outgoing, incoming, error_in(body))
            return _read(body, outgoing, incoming)
        except BROKEN as error:
            return unreadable(error, incoming)


def _thinking(request: ChatRequest, profile: RequestProfile, sent: dict[str, Any]) -> dict[str, Any]:
    """A level for Gemini 3 and later, a budget for those before."""
    effort = str(request.effort)
    if profile.ways.get("thinking") != "budget":
        sent["effort"] = _LEVELS[effort]
        return {"thinkingLevel": _LEVELS[effort]}
    budget = _BUDGETS[effort] if request.thinking_tokens is None else min(24576, allowance(request, profile))
    sent["effort"] = f"{effort} ({budget} tokens)"
    return {"thinkingBudget": budget}


def as_google_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema in Google's words: types in capitals, no additionalProperties, enums of strings."""
    made: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "type":
            made["type"] = "STRING" if "enum" in schema else str(value).upper()
        elif name == "enum":
            made["enum"] = [str(one) for one in value]
        elif name == "properties":
            made["properties"] = {key: as_google_schema(inner) for key, inner in value.items()}
            made["propertyOrdering"] = list(value)
        elif name == "items":
            made["items"] = as_google_schema(value)
        elif name != "additionalProperties":
            made[name] = value
    return made


def as_asked(text: str, schema: Mapping[str, Any]) -> str:
    """The reply with numbers where the schema had numbers; untouched when it does not follow the schema."""
    try:
        values = json.loads(text, object_pairs_hook=without_twins)
    except (ValueError, RecursionError):
        return text
    properties = mapping(schema.get("properties"))
    if not isinstance(values, dict) or not properties:
        return text
    for key, value in values.items():
        allowed = mapping(properties.get(key)).get("enum") or ()
        meant = [one for one in allowed if isinstance(value, str) and not isinstance(one, str) and str(one) == value]
        if meant:
            values[key] = meant[0]
    return json.dumps(values, ensure_ascii=False)


def _not_taken(outgoing: Outgoing, incoming: Incoming, problem: ErrorBody) -> ReplyOrFailure:
    low = problem.text.lower()
    if incoming.status == 400:
        if "api key not valid" in low or "api_key_invalid" in json.dumps(problem.body, default=str).lower():
            incoming = Incoming(401, incoming.headers, incoming.raw, incoming.latency)
        level = "thinkingLevel" in mapping(outgoing.body["generationConfig"].get("thinkingConfig"))
        if level and "thinking" in low and "level" in low:
            return Adapt(Adaptation("way", "thinking", "budget"), problem.text)
        if "systemInstruction" in outgoing.body and ("developer instruction" in low or "system instruction" in low):
            return Adapt(Adaptation("way", "system", "user"), problem.text)
        if "thinking" in low and outgoing.request.effort is not None:
            problem = ErrorBody(
                f"thinkingConfig: {problem.text}",
                problem.code,
                "thinkingConfig",
                problem.kind,
                problem.body,
                problem.status,
            )
    return classify(outgoing, incoming, problem, _SETTINGS, outgoing.body["generationConfig"], "/v1beta")


def _read(body: Mapping[str, Any], outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
    usage = mapping(body.get("usageMetadata"))
    thought = count(usage.get("thoughtsTokenCount"))
    answered = count(usage.get("candidatesTokenCount"))
    counted: dict[str, Any] = {
        "model": str(body.get("modelVersion") or ""),
        "tokens_in": count(usage.get("promptTokenCount")),
        "tokens_out": None if answered is None and thought is None else (answered or 0) + (thought or 0),
        "usage": known(reasoning_tokens=thought, cached_tokens=count(usage.get("cachedContentTokenCount"))),
    }
    blocked = mapping(body.get("promptFeedback")).get("blockReason")
    if blocked:
        return refused(outgoing, incoming, str(blocked), **counted)
    candidate = body["candidates"][0]
    reason = str(candidate.get("finishReason") or "")
    parts = mapping(candidate.get("content")).get("parts") or []
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    if reason in FILTERS:
        return refused(outgoing, incoming, reason, text, **counted)
    if reason in ("MALFORMED_RESPONSE", "OTHER", "FINISH_REASON_UNSPECIFIED") and not text:
        tokens = tokens_told(counted["tokens_in"], counted["tokens_out"])
        return TryAgain(f"the provider failed while answering ({reason})", billed=True, tokens=tokens)
    if outgoing.request.schema is not None:
        text = as_asked(text, outgoing.request.schema)
    return ChatReply(
        text,
        "".join(part.get("text") or "" for part in parts if part.get("thought")),
        finish=LENGTH if reason == "MAX_TOKENS" else reason.lower(),
        latency=incoming.latency,
        sent=outgoing.sent,
        **counted,
    )


def _gathered(raw: bytes) -> dict[str, Any]:
    """A stream's pieces as the response they make up. Raises ValueError when it ended before its end."""
    parts: list[Any] = []
    whole: dict[str, Any] = {}
    candidate: dict[str, Any] = {}
    for piece in events(raw):
        if piece.get("error"):
            return piece
        for one in piece.get("candidates") or ():
            parts += mapping(one.get("content")).get("parts") or []
            candidate |= {name: value for name, value in one.items() if name != "content"}
        usage = added_usage(whole.get("usageMetadata"), piece.get("usageMetadata"))
        whole |= {name: value for name, value in piece.items() if name != "candidates"} | {"usageMetadata": usage}
    if mapping(whole.get("promptFeedback")).get("blockReason"):
        return whole
    if not candidate.get("finishReason"):
        raise ValueError("the stream ended in the middle")
    return whole | {"candidates": [candidate | {"content": {"parts": parts}}]}

"""OpenAI's Responses API, which some models demand: POST …/responses."""

from collections.abc import Mapping
from typing import Any

from eqlab.models.chat import FILTERED, LENGTH, REFUSED, ChatReply, ChatRequest
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    RequestProfile,
    TryAgain,
    count,
    events,
    is_stream,
    known,
    mapping,
    token_limit,
    tokens_told,
    unambiguous,
)
from eqlab.models.wire.failures import ErrorBody, classify, error_in, filter_code, read_error, refused, unreadable
from eqlab.models.wire.openai_chat import BROKEN, nearest_effort, without_system

_LEAST_ROOM = 16
"""What the API takes for max_output_tokens at least."""
_MEANINGS = {
    "max_output_tokens": "room",
    "temperature": "temperature",
    "top_p": "top_p",
    "reasoning": "effort",
    "text": "schema",
    "stream": "stream",
    "store": "store",
}
_ENDED = ("response.completed", "response.incomplete", "response.failed")


class OpenAiResponses:
    """Takes neither a seed nor stop words: they are not sent, and what is stored says so."""

    name = "openai_responses"
    thinks = True

    def build(self, endpoint: Endpoint, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        headers = {"Content-Type": "application/json", **endpoint.headers}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        tokens = max(_LEAST_ROOM, token_limit(request, profile))
        sent: dict[str, Any] = {"dialect": self.name, "room": tokens}
        body: dict[str, Any] = {"model": endpoint.model, "max_output_tokens": tokens}
        messages = list(request.messages)
        if profile.ways.get("system") == "user":
            messages = without_system(messages)
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        if system:
            body["instructions"] = system
        body["input"] = [
            {"role": message.role, "content": message.text} for message in messages if message.role != "system"
        ]
        if profile.takes("store"):
            body["store"] = False  # nothing of a benchmark stays at the provider
        if request.temperature is not None and profile.takes("temperature"):
            body["temperature"] = sent["temperature"] = request.temperature
        if request.top_p is not None and profile.takes("top_p"):
            body["top_p"] = sent["top_p"] = request.top_p
        if request.effort is not None:
            sent["effort"] = profile.ways.get("effort", request.effort)
            body["reasoning"] = {"effort": sent["effort"]}
        if request.schema is not None:
            form = {"type": "json_schema", "name": "form", "strict": True, "schema": dict(request.schema)}
            body["text"] = {"format": form}
            sent["schema"] = "json_schema"
        if profile.streams and profile.takes("stream"):
            body["stream"] = True
        return Outgoing("/responses", headers, body | dict(request.extra), sent, request, profile)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
        if not incoming.well:
            return _not_taken(outgoing, incoming, read_error(incoming.raw))
        try:
            streamed = is_stream(incoming.headers, incoming.raw)
            body = _last_event(incoming.raw) if streamed else unambiguous(incoming.raw)
            if body.get("error"):
                return _not_taken(outgoing, incoming, error_in(body), _tokens(body))
            return _read(body, outgoing, incoming)
        except BROKEN as error:
            return unreadable(error, incoming)


def _tokens(body: Mapping[str, Any]) -> tuple[int, int] | None:
    usage = mapping(body.get("usage"))
    return tokens_told(usage.get("input_tokens"), usage.get("output_tokens"))


def _not_taken(
    outgoing: Outgoing, incoming: Incoming, problem: ErrorBody, tokens: tuple[int, int] | None = None
) -> ReplyOrFailure:
    if (
        incoming.status == 400
        and "reasoning" in outgoing.body
        and (level := nearest_effort(problem, str(outgoing.request.effort)))
    ):
        return Adapt(Adaptation("way", "effort", level), problem.text)
    if incoming.well and not filter_code(problem):  # a response that failed on the way
        reason, rate = f"the provider failed while answering ({problem.text[:200]})", "rate_limit" in problem.code
        return TryAgain(reason, rate=rate, billed=not rate, tokens=tokens)
    return classify(outgoing, incoming, problem, _MEANINGS)


def _last_event(raw: bytes) -> dict[str, Any]:
    """The response as a stream's last event has it."""
    for event in events(raw):
        if event.get("type") in _ENDED:
            response: dict[str, Any] = event["response"]
            return response
        if event.get("type") == "error":
            return {"error": {"message": event.get("message"), "code": event.get("code")}}
    raise ValueError("the stream ended in the middle")


def _read(body: Mapping[str, Any], outgoing: Outgoing, incoming: Incoming) -> ReplyOrFailure:
    text: list[str] = []
    thoughts: list[str] = []
    declined = ""
    for item in body["output"]:
        if item.get("type") == "reasoning":
            thoughts += [part.get("text") or "" for part in item.get("summary") or ()]
        for part in item.get("content") or () if item.get("type") == "message" else ():
            text.append(part.get("text") or "")
            declined = part.get("refusal") or declined
    status = body.get("status") or ""
    why = mapping(body.get("incomplete_details")).get("reason") or ""
    if status in ("failed", "cancelled", "in_progress", "queued"):
        return TryAgain(f"the response is {status}", billed=True, tokens=_tokens(body))
    usage = mapping(body.get("usage"))
    counted: dict[str, Any] = {
        "model": str(body.get("model") or ""),
        "tokens_in": count(usage.get("input_tokens")),
        "tokens_out": count(usage.get("output_tokens")),
        "usage": known(
            reasoning_tokens=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
            cached_tokens=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        ),
    }
    answer = "".join(text)
    if why == FILTERED:
        return refused(outgoing, incoming, FILTERED, answer, **counted)
    # llama.cpp's server calls a reply completed that used up its room; others say that it is incomplete, and not why.
    cut = not why and (status == "incomplete" or (counted["tokens_out"] or 0) >= outgoing.sent["room"])
    finish = LENGTH if cut or why == "max_output_tokens" else why or "stop"
    if declined and not answer:
        return ChatReply(
            declined, finish=REFUSED, refusal=REFUSED, latency=incoming.latency, sent=outgoing.sent, **counted
        )
    return ChatReply(
        answer, "\n".join(thoughts), finish=finish, latency=incoming.latency, sent=outgoing.sent, **counted
    )

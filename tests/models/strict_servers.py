"""Providers on loopback, as strict as their documentation: unknown fields, wrong headers and wrong paths are refused,
with the error bodies that the real ones send. Each answers the questions of the open EQ-Bench items.

A prompt is flagged, where a provider filters, by its position among those seen: the same prompt always alike."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from server import answer_to

THOUGHT = 300
"""Tokens that the thinking models here need before they say a word."""


class Refused(Exception):
    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}


class Strict:
    """One provider. `faults` maps the number of a request to what goes wrong with it."""

    def __init__(
        self, provider: "Provider", *, latency: float = 0.02, faults: dict[int, Callable[[], Any]] | None = None
    ):
        self.provider, self.latency, self.faults = provider, latency, faults or {}
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.refused: list[str] = []
        """What was refused, in the server's words."""
        self.prompts: list[str] = []
        self.port = 0

    def base(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def flagged(self, prompt: str, every: int) -> bool:
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        return self.prompts.index(prompt) % every == every - 1

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.requests.append(body)
        self.paths.append(request.path_qs)
        self.headers.append(dict(request.headers))
        fault = self.faults.get(len(self.requests))
        await asyncio.sleep(self.latency)
        try:
            if fault is not None:
                made = fault()
                if isinstance(made, web.StreamResponse):
                    return made
                raise made
            said = self.provider(self, request, body)
        except Refused as refused:
            self.refused.append(json.dumps(refused.body))
            return web.json_response(refused.body, status=refused.status, headers=refused.headers)
        if isinstance(said, list):  # events
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
            await response.prepare(request)
            for event in said:
                kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
                data = event if isinstance(event, str) else json.dumps(event)
                await response.write(f"{kind}data: {data}\n\n".encode())
            return response
        return web.json_response(said)


Provider = Callable[[Strict, web.Request, dict[str, Any]], Any]


@contextmanager
def serving(provider: Provider, **more: Any) -> Iterator[Strict]:
    server = Strict(provider, **more)
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/{path:.*}", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def overloaded() -> Refused:
    return Refused(503, {"error": {"message": "The server is overloaded.", "type": "server_error", "code": None}})


def broken() -> Refused:
    return Refused(500, {"error": {"message": "The server had an error.", "type": "server_error"}})


# -- OpenAI ----------------------------------------------------------------------------------------------------

_CHAT = {
    "model",
    "messages",
    "max_completion_tokens",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "response_format",
} | {
    "reasoning_effort",
    "top_p",
}


def openai_error(message: str, param: str | None, code: str | None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def only(body: dict[str, Any], allowed: set[str]) -> None:
    for name in body:
        if name not in allowed:
            message = f"Unrecognized request argument supplied: {name}"
            raise Refused(400, openai_error(message, None, None))


def bearer(request: web.Request, key: str = "sk-strict-0123456789") -> None:
    if request.headers.get("Authorization") != f"Bearer {key}":
        raise Refused(401, openai_error("Incorrect API key provided.", None, "invalid_api_key"))


def gpt5(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    bearer(request)
    if request.path != "/v1/chat/completions":
        raise Refused(404, openai_error(f"Invalid URL (POST {request.path})", None, None))
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        raise Refused(400, openai_error(message, "max_tokens", "unsupported_parameter"))
    if body.get("temperature", 1) != 1:
        message = (
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. "
            "Only the default (1) value is supported."
        )
        raise Refused(400, openai_error(message, "temperature", "unsupported_value"))
    only(body, _CHAT)
    return chat(body, "gpt-5-2025-08-07", thought=THOUGHT)


def chat(body: dict[str, Any], model: str, thought: int = 0, **more: Any) -> Any:
    """A chat completion, streamed if that was asked for; a model that thinks needs room for it."""
    room = body.get("max_completion_tokens") or body.get("max_tokens") or 10**6
    text = answer_to(body["messages"][-1]["content"])
    finish = "stop"
    if room < thought + 50:
        text, finish = "", "length"
    usage = {
        "prompt_tokens": 400,
        "completion_tokens": min(room, thought + 50),
        "completion_tokens_details": {"reasoning_tokens": min(room, thought)},
        "prompt_tokens_details": {"cached_tokens": 128},
        **more.pop("usage", {}),
    }
    if not body.get("stream"):
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": finish, **more}
        return {"id": "c", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    pieces: list[Any] = [
        {"model": model, "choices": [{"index": 0, "delta": {"content": text[at : at + 7]}, "finish_reason": None}]}
        for at in range(0, len(text), 7)
    ]
    pieces.append({"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": finish, **more}]})
    if body.get("stream_options", {}).get("include_usage"):
        pieces.append({"model": model, "choices": [], "usage": usage})
    return [*pieces, "[DONE]"]


_RESPONSES = {"model", "input", "instructions", "max_output_tokens", "reasoning", "text", "store", "stream", "top_p"}


def responses_only(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    bearer(request)
    if request.path == "/v1/chat/completions":
        message = "This model is only supported in v1/responses and not in v1/chat/completions."
        raise Refused(404, openai_error(message, "model", None))
    if "temperature" in body:
        message = "Unsupported parameter: 'temperature' is not supported with this model."
        raise Refused(400, openai_error(message, "temperature", None))
    only(body, _RESPONSES)
    if body.get("text", {}).get("format", {}).get("type", "json_schema") != "json_schema":
        raise Refused(400, openai_error("Unknown format", "text.format", None))
    text = answer_to(body["input"][-1]["content"])
    cut = body["max_output_tokens"] < THOUGHT + 50
    content = [] if cut else [{"type": "output_text", "text": text, "annotations": []}]
    output: list[Any] = [{"type": "reasoning", "id": "r", "summary": []}]
    if not cut:
        output.append({"type": "message", "role": "assistant", "status": "completed", "content": content})
    response = {
        "id": "resp",
        "object": "response",
        "model": "gpt-5-pro-2025-10-06",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": output,
        "usage": {
            "input_tokens": 400,
            "output_tokens": THOUGHT + 50,
            "output_tokens_details": {"reasoning_tokens": THOUGHT},
            "input_tokens_details": {"cached_tokens": 0},
        },
    }
    if not body.get("stream"):
        return response
    ended = "response.incomplete" if cut else "response.completed"
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "delta": text},
        {"type": ended, "response": response},
    ]


# -- Anthropic -------------------------------------------------------------------------------------------------

_MESSAGES = {
    "model",
    "messages",
    "system",
    "max_tokens",
    "stop_sequences",
    "stream",
    "top_p",
    "tools",
    "tool_choice",
} | {
    "thinking",
    "output_config",
}


def anthropic_error(message: str, kind: str = "invalid_request_error") -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def claude(server: Strict, request: web.Request, body: dict[str, Any], formats: bool = True) -> Any:
    if request.headers.get("x-api-key") != "sk-strict-0123456789":
        raise Refused(401, anthropic_error("invalid x-api-key", "authentication_error"))
    if "anthropic-version" not in request.headers:
        raise Refused(400, anthropic_error("anthropic-version: header is required"))
    if request.path != "/anthropic/v1/messages":
        raise Refused(404, anthropic_error("Not found", "not_found_error"))
    if "temperature" in body:
        raise Refused(400, anthropic_error("`temperature` is deprecated for this model."))
    for name in body:
        if name not in _MESSAGES:
            raise Refused(400, anthropic_error(f"{name}: Extra inputs are not permitted"))
    if not formats and "format" in body.get("output_config", {}):
        raise Refused(400, anthropic_error("output_config.format: structured outputs are not supported on this model."))
    prompt = body["messages"][-1]["content"]
    declined = server.flagged(prompt, 5)
    text = "" if declined else answer_to(prompt)
    message = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "refusal" if declined else "end_turn",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": None} if declined else None,
        "usage": {"input_tokens": 300, "output_tokens": 20, "cache_read_input_tokens": 100},
    }
    if "tools" in body:
        values = dict.fromkeys(body["tools"][0]["input_schema"]["properties"], 5)
        message["content"] = [{"type": "tool_use", "id": "t", "name": "form", "input": values}]
        message["stop_reason"] = "tool_use"
    elif "format" in body.get("output_config", {}):
        values = dict.fromkeys(body["output_config"]["format"]["schema"]["properties"], 5)
        message["content"] = [{"type": "text", "text": json.dumps(values)}]
    if not body.get("stream"):
        return message
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    events: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            events.append(
                {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
            )
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            events.append({"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ending = {"stop_reason": message["stop_reason"], "stop_details": message["stop_details"]}
    return [
        *events,
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]


def older_claude(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    """Without output formats: a form must be a tool."""
    return claude(server, request, body, formats=False)


# -- Google ----------------------------------------------------------------------------------------------------

_GENERATION = {
    "maxOutputTokens",
    "temperature",
    "topP",
    "seed",
    "stopSequences",
    "responseMimeType",
    "responseSchema",
} | {"thinkingConfig"}


def google_error(code: int, message: str, status: str, *details: Any) -> Any:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def gemini(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    if request.headers.get("x-goog-api-key") != "sk-strict-0123456789" or "Authorization" in request.headers:
        details = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        raise Refused(
            400, google_error(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", details)
        )
    streams = request.path_qs == "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
    if not streams and request.path != "/v1beta/models/gemini-3-pro:generateContent":
        raise Refused(404, google_error(404, "models/x is not found for API version v1beta", "NOT_FOUND"))
    _no_unknown(body, {"contents", "systemInstruction", "generationConfig"}, "")
    _no_unknown(body["generationConfig"], _GENERATION, "generation_config")
    schema = body["generationConfig"].get("responseSchema")
    if schema is not None:
        _no_unknown(schema, {"type", "properties", "required", "propertyOrdering"}, "generation_config.response_schema")
        for name, inner in schema["properties"].items():
            if inner["type"] != "STRING" or not all(isinstance(one, str) for one in inner["enum"]):
                where = f"generation_config.response_schema.properties[{name}].enum: only allowed for STRING type"
                raise Refused(400, google_error(400, f"* GenerateContentRequest.{where}", "INVALID_ARGUMENT"))
    prompt = body["contents"][-1]["parts"][0]["text"]
    usage = {"promptTokenCount": 400, "thoughtsTokenCount": THOUGHT, "totalTokenCount": 750}
    whole: dict[str, Any] = {"modelVersion": "gemini-3-pro-preview", "usageMetadata": usage}
    if server.flagged(prompt, 7):
        whole["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
        return [whole] if streams else whole
    if server.flagged(prompt, 6):
        candidate: dict[str, Any] = {"finishReason": "SAFETY", "index": 0}
    elif body["generationConfig"]["maxOutputTokens"] < THOUGHT + 50:
        candidate = {"finishReason": "MAX_TOKENS", "content": {"role": "model"}, "index": 0}
    else:
        text = answer_to(prompt)
        if schema is not None:
            text = json.dumps({name: inner["enum"][5] for name, inner in schema["properties"].items()})
        usage["candidatesTokenCount"] = 50
        candidate = {"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    whole["candidates"] = [candidate]
    if not streams:
        return whole
    first = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}, "index": 0}]}
    return [first, whole]


def _no_unknown(body: dict[str, Any], allowed: set[str], where: str) -> None:
    for name in body:
        if name not in allowed:
            at = f" at '{where}'" if where else ""
            message = f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
            raise Refused(400, google_error(400, message, "INVALID_ARGUMENT"))


# -- Azure, OpenRouter, xAI --------------------------------------------------------------------------------------


def azure(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    if request.headers.get("api-key") != "sk-strict-0123456789" or "Authorization" in request.headers:
        message = "Access denied due to invalid subscription key or wrong API endpoint."
        raise Refused(401, {"error": {"code": "401", "message": message}})
    if request.path != "/openai/deployments/my-gpt/chat/completions" or "api-version" not in request.query:
        raise Refused(404, {"error": {"code": "404", "message": "Resource not found"}})
    only(body, _CHAT | {"max_tokens", "temperature"})
    prompt = body["messages"][-1]["content"]
    filters = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "sexual", "violence")}
    filters["self_harm"] = {"filtered": True, "severity": "medium"}
    if server.flagged(prompt, 5):
        message = (
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
            "Please modify your prompt and retry."
        )
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": filters}
        error = {"message": message, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
        raise Refused(400, {"error": {**error, "innererror": inner}})
    if server.flagged(prompt, 7):
        return (
            chat(body, "gpt-4o-2024-11-20", content_filter_results=filters) | {}
            if not body.get("stream")
            else [
                {"choices": [], "prompt_filter_results": []},
                {"choices": [{"index": 0, "delta": {"content": "I fe"}, "finish_reason": None}]},
                {
                    "choices": [
                        {"index": 0, "delta": {}, "finish_reason": "content_filter", "content_filter_results": filters}
                    ]
                },
                "[DONE]",
            ]
        )
    return chat(body, "gpt-4o-2024-11-20")


def openrouter(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    bearer(request)
    if request.path != "/api/v1/chat/completions":
        raise Refused(404, {"error": {"message": "Not Found", "code": 404}})
    only(body, _CHAT | {"max_tokens", "temperature"})
    prompt = body["messages"][-1]["content"]
    if server.flagged(prompt, 4):
        metadata = {
            "reasons": ["violence"],
            "flagged_input": f"{prompt[:40]}...{prompt[-40:]}",
            "provider_name": "OpenAI",
            "model_slug": "openai/gpt-4o",
        }
        message = 'Your chosen model requires moderation and your input was flagged for "violence"'
        raise Refused(403, {"error": {"message": message, "code": 403, "metadata": metadata}})
    return chat(body, "openai/gpt-4o", usage={"cost": 0.00014})


def late_error() -> web.Response:
    """OpenRouter's way to fail after it has begun: a 200 with an error inside."""
    return web.json_response({"error": {"code": 502, "message": "Provider returned error"}})


def error_finish() -> web.Response:
    choice = {"finish_reason": "error", "error": {"code": 502, "message": "upstream"}, "message": {"content": "Irri"}}
    return web.json_response({"choices": [choice], "model": "openai/gpt-4o"})


def grok(server: Strict, request: web.Request, body: dict[str, Any]) -> Any:
    bearer(request)
    only(body, _CHAT | {"max_tokens", "temperature"})
    if server.flagged(body["messages"][-1]["content"], 4):
        said = "Content violates usage guidelines. Team: t, API key ID: k, Failed check: SAFETY_CHECK_TYPE_BIO"
        code = "The caller does not have permission to execute the specified operation"
        raise Refused(403, {"code": code, "error": said})
    return chat(body, "grok-4-0709")

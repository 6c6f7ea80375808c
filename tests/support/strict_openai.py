"""OpenAI on loopback, strictly: chat completions, the Responses API; and its kin: Azure, OpenRouter, xAI."""

from typing import Any

from aiohttp import web
from server import answer_to
from strict_servers import THOUGHT, Refused, Strict

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


# -- Azure, OpenRouter, xAI


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
    apart = {"reasoning_tokens": THOUGHT}  # xAI leaves thought out of the reply's tokens, and bills it
    usage = {"completion_tokens": 50, "completion_tokens_details": apart, "total_tokens": 400 + 50 + THOUGHT}
    return chat(body, "grok-4-0709", usage=usage)

"""Anthropic's Messages on loopback, strictly: models that think as they see fit, and those that get a budget."""

import json
from typing import Any

from aiohttp import web
from server import answer_to
from strict_servers import Refused, Strict

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

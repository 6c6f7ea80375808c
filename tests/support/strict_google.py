"""Gemini on loopback, strictly."""

import json
from typing import Any

from aiohttp import web
from server import answer_to
from strict_servers import THOUGHT, Refused, Strict

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

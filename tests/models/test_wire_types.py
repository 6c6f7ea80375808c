"""What we send, held against the providers' own published types: their Python libraries, used here and nowhere else."""

import importlib

import pytest
from batch_house import adapter
from conftest import absent

from eqlab.core.trials import Message
from eqlab.models.chat import EFFORTS, ChatRequest
from eqlab.models.wire.contract import Adaptation, Endpoint, RequestProfile, adapted, wire

SCHEMA = {
    "type": "object",
    "properties": {"Joy": {"type": "integer", "enum": [0, 1, 2]}, "Fear": {"type": "integer", "enum": [0, 1, 2]}},
    "required": ["Joy", "Fear"],
    "additionalProperties": False,
}
TALK = (
    Message("system", "Be brief."),
    Message("user", "Hi."),
    Message("assistant", "Hello."),
    Message("user", "Rate."),
)
REQUESTS = [
    ChatRequest((Message("user", "Hi."),), temperature=0.01, max_tokens=60, seed=5),
    ChatRequest(TALK, temperature=None, max_tokens=60, top_p=0.9, stop=("END",), schema=SCHEMA),
    *(ChatRequest(TALK, temperature=0.5, effort=effort, schema=SCHEMA) for effort in EFFORTS),
    ChatRequest(TALK, effort="high", thinking_tokens=2000),
]
CHANGES = [
    (),
    (
        Adaptation("drop", "temperature"),
        Adaptation("way", "room", "max_completion_tokens"),
        Adaptation("way", "schema", "tool"),
    ),
    (Adaptation("way", "thinking", "budget"), Adaptation("way", "system", "user"), Adaptation("streams")),
]


def module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        absent(f"the package {name.split('.')[0]} is not installed")


def bodies(name):
    for changes in CHANGES:
        profile = RequestProfile(name, thinks=True)
        for change in changes:
            profile = adapted(profile, change)
        for request in REQUESTS:
            yield wire(name).build(Endpoint("http://h/v1", "m", "k"), request, profile)


@pytest.mark.parametrize("name", ["openai_chat", "azure"])
def test_chat_completions(name):
    types = module("openai.types.chat.completion_create_params")
    for outgoing in bodies(name):
        streams = "stream" in outgoing.body
        kind = types.CompletionCreateParamsStreaming if streams else types.CompletionCreateParamsNonStreaming
        assert set(outgoing.body) <= set(kind.__annotations__ | types.CompletionCreateParamsBase.__annotations__)
        adapter(kind, outgoing.body)


def test_responses():
    types = module("openai.types.responses.response_create_params")
    for outgoing in bodies("openai_responses"):
        streams = "stream" in outgoing.body
        kind = types.ResponseCreateParamsStreaming if streams else types.ResponseCreateParamsNonStreaming
        assert set(outgoing.body) <= set(kind.__annotations__ | types.ResponseCreateParamsBase.__annotations__)
        adapter(kind, outgoing.body)


def test_messages():
    types = module("anthropic.types.message_create_params")
    for outgoing in bodies("anthropic"):
        streams = "stream" in outgoing.body
        kind = types.MessageCreateParamsStreaming if streams else types.MessageCreateParamsNonStreaming
        known = set(kind.__annotations__ | types.MessageCreateParamsBase.__annotations__)
        # Newer models refuse these two, and the newest library has no types for them; older models still take them.
        assert set(outgoing.body) - known <= {"temperature", "top_p"}
        adapter(kind, outgoing.body)
        thinking = outgoing.body.get("thinking", {})
        if "budget_tokens" in thinking:  # the API's own rule, which no type says
            assert 1024 <= thinking["budget_tokens"] < outgoing.body["max_tokens"]
        if thinking.get("type") in ("enabled", "adaptive"):
            assert "temperature" not in outgoing.body


def test_generate_content():
    types = module("google.genai.types")
    for outgoing in bodies("gemini"):
        body = outgoing.body
        assert set(body) <= {"contents", "systemInstruction", "generationConfig"}
        types.GenerationConfig.model_validate(body["generationConfig"])
        assert not types.GenerationConfig.model_validate(body["generationConfig"]).model_extra
        for content in [*body["contents"], *([body["systemInstruction"]] if "systemInstruction" in body else [])]:
            types.Content.model_validate(content)
        schema = body["generationConfig"].get("responseSchema")
        if schema:
            types.Schema.model_validate(schema)

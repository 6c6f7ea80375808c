"""The wire formats as the pure pairs they are: what is built, and what is read in the providers' own words."""

# ruff: noqa: E501 - the providers' own words, unbroken
import json

import pytest

from eqlab.core.errors import UsageError
from eqlab.core.trials import Message
from eqlab.models.chat import EFFORTS, LENGTH, ChatReply, ChatRequest, prompted
from eqlab.models.providers import locate, resolve
from eqlab.models.wire import contract
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Hopeless,
    Incoming,
    Outgoing,
    RequestProfile,
    TryAgain,
    adapted,
    token_limit,
    wire,
    wire_names,
)

SCHEMA = {
    "type": "object",
    "properties": {"Joy": {"type": "integer", "enum": [0, 1, 2]}},
    "required": ["Joy"],
    "additionalProperties": False,
}


def built(name, request=None, profile=None, url="http://h/v1"):
    return wire(name).build(Endpoint(url, "m", "k"), request or prompted("x", seed=1), profile or RequestProfile(name))


def verdict(name, status, body, request=None, headers=None):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return wire(name).read(built(name, request), Incoming(status, headers or {}, raw))


def said(message, param=None, code=None, kind="invalid_request_error"):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


@pytest.mark.parametrize("name", wire_names())
@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "key"), (402, "credit"), (403, "may not"), (404, "no such model"), (405, "405")],
)
def test_what_stops_a_model_says_the_right_words(name, status, words):
    found = verdict(name, status, said("no"))
    assert isinstance(found, Hopeless)
    assert found.model
    assert words in found.message


@pytest.mark.parametrize("name", wire_names())
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 525, 529, 530])
def test_what_is_worth_another_try(name, status):
    found = verdict(name, status, said("later"), headers={"Retry-After": "7"})
    assert isinstance(found, TryAgain)
    assert (found.wait, found.rate) == (7, status == 429)
    assert found.gone == (status not in (408, 409, 425, 429, 500))


@pytest.mark.parametrize(
    ("name", "status", "body", "code"),
    [
        ("openai_chat", 200, {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}, "refusal"),
        ("openai_chat", 200, {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, "content_filter"),
        ("openai_chat", 400, said("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", None, "invalid_prompt"), "invalid_prompt"),
        ("azure", 400, said("filtered", "prompt", "content_filter"), "content_filter"),
        ("openai_chat", 403, {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["hate", "violence"], "flagged_input": "x"}}}, "moderation: hate, violence"),
        ("openai_chat", 403, {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}, "SAFETY_CHECK_TYPE_BIO"),
        ("openai_responses", 200, {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}, "content_filter"),
        ("openai_responses", 200, {"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}, "refusal"),
        ("anthropic", 200, {"content": [], "stop_reason": "refusal", "usage": {}}, "refusal"),
        ("anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}}, "content_filter"),
        ("gemini", 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "PROHIBITED_CONTENT"),
        *(("gemini", 200, {"candidates": [{"finishReason": reason}]}, reason) for reason in ("SAFETY", "RECITATION", "SPII", "BLOCKLIST")),
    ],
)  # fmt: skip
def test_refusals_are_replies_with_the_providers_code(name, status, body, code):
    found = verdict(name, status, body)
    assert isinstance(found, ChatReply)
    assert found.refusal == code
    assert found.finish in ("content_filter", "refusal")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai_chat", {"choices": [{"message": {"content": "Joy: 1"}, "finish_reason": "length"}]}),
        ("azure", {"choices": [{"message": {"content": "Joy: 1"}, "finish_reason": "length"}]}),
        ("openai_responses", {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [{"type": "message", "content": [{"text": "Joy: 1"}]}]}),
        ("anthropic", {"content": [{"type": "text", "text": "Joy: 1"}], "stop_reason": "max_tokens"}),
        ("anthropic", {"content": [{"type": "text", "text": "Joy: 1"}], "stop_reason": "model_context_window_exceeded"}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "Joy: 1"}]}, "finishReason": "MAX_TOKENS"}]}),
    ],
)  # fmt: skip
def test_a_reply_cut_by_its_room_is_called_the_same_everywhere(name, body):
    found = verdict(name, 200, body)
    assert (found.text, found.finish, found.refusal) == ("Joy: 1", LENGTH, "")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai_chat", {"choices": [{"message": {"content": "Joy: 1"}, "finish_reason": "content_filter"}]}),
        ("openai_responses", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": [{"type": "message", "content": [{"text": "Joy: 1"}]}]}),
        ("anthropic", {"content": [{"type": "text", "text": "Joy: 1"}], "stop_reason": "refusal"}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "Joy: 1"}]}, "finishReason": "SAFETY"}]}),
    ],
)  # fmt: skip
def test_words_before_a_filter_do_not_make_it_a_reply(name, body):
    assert verdict(name, 200, body).refusal


@pytest.mark.parametrize("finish", ["error", "stop"])
def test_a_failure_while_answering_is_the_providers(finish):
    """`finish_reason: error`, whatever was said before; or an error beside a reply without a word."""
    said_before = "Joy: 1" if finish == "error" else None
    choice = {"message": {"content": said_before}, "finish_reason": finish}
    found = verdict("openai_chat", 200, {"choices": [choice], "error": {"message": "upstream died"}})
    assert isinstance(found, TryAgain)
    assert "upstream died" in found.reason


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (200, {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}),
        (200, {"error": {"message": "upstream died"}}),
        (500, {"error": {"message": "overloaded after work"}}),
        (500, {"error": "overloaded after work"}),
        (400, {"error": {"message": "max_tokens is too large", "param": "max_tokens"}}),
    ],
)
def test_a_failure_keeps_what_its_server_says_that_it_took(status, more):
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}
    found = verdict("openai_chat", status, {**more, "usage": usage})
    assert not isinstance(found, ChatReply)
    assert (found.tokens, found.cost) == ((100, 10), 0.5)


EFFORT = prompted("x", settings={"effort": "minimal"})
FORM = prompted("x", schema=SCHEMA)


@pytest.mark.parametrize(
    ("name", "request_", "status", "message", "param", "change"),
    [
        ("openai_chat", None, 400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", Adaptation("way", "room", "max_completion_tokens")),
        ("openai_chat", None, 400, "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.", "temperature", Adaptation("drop", "temperature")),
        ("openai_chat", None, 422, [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}], None, Adaptation("drop", "seed")),
        ("openai_chat", None, 400, "max_tokens is too large: 256. This model supports at most 128 completion tokens, whereas you provided 256.", "max_tokens", Adaptation("limit", "room", "128")),
        ("openai_chat", None, 400, "'max_tokens' or 'max_completion_tokens' is too large: 256. This model's maximum context length is 512 tokens and your request has 412 input tokens (256 > 512 - 412).", None, Adaptation("limit", "room", "100")),
        ("openai_chat", EFFORT, 400, "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.", "reasoning_effort", Adaptation("way", "effort", "none")),
        ("openai_chat", None, 404, "This model is only supported in v1/responses and not in v1/chat/completions.", "model", Adaptation("wire", "dialect", "openai_responses")),
        ("openai_chat", prompted("x", "s"), 400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role", Adaptation("way", "system", "user")),
        ("openai_responses", None, 400, "Unsupported parameter: 'temperature' is not supported with this model.", "temperature", Adaptation("drop", "temperature")),
        ("anthropic", None, 400, "`temperature` is deprecated for this model.", None, Adaptation("drop", "temperature")),
        ("anthropic", None, 400, "max_tokens: 256 > 128, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022", None, Adaptation("limit", "room", "128")),
        ("anthropic", EFFORT, 400, "adaptive thinking is not supported on this model", None, Adaptation("way", "thinking", "budget")),
        ("anthropic", EFFORT, 400, "This model does not support the effort parameter.", None, Adaptation("way", "thinking", "budget")),
        ("anthropic", FORM, 400, "output_config.format: Extra inputs are not permitted", None, Adaptation("way", "schema", "tool")),
        ("gemini", EFFORT, 400, "Thinking level is not supported for this model.", None, Adaptation("way", "thinking", "budget")),
        ("gemini", None, 400, "Unable to submit request because it has a maxOutputTokens value of 256 but the supported range is from 1 (inclusive) to 129 (exclusive).", None, Adaptation("limit", "room", "128")),
        ("gemini", prompted("x", "s"), 400, "Developer instruction is not enabled for models/gemma-3-27b-it", None, Adaptation("way", "system", "user")),
    ],
)  # fmt: skip
def test_what_a_server_refuses_is_learnt_from_its_own_words(name, request_, status, message, param, change):
    found = verdict(
        name,
        status,
        {"error": {"message": message, "param": param}} if isinstance(message, str) else {"detail": message},
        request_,
    )
    assert isinstance(found, Adapt), found
    assert found.change == change
    again = built(name if change.kind != "wire" else change.value, request_, adapted(RequestProfile(name), change))
    assert again.body != built(name, request_).body  # and the next request says it otherwise


@pytest.mark.parametrize(
    ("context", "prompt", "limit", "of_model"),
    [
        (512, 412, 100, False),
        (512, 257, 255, False),
        (200, 20, 150, True),
        (200, 190, 150, True),
        (512, 512, None, False),
    ],
)
def test_what_a_context_leaves_beside_one_prompt_is_no_other_requests_limit(context, prompt, limit, of_model):
    """A room of 256. More than the whole context is refused beside any prompt, so that is the model's."""
    words = f"'max_tokens' is too large: 256. This model's maximum context length is {context} tokens and your request "
    found = verdict("openai_chat", 400, said(f"{words}has {prompt} input tokens (256 > {context} - {prompt}).", None))
    if limit is None:
        assert isinstance(found, Hopeless)
    else:
        assert found == Adapt(Adaptation("limit", "room", str(limit)), found.reason, of_model)
    assert verdict("openai_chat", 400, said("max_tokens is too large: 256. This model supports at most 128.")).model


def test_a_gateways_content_safety_is_a_filter_and_not_the_key():
    body = {"statusCode": 403, "message": "Request failed content safety check."}
    assert verdict("azure", 403, body).refusal == "content_filter"
    assert verdict("azure", 403, {"statusCode": 403, "message": "Forbidden."}).model


@pytest.mark.parametrize(
    ("name", "request_", "message", "words"),
    [
        ("openai_chat", FORM, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "--structured"),
        ("openai_chat", FORM, "This response_format type is unavailable now", "--structured"),
        ("openai_chat", prompted("x", settings={"temperature": 0.5}), "'temperature' is not supported", "--set temperature"),
        ("openai_chat", prompted("x", settings={"effort": "low"}), "Unrecognized request argument supplied: reasoning_effort", "--effort"),
        ("openai_chat", prompted("x", settings={"min_p": 0.5}), "Unrecognized request argument supplied: min_p", "--set min_p"),
        ("gemini", prompted("x", settings={"effort": "none"}), "Budget 0 is invalid. This model only works in thinking mode.", "--effort"),
        ("gemini", None, "API key not valid. Please pass a valid API key.", "key"),
        ("anthropic", None, "Your credit balance is too low to access the Anthropic API.", "Top it up"),
    ],
)  # fmt: skip
def test_what_the_user_chose_is_never_dropped_in_silence(name, request_, message, words):
    found = verdict(name, 400, said(message), request_)
    assert isinstance(found, Hopeless), found
    assert found.model
    assert words in found.hint + found.message


def test_a_400_that_names_nothing_of_ours_costs_one_request():
    for name in wire_names():
        found = verdict(name, 400, said("This request is strange."))
        assert isinstance(found, Hopeless)
        assert not found.model


def test_a_day_s_quota_ends_the_model_and_a_minute_s_does_not():
    day = {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
    }
    minute = {"@type": day["@type"], "violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}
    text = "You exceeded your current quota, please check your plan and billing details."
    for details, kind in ((day, Hopeless), (minute, TryAgain)):
        assert isinstance(verdict("gemini", 429, {"error": {"code": 429, "message": text, "details": [details]}}), kind)
    assert isinstance(verdict("openai_chat", 429, said(text, None, "insufficient_quota")), Hopeless)


@pytest.mark.parametrize("effort", EFFORTS)
def test_one_effort_in_every_dialect(effort):
    request = prompted("x", settings={"effort": effort})
    assert built("openai_chat", request).body["reasoning_effort"] == effort
    assert built("openai_responses", request).body["reasoning"] == {"effort": effort}
    claude = built("anthropic", request).body
    assert claude["thinking"]["type"] == ("disabled" if effort == "none" else "adaptive")
    assert "thinkingLevel" in built("gemini", request).body["generationConfig"]["thinkingConfig"]
    budget = adapted(RequestProfile("gemini"), Adaptation("way", "thinking", "budget"))
    old = built("gemini", request, budget).body["generationConfig"]["thinkingConfig"]["thinkingBudget"]
    assert (old == 0) == (effort == "none")


def test_room_is_the_answers_and_what_thinking_takes():
    bare = prompted("x", max_tokens=60)
    assert token_limit(bare, RequestProfile("w")) == 60
    assert token_limit(bare, RequestProfile("w", thinks=True)) == 60 + 16384
    assert (
        token_limit(prompted("x", max_tokens=60, settings={"thinking_tokens": 100}), RequestProfile("w", thinks=True))
        == 160
    )
    assert token_limit(prompted("x", settings={"max_output_tokens": 500}), RequestProfile("w", thinks=True)) == 500
    assert token_limit(bare, RequestProfile("w", thinks=True, token_limit=4096)) == 4096
    assert token_limit(bare, RequestProfile("w", token_limit=4096)) == 60
    assert (
        token_limit(prompted("x", max_tokens=60, settings={"effort": "none"}), RequestProfile("w", thinks=True)) == 60
    )


def test_several_turns_in_every_dialect():
    talk = (Message("system", "S"), Message("user", "A"), Message("assistant", "B"), Message("user", "C"))
    request = ChatRequest(talk)
    roles = [one["role"] for one in built("openai_chat", request).body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert built("anthropic", request).body["system"] == "S"
    assert [one["role"] for one in built("gemini", request).body["contents"]] == ["user", "model", "user"]
    assert built("openai_responses", request).body["instructions"] == "S"


@pytest.mark.parametrize(
    ("spec", "url", "path"),
    [
        ("anthropic/claude-opus-5", "http://127.0.0.1:9/anthropic/v1", "http://127.0.0.1:9/anthropic/v1/messages"),
        ("google/gemini-3-pro", "http://127.0.0.1:9/v1beta", "http://127.0.0.1:9/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ("azure/d", "http://127.0.0.1:9/openai", "http://127.0.0.1:9/openai/deployments/d/chat/completions?api-version=2024-10-21"),
        ("azure/d", "http://127.0.0.1:9/openai/v1", "http://127.0.0.1:9/openai/v1/chat/completions"),
        ("m", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"),
    ],
)  # fmt: skip
def test_an_address_of_ones_own_keeps_the_dialect(spec, url, path):
    endpoint = resolve(spec, url)
    outgoing = wire(endpoint.wire).build(
        endpoint, prompted("x"), RequestProfile(endpoint.wire, streams=endpoint.streams)
    )
    assert endpoint.base_url + outgoing.path == path


def test_the_libraries_own_variables(monkeypatch):
    for name, value in {
        "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://proxy.example/v1", "OPENAI_ORG_ID": "org-1",
        "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://claude.example",
        "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/", "OPENAI_API_VERSION": "2025-04-01-preview",
        "GOOGLE_API_KEY": "g",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    openai = resolve("openai/m")
    assert (openai.base_url, openai.headers) == ("https://proxy.example/v1", {"OpenAI-Organization": "org-1"})
    claude = resolve("anthropic/m")
    assert claude.base_url == "https://claude.example/v1"
    headers = wire("anthropic").build(claude, prompted("x"), RequestProfile("anthropic")).headers
    assert headers["Authorization"] == "Bearer t"
    assert "x-api-key" not in headers
    azure = resolve("azure/d")
    assert azure.base_url == "https://me.openai.azure.com/openai"
    outgoing = wire("azure").build(azure, prompted("x"), RequestProfile("azure"))
    assert outgoing.path.endswith("?api-version=2025-04-01-preview")
    assert "api-version" not in outgoing.headers
    assert resolve("google/m").key == "g"


def test_another_dialect_and_one_that_is_none():
    assert locate("m", "http://h/v1", dialect="anthropic").wire == "anthropic"
    assert locate("openai/m", dialect="responses").wire == "openai_responses"
    with pytest.raises(UsageError, match=r"no dialect 'klingon'.*openai_chat"):
        locate("m", "http://h/v1", dialect="klingon")


def test_a_wire_format_of_another_package(monkeypatch):
    class Echo:
        name, thinks = "echo", False

        def build(self, endpoint, request, profile):
            return Outgoing("/echo", {}, {"q": request.messages[-1].text}, {"dialect": "echo"}, request, profile)

        def read(self, outgoing, incoming):
            return ChatReply(json.loads(incoming.raw)["q"])

    class Point:
        name = "echo"

        def load(self):
            return Echo

    monkeypatch.setattr(contract, "entry_points", lambda group, name="": [Point()])
    assert "echo" in wire_names()
    endpoint = Endpoint("http://h", "m", wire=locate("m", "http://h", dialect="echo").wire)
    outgoing = wire("echo").build(endpoint, prompted("hello"), RequestProfile("echo"))
    assert wire("echo").read(outgoing, Incoming(200, {}, json.dumps(outgoing.body).encode())).text == "hello"
    wire.cache_clear()


@pytest.mark.parametrize(
    "settings", [{"effort": "huge"}, {"temperature": "hot"}, {"max_tokens": 0}, {"max_tokens": "many"}]
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(UsageError):
        prompted("x", settings=settings)


@pytest.mark.parametrize(
    "words",
    [
        "You have reached your monthly usage limit.",
        "Your team has either used all available credits or reached its monthly spending limit.",
        "Quota exceeded: the token budget for this month is used up.",
        "You exceeded your billing hard limit.",
    ],
)
def test_what_is_used_up_for_the_month_is_not_waited_for(words):
    assert isinstance(verdict("openai_chat", 429, said(words)), Hopeless)


@pytest.mark.parametrize(
    "words",
    [
        "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000. You can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.",
        "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: free_tier_requests, limit: 15. Please retry in 17s.",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
        "Request limit per minute exceeded; see the limits of your monthly plan.",
    ],
)
def test_what_comes_back_within_a_minute_is(words):
    found = verdict("openai_chat", 429, said(words, kind="rate_limit_error"))
    assert isinstance(found, TryAgain)
    assert found.rate


@pytest.mark.parametrize("name", wire_names())
def test_a_gateways_page_is_named_by_its_title(name):
    page = b"<!DOCTYPE html>\n<html><head><title>h | 522: Connection\n timed out</title></head><body>" + b"x" * 5000
    found = verdict(name, 522, page)
    assert found.reason == "HTTP 522: a web page (h | 522: Connection timed out)"


@pytest.mark.parametrize("name", wire_names())
def test_json_that_is_no_reply_is_told_in_its_own_words(name):
    found = verdict(name, 200, {"detail": "The model is warming up"})
    assert isinstance(found, TryAgain)
    assert "The model is warming up" in found.reason


def test_another_providers_reply_is_shown():
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Joy: 1"}]}
    found = verdict("openai_chat", 200, message)
    assert isinstance(found, TryAgain)
    assert '"type": "message"' in found.reason


def test_an_error_beside_choices_that_are_null():
    found = verdict("openai_chat", 200, {"choices": None, "error": {"message": "upstream died", "code": 502}})
    assert isinstance(found, TryAgain)
    assert found.gone
    assert "upstream died" in found.reason


@pytest.mark.parametrize("limits", [(128, 4096), (4096, 128)])
def test_of_two_token_limits_that_a_server_names_the_smaller_holds(limits):
    profile = RequestProfile("openai_chat")
    for limit in limits:
        profile = adapted(profile, Adaptation("limit", "room", str(limit)))
    assert profile.token_limit == 128
    assert token_limit(prompted("x", max_tokens=1000), profile) == 128


def stream(*pieces):
    return b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces)


def chat_stream(*usages):
    said = {"choices": [{"delta": {"content": "Joy: 1"}}]}
    ended = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    return stream(
        *(piece | {"usage": usage} for piece, usage in zip((said, ended, {"choices": []}), usages, strict=True))
    )


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("openai_chat", chat_stream({"prompt_tokens": 9, "completion_tokens": 1}, {"prompt_tokens": 9, "completion_tokens": 4}, None)),
        ("openai_chat", chat_stream({"prompt_tokens": 9, "completion_tokens": 4}, None, {"prompt_tokens": 0, "completion_tokens": 0})),
        ("openai_chat", chat_stream({"prompt_tokens": 9}, {"completion_tokens": 4, "prompt_tokens_details": None}, {"prompt_tokens": -1})),
        ("anthropic", stream(
            {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Joy: 1"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 0, "output_tokens": 4}},
            {"type": "message_stop"},
        )),
        ("gemini", stream(
            {"candidates": [{"content": {"parts": [{"text": "Joy"}]}}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}},
            {"candidates": [{"content": {"parts": [{"text": ": 1"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}},
            {"usageMetadata": {"promptTokenCount": 0}},
        )),
    ],
)  # fmt: skip
def test_counts_that_grow_in_a_stream_are_not_added_up_and_do_not_fall_back_to_0(name, raw):
    found = verdict(name, 200, raw, headers={"Content-Type": "text/event-stream"})
    assert (found.text, found.tokens_in, found.tokens_out) == ("Joy: 1", 9, 4)


@pytest.mark.parametrize(
    ("reported", "kept", "odd"),
    [
        ((9, 4), (9, 4), {}),
        ((0, 0), (None, None), {"reported_in": 0, "reported_out": 0}),
        ((9, 0), (9, None), {"reported_out": 0}),
        ((9, 1), (9, None), {"reported_out": 1}),
        ((None, 4), (None, 4), {}),
        ((50_000, 50_000), (None, None), {"reported_in": 50_000, "reported_out": 50_000}),
    ],
)
def test_counts_that_cannot_be_are_unknown_and_kept_as_reported(reported, kept, odd):
    reply = ChatReply("a word or two " * 5, tokens_in=reported[0], tokens_out=reported[1], sent={"room": 256})
    found = contract.believed(reply, prompted("x" * 20))
    assert (found.tokens_in, found.tokens_out, found.usage) == (*kept, odd)
    assert contract.believed(ChatReply("", tokens_in=9, tokens_out=0), prompted("x")).tokens_out == 0

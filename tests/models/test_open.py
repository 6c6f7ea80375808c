"""Models behind litellm: through a stand-in that behaves as it does, and through the real one where it is installed."""

import asyncio
import importlib
import sys
from types import ModuleType, SimpleNamespace

import pytest
from conftest import absent, completion
from server import answer_to

from eqlab.core.errors import ModelError
from eqlab.core.runs import ModelConfig
from eqlab.models.chat import prompted
from eqlab.models.http import HttpChat
from eqlab.models.open import open_chats
from eqlab.models.timeouts import Timeouts


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


def ask(spec, *requests, settings=None, said=None):
    async def main():
        config = ModelConfig(spec, settings=settings or {})
        say = (said if said is not None else []).append
        chat = open_chats([config], concurrency=4, timeouts=Timeouts(patience=5), say=say)[config.subject]
        try:
            return await asyncio.gather(*(chat.ask(request) for request in requests), return_exceptions=True), chat
        finally:
            await chat.close()

    return asyncio.run(main())


class Fault(RuntimeError):
    def __init__(self, message, status_code):
        super().__init__(message)
        self.status_code = status_code


class UnsupportedParamsError(Fault):
    pass


class ContentPolicyViolationError(Fault):
    pass


class APIConnectionError(Fault):
    pass


@pytest.fixture
def litellm(monkeypatch):
    """A stand-in: `reply` is called with what was passed on."""
    made = ModuleType("litellm")
    made.calls = []
    made.exceptions = SimpleNamespace(APIError=Fault)

    async def acompletion(**passed):
        made.calls.append(passed)
        said = made.reply(passed, len(made.calls))
        if isinstance(said, Exception):
            raise said
        whole = {**completion(said), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
        return SimpleNamespace(model_dump=lambda: whole, _hidden_params={"response_cost": 0.002})

    made.acompletion = acompletion
    made.reply = lambda passed, number: "hi"
    monkeypatch.setitem(sys.modules, "litellm", made)
    return made


def test_what_is_passed_on_and_what_comes_back(litellm):
    (reply,), _ = ask(
        "litellm/bedrock/anthropic.claude", prompted("x", "s", temperature=0.1, seed=3, schema={"type": "object"})
    )
    assert (reply.text, reply.usage["cost"], reply.tokens_in) == ("hi", 0.002, 3)
    (passed,) = litellm.calls
    assert passed["model"] == "bedrock/anthropic.claude"
    assert [one["role"] for one in passed["messages"]] == ["system", "user"]
    assert (passed["temperature"], passed["max_tokens"], passed["drop_params"]) == (0.1, 256, False)
    assert passed["response_format"]["type"] == "json_schema"
    assert reply.sent["dialect"] == "openai_chat"


def test_what_it_cannot_pass_on_is_learnt_and_said(litellm):
    said = []

    def reply(passed, number):
        if "seed" in passed:
            return UnsupportedParamsError("bedrock does not support parameters: ['seed'], for model=x", 400)
        return "hi"

    litellm.reply = reply
    replies, chat = ask("litellm/bedrock/x", *[prompted("x", seed=1)] * 4, said=said)
    assert [one.text for one in replies] == ["hi"] * 4
    assert all("seed" not in one.sent for one in replies)
    assert len(said) == len(chat.learnt()) == 1


def test_its_failures_are_sorted_like_all_others(litellm):
    failures = {1: Fault("slow down", 429), 2: APIConnectionError("gone", 500), 3: Fault("oops", 500)}
    litellm.reply = lambda passed, number: failures.get(number, "hi")
    (reply,), _ = ask("litellm/x/y", prompted("x"))
    assert (reply.text, reply.transport_retries) == ("hi", 3)
    litellm.reply = lambda passed, number: ContentPolicyViolationError("no", 400)
    (reply,), _ = ask("litellm/x/y", prompted("x"))
    assert reply.refusal == "content_policy_violation"
    litellm.reply = lambda passed, number: Fault("bad key", 401)
    (error,), _ = ask("litellm/x/y", prompted("x"))
    assert isinstance(error, ModelError)
    assert "refuses the key" in str(error)


def test_without_the_extra_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(ModelError, match=r"eqlab\[litellm\]"):
        ask("litellm/x/y", prompted("x"))


@pytest.mark.claims  # it takes ten seconds to import
def test_the_real_one_against_a_server(server, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        importlib.import_module("litellm")
    except ImportError:
        absent("litellm is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.reply = lambda body, n: completion(answer_to("x"), "gpt-4o-mini")
    (reply,), _ = ask("litellm/openai/gpt-4o-mini", prompted("x", temperature=0.2, seed=3))
    assert reply.text == "I see."
    assert (server.requests[0]["temperature"], server.requests[0]["seed"]) == (0.2, 3)
    from aiohttp import web

    server.reply = lambda body, n: web.json_response({"error": {"message": "no such key"}}, status=401)
    (error,), _ = ask("litellm/openai/gpt-4o-mini", prompted("x"))
    assert isinstance(error, ModelError)
    assert "refuses the key" in str(error)

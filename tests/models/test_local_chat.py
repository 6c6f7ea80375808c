"""The embedded model itself: a real one, run in this process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import absent

from eqlab.core.errors import ModelError
from eqlab.core.forms import Form, Scale, json_schema
from eqlab.models.chat import ChatRequest, TransportError
from eqlab.models.local import LocalChat, open_local

FORM = Form(tuple(Scale(name, name, 0, 10) for name in ("Calm", "Sad")))
PREFIX = "Rate how strongly the speaker feels each word, from 0 to 10, as a JSON object with the words as keys.\n"
ASKS = [ChatRequest(f"{PREFIX}Ana: {text}\nCalm\nSad", schema=json_schema(FORM), seed=3, max_tokens=60, temperature=0.8)
        for text in ("I lost my keys.", "What a quiet evening.", "He never wrote back.")]  # fmt: skip


@pytest.fixture(scope="module")
def chat():
    pytest.importorskip("xllamacpp") if not os.environ.get("CI") else __import__("xllamacpp")
    try:
        opened = open_local("embedded")
    except ModelError as error:
        absent(f"the embedded model is not to be had: {error}")
    yield opened
    asyncio.run(opened.close())


def ask(chat, *requests):
    async def main():
        return [await chat.ask(request) for request in requests]

    return asyncio.run(main())


def test_answers_follow_the_schema(chat):
    for reply in ask(chat, *ASKS):
        values = json.loads(reply.text)
        assert set(values) == {"Calm", "Sad"}
        assert all(isinstance(value, int) and 0 <= value <= 10 for value in values.values())
        assert reply.tokens_in > 20
        assert reply.tokens_out > 5
        assert reply.finish == "stop"


def test_a_seed_gives_the_same_text_in_any_order(chat):
    forward = [reply.text for reply in ask(chat, *ASKS)]
    backward = [reply.text for reply in ask(chat, *reversed(ASKS))]
    assert forward == backward[::-1]


def test_requests_at_once_give_the_same_text(chat):
    async def main():
        return await asyncio.gather(*(chat.ask(request) for request in ASKS))

    assert [reply.text for reply in asyncio.run(main())] == [reply.text for reply in ask(chat, *ASKS)]


def test_the_event_loop_stays_free(chat):
    async def main():
        asked = asyncio.create_task(chat.ask(ASKS[0]))
        ticks = 0
        while not asked.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asyncio.run(main()) >= 3


def test_a_request_that_does_not_fit_is_lost_and_the_model_goes_on(chat):
    with pytest.raises(TransportError, match=r"llama\.cpp"):
        ask(chat, ChatRequest("word " * 20_000))
    assert ask(chat, ASKS[0])[0].text


def test_identity_names_the_weights(chat):
    found = chat.identity()
    assert found["weights"].startswith("SmolLM2-135M-Instruct")
    assert len(found["sha256"]) == 64


def test_what_is_no_model(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        open_local(f"gguf:{tmp_path / 'none.gguf'}")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelError, match="no GGUF file"):
        open_local(f"gguf:{tmp_path / 'text.gguf'}")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\3\0\0\0" + b"\0" * 100)
    with pytest.raises(ModelError, match="cannot be loaded"):
        LocalChat(tmp_path / "cut.gguf")


CODE = """
import asyncio, sys
from eqlab.models.local import open_local
from eqlab.models.chat import ChatRequest
async def main():
    chat = open_local("embedded")
    print("loaded", flush=True)
    reply = await chat.ask(ChatRequest("Tell me a story.", max_tokens=int(sys.argv[1]), seed=1))
    await chat.close()
    print("said", bool(reply.text))
asyncio.run(main())
"""


def test_the_interpreter_exits_cleanly_and_nothing_is_printed(chat):
    done = subprocess.run([sys.executable, "-c", CODE, "5"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\nsaid True\n", "")


def test_ctrl_c_reaches_python_while_the_model_works(chat):
    worker = subprocess.Popen(
        [sys.executable, "-c", CODE, "3000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout.readline() == "loaded\n"
    time.sleep(1)
    started = time.monotonic()
    worker.send_signal(signal.SIGINT)
    _, said = worker.communicate(timeout=100)
    assert worker.returncode != 0
    assert "KeyboardInterrupt" in said
    assert time.monotonic() - started < 90

"""kill -9 of the server while a model writes: nothing that was acknowledged is lost, and no answered turn is asked
again."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from talk_case import Person, talk_text

pytest.importorskip("fastapi")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(folder, port):
    process = subprocess.Popen(
        [sys.executable, "-c", "from eqlab.cli.main import main; main()", "study", "serve", "talk.toml", "--port",
         str(port), "--store", "store.db"],
        cwd=folder,
        env={**os.environ, "EQLAB_HOME": str(folder / "home")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                return process
        except httpx.TransportError:
            time.sleep(0.1)
    process.kill()
    raise AssertionError("the server did not start")


def test_killed_in_the_middle_of_a_reply(tmp_path: Path, server):
    release = threading.Event()
    seen = []

    async def hold(body):
        import asyncio

        seen.append(len(body["messages"]))
        if len(seen) == 2:
            await asyncio.get_running_loop().run_in_executor(None, release.wait, 60)

    server.before, server.reply = hold, lambda body, number: f"Reply to {body['messages'][-1]['content']}"
    (tmp_path / "talk.toml").write_text(talk_text(f"http://127.0.0.1:{server.port}/v1", patience=50))
    port = free_port()
    process = serve(tmp_path, port)
    try:
        person = Person(f"http://127.0.0.1:{port}", "p-1")
        person.page = person.client.post("/s/talk/start")
        person.begin().say("One.", 40).until_answered()
        assert person.lines[-1] == ("other", "Reply to One.")
        told = person.post(v_says="Two.", v_emotion=45, headers={"Accept": "application/json"})
        assert told.json()["outcome"] == "kept"
        deadline = time.monotonic() + 20
        while len(seen) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(seen) == 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        release.set()
        process = serve(tmp_path, port)
        assert person.look().lines[:3] == [("you", "One."), ("other", "Reply to One."), ("you", "Two.")]
        person.until_answered()
        assert person.state == "say"
        assert person.lines[-1] == ("other", "Reply to Two.")
        person.client.close()
    finally:
        release.set()
        process.kill()
        process.wait()
    assert seen == [2, 4, 4], "the first turn is not asked again, the one that was under way is"

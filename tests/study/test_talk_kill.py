"""kill -9 of the server while a model writes: nothing that was acknowledged is lost, and no answered turn is asked
again."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from talk_case import Person, talk_text

pytest.importorskip("fastapi")


SERVE = """
import eqlab.study.conversations as room
room._LAST_REPLIES = 2.0
room._LEASE, room._BEAT = 4.0, 1.0  # a question that a crash left behind is asked again when its lease is over
from eqlab.cli.main import main
main()
"""


def serve(folder, port=0):
    """(a server that listens, its port)"""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", SERVE, "study", "serve", "talk.toml", "--port", str(port), "--store", "store.db"],
        cwd=folder,
        env={**os.environ, "EQLAB_HOME": str(folder / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in process.stdout:
        if found := re.search(r"participants\s+http://127.0.0.1:(\d+)/s/", line):
            return process, int(found.group(1))
    raise AssertionError("the server did not start")


def end(process):
    process.wait()
    process.stdout.close()


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
    process, port = serve(tmp_path)
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
        end(process)
        release.set()
        process, _ = serve(tmp_path, port)
        assert person.look().lines[:3] == [("you", "One."), ("other", "Reply to One."), ("you", "Two.")]
        person.until_answered()
        assert person.state == "say"
        assert person.lines[-1] == ("other", "Reply to Two.")
        person.client.close()
    finally:
        release.set()
        process.kill()
        end(process)
    assert seen == [2, 4, 4], "the first turn is not asked again, the one that was under way is"


@pytest.mark.parametrize("comes", [True, False], ids=["the reply comes", "the reply does not come"])
def test_stopped_in_the_middle_of_a_reply(tmp_path: Path, server, eqlab, comes):
    """Every ordinary stop left its questions under way for good, at their worst, and asked for all of them again."""
    release, seen = threading.Event(), []

    async def hold(body):
        import asyncio

        seen.append(body)
        await asyncio.get_running_loop().run_in_executor(None, release.wait, 60)

    def said():
        return " ".join(eqlab("study", "status", "talk.toml", "--store", "store.db").out.split())

    server.before, server.reply = hold, lambda body, number: f"Reply to {body['messages'][-1]['content']}"
    (tmp_path / "talk.toml").write_text(talk_text(f"http://127.0.0.1:{server.port}/v1", patience=50))
    process, port = serve(tmp_path)
    try:
        person = Person(f"http://127.0.0.1:{port}", "p-1")
        person.page = person.client.post("/s/talk/start")
        person.begin().post(v_says="One.", v_emotion=40, headers={"Accept": "application/json"})
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        if comes:
            release.set()
        end(process)
        release.set()
        assert f"asked 1 times of 10,000 at most (0 under way, {0 if comes else 1} failed)" in said()
        process, _ = serve(tmp_path, port)
        begun = time.monotonic()
        assert person.until_answered().lines[-1] == ("other", "Reply to One.")
        assert time.monotonic() - begun < 4.0, "nobody waits for a lease"
        person.client.close()
    finally:
        release.set()
        process.send_signal(signal.SIGTERM)
        end(process)
    assert len(seen) == (1 if comes else 2)

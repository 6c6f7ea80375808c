"""A process that is killed at a moment which does not depend on how fast anything is: when so many answers are stored.

What came, but was not stored yet, is asked for again, and how much that is depends on the disk. So the server answers
so many requests, all of these get stored, and what is asked for twice is what was under way: as many requests
as the process sends at once, at most."""

import asyncio
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

PATIENCE = 120.0
"""Seconds; only a test that fails takes them."""


def stored(where: str | Path) -> int:
    """Answers in an SQLite store, made or not."""
    if not Path(where).exists():
        return 0
    with closing(sqlite3.connect(f"file:{where}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # not migrated yet
            return 0


def kill_after(replies: int, server: Any, where: str | Path, start: Callable[[], subprocess.Popen[str]]) -> None:
    """Start the process, let the server answer so many of its requests, and kill it as soon as all these are stored."""
    left, over = replies, threading.Event()

    async def answer_or_wait(body: dict[str, Any]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            await asyncio.to_thread(over.wait)

    wanted = stored(where) + replies
    server.before = answer_or_wait
    worker = start()
    deadline = time.monotonic() + PATIENCE
    try:
        while stored(where) < wanted:
            assert worker.poll() is None, f"it ended by itself, with {stored(where)} answers"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        worker.kill()
        worker.communicate()
        settle(server)
        server.before = None
        over.set()
    assert stored(where) == wanted


def settle(server: Any) -> None:
    """Until everything that the dead process sent has been taken in, or it would use up replies of the next one: what
    it sent lies before these requests."""
    for _ in range(3):
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/settled")
            assert connection.getresponse().status == 404

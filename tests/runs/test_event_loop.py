"""Told to end: what is under way gets its time, and no more than a scheduler gives."""

import asyncio
import gc
import os
import signal
import time

from eqlab.runs import event_loop
from eqlab.runs.event_loop import on_interrupt

KILLED_AFTER = 30.0
"""Seconds between SIGTERM and SIGKILL: Slurm's KillWait and Kubernetes' grace period unless somebody changes them."""


def told_to_end(seconds, number=signal.SIGTERM, times=1):
    """How a task that needs so many seconds ends, after how long, and what was said."""
    said = []

    async def main():
        stop = asyncio.Event()
        task = asyncio.create_task(asyncio.sleep(seconds, "whole"))
        began = time.monotonic()
        with on_interrupt(stop, [task], said.append):
            for _ in range(times):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.05)
            assert stop.is_set()
            (end,) = await asyncio.gather(task, return_exceptions=True)
        return end, time.monotonic() - began

    return *asyncio.run(main()), said


def test_what_is_under_way_gets_its_time(monkeypatch):
    end, _, said = told_to_end(0.3)
    assert end == "whole"
    assert "SIGTERM" in said[0]


def test_what_takes_longer_than_a_scheduler_waits_is_dropped(monkeypatch):
    assert event_loop.GRACE <= KILLED_AFTER - 5  # and then the store is closed
    monkeypatch.setattr(event_loop, "GRACE", 0.2)
    end, took, _ = told_to_end(60)
    assert isinstance(end, asyncio.CancelledError)
    assert took < 10


def test_ctrl_c_waits_and_twice_drops():
    end, _, _ = told_to_end(0.3, signal.SIGINT)
    assert end == "whole"
    end, took, _ = told_to_end(60, signal.SIGINT, times=2)
    assert isinstance(end, asyncio.CancelledError)
    assert took < 10


def test_garbage_is_collected_as_before_once_the_work_is_done():
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        with event_loop.garbage_seldom_collected():
            assert gc.get_threshold()[0] > 10_000
        assert gc.get_threshold() == (700, 10, 10)
        for own in ((0, 10, 10), (200_000, 10, 10)):  # off, or seldom: somebody's own choice
            gc.set_threshold(*own)
            with event_loop.garbage_seldom_collected():
                assert gc.get_threshold() == own
    finally:
        gc.set_threshold(*before)

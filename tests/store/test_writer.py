"""The writer's thread: how much may wait, and what a disk that fails under it does."""

import threading
import time

import pytest
from test_store import answer, config, plan

from eqlab.core.errors import StoreError
from eqlab.store import writer as module
from eqlab.store.access import take_in
from eqlab.store.store import Store
from eqlab.store.writer import Writer


@pytest.fixture
def store(tmp_path):
    opened = Store(str(tmp_path / "s.db"))
    opened.begin_run(config(), plan(50), {})
    yield opened
    opened.close()


class SlowDisk:
    """Commits that take until they may go on."""

    def __init__(self, store, monkeypatch):
        self._begun, self._go_on, self._add = threading.Event(), threading.Event(), store.add_answers
        self.sizes = []
        """Answers of each commit."""
        monkeypatch.setattr(store, "add_answers", self._slow)

    def _slow(self, batch, turns=()):
        self.sizes.append(len(batch))
        self._begun.set()
        assert self._go_on.wait(20)
        self._add(batch, turns)

    def writer(self, store):
        """In the middle of its first commit, of one answer."""
        writing = Writer(store, lambda _: None)
        writing.put(answer(0))
        assert self._begun.wait(20)
        return writing

    def go_on(self):
        self._go_on.set()


def stored(store):
    return [given for one in store.scored(config().id, "model:b", "eqbench") for given in one.attempts]


def test_who_is_faster_than_the_disk_waits(store, monkeypatch):
    """No more than the bound waits in memory while a commit takes its time; everything is stored in the end."""
    monkeypatch.setattr(module, "_MOST_WAITING", 5)
    disk = SlowDisk(store, monkeypatch)
    writing = disk.writer(store)
    handed_over = []

    def hand_over():
        for number in range(1, 20):
            writing.put(answer(number))
            handed_over.append(number)

    giver = threading.Thread(target=hand_over)
    giver.start()
    giver.join(0.5)
    assert giver.is_alive()  # it waits for the disk
    assert len(handed_over) == 5
    disk.go_on()
    giver.join(20)
    writing.close()
    assert len(stored(store)) == 20


def test_an_error_of_the_disk_stops_the_run_and_loses_nothing(store, monkeypatch):
    """An OSError below the database is a failure of the store like any other."""
    stopped = threading.Event()
    add = store.add_answers

    def broken(batch, turns=()):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "add_answers", broken)
    writing = Writer(store, lambda _: None, stopped.set)
    writing.put(answer(0))
    assert stopped.wait(20)
    writing.put(answer(1))
    with pytest.raises(StoreError, match="No space left on device"):
        writing.close()
    assert stored(store) == []
    monkeypatch.setattr(store, "add_answers", add)
    take_in(store)
    assert len(stored(store)) == 2


def test_an_answer_that_is_alone_is_stored_at_once(store, monkeypatch):
    """Nobody is waited for to fill a batch: what a kill would lose is what arrived during one commit."""
    heard = threading.Event()
    monkeypatch.setattr(store, "add_answers", lambda batch, turns=(): None)
    writing = Writer(store, lambda _: heard.set())
    took = []
    for _ in range(50):
        heard.clear()
        began = time.perf_counter()
        writing.put(answer(0))
        assert heard.wait(20)
        took.append(time.perf_counter() - began)
    writing.close()
    assert min(took) < 0.02  # in 0.1 it lingered for 40 ms, even on a quiet machine


def test_what_came_during_a_commit_is_committed_together(store, monkeypatch):
    disk = SlowDisk(store, monkeypatch)
    writing = disk.writer(store)
    for number in range(1, 20):
        writing.put(answer(number))
    disk.go_on()
    writing.close()
    assert disk.sizes == [1, 19]
    assert len(stored(store)) == 20

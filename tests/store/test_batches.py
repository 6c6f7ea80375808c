"""Batches in the store, on SQLite and on PostgreSQL."""

from dataclasses import replace

import pytest

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.core.usage import Use, total
from eqlab.store.batches import Batches, BatchItem
from eqlab.store.store import Store

SUBJECT = "model:openai/m"


@pytest.fixture
def begun(store_url):
    store = Store(store_url)
    plan = api.prepare(api.Request(models=("openai/m",), benchmarks=("eqbench",), limit=4))
    store.begin_run(plan.config, plan.plan(), {})
    yield store, plan.config.id, [trial for _, _, trial, _ in plan.plan()]
    store.close()


def items(trials):
    return [BatchItem(number, "eqbench", trial.id, 0, 1, 0, 0) for number, trial in enumerate(trials)]


def answer(run, trial, **more):
    return Answer(run, trial.id, SUBJECT, 0, 1, "x", "ok", at=1.0, **more)


def test_a_batch_from_beginning_to_end(begun):
    store, run, trials = begun
    shelf = Batches(store, run, SUBJECT)
    assert shelf.newest_fit() is None
    made = shelf.make("a" * 32, "openai", {"wire": "openai_chat"}, items(trials))
    assert [(one.id, one.state, one.items) for one in shelf.under_way()] == [("a" * 32, "made", 4)]
    assert shelf.items(made) == items(trials)
    assert Batches(store, run, "model:other").under_way() == []
    shelf.sent(made, "batch_1")
    (out,) = shelf.under_way()
    assert (out.state, out.remote, out.fit) == ("sent", "batch_1", {"wire": "openai_chat"})
    assert shelf.known_remotes() == {"batch_1"}
    found = [answer(run, trial, sent={"batch": "batch_1"}) for trial in trials]
    assert shelf.take_in(out, found[:3]) == found[:3]
    assert shelf.under_way() == []
    assert shelf.newest_fit() == {"wire": "openai_chat"}


def test_taken_in_twice_changes_nothing(begun):
    store, run, trials = begun
    shelf = Batches(store, run, SUBJECT)
    batch = shelf.make("b" * 32, "openai", {}, items(trials))
    found = [answer(run, trial) for trial in trials]
    store.add_answers(found[:1])
    assert shelf.take_in(batch, found) == found[1:]
    assert shelf.take_in(batch, found) == []
    assert sum(len(one.attempts) for one in store.scored(run, SUBJECT, "eqbench")) == 4


def test_a_void_batch_is_out_of_the_way(begun):
    store, run, trials = begun
    shelf = Batches(store, run, SUBJECT)
    shelf.void(shelf.make("c" * 32, "openai", {}, items(trials)), "refused")
    assert shelf.under_way() == []


def test_what_answers_took(begun):
    store, run, trials = begun
    how = {"batch": "b", "room": 256}
    given = [
        answer(run, trials[0], tokens_in=100, tokens_out=10, latency=2.0, usage={"cached_tokens": 40}),
        answer(run, trials[1], tokens_in=200, tokens_out=20, sent=how),
        answer(run, trials[2], latency=4.0),
        Answer(run, trials[3].id, SUBJECT, 0, 1, "", "error", at=1.0, usage={"timed_out": 2}),
    ]
    store.add_answers(given)
    uses = list(store.used(run, SUBJECT, "eqbench", whole=True))
    assert [(use.tokens_in, use.counted, use.batch, use.timed_out, use.seat) for use in uses] == [
        (100, True, False, 0, ""),
        (200, True, True, 0, ""),
        (None, False, False, 0, ""),
        (None, False, False, 2, ""),
    ]
    assert all(use.characters_in > 100 for use in uses)
    assert [use.room for use in uses] == [0, 256, 0, 0]
    assert len(list(store.used(run, SUBJECT))) == 4
    assert list(store.used(run, SUBJECT, "empathy")) == []
    found = total(uses, [(1.0, True), (0.5, True), (None, False), (None, False)], "USD")
    assert (found.answers, found.tokens_in, found.tokens_out, found.uncounted) == (3, 300, 30, 3)
    assert (found.cost, found.unpriced, found.seconds) == (1.5, 2, 3.0)
    zero = Use(True, 0, 0, 1.0, characters_out=20)  # stored by an earlier version from a server that reports 0
    assert zero.known_tokens == (None, None)
    assert replace(zero, tokens_in=9, characters_out=0).known_tokens == (9, 0)
    found = total([zero], [(None, False)], "USD")
    assert (found.tokens_in, found.uncounted) == (None, 1)
    assert total([], [], "USD").tokens_in is None
    assert total([], [], "USD").cost is None


def test_who_else_answered_in_a_talk_is_told_apart(begun):
    store, run, trials = begun
    tricky = replace(trials[0], prompt='they said "seat":"thief" and left', id="")
    other = replace(trials[1], seat="friend", id="")
    store.extend_plan(run, SUBJECT, [("eqbench", tricky, 0), ("eqbench", other, 0)])
    store.add_answers([answer(run, tricky), answer(run, other)])
    assert sorted(use.seat for use in store.used(run, SUBJECT, whole=True)) == ["", "friend"]

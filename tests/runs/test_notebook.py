"""Python as notebooks use it: inside a running event loop, with frames, tables and short reprs."""

import asyncio
import re

import polars as pl
import pytest

import eqlab as api
from eqlab.core.errors import UsageError


def good(body, number=0):
    words = re.search(r"feel each of these at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1)
    return "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words.split()))


@pytest.fixture
def prepared(server):
    def make(models="m", **more):
        server.reply = good
        return api.prepare(api.Request(models, "eqbench", base_url=server.url, limit=6, **more))

    return make


def test_run_works_inside_a_running_loop(prepared, store):
    async def cell():
        return api.run(prepared(), store)

    outcome = asyncio.run(cell())
    assert not outcome.failures
    (result,) = api.results(store, store.find_run(outcome.run))
    assert result.headline.n == 6


def test_arun_leaves_the_loop_free(prepared, store):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def cell():
        clock = asyncio.create_task(tick())
        outcome = await api.arun(prepared(), store)
        clock.cancel()
        return outcome

    assert not asyncio.run(cell()).failures
    assert ticks > 5


def test_a_cancelled_arun_stores_what_came_and_goes_on_later(prepared, store):
    async def cell():
        seen = asyncio.Event()
        loop = asyncio.get_running_loop()
        heard = api.Listener(stored=lambda _: loop.call_soon_threadsafe(seen.set))
        task = asyncio.create_task(api.arun(prepared(), store, concurrency=1, listener=heard))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cell())
    outcome = api.run(prepared(), store)
    (result,) = api.results(store, store.find_run(outcome.run))
    assert result.headline.n == 6


def test_one_name_is_one_model(prepared):
    (model,) = prepared("embedded").config.models
    assert model.subject == "model:embedded"


def test_defaults_are_those_of_the_command_line():
    prepared = api.prepare(api.Request())
    assert prepared.config.profile == "quick"
    assert [one.name for one in prepared.config.benchmarks] == ["eqbench", "emotionbench", "empathy"]


def test_frames_tables_and_reprs(prepared, store):
    outcome = api.run(prepared(("one", "<b>two")), store)
    results = api.results(store, store.find_run(outcome.run))
    frame = api.to_frame(results)
    assert frame.height == 2
    assert frame["score"].to_list() == [one.headline.value for one in results]
    items = api.to_frame(results, items=True)
    assert items.height == 12
    assert items["shown"].str.len_chars().min() > 50
    found = api.compare_runs(outcome.run, store=store)
    pairs = found.to_frame()
    assert isinstance(pairs, pl.DataFrame)
    assert pairs.height == 1
    assert pairs["n"].to_list() == [6]
    for shown in (results, results[0], found, found[0]):
        assert "<table>" in shown._repr_html_()
        assert "<b>two" not in shown._repr_html_()
        assert len(repr(shown)) < 1000
    assert "&lt;b&gt;two" in found._repr_html_()
    assert api.compare_runs(outcome, store=store).to_frame().equals(pairs)
    with pytest.raises(UsageError, match="is not a result"):
        api.to_frame([1])
    assert api.compare_runs(store.find_run("last"), store=store).to_frame().equals(pairs)
    for wrong in ([outcome.run], store):
        with pytest.raises(
            UsageError, match=r"one by one, and the store by its name: compare_runs\(a, b, store=store\)"
        ):
            api.compare_runs(wrong, outcome)


def test_pandas_when_it_is_there(prepared, store):
    pandas = pytest.importorskip("pandas")
    results = api.results(store, store.find_run(api.run(prepared(), store).run))
    assert isinstance(api.to_frame(results, kind="pandas"), pandas.DataFrame)

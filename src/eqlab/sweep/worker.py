"""What a worker does with a shard: the same asking as everywhere, answers to the sink as they come.

Knows nothing of the engine that called it; keys and passwords come from the worker's own environment."""

import asyncio
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Protocol

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.errors import EqlabError, StoreError
from eqlab.models.chat import Timeouts
from eqlab.models.runner import Asked, Session, run_model
from eqlab.models.transport import Transport
from eqlab.store.engine import same_database
from eqlab.store.store import SharedStore
from eqlab.store.writer import Writer
from eqlab.sweep.opening import opened
from eqlab.sweep.parts import Parts, PartsWriter
from eqlab.sweep.shards import Shard, ShardEnd, Sink


class _Writer(Protocol):
    def put(self, answer: Answer) -> None: ...
    def close(self) -> None: ...


def work_shard(shard: Shard, sink: Sink, share: int, timeouts: Timeouts) -> ShardEnd:
    """Ask a shard's trials with at most `share` requests at once. An end that nobody foresaw raises."""
    if shard.version != version("eqlab"):
        return ShardEnd(
            f"The worker has eqlab {version('eqlab')}, the sweep was started with {shard.version}.",
            "Install the same version on every node.",
            "model",
        )
    try:
        return asyncio.run(_work(shard, sink, share, timeouts))
    except StoreError as error:
        return ShardEnd(error.message, error.hint, "store")
    except EqlabError as error:
        return ShardEnd(error.message, error.hint, "model")


async def _work(shard: Shard, sink: Sink, share: int, timeouts: Timeouts) -> ShardEnd:
    target = shard.target
    asked = {name: Asked(load(name), options) for name, options in shard.options.items()}
    transport = Transport.with_timeouts(share, timeouts)
    transport.met = shard.met
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    writer, done = _writer(shard, sink, lambda: _set(stop, loop))
    try:
        async with opened(target, lambda: transport) as chat:
            session = Session(shard.run, target.config, shard.seed, chat, asked, shard, writer.put, stop)
            await run_model(session)
    finally:
        await transport.close()
        await asyncio.to_thread(writer.close)
        done()
    return ShardEnd()


def _set(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """A store that failed takes nothing more: ask nothing more."""
    loop.call_soon_threadsafe(stop.set)


def _writer(shard: Shard, sink: Sink, on_failure: Callable[[], None]) -> tuple[_Writer, Callable[[], None]]:
    if sink.parts:
        return PartsWriter(Parts(sink.parts), shard.run, shard.name), lambda: None
    store = SharedStore(_with_password(sink.store))
    return Writer(store, lambda _: None, on_failure), store.close


def _with_password(url: str) -> str:
    """The worker's own EQLAB_STORE where it names the same database; libpq finds PGPASSWORD and ~/.pgpass itself."""
    own = os.environ.get("EQLAB_STORE", "")
    return own if "://" in own and same_database(url, own) else url

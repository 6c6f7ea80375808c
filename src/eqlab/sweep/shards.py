"""A shard: some trials of one run and subject, cut so that a worker anywhere can ask them and nothing depends on which;
and what a worker does with it: the same asking as everywhere, answers to the sink as they come.

Plain values only. Keys and passwords are never part of it: a worker finds them in its own environment."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.errors import EqlabError, StoreError
from eqlab.models.runner import Asked, Session, run_model, waiting
from eqlab.models.timeouts import Timeouts
from eqlab.models.transport import Transport
from eqlab.store.engine import same_database
from eqlab.store.store import Planned, SharedStore, Store
from eqlab.store.writer import Writer
from eqlab.sweep.grid import SweepRun, Target
from eqlab.sweep.model_server import open_model
from eqlab.sweep.parts import Parts, PartsWriter


@dataclass(frozen=True, slots=True)
class Shard:
    name: str
    """Unique in the sweep's life: what a worker writes carries it."""
    run: str
    seed: int
    target: Target
    options: Mapping[str, Mapping[str, Any]]
    """The benchmarks of the run with their options, by name."""
    planned: tuple[Planned, ...]
    version: str
    """Of the eqlab that cut it: a worker with another one would read replies otherwise."""
    met: bool = False
    """Whether the model's address has answered in this sweep: then a worker waits for it, and never takes an outage for
    an address where nobody is."""

    def plan_pages(self, run: str, subject: str) -> Iterator[list[Planned]]:
        """As a store gives a whole run."""
        if (run, subject) == (self.run, self.target.config.subject):
            yield list(self.planned)


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a worker's answers go: Parquet parts under a URL, or a shared database."""

    parts: str = ""
    store: str = ""
    """The database's URL without its password."""


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """What a worker says when it has done what it could; the answers themselves are in the sink."""

    failure: str = ""
    hint: str = ""
    kind: str = ""
    """`model`: hopeless for all its cells. `store`: the answers could not be written. Else nothing failed."""


def waiting_of(cell: SweepRun, store: Store) -> Iterator[Planned]:
    """Its trials that are not answered yet and have tries left."""
    return waiting(store.plan_pages(cell.run, cell.subject), cell.prepared.asked)


def cut(planned: Iterable[Planned], size: int) -> Iterator[tuple[Planned, ...]]:
    """In order, `size` at a time, without reading ahead."""
    shard: list[Planned] = []
    for one in planned:
        shard.append(one)
        if len(shard) == size:
            yield tuple(shard)
            shard = []
    if shard:
        yield tuple(shard)


def divide(limit: int, workers: int) -> list[int]:
    """An address's limit as shares for workers that know nothing of each other: none is 0, and they add up to it."""
    shares = max(1, min(limit, workers))
    return [limit // shares + (number < limit % shares) for number in range(shares)]


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
        async with open_model(target, lambda: transport) as chat:
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

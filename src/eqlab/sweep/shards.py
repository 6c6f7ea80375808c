"""A shard: some trials of one run and subject, cut so that a worker anywhere can ask them and nothing depends on which;
and what a worker does with it: the same asking as everywhere, answers to the sink as they come. Plain values only.
Keys and passwords are never part of it: a worker finds them in its own environment.

Answers come back as Parquet parts in a folder that workers and driver share: a disk, or an object store by its
fsspec URL. A part appears whole or not at all. The driver stores what is in it and is not stored yet, and deletes it
after the commit; killed in between, it stores nothing the second time. So every answer is merged exactly once."""

import asyncio
import io
import json
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import structs

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.errors import EqlabError, StoreError, UsageError
from eqlab.core.values import dataclass
from eqlab.models.runner import Asked, Session, run_model, waiting
from eqlab.models.timeouts import Timeouts
from eqlab.models.transport import Transport
from eqlab.runs.event_loop import garbage_seldom_collected
from eqlab.store.engine import same_database
from eqlab.store.store import Planned, SharedStore, Store, add_absent
from eqlab.store.writer import Writer
from eqlab.sweep.grid import SweepRun, Target
from eqlab.sweep.model_server import open_model

LINGER = 1.0
"""Seconds of answers in a part: what a lost worker can lose besides the requests under way."""
MOST = 1000
"""Answers in a part, at most."""
_COLUMNS = Answer.__struct_fields__
_MAPPINGS = ("values", "sent", "usage")
_NUMBERS = {"repeat": int, "attempt": int, "transport_retries": int, "tokens_in": int, "tokens_out": int} | {
    "temperature": float,
    "latency": float,
    "at": float,
}


class Parts:
    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise UsageError("Parts need an extra.", "pip install 'eqlab[ray]'") from error
        if urlsplit(url).password:
            raise UsageError("--parts holds a password.", "Give the workers their credentials in their environment.")
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise UsageError(f"--parts '{url}' cannot be used: {error}.", "Give a path or an fsspec URL.") from error
        self._local = "file" in self._files.protocol

    def write(self, run: str, name: str, answers: Sequence[Answer]) -> None:
        """Durable when this returns."""
        folder = f"{self._root}/{run}"
        content = to_parquet(answers)
        try:
            if self._local:
                _write_privately(Path(self._root), f"{run}/{name}.parquet", content)
            else:
                self._files.makedirs(folder, exist_ok=True)
                self._files.pipe_file(f"{folder}/{name}.parquet", content)
        except OSError as error:
            raise StoreError(f"No part can be written to {folder}: {error}.", "Fix --parts.") from error

    def merge(self, run: str, store: Store) -> int:
        """Move what has arrived for a run into the store; returns how many answers were new."""
        added = 0
        folder = f"{self._root}/{run}"
        self._files.invalidate_cache()
        try:
            names = sorted(self._files.glob(f"{folder}/*.parquet"))
            for name in names:
                added += add_absent(
                    store, [answer for answer in from_parquet(self._files.cat_file(name)) if answer.run == run]
                )
                self._files.rm_file(name)
        except OSError as error:
            raise StoreError(
                f"The parts in {folder} cannot be read: {error}.", "Correct --parts and run the same command again."
            ) from error
        return added


class PartsWriter:
    """Put answers in; a thread writes a part whenever a second has gone by, or many have come."""

    def __init__(self, parts: Parts, run: str, shard: str) -> None:
        self._parts, self._run, self._shard = parts, run, shard
        self._queue: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name="eqlab-parts", daemon=True)
        self._thread.start()

    def put(self, answer: Answer) -> None:
        """Raises if parts can no longer be written, so that nothing more is asked in vain."""
        if self._failure is not None:
            raise self._failure
        self._queue.put(answer)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        number, open_ = 0, True
        while open_:
            first = self._queue.get()
            batch: list[Answer] = [] if first is None else [first]
            open_ = first is not None
            until = time.monotonic() + LINGER
            while open_ and len(batch) < MOST and (left := until - time.monotonic()) > 0:
                try:
                    answer = self._queue.get(timeout=left)
                except queue.Empty:
                    break
                if answer is None:
                    open_ = False
                else:
                    batch.append(answer)
            if batch:
                try:
                    self._parts.write(self._run, f"{self._shard}-{number:05}", batch)
                except StoreError as error:
                    self._failure = error
                    return
                number += 1


def _write_privately(root: Path, name: str, content: bytes) -> None:
    """For its owner alone, as stores are, and under its name only when it is whole and on the disk: a disk shows a file
    while it is being written, which an object store does not."""
    file = root / name
    for folder in (root, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as part:
        part.write(content)
        part.flush()
        os.fsync(part.fileno())
    hidden.rename(file)


def to_parquet(answers: Sequence[Answer]) -> bytes:
    import polars as pl

    rows = [
        structs.asdict(answer)
        | {name: json.dumps(dict(getattr(answer, name)), ensure_ascii=False) for name in _MAPPINGS}
        for answer in answers
    ]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str):  # lone surrogates of broken models have no UTF-8
                row[name] = value.encode("utf-8", "replace").decode("utf-8")
    schema: dict[str, Any] = {name: _NUMBERS.get(name, str) for name in _COLUMNS}
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=schema).write_parquet(buffer)
    return buffer.getvalue()


def from_parquet(content: bytes) -> list[Answer]:
    import polars as pl

    try:
        rows = pl.read_parquet(io.BytesIO(content)).select(_COLUMNS).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"A part is not what eqlab writes: {error}.", "Remove foreign files from --parts.") from error
    return [Answer(**row | {name: json.loads(row[name]) for name in _MAPPINGS}) for row in rows]


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
        with garbage_seldom_collected():
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

"""The driver of a sweep on many machines: it plans, holds the locks, hands out shards and takes their answers in.

It knows a pool only by four verbs, so what is true of it is true of any engine: never more shards in flight than there
are workers, never more requests at an address than its limit, and a shard whose worker is lost goes out again with what
has no answer yet. A pool must not retry by itself: it would ask again what is answered."""

import math
import time
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import field
from importlib.metadata import version
from typing import Protocol
from uuid import uuid4

from eqlab.core.errors import EqlabError, ModelError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.models.timeouts import Timeouts
from eqlab.runs.ask import next_round
from eqlab.runs.identity import provenance
from eqlab.store.store import Planned, Store
from eqlab.store.writer import run_lock
from eqlab.sweep.grid import SweepListener, SweepOutcome, SweepRun
from eqlab.sweep.shards import Parts, Shard, ShardEnd, Sink, cut, divide, waiting_of

_TICK = 0.5
"""Seconds that the driver waits for a shard to end before it looks around."""
_LOOK = 1.0
"""Seconds between two looks at what has arrived for a cell."""
_OPEN = 32
"""Cells under way at once: each holds a lock."""
_QUIET = 30.0
"""Seconds without an answer after which the user is told what may be waited for: workers cannot say it."""
_IN_PLACE = 2000
"""Trials, at least, for which a model is loaded or a server started on a worker."""


class LostWorkerError(Exception):
    """A shard did not end: its worker, or the machine under it, is gone."""


class Pool(Protocol):
    def submit(self, shard: Shard, sink: Sink, share: int, timeouts: Timeouts) -> Hashable: ...
    def wait(self, handles: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Those that have ended, as soon as one has or the time is over."""
        ...

    def end(self, handle: Hashable) -> ShardEnd:
        """Raises LostWorkerError."""
        ...

    def drop(self, handle: Hashable) -> None: ...


@dataclass(frozen=True, slots=True)
class DriverLimits:
    workers: int
    """Shards in flight, at most."""
    shard: int
    """Trials in a shard."""
    timeouts: Timeouts
    retries: int = 3
    """How often a shard goes out again after its worker was lost."""


@dataclass(slots=True)
class _Open:
    """A cell under way."""

    cell: SweepRun
    lock: ExitStack
    fresh: Iterator[tuple[Planned, ...]]
    again: deque[tuple[tuple[Planned, ...], int]] = field(default_factory=deque)
    """Trials of lost workers, and how often they went out."""
    in_flight: int = 0
    looked_at: float = 0.0
    done: int = -1
    """Trials answered when it was last looked at."""
    moved_at: float = 0.0
    told: bool = False
    """Whether the user knows that nothing arrives."""
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class _Out:
    """A shard in flight."""

    under: _Open
    planned: tuple[Planned, ...]
    share: int
    tries: int


class Driver:
    def __init__(self, pool: Pool, store: Store, sink: Sink, limits: DriverLimits, watch: SweepListener) -> None:
        self._pool, self._store, self._sink, self._limits, self._watch = pool, store, sink, limits, watch
        self._parts = Parts(sink.parts) if sink.parts else None
        self._version = version("eqlab")
        self._waiting: deque[SweepRun] = deque()
        self._open: list[_Open] = []
        self._out: dict[Hashable, _Out] = {}
        self._shares: dict[str, list[int]] = {}
        """What is left of each address's limit."""
        self._met: set[str] = set()
        """Addresses that have answered since the sweep began."""
        self._failures: dict[str, EqlabError] = {}
        self._hopeless: dict[str, EqlabError] = {}
        """Models that cannot be asked, by name."""
        self._stopping = False
        self._until = math.inf
        """When what is out is dropped."""

    def stop(self) -> None:
        """First: hand out nothing more, and wait for what is out. Again: drop it."""
        if self._stopping:
            self._drop()
        self._stopping = True

    def stop_within(self, seconds: float) -> None:
        """Hand out nothing more, and drop what is still out then."""
        self._stopping = True
        self._until = min(self._until, time.monotonic() + seconds)

    def work(self, cells: Sequence[SweepRun]) -> SweepOutcome:
        self._waiting = deque(cells)
        try:
            while True:
                if not self._stopping:
                    self._hand_out()
                if not self._out:
                    break
                ended = self._pool.wait(list(self._out), _TICK)
                if time.monotonic() > self._until:
                    self._drop()
                for under in self._open:
                    if under.in_flight and time.monotonic() - under.looked_at > _LOOK:
                        self._take_in(under)
                        self._tell(under)
                for handle in ended:
                    self._finish(self._out.pop(handle), handle)
                for under in list(self._open):
                    self._settle(under)
        finally:
            self._drop()
            for under in self._open:
                under.lock.close()
        return SweepOutcome(self._failures, self._stopping)

    def _drop(self) -> None:
        for handle in list(self._out):
            self._pool.drop(handle)

    # -- handing out -----------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while len(self._out) < self._limits.workers and (found := self._next()) is not None:
            under, planned, tries = found
            cell = under.cell
            share = self._shares_of(cell).pop()
            asked = cell.prepared.asked
            shard = Shard(
                name=uuid4().hex,
                run=cell.run,
                seed=cell.seed,
                target=cell.target,
                options={name: one.options for name, one in asked.items()},
                planned=planned,
                version=self._version,
                met=cell.target.endpoint in self._met and not cell.target.in_place,
            )
            under.in_flight += 1
            handle = self._pool.submit(shard, self._sink, share, self._limits.timeouts)
            self._out[handle] = _Out(under, planned, share, tries)

    def _next(self) -> tuple[_Open, tuple[Planned, ...], int] | None:
        """The first trials, in the order of the sweep, whose address has a share left."""
        while True:
            for under in list(self._open):
                while self._may_go_out(under):
                    if under.again:
                        return under, *under.again.popleft()
                    planned = next(under.fresh, ())
                    if planned:
                        return under, planned, 0
                    under.exhausted = True
                    self._settle(under)  # closes it, or begins its next round
            if not self._open_one():
                return None

    def _may_go_out(self, under: _Open) -> bool:
        cell = under.cell
        failed = cell.target.model.name in self._hopeless or cell.run in self._failures
        return not failed and bool(self._shares_of(cell)) and bool(under.again or not under.exhausted)

    def _open_one(self) -> bool:
        """Begin the first cell that could be asked now; whether there was one."""
        for cell in list(self._waiting):
            if len(self._open) >= _OPEN:
                return False
            if not self._shares_of(cell):
                continue
            self._waiting.remove(cell)
            failure = self._hopeless.get(cell.target.model.name)
            if failure is None:
                try:
                    self._open.append(self._begin(cell))
                    return True
                except EqlabError as error:
                    failure = error
            self._fail(cell, failure)
        return False

    def _begin(self, cell: SweepRun) -> _Open:
        with ExitStack() as stack:
            stack.enter_context(run_lock(self._store, cell.run))
            identities = {cell.subject: cell.target.identity()}
            self._store.begin_run(
                cell.prepared.config, cell.prepared.plan(), provenance(identities, cell.prepared.changed)
            )
            under = _Open(cell, stack.pop_all(), iter(()))
        self._take_in(under)  # what a driver that was killed did not
        self._tell(under)
        under.fresh = self._cut(cell)
        return under

    def _cut(self, cell: SweepRun) -> Iterator[tuple[Planned, ...]]:
        size = max(self._limits.shard, _IN_PLACE) if cell.target.in_place else self._limits.shard
        return cut(waiting_of(cell, self._store), size)

    def _shares_of(self, cell: SweepRun) -> list[int]:
        target = cell.target
        if target.endpoint not in self._shares:
            every = [target.limit] * target.model.replicas
            self._shares[target.endpoint] = every if target.in_place else divide(target.limit, self._limits.workers)
        return self._shares[target.endpoint]

    # -- taking in -------------------------------------------------------------------------------------------

    def _take_in(self, under: _Open) -> None:
        if self._parts is not None:
            self._parts.merge(under.cell.run, self._store)

    def _tell(self, under: _Open) -> None:
        cell = under.cell
        done, planned = self._store.progress(cell.run)[cell.subject]
        under.looked_at = time.monotonic()
        if done != under.done:
            if 0 <= under.done < done:
                self._met.add(cell.target.endpoint)
            under.done, under.moved_at, under.told = done, under.looked_at, False
        elif under.looked_at - under.moved_at > _QUIET and not under.told:
            under.told = True
            self._watch.say(
                f"{cell.name}: no answer for {_QUIET:.0f} s. An outage, or a rate limit, is waited for up to "
                f"{self._limits.timeouts.patience:.0f} s (--patience)."
            )
        self._watch.moved(cell, done, planned)

    def _finish(self, out: _Out, handle: Hashable) -> None:
        under, cell = out.under, out.under.cell
        under.in_flight -= 1
        self._shares_of(cell).append(out.share)
        try:
            end = self._pool.end(handle)
        except LostWorkerError as lost:
            end = ShardEnd(str(lost), kind="lost")
        self._take_in(under)
        if not end.failure:
            self._met.add(cell.target.endpoint)
        if not end.failure or self._stopping:
            return
        error = ModelError(end.failure, end.hint)
        if end.kind == "model":
            self._hopeless.setdefault(cell.target.model.name, error)
            return
        # The worker is gone, or could not write: another may.
        positions = {planned.position for planned in out.planned}
        left = tuple(planned for planned in waiting_of(cell, self._store) if planned.position in positions)
        if not left:
            return
        if out.tries >= self._limits.retries:
            why = (
                f"{many(len(left), 'trial')} of {cell.name} were sent {out.tries + 1} times without an answer (last: "
                f"{end.failure})."
            )
            self._failures.setdefault(cell.run, ModelError(why, end.hint or "Run the same command again to go on."))
            return
        under.again.append((left, out.tries + 1))
        self._watch.say(f"{cell.name}: {end.failure} {many(len(left), 'trial goes', 'trials go')} out again.")

    def _settle(self, under: _Open) -> None:
        """Close a cell that has nothing in flight and nothing left to hand out."""
        cell = under.cell
        failure = self._hopeless.get(cell.target.model.name) or self._failures.get(cell.run)
        over = failure is not None or self._stopping
        if under.in_flight or not (over or (under.exhausted and not under.again)):
            return
        if not over and next_round(cell.prepared, self._store, cell.target.config) is not None:
            under.fresh, under.exhausted = self._cut(cell), False
            return
        self._tell(under)
        under.lock.close()
        self._open.remove(under)
        if failure is not None:
            self._fail(cell, failure)
        elif under.exhausted and not under.again:
            self._watch.ended(cell, None)

    def _fail(self, cell: SweepRun, failure: EqlabError) -> None:
        self._failures[cell.run] = failure
        self._watch.ended(cell, failure)

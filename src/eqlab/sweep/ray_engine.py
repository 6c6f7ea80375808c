"""Ray as a pool of workers: a task for each shard, anywhere on the cluster that has the CPUs and GPUs it asks for.

The only file that knows Ray. Task arguments carry no key and no password: they would be visible to everybody on the
cluster; workers read them from their own environment."""

import logging
import os
import signal
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from eqlab.core.errors import ModelError, UsageError
from eqlab.core.values import dataclass
from eqlab.models.timeouts import Timeouts
from eqlab.runs.event_loop import GRACE
from eqlab.store.engine import address_without_password
from eqlab.store.store import Store
from eqlab.sweep.driver import Driver, DriverLimits, LostWorkerError
from eqlab.sweep.grid import SweepListener, SweepOutcome, SweepRun
from eqlab.sweep.shards import Parts, Shard, ShardEnd, Sink, work_shard


@dataclass(frozen=True, slots=True)
class RayPlan:
    """What a user says about the cluster."""

    address: str
    parts: str
    workers: int | None
    shard: int
    timeouts: Timeouts


def run_on_ray(cells: Sequence[SweepRun], store: Store, wanted: RayPlan, *, watch: SweepListener) -> SweepOutcome:
    sink = sink_of(store, wanted.parts)
    with _connected(wanted.address) as ray:
        workers = wanted.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        nodes = [node for node in ray.nodes() if node["Alive"]]
        on = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        watch.say(f"Ray {ray.__version__}: {on}, at most {workers} shards in flight.")
        most = max((node["Resources"].get("GPU", 0) for node in nodes), default=0)
        for model in {cell.target.model.name: cell.target.model for cell in cells}.values():
            if model.gpus > most:
                watch.say(f"{model.name} wants {model.gpus:g} GPUs and no node has them now: waiting for one that has.")
        limits = DriverLimits(workers, wanted.shard, wanted.timeouts)
        driver = Driver(_RayPool(ray), store, sink, limits, watch)
        with _on_interrupt(driver, watch):
            return driver.work(cells)


def sink_of(store: Store, parts: str) -> Sink:
    """Where workers write: parts if the user says so, else a database that other machines can reach."""
    if parts:
        Parts(parts)  # raises before a cluster is started or a run begun
        return Sink(parts=parts if "://" in parts else os.path.abspath(parts))
    address = address_without_password(store.engine)
    if not address:
        raise UsageError(
            "Workers on other machines cannot write to an SQLite store.",
            "Add --parts URL (a folder that all nodes see, or an object store), or use --store postgresql://….",
        )
    return Sink(store=address)


class _RayPool:
    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._task = ray.remote(work_shard)

    def submit(self, shard: Shard, sink: Sink, share: int, timeouts: Timeouts) -> Hashable:
        ref: Hashable = self._task.options(
            name=f"eqlab {shard.run}",
            num_cpus=1,
            num_gpus=shard.target.model.gpus,
            max_retries=0,  # the driver sends out again what has no answer; Ray would send out everything
            scheduling_strategy="SPREAD",
        ).remote(shard, sink, share, timeouts)
        return ref

    def wait(self, handles: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        some, _ = self._ray.wait(list(handles), num_returns=1, timeout=seconds)
        if not some:
            return []
        every: list[Hashable]
        every, _ = self._ray.wait(list(handles), num_returns=len(handles), timeout=0)
        return every or some

    def end(self, handle: Hashable) -> ShardEnd:
        try:
            end: ShardEnd = self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            raise LostWorkerError(f"A worker failed: {_brief(str(error.cause))}.") from error
        except self._ray.exceptions.RayError as error:
            raise LostWorkerError(f"A worker was lost ({type(error).__name__}).") from error
        return end

    def drop(self, handle: Hashable) -> None:
        self._ray.cancel(handle, force=True)


def _lock_the_door() -> None:
    """A token for a cluster that lives as long as we do; Ray itself would leave one in the home, readable by all."""
    if not any(name.startswith("RAY_AUTH_") for name in os.environ):
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}


def _brief(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1][:300].rstrip(".")


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """The cluster at an address, the one RAY_ADDRESS names, or a small one on this machine."""
    here = not (address or os.environ.get("RAY_ADDRESS"))
    if here:
        _lock_the_door()
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UsageError("Ray is not installed.", "pip install 'eqlab[ray]'") from error
    if ray.is_initialized():  # the caller's own
        yield ray
        return
    more: dict[str, Any] = {"include_dashboard": False} if here else {"address": address or None}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **more)
    except Exception as error:  # Ray raises plain ones, such as for a node that was not up in time
        raise ModelError(
            f"No Ray cluster at {address or os.environ.get('RAY_ADDRESS', 'this machine')}: {_brief(str(error))}.",
            "Check --address; 'ray status' shows whether the cluster is up.",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _on_interrupt(driver: Driver, watch: SweepListener) -> Iterator[None]:
    """The first Ctrl-C waits for the shards in flight, for they are paid for; the second drops them. SIGTERM, which
    schedulers send before they kill, is a first Ctrl-C whose patience ends in time; what workers have written by then
    is not lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pressed(number: int, _: object) -> None:
        if number == signal.SIGTERM:
            watch.say(f"Told to end (SIGTERM): waiting at most {GRACE:g} s for the shards in flight.")
            driver.stop_within(GRACE)
        else:
            watch.say("Stopping: waiting for the shards in flight (Ctrl-C again drops them).")
            driver.stop()

    before = {number: signal.signal(number, pressed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

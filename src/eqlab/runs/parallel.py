"""The results of runs; many of them on several processes at once, because no result needs another."""

import atexit
import gc
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Talks
from eqlab.core.results import Result
from eqlab.runs.context import Known
from eqlab.runs.score import Chosen, Job, kept_result, result_of
from eqlab.store.access import open_sqlite_reader
from eqlab.store.kept_scores import KeptScores
from eqlab.store.reader import Reader, StoredRun

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")
MANY = 20_000
"""Planned trials from which on other processes are worth their start."""


class WorkerProcesses:
    """Started with the first work they are given, and afresh, not forked: a copy of a process with open databases is no
    sound one. Each imports the main program again, which must allow that (`if __name__ == "__main__"`)."""

    def __init__(self, processes: int) -> None:
        """`processes`: with this one."""
        self.count = processes - 1
        self._pool: ProcessPoolExecutor | None = None

    @property
    def started(self) -> bool:
        return self._pool is not None

    def submit(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> "Future[T]":
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            self._pool = ProcessPoolExecutor(self.count, get_context("spawn"), _begin_worker)
        return self._pool.submit(work, *given, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    gc.disable()  # results hold no cycles, and looking for some takes a tenth of the time
    atexit.register(os._exit, 0)  # all that it did is handed over: taking it apart takes a quarter of a second


def results_of(
    store: Reader,
    runs: Sequence[StoredRun],
    wanted: Callable[[str, str, str], bool] = lambda *_: True,
    *,
    processes: int = 1,
    workers: WorkerProcesses | None = None,
    in_full: Chosen | None = None,
) -> list[tuple[StoredRun, list[Result]]]:
    """Runs with their results; on so many processes, or with the `workers` that a command has. `wanted(run, subject,
    benchmark)` chooses. `in_full`: the items whose words are needed, where others may come without; scores of many
    answers are kept then, and not made again."""
    chosen = [[pair for pair in run.config.pairs() if wanted(run.id, pair[0], pair[1].name)] for run in runs]
    jobs = [(run, *pair) for run, pairs in zip(runs, chosen, strict=True) for pair in pairs]
    with nullcontext(workers) if workers else WorkerProcesses(min(processes, len(jobs))) as pool:
        many = len(jobs) > 1 and (pool.count > 0 or in_full is not None) and _planned(store, jobs) >= MANY
        in_full = in_full if many else None
        with closing(KeptScores(store.where)) as kept:
            known = Known(store, kept=kept if in_full else None)
            revisions = {run.id: _revision(store, run.id) if in_full else "" for run in runs}
            if many and pool.count > 0:
                found = _in_parallel(known, jobs, pool, revisions, in_full)
            else:
                found = [result_of(known, job, revisions[job[0].id], in_full) for job in jobs]
    results = iter(found)
    return [(run, [next(results) for _ in pairs]) for run, pairs in zip(runs, chosen, strict=True)]


def cores() -> int:
    """How many processes can work at once here, within reason: each takes about 120 MB."""
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _revision(store: Reader, run: str) -> str:
    """What the answers of a run that is finished are known by; empty while some are missing."""
    progress = store.progress(run).values()
    if any(answered < planned for answered, planned in progress):
        return ""
    return f"{store.attempts_of(run)} {sum(planned for _, planned in progress)}"


def _in_parallel(
    known: Known,
    jobs: Sequence[Job],
    workers: WorkerProcesses,
    revisions: Mapping[str, str],
    in_full: Chosen | None,
) -> list[Result]:
    """Results in the order of the jobs. Workers begin with the first, this process with the last, until they meet;
    benchmark by benchmark, so that few processes load the same one and read its trials. Talks come first, which are
    never kept; what is kept, this process reads by itself, which takes no longer than to be handed it."""
    kinds = {name: place for place, name in enumerate(dict.fromkeys(config.name for _, _, config in jobs))}
    given = [(job, revisions[job[0].id], in_full) for job in jobs]
    ordered = sorted(range(len(jobs)), key=lambda place: kinds[jobs[place][2].name])
    talks = {place for place in ordered if isinstance(load(jobs[place][2].name), Talks)}
    order = [place for place in ordered if place in talks]
    submitted = [workers.submit(_result_in_worker, known.store.where, *given[place]) for place in order]
    results: dict[int, Result] = {}
    for place in (place for place in ordered if place not in talks):
        if (found := kept_result(known, *given[place])) is not None:
            results[place] = found
        else:
            order.append(place)
    more = order[len(submitted) :]
    submitted += [workers.submit(_result_in_worker, known.store.where, *given[place]) for place in more]
    while submitted and submitted[-1].cancel():
        submitted.pop()
        results[order[len(submitted)]] = result_of(known, *given[order[len(submitted)]])
    results |= {place: one.result() for place, one in zip(order, submitted, strict=False)}
    return [results[place] for place in range(len(jobs))]


def _result_in_worker(where: str, job: Job, revision: str, in_full: Chosen | None) -> Result:
    return result_of(_known(where), job, revision, in_full)


@cache
def _known(where: str) -> Known:
    """In another process: what it knows of its own store."""
    return Known(open_sqlite_reader(where) or _open_fully(where), kept=KeptScores(where))


def _open_fully(where: str) -> Reader:
    from eqlab.store.store import Store

    return Store(where)


def _planned(store: Reader, jobs: Sequence[Job]) -> int:
    subjects: dict[str, set[str]] = {}
    for run, subject, _ in jobs:
        subjects.setdefault(run.id, set()).add(subject)
    return sum(store.planned_count(run, own) for run, own in subjects.items())

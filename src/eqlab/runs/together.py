"""Many results on several processes at once, because no result needs another."""

import gc
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from eqlab.core.results import Result
from eqlab.runs.context import Known
from eqlab.runs.score import Job, result_of
from eqlab.store.quick import open_quickly
from eqlab.store.reader import Reader


def together(store: Reader, jobs: Sequence[Job], processes: int) -> list[Result]:
    """Results in the order of the jobs. Other processes work from the first on, this one from the last, until they
    meet; benchmark by benchmark, so that few processes load the same one and read its trials. The others are started
    afresh, not forked: a copy of a process with open databases is no sound one."""
    kinds = {name: place for place, name in enumerate(dict.fromkeys(asked.name for _, _, asked in jobs))}
    order = sorted(range(len(jobs)), key=lambda place: kinds[jobs[place][2].name])
    found: dict[int, Result] = {}
    pool = ProcessPoolExecutor(processes - 1, get_context("spawn"), _begin, (store.where,))
    try:
        theirs = [pool.submit(_result_elsewhere, jobs[place]) for place in order]
        known = Known(store)
        while theirs and theirs[-1].cancel():
            theirs.pop()
            place = order[len(theirs)]
            found[place] = result_of(known, jobs[place])
        found |= {place: one.result() for place, one in zip(order, theirs, strict=False)}
    finally:
        pool.shutdown(cancel_futures=True)
    return [found[place] for place in range(len(jobs))]


_opened: list[Known] = []
"""In another process: what it knows of its own store."""


def _begin(where: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    gc.disable()  # results hold no cycles, and looking for some takes a tenth of the time
    _opened.append(Known(open_quickly(where) or _open_fully(where)))


def _open_fully(where: str) -> Reader:
    from eqlab.store.store import Store

    return Store(where)


def _result_elsewhere(job: Job) -> Result:
    return result_of(_opened[0], job)

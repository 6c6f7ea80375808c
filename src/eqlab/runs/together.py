"""The results of runs; many of them on several processes at once, because no result needs another."""

import copyreg
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import cache
from operator import attrgetter

from eqlab.core.results import Estimate, ItemScore, Line, Result, Transcript
from eqlab.runs.context import Known
from eqlab.runs.others import Others
from eqlab.runs.score import Job, result_of
from eqlab.store.read_only import open_sqlite_reader
from eqlab.store.reader import Reader, StoredRun

MANY = 20_000
"""Planned trials from which on other processes are worth their start."""


def _travel_by_value(kind: type) -> None:
    """Between processes; a dataclass with slots looks its fields up anew for each object, which takes twice as long."""
    values = attrgetter(*(one.name for one in fields(kind)))
    copyreg.pickle(kind, lambda one: (kind, values(one)))


for _kind in (ItemScore, Estimate, Line, Transcript):  # of which a result has hundreds
    _travel_by_value(_kind)


def results_of(
    store: Reader, runs: Sequence[StoredRun], *, processes: int = 1, others: Others | None = None
) -> list[tuple[StoredRun, list[Result]]]:
    """Runs with their results; on so many processes, or with the `others` that a command has."""
    jobs = [(one, subject, asked) for one in runs for subject, asked in one.config.pairs()]
    with nullcontext(others) if others else Others(min(processes, len(jobs))) as beside:
        if beside.count > 0 and len(jobs) > 1 and _planned(store, runs) >= MANY:
            found = _together(store, jobs, beside)
        else:
            known = Known(store)
            found = [result_of(known, job) for job in jobs]
    made = iter(found)
    return [(one, [next(made) for _ in one.config.pairs()]) for one in runs]


def cores() -> int:
    """How many processes can work at once here, within reason: each takes about 120 MB."""
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _together(store: Reader, jobs: Sequence[Job], others: Others) -> list[Result]:
    """Results in the order of the jobs. Others work from the first on, this process from the last, until they meet;
    benchmark by benchmark, so that few processes load the same one and read its trials."""
    kinds = {name: place for place, name in enumerate(dict.fromkeys(asked.name for _, _, asked in jobs))}
    order = sorted(range(len(jobs)), key=lambda place: kinds[jobs[place][2].name])
    theirs = [others.submit(_result_elsewhere, store.where, jobs[place]) for place in order]
    found: dict[int, Result] = {}
    known = Known(store)
    while theirs and theirs[-1].cancel():
        theirs.pop()
        place = order[len(theirs)]
        found[place] = result_of(known, jobs[place])
    found |= {place: one.result() for place, one in zip(order, theirs, strict=False)}
    return [found[place] for place in range(len(jobs))]


def _result_elsewhere(where: str, job: Job) -> Result:
    return result_of(_known(where), job)


@cache
def _known(where: str) -> Known:
    """In another process: what it knows of its own store."""
    return Known(open_sqlite_reader(where) or _open_fully(where))


def _open_fully(where: str) -> Reader:
    from eqlab.store.store import Store

    return Store(where)


def _planned(store: Reader, runs: Sequence[StoredRun]) -> int:
    return sum(store.planned_count(one.id, {subject for subject, _ in one.config.pairs()}) for one in runs)

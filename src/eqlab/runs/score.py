"""Every subject's result on every benchmark of some runs, scored again from the stored answers; many answers on several
processes, because no result needs another."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context

from eqlab.benchmarks.registry import load
from eqlab.core.answered_as import names_of, replaced
from eqlab.core.benchmark import NO_CONTEXT, Context, Scored, Seated
from eqlab.core.results import ItemScore, Result, Results
from eqlab.core.runs import OWN, TITLE, BenchmarkConfig, ModelConfig
from eqlab.runs.context import Known, StoreContext
from eqlab.runs.spent import usage_of
from eqlab.store.quick import open_quickly
from eqlab.store.reader import Reader, StoredRun

EMBEDDED_CAVEAT = (
    "The embedded model is a tiny one (135M parameters) that proves the pipeline works; its score carries no signal."
)
MANY = 20_000
"""Planned trials from which on other processes are worth their start."""
Job = tuple[StoredRun, str, BenchmarkConfig]


def results(store: Reader, stored: StoredRun | str, known: Known | None = None) -> Results:
    """Every subject's result on every benchmark of a run, which may be named by its id or `last`. Who makes several
    gives what is `known` from one to the next."""
    stored = store.find_run(stored) if isinstance(stored, str) else stored
    about = known or Known(store)
    return Results(_result(about, (stored, subject, asked)) for subject, asked in stored.config.pairs())


def results_of(store: Reader, runs: Sequence[StoredRun], *, processes: int = 1) -> list[tuple[StoredRun, list[Result]]]:
    """Runs with their results. Each further process imports the main program anew, which must allow that
    (`if __name__ == "__main__"`)."""
    jobs = [(one, subject, asked) for one in runs for subject, asked in one.config.pairs()]
    processes = min(processes, len(jobs))
    if processes > 1 and _planned(store, runs) >= MANY:
        found = _together(store, jobs, processes)
    else:
        known = Known(store)
        found = (_result(known, job) for job in jobs)
    return [(one, [next(found) for _ in one.config.pairs()]) for one in runs]


def score(subject: str, asked: BenchmarkConfig, scored: Iterable[Scored], context: Context = NO_CONTEXT) -> Result:
    """One subject's result on one benchmark, from the answers."""
    seen = _Seen()
    benchmark = load(asked.name)
    result = benchmark.score(subject, seen.watch(scored), asked.options, context)
    seats = benchmark.seats(asked.options) if isinstance(benchmark, Seated) else {}
    result = replace(
        result,
        items=tuple(_with_shown(item, seen.shown) for item in result.items),
        answered_as=dict(seen.names.get("", {})),
        caveats=(*_replaced(subject, seats, seen.names), *result.caveats),
    )
    result = titled(result, asked)
    if subject == "model:embedded":
        result = replace(result, caveats=(EMBEDDED_CAVEAT, *result.caveats))
    return result


def titled(result: Result, asked: BenchmarkConfig) -> Result:
    """A user's own questions under their own name: the study's is for the study's questions."""
    title = str(asked.options.get(TITLE, "")) if asked.item_set == OWN else ""
    if not title:
        return result
    name = result.headline.name
    sentence = result.sentence.replace(name, title).replace(result.title, title)
    headline = replace(result.headline, name=title if name.startswith(result.title) else name)
    return replace(result, title=title, sentence=sentence, headline=headline)


class _Seen:
    """What is kept of the trials on their way to the benchmark."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        """What each trial showed, so that every item can be read beside its answer."""
        self.names: dict[str, Counter[str]] = {}
        """Who answered, by seat."""

    def watch(self, scored: Iterable[Scored]) -> Iterator[Scored]:
        for one in scored:
            self.shown[one.trial.id] = one.trial.stimulus
            for name in names_of(one.attempts):
                self.names.setdefault(one.trial.seat, Counter())[name] += 1
            yield one


def _replaced(subject: str, seats: Mapping[str, ModelConfig], names: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Said first: it is about whose score this is. Others in its talks count too."""
    asked = {"": subject, **{seat: other.spec for seat, other in seats.items()}}
    for seat, seen in names.items():
        yield from replaced(asked.get(seat, ""), seen)


def _with_shown(item: ItemScore, shown: Mapping[str, str]) -> ItemScore:
    text = shown.get(item.trial, "")
    return replace(item, shown=text) if text and not item.shown else item


def cores() -> int:
    """How many processes can work at once here, within reason: each takes about 120 MB."""
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _result(known: Known, job: Job) -> Result:
    stored, subject, asked = job
    model = next((model for model in stored.config.models if model.subject == subject), None)
    scored = known.store.scored(stored.id, subject, asked.name)
    found = score(subject, asked, scored, StoreContext(known, asked.name, model))
    return found if model is None else replace(found, usage=usage_of(known.store, [stored.id], model, asked))


def _planned(store: Reader, runs: Sequence[StoredRun]) -> int:
    return sum(store.planned_count(one.id, {subject for subject, _ in one.config.pairs()}) for one in runs)


def _together(store: Reader, jobs: Sequence[Job], processes: int) -> Iterator[Result]:
    """In the order of the jobs: other processes work from the first on, this one from the last, until they meet. The
    others are started afresh, not forked: a copy of a process with open databases is no sound one."""
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(processes - 1, get_context("spawn"), _begin, (store.where,))
    try:
        theirs = [pool.submit(_result_elsewhere, job) for job in jobs]
        own: list[Result] = []
        known = Known(store)
        while theirs and theirs[-1].cancel():
            theirs.pop()
            own.append(_result(known, jobs[len(theirs)]))
        yield from (one.result() for one in theirs)
        yield from reversed(own)
    finally:
        pool.shutdown(cancel_futures=True)


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
    return _result(_opened[0], job)

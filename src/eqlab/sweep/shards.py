"""A shard: some trials of one run and subject, cut so that a worker anywhere can ask them and nothing depends on which.

Plain values only. Keys and passwords are never part of it: a worker finds them in its own environment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.models.runner import Asked
from eqlab.store.store import Planned, Store
from eqlab.sweep.cells import Cell, Target


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


def waiting(pages: Iterable[Sequence[Planned]], asked: Mapping[str, Asked]) -> Iterator[Planned]:
    """What is not answered yet and has tries left, as the runner sees it."""
    for page in pages:
        for planned in page:
            one = asked[planned.benchmark]
            if not planned.done and planned.failed < one.benchmark.asking(planned.trial, one.options).tries:
                yield planned


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


def waiting_of(cell: Cell, store: Store) -> Iterator[Planned]:
    return waiting(store.plan_pages(cell.run, cell.subject), cell.prepared.asked)


def divide(limit: int, workers: int) -> list[int]:
    """An address's limit as shares for workers that know nothing of each other: none is 0, and they add up to it."""
    shares = max(1, min(limit, workers))
    return [limit // shares + (number < limit % shares) for number in range(shares)]

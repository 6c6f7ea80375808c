"""What scoring may know besides the answers, read from the store when a benchmark asks for it, and once a command."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from eqlab.core.benchmark import Scored
from eqlab.core.errors import StoreError
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.store.reader import Reader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredOther:
    """Another run of the store."""

    store: Reader
    config: RunConfig
    asked: BenchmarkConfig

    def scored(self, subject: str) -> Iterable[Scored]:
        return self.store.scored(self.config.id, subject, self.asked.name)


@dataclass(slots=True)
class Known:
    """What one command has found out about a store, for all results that it makes."""

    store: Reader
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)
    _runs: list[RunConfig] | None = None

    def runs(self) -> list[RunConfig]:
        """Newest first; those that a newer version wrote are passed over."""
        if self._runs is None:
            self._runs = []
            for run in self.store.run_ids():
                try:
                    self._runs.append(self.store.read_run(run).config)
                except StoreError:
                    continue
        return self._runs

    def once(self, benchmark: str, name: str, make: Callable[[], T]) -> T:
        if (benchmark, name) not in self._made:
            self._made[benchmark, name] = make()
        return cast(T, self._made[benchmark, name])


@dataclass(frozen=True, slots=True)
class StoreContext:
    """The context of one result."""

    known: Known
    benchmark: str
    model: ModelConfig | None

    def others(self) -> Iterable[StoredOther]:
        for config in self.known.runs():
            for asked in config.benchmarks:
                if asked.name == self.benchmark:
                    yield StoredOther(self.known.store, config, asked)

    def once(self, name: str, make: Callable[[], T]) -> T:
        return self.known.once(self.benchmark, name, make)

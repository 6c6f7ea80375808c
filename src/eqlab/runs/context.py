"""What scoring may know besides the answers, read from the store when a benchmark asks for it, and once a command."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeVar, cast

from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Scored
from eqlab.core.errors import DataError, StoreError
from eqlab.core.runs import PEOPLE, BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.values import dataclass
from eqlab.data.items import items_sha256, read_sources
from eqlab.store.kept_scores import KeptScores
from eqlab.store.reader import Reader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredOther:
    """Another run of the store."""

    known: "Known"
    config: RunConfig
    asked: BenchmarkConfig

    def scored(self, subject: str) -> Iterable[Scored]:
        """Nothing of people in a locked study that is under way; that there is one is said with the result."""
        store = self.known.store
        if subject == PEOPLE and (study := store.shut(self.config.id)):
            self.known.withheld.setdefault(self.asked.name, {})[study] = None
            return ()
        return store.scored(self.config.id, subject, self.asked.name)


@dataclass(slots=True)
class Known:
    """What one command has found out about a store, for all results that it makes."""

    store: Reader
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    """Benchmarks whose scores took other runs into account: they may change when any run does."""
    withheld: dict[str, dict[str, None]] = field(default_factory=dict)
    """By benchmark, the locked studies under way, in words, whose people could not be asked."""
    kept: KeptScores | None = None
    total: str = ""
    """What the answers of the whole store are known by."""

    def runs(self) -> list[RunConfig]:
        """Newest first; those that a newer version wrote are passed over."""
        return self.once("", "runs", lambda: self._read(self.store.run_ids()))

    def studies(self) -> list[RunConfig]:
        """The same of those that people answer."""
        return self.once("", "studies", lambda: self._read(study.run for study in self.store.studies()))

    def _read(self, runs: Iterable[str]) -> list[RunConfig]:
        found = []
        for run in runs:
            try:
                found.append(self.store.read_run(run).config)
            except StoreError:
                continue
        return found

    def once(self, benchmark: str, name: str, make: Callable[[], T]) -> T:
        if (benchmark, name) not in self._made:
            self._made[benchmark, name] = make()
        return cast(T, self._made[benchmark, name])


@dataclass(frozen=True, slots=True)
class StoreContext:
    """The context of one result."""

    known: Known
    asked: BenchmarkConfig
    model: ModelConfig | None

    def others(self) -> Iterable[StoredOther]:
        self.known.looked.add(self.asked.name)
        for config in self.known.runs():
            for benchmark_config in config.benchmarks:
                if benchmark_config.name == self.asked.name:
                    yield StoredOther(self.known, config, benchmark_config)

    def studies(self) -> Iterable[StoredOther]:
        for config in self.known.studies():
            for benchmark_config in config.benchmarks:
                if benchmark_config.name == self.asked.name:
                    yield StoredOther(self.known, config, benchmark_config)

    def once(self, name: str, make: Callable[[], T]) -> T:
        return self.known.once(self.asked.name, name, make)

    def files(self) -> Mapping[str, bytes]:
        """Read again, once a command; other content than the run's would be another benchmark."""
        return self.known.once(self.asked.name, f"files {self.asked.items_sha256}", lambda: _files(self.asked))


def _files(config: BenchmarkConfig) -> Mapping[str, bytes]:
    benchmark = load(config.name)
    sources = benchmark.sources(config.item_set, config.options)
    content = read_sources(sources, None)
    if content and items_sha256(content) != config.items_sha256:
        raise DataError(
            f"The items of {config.name} are not those that the run was made with.",
            "Name the folder that has them with EQLAB_DATA.",
        )
    return content

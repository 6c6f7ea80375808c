"""The contract of a benchmark. Whatever fulfils it has model runs, a report section and a leaderboard column;
a package registers one under the entry point group `eqlab.benchmarks`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from eqlab.core.answers import Answer, Reading
from eqlab.core.results import ItemScore, Result
from eqlab.core.trials import Trial


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a benchmark needs: shipped with the package (`open`) or one of a published study's own."""

    kind: Literal["open", "published"]
    path: str
    """`open`: file name in data/open; `published`: `<source>/<path>` as in the manifest."""


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """One option of a benchmark, for `eqlab benchmarks` and error messages."""

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of a benchmark a run asks, and how."""

    profile: str = "full"
    limit: int | None = None
    repeats: int | None = None
    """None: as many as the benchmark's profile says."""
    seed: int = 0
    structured: bool = False


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked one trial."""

    tries: int
    temperature: float
    temperature_step: float
    """Added after each reply that could not be read; never after a transport error."""
    max_tokens: int

    def temperature_of(self, failed: int) -> float:
        return round(self.temperature + failed * self.temperature_step, 6)


@dataclass(frozen=True, slots=True)
class Scored:
    """A planned trial with all its attempts, as scoring gets it."""

    trial: Trial
    repeat: int
    attempts: tuple[Answer, ...]


class Benchmark(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def protocol(self) -> int:
        """Raised when old and new answers cannot be compared any more."""
        ...

    def option_help(self) -> Sequence[OptionHelp]: ...

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        """Every option with its value as plain JSON; raises UsageError on an unknown name or value."""
        ...

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]: ...

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        """(trial, repeat) pairs in the order of asking; raises DataError on a file that is not what it should be."""
        ...

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking: ...

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading: ...

    def score(self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result: ...

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        """One trial by itself, for looking at; its score is None where only many trials together have one."""
        ...


@runtime_checkable
class Adaptive(Protocol):
    """A benchmark that may decide, from the answers so far, what to ask next. Its `plan` is the first round; what it
    adds is written to the run's plan before it is asked, so a run that was stopped goes on where it was."""

    def more(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        selection: Selection,
        scored: Iterable[Scored],
    ) -> Sequence[tuple[Trial, int]]:
        """The next round, given everything planned and answered so far; empty when enough is known. The same answers
        must give the same round. `scored` can be read once, and need not be: a large run's answers fill memory."""
        ...

"""The contract of a benchmark. Whatever fulfils `Benchmark` has model runs, a report section, comparisons, a
leaderboard table and exports; the protocols below it are optional, and each adds one thing. A package registers a
benchmark under the entry point group `eqlab.benchmarks`; what people need is in `core.studied`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from eqlab.core.answers import Answer, Reading
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import ItemScore, Norms, Result
from eqlab.core.runs import OWN, BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a benchmark needs."""

    kind: Literal["open", "published", "package", "file"]
    """`open`: shipped with eqlab; `published`: one of a study's own; `package`: shipped with the package that brings
    the benchmark; `file`: a user's."""
    path: str
    """`open`: file name in data/open; `published`: `<source>/<path>` as in the manifest; `package`: path inside the
    package; `file`: any path."""
    package: str = ""
    """`package` only: the package's import name."""

    @property
    def name(self) -> str:
        """What the file is called among a benchmark's files. Where a user keeps it says nothing about what is in it."""
        return f"own/{PurePath(self.path).name}" if self.kind == "file" else self.path


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """One option of a benchmark, for `eqlab benchmarks` and error messages."""

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    late: bool = False
    """Whether it came after the benchmark's first release. At its default such an option is no part of a run's
    options, and so not of its identity: a run of before is still the same run."""


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


class Scored(msgspec.Struct, frozen=True, gc=False):
    """A planned trial with all its attempts, as scoring gets it."""

    trial: Trial
    repeat: int
    attempts: tuple[Answer, ...]


class OtherRun(Protocol):
    """Another run of the store with the same benchmark."""

    @property
    def config(self) -> RunConfig: ...
    @property
    def asked(self) -> BenchmarkConfig: ...
    def scored(self, subject: str) -> Iterable[Scored]: ...


class Context(Protocol):
    """What scoring may know besides the answers. Looked up when asked for, so it costs nobody who does not ask."""

    @property
    def model(self) -> ModelConfig | None:
        """Who answered; None where people did, or where nobody knows."""
        ...

    def others(self) -> Iterable[OtherRun]:
        """All runs of the store with this benchmark, newest first, the one being scored among them."""
        ...

    def studies(self) -> Iterable[OtherRun]:
        """The store's studies in which people took this benchmark, newest first; found without reading the others."""
        ...

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, made once for all results of a command."""
        ...

    def files(self) -> Mapping[str, bytes]:
        """The benchmark's sources as `plan` got them; raises DataError where they are not here any more, or others."""
        ...


class NoContext:
    """Answers alone."""

    model: ModelConfig | None = None

    def others(self) -> Iterable[OtherRun]:
        return ()

    def studies(self) -> Iterable[OtherRun]:
        return ()

    def once(self, name: str, make: Callable[[], T]) -> T:
        return make()

    def files(self) -> Mapping[str, bytes]:
        raise DataError("The benchmark's files are not at hand here.", "Score the answers from a store.")


NO_CONTEXT = NoContext()


class Benchmark(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def protocol(self) -> int:
        """Raised when old and new answers cannot be compared any more."""
        ...

    # open_title: what results on its open items are called, if not by its title; they are not the study's questions.

    @property
    def item_sets(self) -> Sequence[str]:
        """Which items it has: `open` (shipped), `published` (a study's own), `own` (it takes a user's file). What is
        not among them is refused before anything is asked; `--items auto` takes the first whose files are at hand.
        Packages made for 0.2 may lack it (`item_sets_of`)."""
        ...

    def option_help(self) -> Sequence[OptionHelp]: ...

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        """Every option with its value as plain JSON, and "item_set"; raises UsageError on an unknown name or value."""
        ...

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        """The files with its items, whose content is part of a run's identity. Without any, the trials of the whole
        plan are: items written in Python, or made by a seed. For a user's file ("own"): what is needed besides it."""
        ...

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        """(trial, repeat) pairs in the order of asking; raises DataError on a file that is not what it should be."""
        ...

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking: ...

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading: ...

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result: ...

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        """One trial by itself, for looking at; its score is None where only many trials together have one."""
        ...


BRANCHES = {
    "perceive": "notice feelings in faces, voices and pictures, and in oneself",
    "use": "let feelings help one think: choose a mood that suits a task",
    "understand": "know what people feel, why, how strongly, and how feelings mix and change",
    "manage": "do or say what helps, with one's own feelings and those of others",
}
"""The four branches of emotional intelligence (Mayer & Salovey 1997). A benchmark names those that it measures in its
attribute `branches`."""


def branches_of(benchmark: Benchmark) -> tuple[str, ...]:
    return tuple(getattr(benchmark, "branches", ()))


def asks_of(benchmark: Benchmark) -> str:
    """What it asks, in a sentence or two for somebody who has never seen it: its attribute `asks`."""
    return str(getattr(benchmark, "asks", ""))


def item_sets_of(benchmark: Benchmark) -> tuple[str, ...]:
    """The item sets that a benchmark declares. One of 0.2, which declares none, has published items if it reads other
    files for them than for open ones."""
    declared: Sequence[str] | None = getattr(benchmark, "item_sets", None)
    if declared is not None:
        return tuple(declared)
    files = [benchmark.sources(name, benchmark.options(name, {})) for name in ("open", "published")]
    own = (OWN,) if hasattr(benchmark, "own_sources") else ()
    return ("open", "published", *own) if files[0] != files[1] else ("open", *own)


def file_sources(benchmark: Benchmark, path: str, options: Mapping[str, Any]) -> Sequence[Source]:
    """The files of a run on a user's own items: the user's first, under the name `own/<file>`."""
    if hasattr(benchmark, "own_sources"):  # 0.2
        named: Sequence[Source] = benchmark.own_sources(path, options)
        return named
    return (Source("file", path), *benchmark.sources(OWN, options))


def check_item_set(benchmark: Benchmark, item_set: str, flag: str = "--items") -> None:
    """Nobody gets other items than those asked for."""
    there = item_sets_of(benchmark)
    if item_set in there:
        return
    if item_set == OWN:
        raise UsageError(
            f"{benchmark.name} takes no items of your own.", f"Choose other benchmarks with -b, or drop {flag}."
        )
    shipped = [name for name in there if name != OWN]
    mark = '"' if flag.endswith("=") else ""
    written = " or ".join(f"{flag} {mark}{name}{mark}" for name in shipped)
    way_out = f"Write {written}." if shipped else f"Give {flag} a file."
    # a benchmark that no run can name says what to do instead
    raise UsageError(f"{benchmark.name} has no {item_set} items.", getattr(benchmark, "way_out", way_out))


# -- optional ------------------------------------------------------------------------------------------------------


@runtime_checkable
class Normed(Protocol):
    """A benchmark that people have taken. The host works out where among them a subject stands, and shows it."""

    def norms(self, options: Mapping[str, Any], context: Context) -> Norms | None:
        """People's scores, from `context.files()` or as they are in the code; None where there are none."""
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


@dataclass(frozen=True, slots=True)
class Turn:
    """One trial of a talk with the attempt that counts: a good one, or the last where the tries were used up."""

    trial: Trial
    answer: Answer


@runtime_checkable
class Talks(Protocol):
    """A benchmark whose trials can go on. `plan` holds the first turn of each talk; every later turn is a trial too,
    stored when its answer arrives, and talks advance independently of each other."""

    def next_turn(self, turns: Sequence[Turn], options: Mapping[str, Any]) -> Trial | None:
        """What is asked next in this talk, whose turns so far are given; None ends it. The same turns must give the
        same trial. Its `messages` are what was said before its prompt; `talk` and `turn` are filled in."""
        ...


@runtime_checkable
class Foreseen(Protocol):
    """Talks whose cost can be told before they begin although not any words are an answer in them. Talks in which any
    words are one need not say so: they are played through with such words."""

    def supposed(self, trial: Trial, options: Mapping[str, Any], characters: int) -> str:
        """A reply to this turn of about so many characters that `read` takes, and after which the talk goes on."""
        ...


@runtime_checkable
class Seated(Protocol):
    """A benchmark whose talks have other models in them. A trial with a `seat` is asked of that seat's model; its
    answer is stored with the talk, under the subject that is measured."""

    def seats(self, options: Mapping[str, Any]) -> Mapping[str, ModelConfig]: ...


@runtime_checkable
class Probed(Protocol):
    """A benchmark whose items are texts that a model may know by heart (`eqlab research probe`)."""

    def probe_options(self) -> Mapping[str, str]:
        """Options with which the fewest files are needed."""
        ...

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        """The texts by item."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply as raters get it: text, what it replies to, and whose it is."""

    arm: str
    """Who replied. No rater sees it."""
    prompt: str
    reply: str
    emotion: str = ""
    valence: str = ""
    situation: str = ""
    utterance: str = ""
    batch: int | None = None
    repeat: int = 0
    human: tuple[tuple[str, int], ...] = ()
    """(rater, rating) of people who have rated this very reply."""
    human_scales: tuple[tuple[str, str, int], ...] = ()
    """(rater, scale, value) where people rated it on scales of their own."""


@runtime_checkable
class Rated(Protocol):
    """A benchmark whose answers are replies, or whole talks, that people or judges rate (`eqlab judge --on RUN`); other
    tools cannot score them. Its attribute `rubric`, if it has one, names the rubric by which they are rated unless
    somebody names another."""

    def replies(self, arm: str, scored: Iterable[Scored]) -> Iterable[ReplyRow]:
        """The replies that somebody can read, under the arm's name."""
        ...

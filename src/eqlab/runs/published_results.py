"""Published EQ-Bench results by name: from the result files in the folder of published data, or, where none were
fetched, from the figures that ship with the package; whoever uses them need not know which. Each can be had as if it
were a run of the store, with a configuration and what its file says of itself, for reports and leaderboards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.published import (
    PUBLISHED,
    AskedQuestions,
    PublishedRun,
    ResultFile,
    asked_of_figures,
    asked_of_questions,
    open_file,
    options_of,
    run_of_figures,
    run_of_file,
    score,
)
from eqlab.core.errors import DataError
from eqlab.core.results import Result
from eqlab.core.runs import ModelConfig, RunConfig
from eqlab.core.values import dataclass
from eqlab.data import published
from eqlab.data.figures import ModelFigures, published_figures
from eqlab.data.items import items_sha256, read_sources
from eqlab.runs.identity import named
from eqlab.store.reader import StoredRun

_Key = TypeVar("_Key")
PATTERN, QUESTIONS = "eqbench/results/**/*.json", "eqbench/data/**/*.json"


@dataclass(frozen=True, slots=True)
class PublishedResult:
    run: PublishedRun
    result: Result

    @property
    def model(self) -> str:
        return self.run.model


class PublishedReader:
    """Reads published results; keeps the questions of each version for the next one.

    `data`: a folder that must hold result files; None: the usual folder, or the shipped figures if it has none.
    `revision`: take all results as answers to the published prompts, which ask for one; otherwise each as it was asked,
    by its replies. The score is the same."""

    def __init__(self, data: Path | None = None, *, revision: bool | None = None) -> None:
        self._folder = published.published_folder(data)
        self._must = data is not None
        self._revision = revision
        self._known: dict[tuple[str, str, bool], AskedQuestions] = {}

    def files(self) -> list[Path]:
        """Every result file in the folder, known to the manifest or not; none where the shipped figures serve."""
        paths = published.find(PATTERN, self._folder)
        if not paths and self._must:
            raise DataError(
                f"There are no EQ-Bench result files in {self._folder}.",
                "Get them with 'eqlab data fetch eqbench', or name a folder that has them with --data DIR.",
            )
        return paths

    def asked_sha256(self) -> str:
        """Of all question files in the folder."""
        content = [path.read_bytes() for path in published.find(QUESTIONS, self._folder)]
        return sha256(b"".join(sha256(questions).digest() for questions in content)).hexdigest()

    def runs(self, wanted: Sequence[str] = ()) -> Iterator[PublishedRun]:
        """Every published model's answers, or those of the models that are wanted, by name or its end after '/'."""
        paths = self.files()
        if wanted:
            yield from (self._named(name, paths) for name in wanted)
        elif paths:
            yield from map(self.read, paths)
        else:
            yield from map(self._shipped, published_figures().models)

    def _named(self, wanted: str, paths: Sequence[Path]) -> PublishedRun:
        """Of a folder that holds some files, after a fetch that was stopped, the others' figures still serve."""
        path = _find(wanted, _names(paths, wanted))
        if path is not None:
            return self.read(path)
        shipped = () if self._must else published_figures().models
        place = _find(wanted, {place: figures.model for place, figures in enumerate(shipped)})
        if place is None:
            raise DataError(
                f"No published result is of a model '{wanted}'.", "'eqlab research reproduce eqbench' lists them."
            )
        return self._shipped(shipped[place])

    def _shipped(self, figures: ModelFigures) -> PublishedRun:
        """With the shipped questions, whatever the folder holds: figures fit no others."""
        return run_of_figures(
            figures, _shipped_questions(figures.revised if self._revision is None else self._revision)
        )

    def results(self, wanted: Sequence[str] = ()) -> Iterator[PublishedResult]:
        for run in self.runs(wanted):
            yield PublishedResult(run, _score(run))

    def read(self, path: Path) -> PublishedRun:
        """One result file, wherever it is."""
        file = _open(path, self._folder)
        revision = file.revised if self._revision is None else self._revision
        return run_of_file(file, self._asked(file.version, file.language, revision))

    def file_result(self, path: Path, *, again: bool = True) -> PublishedResult:
        """`again`: it may be asked for again."""
        run = self.read(path)
        return PublishedResult(run, _score(run) if again else score(run))

    def _asked(self, version: str, language: str, revision: bool) -> AskedQuestions:
        key = (version, language, revision)
        if key not in self._known:
            self._known[key] = self._questions(options_of(version, language, revision))
        return self._known[key]

    def _questions(self, options: Mapping[str, Any]) -> AskedQuestions:
        """Scoring needs no dialogue: without the question file, the shipped words and references do."""
        benchmark = EqBench()
        sources = benchmark.sources(PUBLISHED, options)
        if not self._must and not all((self._folder / source.path).is_file() for source in sources):
            figures = published_figures()
            if (figures.version, figures.language) == (options["version"], options["language"]):
                return _shipped_questions(options["revision"])
        files = read_sources(sources, self._folder)
        return asked_of_questions(benchmark.questions(files, options), items_sha256(files), options)


_scored: dict[tuple[Any, ...], Result] = {}


def _score(run: PublishedRun) -> Result:
    """Each is scored once a process: a view, a board and a comparison ask for the same ones again and again."""
    key = (run.model, run.sha256, run.texts, run.items_sha256, *sorted(run.options.items()))
    if key not in _scored:
        _scored[key] = score(run)
    return _scored[key]


@cache
def _shipped_questions(revision: bool) -> AskedQuestions:
    return asked_of_figures(published_figures(), revision)


def _open(path: Path, folder: Path) -> ResultFile:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Change its permissions, or remove it.") from error
    inside = path.resolve().is_relative_to(folder.resolve())
    name = path.resolve().relative_to(folder.resolve()).as_posix() if inside else str(path)
    return open_file(content, name, path.stem)


def _names(paths: Sequence[Path], wanted: str) -> dict[Path, str]:
    """Model names by file: of the files named after the model, or of all if none is (files are large)."""
    words = wanted.casefold().rsplit("/", 1)[-1]
    likely = [path for path in paths if words in path.stem.casefold()]
    return {path: _open(path, path.parent).model for path in likely or paths}


def _find(wanted: str, names: Mapping[_Key, str]) -> _Key | None:
    """The one of a model: its name, its name without the owner, or the one name that contains the words; None without
    one, an error if several fit."""
    low = wanted.casefold()
    for match in (
        [one for one, name in names.items() if name.casefold() == low],
        [one for one, name in names.items() if name.casefold().rsplit("/", 1)[-1] == low],
        [one for one, name in names.items() if low in name.casefold()],
    ):
        if len(match) == 1:
            return match[0]
        if match:
            found = ", ".join(sorted(names[one] for one in match)[:6])
            raise DataError(f"'{wanted}' names {len(match)} published models.", f"Choose one: {found}.")
    return None


FIGURES_ONLY = "the figures that ship with eqlab; 'eqlab data fetch eqbench' gets the dialogues and replies"
_FACTS = ("inference_engine", "instruction_template", "bitsandbytes_quant", "lora_path", "total_iterations")


def is_published(name: str) -> bool:
    """Whether a user names a published result (`published:MODEL`, or `published` for all), not a run."""
    return name == PUBLISHED or name.startswith(f"{PUBLISHED}:")


def published_runs(names: Sequence[str], data: Path | None) -> list[tuple[StoredRun, list[Result]]]:
    wanted = [name.removeprefix(PUBLISHED).removeprefix(":") for name in names]
    found = PublishedReader(data).results([] if "" in wanted else wanted) if wanted else ()
    return [(run, [result]) for run, result in map(as_run, found)]


def as_run(published_result: PublishedResult) -> tuple[StoredRun, Result]:
    run, facts = published_result.run, published_result.run.facts
    result = _with_recorded(published_result.result, facts.get("benchmark_score"))
    if not run.revised:
        result = replace(result, caveats=("No reply has a revision: it was probably not asked for.", *result.caveats))
    benchmark_config = named(EqBench(), run.options, run.items_sha256, item_set="published")
    config = RunConfig((ModelConfig(run.model),), (benchmark_config,), "full", None, None, 0)
    provenance = {
        "published file": run.file,
        "sha256": run.sha256,
        **({} if run.texts else {"read from": FIGURES_ONLY}),
        "command": "eqlab research reproduce eqbench",
        **{fact: facts[fact] for fact in _FACTS if facts.get(fact) not in (None, "")},
    }
    return StoredRun(config, run.completed, provenance), result


def _with_recorded(result: Result, recorded: Any) -> Result:
    score = result.headline.value
    if not isinstance(recorded, int | float) or score is None or abs(round(score, 2) - recorded) < 0.0051:
        return result
    said = f"The file records {recorded:.2f}, which does not follow from its own text."
    return replace(result, caveats=(said, *result.caveats))

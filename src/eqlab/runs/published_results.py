"""Published EQ-Bench result files as results of ours: the raw text of every model, read and scored as a run's answers
are, so that published models can be compared with each other and with own runs, item by item."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.trials import build_trial
from eqlab.benchmarks.refusal import is_refusal
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.errors import DataError
from eqlab.core.results import Result
from eqlab.core.trials import Trial
from eqlab.data import published
from eqlab.data.items import items_sha256, read_sources

PATTERN = "eqbench/results/**/*.json"


@dataclass(frozen=True, slots=True)
class PublishedResult:
    model: str
    path: Path
    items_sha256: str
    """Of the question file, the same as in a run that asks the published questions."""
    options: Mapping[str, Any]
    result: Result
    facts: Mapping[str, Any]
    """What else the file says: when, with which engine, the score it recorded."""


@dataclass(frozen=True, slots=True)
class _Questions:
    sha256: str
    trials: Mapping[str, Trial]
    options: Mapping[str, Any]


class Reader:
    """Reads result files; keeps the questions of each version for the next file.

    `revision`: score all files as answers to the published prompts, which ask for one; otherwise each as it was asked,
    by its replies. The score is the same."""

    def __init__(self, folder: Path, *, revision: bool | None = None) -> None:
        self._folder = folder
        self._revision = revision
        self._known: dict[tuple[str, str, bool], _Questions] = {}

    def read(self, path: Path) -> PublishedResult:
        content = read_result(path)
        version = "v1" if str(content.get("eqbench_version", "v2")).startswith("v1") else "v2"
        try:
            replies = [
                {str(number): str(text) for number, text in one["raw_inference"].items()}
                for one in content["raw_results"].values()
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}: raw_results is broken ({type(error).__name__}: {error}).", "Remove it."
            ) from error
        # the reply decides which passes it has; a run asked for revision if any reply gives one
        revised = any("Revised scores:" in text for one in replies for text in one.values())
        revision = revised if self._revision is None else self._revision
        asked = self._questions(version, str(content.get("language", "en")), revision)
        model = str(content.get("model_path") or path.stem)
        at = content.get("run_completed")
        at = float(at) if isinstance(at, int | float) else 0.0
        scored = [
            _scored(trial, repeat, one.get(number, ""), model, at)
            for repeat, one in enumerate(replies)
            for number, trial in asked.trials.items()
        ]
        result = EqBench().score(f"model:{model}", scored, asked.options)
        unread = {(one.trial, one.repeat) for one in result.items if one.status != "ok" and is_refusal(one.text)}
        if unread:
            scored = [_refused(one) if (one.trial.id, one.repeat) in unread else one for one in scored]
            result = EqBench().score(f"model:{model}", scored, asked.options)
        facts = {name: value for name, value in content.items() if name != "raw_results"}
        facts |= {"run_completed": at, "revised": revised}
        return PublishedResult(model, path, asked.sha256, asked.options, result, facts)

    def _questions(self, version: str, language: str, revision: bool) -> _Questions:
        key = (version, language, revision)
        if key not in self._known:
            benchmark = EqBench()
            given = {"version": version, "language": language, "revision": "yes" if revision else "no"}
            options = benchmark.options("published", given)
            files = read_sources(benchmark.sources("published", options), self._folder)
            questions = benchmark.questions(files, options)
            trials = {question.id: build_trial(question, options, structured=False) for question in questions}
            self._known[key] = _Questions(items_sha256(files), trials, options)
        return self._known[key]


def _scored(trial: Trial, repeat: int, text: str, model: str, at: float) -> Scored:
    """Scoring reads the reply itself; one that it cannot read, or a question without a reply, is unparseable."""
    return Scored(
        trial, repeat, (Answer("published", trial.id, f"model:{model}", repeat, 1, text, "unparseable", at=at),)
    )


def _refused(one: Scored) -> Scored:
    return replace(one, attempts=tuple(replace(answer, status="refused") for answer in one.attempts))


def read_result(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_bytes())
        if not isinstance(result["raw_results"], dict):
            raise TypeError("raw_results is no object")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no EQ-Bench result file ({type(error).__name__}: {error}).", "Remove it."
        ) from error
    return dict(result)


def result_files(folder: Path) -> list[Path]:
    """Every result file in the folder, known to the manifest or not."""
    paths = published.find(PATTERN, folder)
    if not paths:
        raise DataError(
            f"There are no EQ-Bench result files in {folder}.",
            "Get them with 'eqlab data fetch eqbench', or name a folder that has them with --data DIR.",
        )
    return paths


def published_results(folder: Path, wanted: Sequence[str] = ()) -> list[PublishedResult]:
    """Every published model's result, or those whose name (or its end after '/') is wanted, best match first."""
    paths = result_files(folder)
    reader = Reader(folder)
    if not wanted:
        return [reader.read(path) for path in paths]
    return [reader.read(_find(name, _names(paths, name))) for name in wanted]


def _names(paths: Sequence[Path], wanted: str) -> dict[Path, str]:
    """Model names by file: of the files named after the model, or of all if none is (files are large)."""
    words = wanted.casefold().rsplit("/", 1)[-1]
    likely = [path for path in paths if words in path.stem.casefold()]
    return {path: str(read_result(path).get("model_path") or path.stem) for path in likely or paths}


def _find(wanted: str, names: Mapping[Path, str]) -> Path:
    """The file of one model: its name, its name without the owner, or the one name that contains the words."""
    low = wanted.casefold()
    for match in (
        [path for path, name in names.items() if name.casefold() == low],
        [path for path, name in names.items() if name.casefold().rsplit("/", 1)[-1] == low],
        [path for path, name in names.items() if low in name.casefold()],
    ):
        if len(match) == 1:
            return match[0]
        if match:
            found = ", ".join(sorted(names[path] for path in match)[:6])
            raise DataError(f"'{wanted}' names {len(match)} published models.", f"Choose one: {found}.")
    raise DataError(f"No published result is of a model '{wanted}'.", "'eqlab reproduce eqbench' lists them.")

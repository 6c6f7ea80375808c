"""A published EQ-Bench result as planned trials with answers, which scoring takes as it takes a run's: from a result
file, or from the figures that ship with the package. The one reader of published results."""

import hashlib
import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal
from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.score import PRESETS, EqBenchOptions
from eqlab.benchmarks.eqbench.trials import build_trial, figure_answer, read_reply, scales_of
from eqlab.core.answers import Answer, Status
from eqlab.core.benchmark import Scored
from eqlab.core.errors import DataError
from eqlab.core.forms import Form
from eqlab.core.results import Result
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data.figures import FigureQuestion, Figures, ModelFigures

PUBLISHED = "published"
REVISED = "Revised scores:"


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """What one model answered, whether its words are here or only the figures."""

    model: str
    file: str
    """Its result file, as the manifest names it, or as the user did."""
    sha256: str
    completed: float
    """Unix time; 0 if the file does not say."""
    revised: bool
    """Whether any reply has revised scores."""
    items_sha256: str
    options: Mapping[str, Any]
    facts: Mapping[str, Any]
    """What else the file says: with which engine, the score it recorded."""
    scored: tuple[Scored, ...]
    texts: bool
    """Whether the replies are here, or figures only."""


def score(run: PublishedRun) -> Result:
    return EqBench().score(f"model:{run.model}", run.scored, run.options)


@dataclass(frozen=True, slots=True)
class AskedQuestions:
    """The questions that a result answers, the same for many results."""

    items_sha256: str
    """Of the question file, the same as in a run that asks the published questions."""
    options: Mapping[str, Any]
    trials: Mapping[str, Trial]
    """By question."""
    places: tuple[int, ...] = ()
    """Of figures: which of all questions they are."""


def options_of(version: str, language: str, revision: bool) -> Mapping[str, Any]:
    given = {"version": version, "language": language, "revision": "yes" if revision else "no"}
    return EqBench().options(PUBLISHED, given)


def asked_of_questions(questions: Sequence[Question], items_sha256: str, options: Mapping[str, Any]) -> AskedQuestions:
    typed = EqBenchOptions.of(options)
    trials = {question.id: build_trial(question, typed, structured=False) for question in questions}
    return AskedQuestions(items_sha256, options, trials)


def asked_of_figures(figures: Figures, revision: bool, only: Container[str] | None = None) -> AskedQuestions:
    """All questions, or some."""
    options = options_of(figures.version, figures.language, revision)
    asked = {place: question for place, question in enumerate(figures.questions) if only is None or question.id in only}
    trials = {question.id: _trial(question, figures.language, options) for question in asked.values()}
    return AskedQuestions(figures.items_sha256, options, trials, tuple(asked))


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A result file, opened: what it says of itself, and its replies."""

    path: str
    sha256: str
    model: str
    version: str
    language: str
    facts: Mapping[str, Any]
    replies: Sequence[Mapping[str, str]]
    """By question, one mapping an iteration."""

    @property
    def revised(self) -> bool:
        """The reply decides which passes it has; a run asked for revision if any reply gives one."""
        return any(REVISED in text for reply in self.replies for text in reply.values())


def open_file(content: bytes, path: str, stem: str) -> ResultFile:
    try:
        body = dict(json.loads(content))
        raw = body.pop("raw_results")
        replies = [{str(number): str(text) for number, text in one["raw_inference"].items()} for one in raw.values()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not an EQ-Bench result file.",
            "It should be JSON with 'raw_results'; correct it, or leave it out.",
        ) from error
    return ResultFile(
        path,
        hashlib.sha256(content).hexdigest(),
        str(body.get("model_path") or stem),
        "v1" if str(body.get("eqbench_version", "v2")).startswith("v1") else "v2",
        str(body.get("language", "en")),
        body,
        replies,
    )


def run_of_file(file: ResultFile, questions: AskedQuestions) -> PublishedRun:
    """A question without a reply is unparseable."""
    at = file.facts.get("run_completed")
    at = float(at) if isinstance(at, int | float) else 0.0
    return PublishedRun(
        file.model,
        file.path,
        file.sha256,
        at,
        file.revised,
        questions.items_sha256,
        questions.options,
        file.facts,
        tuple(
            Scored(trial, repeat, (_answer(trial, reply.get(number, ""), file.model, repeat, at),))
            for repeat, reply in enumerate(file.replies)
            for number, trial in questions.trials.items()
        ),
        texts=True,
    )


def _answer(trial: Trial, text: str, model: str, repeat: int, at: float) -> Answer:
    """Scoring reads the reply itself; the status is that of one that cannot be read."""
    status: Status = "refused" if is_refusal(text) and _unread(trial, text) else "unparseable"
    return Answer(PUBLISHED, trial.id, f"model:{model}", repeat, 1, text, status, at=at)


def _unread(trial: Trial, text: str) -> bool:
    read = read_reply(trial, text, PRESETS["leaderboard"])
    return read.first is None and read.revised is None


def run_of_figures(figures: ModelFigures, questions: AskedQuestions) -> PublishedRun:
    """Its replies to these questions."""
    return PublishedRun(
        figures.model,
        f"eqbench/{figures.file}",
        figures.sha256,
        figures.completed,
        figures.revised,
        questions.items_sha256,
        questions.options,
        figures.facts,
        tuple(
            Scored(trial, repeat, (figure_answer(reply, trial, f"model:{figures.model}", repeat, figures.completed),))
            for repeat, replies in enumerate(figures.iterations)
            for trial, reply in zip(questions.trials.values(), map(replies.__getitem__, questions.places), strict=True)
        ),
        texts=False,
    )


def _trial(question: FigureQuestion, language: str, options: Mapping[str, Any]) -> Trial:
    """A question without its dialogue: enough to score answers to it, nothing to put to anyone."""
    return Trial(
        benchmark="eqbench",
        items=(question.id,),
        condition="revision" if options["revision"] else "plain",
        stimulus="",
        form=Form(scales_of(question.emotions, language)),
        prompt="",
        key={
            "language": language,
            "character": "",
            "reference": dict(zip(question.emotions, question.reference, strict=True)),
            "reasons": {},
        },
    )

"""A benchmark as other tools take it: its trials as plain records, replies read and scored by our own code.

Whatever asks the questions, the same replies give the same score, because nothing is read or scored anywhere else."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.answers import LENGTH, PROVIDER_REFUSED, Answer, Reading
from eqlab.core.benchmark import Benchmark, Rated, Scored, Talks
from eqlab.core.errors import UsageError
from eqlab.core.results import Result
from eqlab.core.trials import Trial, from_json, to_json
from eqlab.core.values import dataclass
from eqlab.models.chat import split_reasoning
from eqlab.models.runner import Asked, is_complete
from eqlab.runs.request import Request, prepare


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """A planned trial at its place: scores of repeats are matched by the order of asking."""

    position: int
    trial: Trial
    repeat: int

    def as_record(self) -> dict[str, Any]:
        """Plain values, enough to get the question back from."""
        return {
            "position": self.position,
            "repeat": self.repeat,
            "trial_id": self.trial.id,
            "trial": to_json(self.trial),
        }


def question_from(record: Mapping[str, Any]) -> TaskQuestion:
    return TaskQuestion(int(record["position"]), from_json(record["trial"], record["trial_id"]), int(record["repeat"]))


@dataclass(frozen=True, slots=True)
class Exported:
    """A benchmark's questions under one selection, with what reading and scoring them needs."""

    benchmark: str
    item_set: str
    options: Mapping[str, Any]
    questions: tuple[TaskQuestion, ...]


def exported(
    benchmark: str,
    *,
    items: str = "open",
    profile: str = "full",
    limit: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    options: Mapping[str, str] | None = None,
    data: Path | None = None,
) -> Exported:
    """The same trials, with the same ids, as `eqlab run` would ask (free text)."""
    prepared = prepare(
        Request(
            models=("exported",),
            benchmarks=(benchmark,),
            items=items,
            profile=profile,
            limit=limit,
            repeats=repeats,
            seed=seed,
            structured=False,
            options=options or {},
            data=data,
        )
    )
    _check(prepared.asked[benchmark].benchmark)
    questions = tuple(TaskQuestion(place, trial, n) for place, (_, _, trial, n) in enumerate(prepared.plan()))
    return Exported(benchmark, prepared.config.benchmarks[0].item_set, prepared.asked[benchmark].options, questions)


def can_be_exported(benchmark: Benchmark) -> bool:
    return not isinstance(benchmark, Rated | Talks)


def _check(benchmark: Benchmark) -> None:
    """Another tool asks single questions and scores them at once."""
    if isinstance(benchmark, Rated):
        raise UsageError(
            f"Replies of '{benchmark.name}' have no score before somebody has rated them.",
            "Ask for replies with 'eqlab run' and have them rated with 'eqlab judge'; export another benchmark.",
        )
    if isinstance(benchmark, Talks):
        raise UsageError(f"'{benchmark.name}' holds talks, which other tools cannot run.", "Use 'eqlab run'.")


def asked_with(benchmark: str, options: Mapping[str, Any]) -> Asked:
    return Asked(load(benchmark), options)


def read_answer(
    asked: Asked,
    question: TaskQuestion,
    text: str,
    *,
    attempt: int = 1,
    reasoning: str = "",
    finish: str = "",
    **more: Any,
) -> Answer:
    """A reply as an answer: inline reasoning taken off, the rest read by the benchmark's own parser. What was cut off
    is no answer, as in a run of ours."""
    said, thought = split_reasoning(text)
    reading = asked.benchmark.read(question.trial, said, asked.options)
    if finish in PROVIDER_REFUSED:
        reading = Reading("refused", note=f"the provider declined: {finish}")
    elif finish == LENGTH and not is_complete(reading, question.trial):
        reading = Reading("unparseable", note="the reply was cut off before its end")
    return Answer(
        run="",
        trial=question.trial.id,
        subject="",
        repeat=question.repeat,
        attempt=attempt,
        text=said,
        status=reading.status,
        values=reading.values,
        note=reading.note,
        reasoning="\n".join(part for part in (reasoning, thought) if part),
        finish=finish,
        **more,
    )


def score(asked: Asked, subject: str, given: Iterable[tuple[TaskQuestion, Sequence[Answer]]]) -> Result:
    """The result of all questions, in the order of asking, whatever order they came back in."""
    ordered = sorted(given, key=lambda pair: pair[0].position)
    scored = [Scored(question.trial, question.repeat, tuple(answers)) for question, answers in ordered]
    return asked.benchmark.score(subject, scored, asked.options)


def figures(result: Result) -> dict[str, float | None]:
    """What other tools show as metrics. None where undefined."""
    planned = result.counts.get("planned", 0)
    return {
        "score": result.headline.value,
        "score_low": result.headline.low,
        "score_high": result.headline.high,
        "n": float(result.headline.n),
        "readable": 100 * result.counts.get("ok", 0) / planned if planned else None,
        "refused": 100 * result.counts.get("refused", 0) / planned if planned else None,
        "valid": float(result.valid),
    }

"""The benchmarks as Inspect AI tasks: `inspect eval eqlab/eqbench --model …` (entry point group `inspect_ai`).

The solver asks as `eqlab run` does: each try afresh, the temperature raised after a reply that could not be read. The
scorer and the metric are our parser and our score, so the same replies give the same number."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from msgspec import structs

from eqlab.benchmarks.registry import load, names
from eqlab.core.answers import LENGTH, Answer, outcomes, stands
from eqlab.core.errors import UsageError
from eqlab.core.trials import Trial
from eqlab.models.chat import FILTERED
from eqlab.models.runner import MORE_TOKENS, Asked, sampling_seed
from eqlab.publish.tools.tasks import (
    TaskQuestion,
    asked_with,
    can_be_exported,
    exported,
    figures,
    question_from,
    read_answer,
    score,
)

ATTEMPTS = "eqlab_attempts"
"""Where a sample keeps its answers, every attempt of them."""
_REASONS = {"refused": "refusal", "unparseable": "invalid_response_format"}
"""Our status in Inspect's words."""
_FINISH = {"max_tokens": LENGTH, "model_length": LENGTH, "content_filter": FILTERED}
"""Inspect's reasons to stop in our words."""


def _register(name: str, title: str) -> Any:
    """A benchmark as a task that Inspect finds by its name."""

    def made(**parameters: Any) -> Task:
        return _task(name, **parameters)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"{title}, asked and scored as `eqlab run` does."
    return task(made)


def _task(
    benchmark: str,
    *,
    items: str = "open",
    profile: str = "full",
    limit: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    data: str = "",
    temperature: float | None = None,
    max_tokens: int | None = None,
    **options: Any,
) -> Task:
    """What is not named here is an option of the benchmark (`eqlab benchmarks`)."""
    wanted = {name: _plain(value) for name, value in options.items()}
    own = exported(
        benchmark,
        items=items,
        profile=profile,
        limit=limit,
        repeats=repeats,
        seed=seed,
        options=wanted,
        data=Path(data) if data else None,
    )
    return Task(
        dataset=MemoryDataset([_sample(question) for question in own.questions], name=f"{benchmark}-{items}"),
        solver=ask(benchmark, dict(own.options), seed, temperature, max_tokens),
        scorer=read(benchmark, dict(own.options)),
        metrics=[eqlab_score(benchmark, dict(own.options))],
        version=asked_with(benchmark, own.options).benchmark.protocol,
        metadata={"items": items, "options": dict(own.options)},
    )


def _plain(value: Any) -> str:
    """Inspect reads `-T revision=yes` as a truth value; our options are words."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _sample(question: TaskQuestion) -> Sample:
    return Sample(
        id=f"{question.trial.items[0]}-{question.position}",
        input=_messages(question.trial),
        metadata=question.as_record(),
    )


def _messages(trial: Trial) -> list[ChatMessage]:
    system: list[ChatMessage] = [ChatMessageSystem(content=trial.system)] if trial.system else []
    return [*system, ChatMessageUser(content=trial.prompt)]


@solver
def ask(
    benchmark: str,
    options: dict[str, Any],
    seed: int = 0,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> Solver:
    """Ask one trial until a reply can be read or its tries are used up; after one that was cut off, with more room."""
    asked = asked_with(benchmark, options)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.epoch > 1:
            raise UsageError("Scores cannot be averaged over epochs: ask repeatedly with '-T repeats=N'.")
        question = question_from(state.metadata)
        asking = asked.benchmark.asking(question.trial, asked.options)
        answers: list[Answer] = []
        failed, room = 0, asking.max_tokens if max_tokens is None else max_tokens
        while failed < asking.tries and not stands(outcomes(answers)):
            attempt = len(answers) + 1
            config = GenerateConfig(
                temperature=asking.temperature_of(failed) if temperature is None else temperature,
                max_tokens=room,
                seed=sampling_seed(seed, question.trial.id, question.repeat, attempt),
            )
            output = await get_model().generate(_messages(question.trial), config=config)
            answers.append(_answer(asked, question, output, attempt, config))
            state.output = output
            if answers[-1].finish == LENGTH and max_tokens is None:
                room = asking.max_tokens + max(MORE_TOKENS, asking.max_tokens)
            else:
                failed += 1
        state.messages.append(state.output.message)
        state.store.set(ATTEMPTS, [structs.asdict(answer) for answer in answers])
        return state

    return solve


def _answer(asked: Asked, question: TaskQuestion, output: ModelOutput, attempt: int, config: GenerateConfig) -> Answer:
    content = output.message.content if output.choices else ""
    thought = (
        ""
        if isinstance(content, str)
        else "\n".join(part.reasoning for part in content if isinstance(part, ContentReasoning))
    )
    return read_answer(
        asked,
        question,
        output.completion,
        attempt=attempt,
        reasoning=thought,
        model=output.model,
        temperature=config.temperature,
        latency=output.time,
        tokens_in=output.usage.input_tokens if output.usage else None,
        tokens_out=output.usage.output_tokens if output.usage else None,
        finish=_FINISH.get(output.stop_reason, "stop") if output.choices else "",
    )


@scorer(metrics=[])
def read(benchmark: str, options: dict[str, Any]) -> Scorer:
    """What our parser read in the attempts of one sample: 1 if it could be read, else 0 and the reason. Not a number
    it must not be: such samples never reach the metric, and those that could not be read have to."""

    async def scored(state: TaskState, target: Target) -> Score:
        attempts: list[dict[str, Any]] = state.store.get(ATTEMPTS, [])
        last = attempts[-1]
        return Score(
            value=float(last["status"] == "ok"),
            answer=", ".join(f"{name}: {value}" for name, value in last["values"].items()) or None,
            explanation=last["note"] or None,
            reason=_REASONS.get(last["status"]),
            metadata={ATTEMPTS: attempts},
        )

    return scored


@metric
def eqlab_score(benchmark: str, options: dict[str, Any]) -> Metric:
    """Our score of all samples together with its 95 % interval, n, the readable and refused shares in percent, and
    whether the run is valid (1) by the benchmark's own rule."""

    def compute(scores: list[SampleScore]) -> Value:
        asked = asked_with(benchmark, options)
        given = [(question_from(_metadata(one)), _attempts(one)) for one in scores]
        found = figures(score(asked, "model:inspect", given)) if given else {"score": None}
        return {name: math.nan if value is None else value for name, value in found.items()}

    return compute


def _metadata(sample_score: SampleScore) -> Mapping[str, Any]:
    return sample_score.sample_metadata or {}


def _attempts(sample_score: SampleScore) -> list[Answer]:
    return [Answer(**attempt) for attempt in (sample_score.score.metadata or {}).get(ATTEMPTS, [])]


for _benchmark in map(load, names()):
    if can_be_exported(_benchmark):
        globals()[_benchmark.name] = _register(_benchmark.name, _benchmark.title)

"""Questions become trials: dialogue above, four scales from 0 to 10 below."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.eqbench import short
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.perturb import perturbed
from eqlab.benchmarks.eqbench.prompt import TASKS, build
from eqlab.core.benchmark import Selection
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial

QUICK_ITEMS = 10
"""Questions in the quick profile: enough to see the whole pipeline on two slow cores in minutes."""

_ANCHORS = {
    "en": ((0, "not at all"), (10, "as strongly as anyone can")),
    "de": ((0, "gar nicht"), (10, "so stark wie überhaupt möglich")),
}
_ASKS = "How strongly does {} feel each of these at the end?"


def plan(
    questions: Sequence[Question], options: Mapping[str, Any], selection: Selection
) -> Iterator[tuple[Trial, int]]:
    if short.is_short(options):
        yield from _short_plan(questions, options, selection)
        return
    limit = selection.limit or (QUICK_ITEMS if selection.profile == "quick" else len(questions))
    chosen = spread(questions, limit)
    trials = [build_trial(question, options, selection.structured) for question in chosen]
    trials += [
        _perturbed_trial(variant, options, selection.structured)
        for question in chosen
        for variant in perturbed(question, options.get("perturb", ()), selection.seed)
    ]
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def _short_plan(
    questions: Sequence[Question], options: Mapping[str, Any], selection: Selection
) -> Iterator[tuple[Trial, int]]:
    """The short form whatever the profile: fewer questions would be another form."""
    if selection.limit:
        raise UsageError("A short form is asked as a whole.", "Drop --limit.")
    if selection.structured:
        raise UsageError("The short forms were learned from answers in free text.", "Add --free-text.")
    if options.get("width") and (selection.repeats or 1) > 1:
        raise UsageError("An adaptive run asks every question once.", "Drop --repeats, or use --short.")
    short.check_questions(questions)
    trials = trials_of(questions, short.first_questions(options), options, selection)
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def trials_of(
    questions: Sequence[Question], numbers: Sequence[str], options: Mapping[str, Any], selection: Selection
) -> list[Trial]:
    known = {question.id: question for question in questions}
    return [build_trial(known[number], options, selection.structured) for number in numbers]


def _perturbed_trial(
    variant: tuple[str, Question, str, dict[str, Any]], options: Mapping[str, Any], structured: bool
) -> Trial:
    name, question, task, more = variant
    return build_trial(question, options, structured, task, {"perturbation": name, **more})


def build_trial(
    question: Question,
    options: Mapping[str, Any],
    structured: bool,
    task: str = TASKS[0],
    more: Mapping[str, Any] | None = None,
) -> Trial:
    return Trial(
        benchmark="eqbench",
        items=(question.id,),
        condition="revision" if options["revision"] else "plain",
        stimulus=f"{question.dialogue}\n\n{question.asks or _ASKS.format(question.character)}",
        form=Form(scales_of(question.emotions, question.language)),
        prompt=build(question, revision=options["revision"], structured=structured, task=task),
        mode="json" if structured else "text",
        key={
            "language": question.language,
            "character": question.character,
            "reference": dict(question.reference),
            "reasons": dict(question.reasons),
            **(more or {}),
        },
    )


def scales_of(emotions: Sequence[str], language: str) -> tuple[Scale, ...]:
    return tuple(Scale(name, name, 0, 10, _ANCHORS[language]) for name in emotions)

"""Questions become trials: dialogue above, four scales from 0 to 10 below."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.eqbench import short
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.score import EqBenchOptions
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.item_file import filled
from eqlab.core.results import Estimate, ItemScore, Table, whiskers
from eqlab.core.trials import Trial

# -- what is told ----------------------------------------------------------------------------------------------------
# A question in words, for a model. Published questions keep their published prompt; ours have one of our own, with
# everything that is the same for all questions first, so that a model evaluates it once.

_TASK = """\
Read a dialogue and judge how one of the speakers feels when it ends.
You get four emotion words. Give each its own score for how strongly that person feels it at the very end:
0 means not at all, 3 a little, 5 clearly, 7 strongly, 10 as strongly as anyone can. Feelings can be mixed, and \
some words may not fit at all. At least one score must be above 0."""

TASKS = (
    _TASK,
    """\
You will see a conversation. Decide what one of the people in it feels at its last line.
Rate four feelings, each by itself, by how intense it is for that person at that point: 0 is none of it, 3 a bit, \
5 plain to see, 7 a lot, 10 as much as a person can feel. People feel several things at once, and a word on the list \
can be quite wrong. Not all four ratings may be 0.""",
    """\
How does somebody feel when a talk is over? Read the talk first, then put a number to each of four emotion words \
for the person you are asked about.
The numbers go from 0 (this person does not feel it) over 3 (slightly), 5 (noticeably) and 7 (intensely) to 10 (nobody \
could feel it more). Words may fit together, or not fit. Give at least one number above 0.""",
)
"""Our instruction, and two paraphrases of it to see whether the wording matters."""

_AS_LINES = "Answer with four lines and nothing else. Each line is one of the words, a colon, a space, a whole number."

_AS_PASSES = """\
Work in three steps, under exactly these headings, each on a line of its own:
First pass scores:
(four lines, each one of the words, a colon, a space, a whole number)
Critique:
(a few sentences that question your first scores)
Revised scores:
(four lines again; repeat a score if you stand by it)"""

_AS_JSON = "Answer with a JSON object and nothing else: the four words as keys, whole numbers from 0 to 10 as values."


def build(question: Question, *, revision: bool, structured: bool, task: str = _TASK) -> str:
    """`task`: our instruction or a paraphrase of it; published prompts have their own."""
    if question.instruction:
        return _in_own_words(question, revision=revision, structured=structured)
    if structured:
        return _own(question, _AS_JSON, task)
    if not question.prompt:
        return _own(question, _AS_PASSES if revision else _AS_LINES, task)
    return question.prompt if revision else without_revision(question.prompt, question.id, question.language)


def _in_own_words(question: Question, *, revision: bool, structured: bool) -> str:
    """A user's instruction says all, but for how JSON is written."""
    if revision:
        raise UsageError("An instruction of your own asks once.", "Drop '-o revision=yes', or the instruction.")
    words = "\n".join(question.emotions)
    told = filled(question.instruction, dialogue=question.dialogue, character=question.character, emotions=words)
    return f"{told}\n\n{_AS_JSON}" if structured else told


def _own(question: Question, how: str, task: str) -> str:
    words = "\n".join(question.emotions)
    asks = question.asks or f"How strongly does {question.character} feel each of these at the end?"
    return f"{task}\n{how}\n\nDialogue:\n{question.dialogue}\n(End of the dialogue)\n\n{asks}\n{words}\n\nYour answer:"


_MARKS = {
    # (heading of the first pass, start of the critique, end of the answer, last line that is added)
    "en": ("First pass scores:\n", "Critique: <", "[End of answer]", "Your answer:"),
    "de": ("Erste Bewertung:\n", "Kritik: <", "[Ende der Antwort]", "Ihre Antwort:"),
}
_INSTRUCTION = {
    "en": re.compile(r"^(Give each [^\n]*?\.) [^\n]*$", re.M),
    "de": re.compile(r"^(Geben Sie jeder [^\n]*?\.) [^\n]*$", re.M),
}


def without_revision(prompt: str, number: str, language: str) -> str:
    """The published prompt as version 2.1 rewrites it: no critique, no second pass, and a last line that asks."""
    first, critique, end, ask = _MARKS[language]
    before, found_critique, rest = prompt.partition(critique)
    _, found_end, after = rest.partition(end)
    instruction = _INSTRUCTION[language]
    if not (found_critique and found_end and first in before and instruction.search(before)):
        raise DataError(
            f"question {number}: the prompt lacks the parts that a prompt without revision is made from.",
            "Run 'eqlab data verify', then 'eqlab data fetch'.",
        )
    before = instruction.sub(r"\1", before, count=1).replace(first, "", 1)
    return f"{before}{end}{after.rstrip()}\n\n{ask}\n"


# -- asked a little differently --------------------------------------------------------------------------------------
# The same questions asked a little differently: other words for the instruction, another order of the emotion words,
# another temperature. Perturbed trials belong to the run and are scored apart; the headline is made of plain ones.

KINDS = ("instruction", "order", "temperature")
TEMPERATURE = 0.7
PLAIN = "as always"


def read_kinds(text: str, item_set: str) -> tuple[str, ...]:
    """The kinds in the order of KINDS; published prompts are asked as published, so only the temperature may change."""
    named = [part.strip() for part in text.split(",") if part.strip() and text != "no"]
    for name in named:
        if name not in KINDS:
            raise UsageError(f"There is no perturbation '{name}'.", f"Choose among {', '.join(KINDS)}.")
        if item_set == "published" and name != "temperature":
            raise UsageError(
                f"Published prompts are asked as published, so '{name}' cannot be perturbed.",
                "Use open items, or perturb the temperature only.",
            )
    return tuple(name for name in KINDS if name in named)


def perturbed(
    question: Question, kinds: Sequence[str], seed: int
) -> Iterator[tuple[str, Question, str, dict[str, Any]]]:
    """(name, question, instruction, what the trial's key adds) of every variant."""
    if "instruction" in kinds:
        for number, task in enumerate(TASKS[1:], start=2):
            yield f"instruction {number}", question, task, {}
    if "order" in kinds:
        words = list(question.emotions)
        random.Random(f"{seed}/{question.id}").shuffle(words)
        if words == list(question.emotions):  # one shuffle in 24 changes nothing
            words.reverse()
        yield "order of the words", replace(question, emotions=tuple(words)), TASKS[0], {}
    if "temperature" in kinds:
        yield f"temperature {TEMPERATURE}", question, TASKS[0], {"temperature": TEMPERATURE}


def perturbation_of(scored: Scored) -> str:
    return str(scored.trial.key.get("perturbation", ""))


def tables(plain: Sequence[ItemScore], other: Mapping[str, Sequence[ItemScore]]) -> tuple[Table, ...]:
    """Score by perturbation, paired with the plain one question by question, and where the spread comes from."""
    base = _means(plain)
    rows: list[tuple[str | int | float | Estimate | None, ...]] = [
        (PLAIN, mean_estimate(PLAIN, list(base.values())), None, len(plain), _unread(plain))
    ]
    known = {PLAIN: base}
    for name, items in other.items():
        known[name] = own = _means(items)
        gaps = [own[item] - base[item] for item in own if item in base]
        rows.append(
            (name, mean_estimate(name, list(own.values())), mean_estimate(name, gaps), len(items), _unread(items))
        )
    columns = ("asked", "score", "difference, paired", "answers", "not readable")
    note = "Mean of the questions' points; repeats are averaged first. Who is robust has differences around 0."
    return (
        Table(
            "Score by perturbation", columns, tuple(rows), f"{note} {_spread(known)}", (whiskers("difference, paired"),)
        ),
    )


def _spread(known: Mapping[str, Mapping[str, float]]) -> str:
    """The variance line: how much of one answer's variance the way of asking makes."""
    cells = [(item, name, points) for name, own in known.items() for item, points in own.items()]
    labels = {"question": [item for item, _, _ in cells], "perturbation": [name for _, name, _ in cells]}
    from eqlab.analysis.components import RESIDUAL, components  # loads scipy: `eqlab show` must not wait for it

    found = components([points for _, _, points in cells], labels)
    if found is None:
        return "Too few answers to split the spread."
    said = ", ".join(
        f"{name} {100 * (found.share[name] or 0.0):.0f} % (SD {found.variance[name] ** 0.5:.1f})"
        for name in ("question", "perturbation", RESIDUAL)
    )
    return (
        f"Variance of one answer (n = {found.n}): {said}; residual: a question reacts to a perturbation in its own way."
    )


def _means(items: Sequence[ItemScore]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for item in items:
        if item.points is not None:
            found.setdefault(item.item, []).append(item.points)
    return {item: fmean(points) for item, points in found.items()}


def _unread(items: Sequence[ItemScore]) -> int:
    return sum(item.status != "ok" for item in items)


QUICK_ITEMS = 10
"""Questions in the quick profile: enough to see the whole pipeline on two slow cores in minutes."""

_ANCHORS = {
    "en": ((0, "not at all"), (10, "as strongly as anyone can")),
    "de": ((0, "gar nicht"), (10, "so stark wie überhaupt möglich")),
}
_ASKS = "How strongly does {} feel each of these at the end?"


def plan(questions: Sequence[Question], options: EqBenchOptions, selection: Selection) -> Iterator[tuple[Trial, int]]:
    if short.is_short(options):
        yield from _short_plan(questions, options, selection)
        return
    limit = selection.limit or (QUICK_ITEMS if selection.profile == "quick" else len(questions))
    chosen = spread(questions, limit)
    trials = [build_trial(question, options, selection.structured) for question in chosen]
    trials += [
        _perturbed_trial(variant, options, selection.structured)
        for question in chosen
        for variant in perturbed(question, options.perturb, selection.seed)
    ]
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def _short_plan(
    questions: Sequence[Question], options: EqBenchOptions, selection: Selection
) -> Iterator[tuple[Trial, int]]:
    """The short form whatever the profile: fewer questions would be another form."""
    if selection.limit:
        raise UsageError("A short form is asked as a whole.", "Drop --limit.")
    if selection.structured:
        raise UsageError("The short forms were learned from answers in free text.", "Add --free-text.")
    if options.width and (selection.repeats or 1) > 1:
        raise UsageError("An adaptive run asks every question once.", "Drop --repeats, or use --short.")
    short.check_questions(questions)
    trials = trials_of(questions, short.first_questions(options), options, selection)
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def trials_of(
    questions: Sequence[Question], numbers: Sequence[str], options: EqBenchOptions, selection: Selection
) -> list[Trial]:
    known = {question.id: question for question in questions}
    return [build_trial(known[number], options, selection.structured) for number in numbers]


def _perturbed_trial(
    variant: tuple[str, Question, str, dict[str, Any]], options: EqBenchOptions, structured: bool
) -> Trial:
    name, question, task, more = variant
    return build_trial(question, options, structured, task, {"perturbation": name, **more})


def build_trial(
    question: Question,
    options: EqBenchOptions,
    structured: bool,
    task: str = TASKS[0],
    more: Mapping[str, Any] | None = None,
) -> Trial:
    return Trial(
        benchmark="eqbench",
        items=(question.id,),
        condition="revision" if options.revision else "plain",
        stimulus=f"{question.dialogue}\n\n{question.asks or _ASKS.format(question.character)}",
        form=Form(scales_of(question.emotions, question.language)),
        prompt=build(question, revision=options.revision, structured=structured, task=task),
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

"""Questions become trials: dialogue above, four scales from 0 to 10 below.

Reading four scores in a reply, exactly as the published code does, its quirks included: white-space after the colon
is required in English, decimals are cut, values above 10 stand, the last of two equal names wins.

German is lossier in the published code: a preamble line sticks to the first word, a decimal comma voids the answer,
and question 36's own heading is unknown. `strict` keeps that; `names` mends it (there are no data to check against)."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.common.reading import read_json
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.eqbench import short
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.score import EqBenchOptions, EqBenchRules
from eqlab.core.answers import Answer, Status, final, standing
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.grouping import group_means
from eqlab.core.item_file import filled
from eqlab.core.results import AGAINST_PLAIN, Estimate, ItemScore, Table, whiskers
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial

if TYPE_CHECKING:
    from eqlab.data.figures import FigureReply

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
    columns = ("asked", "score", AGAINST_PLAIN, "answers", "not readable")
    note = "Mean of the questions' points; repeats are averaged first. Who is robust has differences around 0."
    return (
        Table("Score by perturbation", columns, tuple(rows), f"{note} {_spread(known)}", (whiskers(AGAINST_PLAIN),)),
    )


def _spread(known: Mapping[str, Mapping[str, float]]) -> str:
    """The variance line: how much of one answer's variance the way of asking makes."""
    cells = [(item, name, points) for name, own in known.items() for item, points in own.items()]
    labels = {"question": [item for item, _, _ in cells], "perturbation": [name for _, name, _ in cells]}
    from eqlab.analysis.components import RESIDUAL, components  # loads scipy: `eqlab runs show` must not wait for it

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
    return group_means((item.item, item.points) for item in items)


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
        raise UsageError("An adaptive run asks every question once.", "Drop --repeats, or use -o short=40.")
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


_AFTER_WORD = re.compile(r":\s+(\d+)")
_GERMAN_PAIR = re.compile(r"([a-zA-ZäöüßÄÖÜ\s]++)(?::\s*+\**+(\d++(?:,\d++)?)\**+)?")
"""As published, but a run of letters is taken whole, with a score or without: a search from each letter on finds the
same, and takes forever on a long text without a colon."""
_MOST_DIGITS = 15
"""More than anyone means by a score, and few enough for every number to stay exact."""
_FIRST = {"en": re.compile(r"First pass scores:"), "de": re.compile(r"Erste[^:\n]*:", re.IGNORECASE)}
_REVISED = {"en": re.compile(r"Revised scores:"), "de": re.compile(r"Überarbeitete[^:\n]*:", re.IGNORECASE)}
_REVISED_MENDED = _REVISED | {"de": re.compile(r"(?:Überarbeitete|Revidierte)[^:\n]*:", re.IGNORECASE)}
_SEVERAL_WORDS = re.compile(r"\W")


class Scores(msgspec.Struct, frozen=True, gc=False):
    """What a reply holds. A pass that could not be read is None, and so are both when no score is above zero:
    the published code computes the v1 score as a gate for v2 too, and that needs a sum above zero."""

    first: Mapping[str, int] | None
    revised: Mapping[str, int] | None = None
    plain: bool = False
    """Whether the reply holds these pairs and no others, so that it reads the same under all rules."""


def split_passes(text: str, rules: EqBenchRules, language: str) -> tuple[str | None, str | None]:
    """(first pass, revised) of a reply that gives revised scores; (whole text, None) of any other.

    The reply decides, not the run: a published file mixes both kinds. As in the published code the first pass
    is lost when its heading is missing before the revised scores."""
    headings = _REVISED if rules.parser == "strict" else _REVISED_MENDED
    revised = headings[language].search(text)
    if revised is None:
        return text, None
    first = _FIRST[language].search(text, 0, revised.start())
    return (text[first.end() : revised.start()] if first else None), text[revised.end() :]


@lru_cache(maxsize=512)
def _find_pairs(text: str, language: str) -> tuple[tuple[str, str], ...]:
    """Kept for a moment: the same reply is read under several rules."""
    return tuple(english_pairs(text) if language == "en" else german_pairs(text))


def english_pairs(text: str) -> list[tuple[str, str]]:
    r"""What `(\w+):\s+(\d+)` finds, as published, several times faster: colons are rare, words are not, so look for
    the colon and walk back over its word, never into the match before."""
    found = []
    end = 0
    for match in _AFTER_WORD.finditer(text):
        colon = start = match.start()
        while start > end and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        if start < colon:
            found.append((text[start:colon], match[1]))
            end = match.end()
    return found


@lru_cache(maxsize=512)
def _of_several_words(names: tuple[str, ...]) -> bool:
    return any(_SEVERAL_WORDS.search(name) for name in names)


def _find_named(text: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs by the names asked for: `\\w+` would read "at peace: 5" as "peace"."""
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return tuple(re.findall(rf"(?<!\w)({longest_first}):\s+(\d+)", text))


def german_pairs(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in _GERMAN_PAIR.finditer(text) if match[2]]


def read_pass(text: str | None, names: Sequence[str], rules: EqBenchRules, language: str) -> dict[str, int] | None:
    """The four scores in a text, or None."""
    if text is None:
        return None
    found = _find_pairs(text, language)
    if language == "en":
        if rules.parser == "names" and _of_several_words(tuple(names)):
            found = _find_named(text, tuple(names))
        pairs = dict(found)  # names and digits: nothing to clean, and most of all reading
    elif rules.parser == "names":
        pairs = {label.rsplit("\n", 1)[-1].strip(): value.split(",")[0] for label, value in found}
    else:
        pairs = {label.strip(): value for label, value in found}
    if rules.parser == "names" and len(pairs) > len(names):
        pairs = {name: pairs[name] for name in names if name in pairs}
    if len(pairs) != 4 or pairs.keys() != set(names):
        return None
    if language != "en" and any("," in value for value in pairs.values()):
        return None
    if max(map(len, pairs.values())) > _MOST_DIGITS:
        return None
    return {name: int(pairs[name]) for name in names}


def read_scores(
    text: str, names: Sequence[str], rules: EqBenchRules, language: str = "en", revision: bool = True
) -> Scores:
    """Both passes of a reply; without `revision` the whole reply is one pass, as in a run that asks for none."""
    first_text, revised_text = split_passes(text, rules, language) if revision else (text, None)
    first = read_pass(first_text, names, rules, language)
    revised = read_pass(revised_text, names, rules, language)
    if rules.zero_gate and not above_zero(first) and not above_zero(revised):
        return Scores(None, None)
    plain = language == "en" and not _of_several_words(tuple(names))
    plain = plain and _only_these(first_text, first) and (revised_text is None or _only_these(revised_text, revised))
    return Scores(first, revised, plain)


def _only_these(text: str | None, values: Mapping[str, int] | None) -> bool:
    return text is not None and above_zero(values) and len(_find_pairs(text, "en")) == 4


def is_complete(scores: Scores, revision: bool, rules: EqBenchRules) -> bool:
    """Whether every pass that was asked for is there; half an answer is kept only when all tries are used up."""
    enough = above_zero if rules.zero_gate else _known
    return enough(scores.first) and (not revision or enough(scores.revised))


def _known(values: Mapping[str, int] | None) -> bool:
    return values is not None


def above_zero(values: Mapping[str, int] | None) -> bool:
    return values is not None and sum(values.values()) > 0


# -- published figures -----------------------------------------------------------------------------------------------
# Between a reply and its figures: what is kept of a published reply, and the scores that the figures give under any
# rules, the same as the reply itself.

FIGURES = "published figures"
"""Instead of a run, in an answer that is figures without the words they were read in."""


def figure_answer(reply: "FigureReply", trial: Trial, subject: str, repeat: int, at: float) -> Answer:
    names = trial.form.keys
    passes = {"first_pass": reply.first, "revised": reply.revised}
    values: dict[str, Any] = {
        name: dict(zip(names, read, strict=True)) for name, read in passes.items() if read is not None
    }
    values["more"] = {"first_pass": reply.first_more, "revised": reply.revised_more}
    values["words"] = reply.words
    status: Status = "refused" if reply.refused else "unparseable"  # until scoring finds that it can be read
    return Answer(FIGURES, trial.id, subject, repeat, 1, "", status, values, at=at)


def read_figures(answer: Answer, rules: EqBenchRules) -> Scores:
    first, revised = (_counts(answer, name, rules) for name in ("first_pass", "revised"))
    if rules.zero_gate and not above_zero(first) and not above_zero(revised):
        return Scores(None, None)
    return Scores(first, revised, plain=not any(answer.values["more"].values()))


def _counts(answer: Answer, name: str, rules: EqBenchRules) -> dict[str, int] | None:
    if rules.parser == "strict" and answer.values["more"][name]:
        return None
    found: dict[str, int] | None = answer.values.get(name)
    return found


# -- which attempt counts --------------------------------------------------------------------------------------------
# Which attempt at a question counts, and the scores in it: a model's words are read, a person's choices stand, and so
# do the figures of published replies.


def read_reply(trial: Trial, text: str, rules: EqBenchRules) -> Scores:
    """The scores in a reply, in either answer mode."""
    if trial.mode == "json":
        reading = read_json(text, trial.form)
        values = reading.values if reading.status == "ok" else None
        gated = values if values is None or not rules.zero_gate or sum(values.values()) > 0 else None
        return Scores(gated)
    revision = trial.condition == "revision"
    return read_scores(text, trial.form.keys, rules, trial.key["language"], revision)


def read_answer(trial: Trial, answer: Answer, rules: EqBenchRules) -> Scores:
    """A model's words are read under the rules; what a person chose on the form stands, but for four zeros."""
    if answer.run == FIGURES:
        return read_figures(answer, rules)
    if not answer.subject.startswith(PERSON):
        return read_reply(trial, answer.text, rules)
    values = answer.values if answer.status == "ok" else {}
    chosen = {name: int(values[name]) for name in trial.form.keys if name in values}
    complete = len(chosen) == len(trial.form.keys) and (not rules.zero_gate or sum(chosen.values()) > 0)
    return Scores(chosen if complete else None)


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """A planned question with the attempt that counts."""

    scored: Scored
    answer: Answer | None
    """The attempt that counts under these rules."""
    scores: Scores
    status: Status | None


def choose(scored: Scored, rules: EqBenchRules) -> Chosen:
    """The first complete attempt; without one the last that can be used in part. Of what was cut off nothing counts."""
    asked_twice = scored.trial.condition == "revision" and scored.trial.mode == "text"
    partial: tuple[Answer, Scores] | None = None
    for attempt in standing(scored.attempts):
        if not (attempt.answered and attempt.whole):
            continue
        scores = read_answer(scored.trial, attempt, rules)
        revision = asked_twice and not attempt.subject.startswith(PERSON)
        if is_complete(scores, revision, rules):
            return Chosen(scored, attempt, scores, "ok")
        if scores.first is not None or scores.revised is not None:
            partial = attempt, scores
    if partial is not None:
        return Chosen(scored, partial[0], partial[1], "ok")
    last = final(scored.attempts)
    status: Status | None = None if last is None else "unparseable" if last.status == "ok" else last.status
    return Chosen(scored, last, Scores(None), status)


def choose_again(chosen: Chosen, rules: EqBenchRules) -> Chosen:
    """The same question under other rules; a single plain reply, as most are, need not be read anew."""
    if chosen.scores.plain and len(chosen.scored.attempts) == 1:
        return chosen
    return choose(chosen.scored, rules)

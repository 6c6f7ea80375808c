"""A question in words, for a model. Published questions keep their published prompt; ours have one of our own,
with everything that is the same for all questions first, so that a model evaluates it once."""

import re

from eqlab.benchmarks.eqbench.items import Question
from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_file import filled

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

"""Multiple choice, the same for every benchmark: options in a drawn order, letters before them, and a reply read by its
letters or by the options' own words.

Multiple choice, marked: which answers are right, how often with what interval, whether a subject likes a place
whatever stands there, and what is left in another language. The item is the unit: asked in four orders it is still
one."""

import json
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from string import ascii_uppercase
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.core.answers import Answer, Reading, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.forms import Form, Scale
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial

T = TypeVar("T")
_MARKUP = re.compile(r"[*_`#>]+")
_LETTER = r"[\(\[（【]?\s*([A-Z])(?![A-Za-z'’])\s*[\)\]）】]?"
_SAID = re.compile(
    r"(?i:answers?|choices?|options?|select(?:ed)?|choose|pick|答案|选项|选择|应选|选)\s*"
    r"(?i:is|are|would be|should be|was|to|是|为|[:：=-])*\s*(?:(?i:option|choice|letter)\b|选项)?\s*[:：]?\s*"
    + _LETTER
)
"""Words may be of any case; a letter is a capital, or every "a" would be one."""
_ALONE = re.compile(rf"^\s*{_LETTER}\s*[.:：。、)]*\s*$")
_LEADING = re.compile(r"^\s*[\(\[（【]?([A-Z])\s*[\)\]）】.:：、]\s*(\S.*)?$")


def shuffled(options: Sequence[T], seed: str | int) -> tuple[T, ...]:
    """The options in the order that a seed draws."""
    order = list(options)
    random.Random(seed).shuffle(order)
    return tuple(order)


def turned(count: int, seed: str, order: int) -> tuple[int, ...]:
    """Places from 1 to `count` in the order that a seed draws, turned by `order` places."""
    drawn = shuffled(range(1, count + 1), seed)
    start = order % count
    return (*drawn[start:], *drawn[:start])


def choice(key: str, text: str, options: Sequence[str]) -> Scale:
    """One question with its options, counted from 1."""
    return Scale(key, text, 1, len(options), tuple(enumerate(options, start=1)))


def lettered(scale: Scale) -> str:
    """The options as a model gets them, a line each."""
    return "\n".join(f"{ascii_uppercase[value - 1]}) {label}" for value, label in scale.anchors)


def numbered(scale: Scale) -> str:
    """The same for a structured answer, which is a number."""
    return "\n".join(f"{value}) {label}" for value, label in scale.anchors)


def read_choices(text: str, trial: Trial) -> Reading:
    """One option for each question of the trial's form. A reply that names two for one question names none."""
    form = trial.form
    if trial.mode == "json":
        return read_json(text, form)
    choices = _from_object(text, form)
    if choices is None:
        parts = _parts(text, form)
        choices = {scale.key: _read_one(part, scale) for scale, part in zip(form.scales, parts, strict=True)}
    missing = [key for key in form.keys if choices.get(key) is None]
    if not missing:
        return Reading("ok", choices)
    kept = {key: value for key, value in choices.items() if value is not None}
    note = f"no choice for {', '.join(missing)}"
    return Reading("refused" if not kept and is_refusal(text) else "unparseable", kept, note)


def _from_object(text: str, form: Form) -> dict[str, int | None] | None:
    """A JSON object anywhere in the reply, with letters, numbers or options under the questions' keys; the last one
    counts, for what comes before it is thinking aloud."""
    for match in reversed(list(re.finditer(r"\{[^{}]*\}", text))):
        try:
            pairs = json.loads(match.group(), object_pairs_hook=list)
        except (ValueError, RecursionError):
            continue
        values = grouped((key.strip().casefold(), value) for key, value in pairs)
        if any(key.casefold() in values for key in form.keys):
            return {scale.key: _only(values.get(scale.key.casefold(), ()), scale) for scale in form.scales}
    return None


def _only(given: Sequence[Any], scale: Scale) -> int | None:
    """The one value of a key, which may be said twice."""
    values = {_value(one, scale) for one in given}
    return values.pop() if len(values) == 1 else None


def _value(given: Any, scale: Scale) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given if scale.holds(given) else None
    return _read_one(given, scale) if isinstance(given, str) else None


def _parts(text: str, form: Form) -> list[str]:
    """The part of a reply that is about each question: all of it for one; else by the questions' keys or numbers."""
    if len(form.scales) == 1:
        return [text]
    starts = []
    for number, scale in enumerate(form.scales, start=1):
        name = (
            rf"(?:{re.escape(scale.key)}|question\s*{number}|q\s*{number}|问题\s*{number}|(?m:^)\s*{number}[.)、:：])"
        )
        marks = list(re.finditer(name, text, re.IGNORECASE))
        starts.append((marks[-1].start(), marks[-1].end()) if marks else (-1, -1))
    if all(start >= 0 for start, _ in starts) and starts == sorted(starts):
        ends = [start for start, _ in starts[1:]] + [len(text)]
        return [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if len(lines) == len(form.scales) else [""] * len(form.scales)


def _read_one(text: str, scale: Scale) -> int | None:
    """The option that a text names: by "the answer is B", a letter alone, a lettered line, or the option's words."""
    plain = _MARKUP.sub("", text).strip()
    letters = {ascii_uppercase[value - 1]: value for value, _ in scale.anchors}
    for found in (_SAID.findall(plain), _alone(plain), _lines(plain, scale)):
        named = {letters[letter.upper()] for letter in found if letter.upper() in letters}
        if len(named) == 1:
            return named.pop()
        if named:
            return None
    return _by_words(plain, dict(scale.anchors))


def _alone(text: str) -> list[str]:
    rows = [found.group(1) for line in text.splitlines() if (found := _ALONE.match(line))]
    bare = text.strip(" :：.。\n-")
    return rows or ([bare.upper()] if len(bare) == 1 and bare.isascii() and bare.isalpha() else [])


def _lines(text: str, scale: Scale) -> list[str]:
    """Letters of lines such as "B) gratitude"; a list of all the options is none of them."""
    rows = [found.group(1) for line in text.splitlines() if (found := _LEADING.match(line.strip(" :：-")))]
    return rows if len(set(rows)) < len(scale.anchors) else []


def _by_words(text: str, labels: Mapping[int, str]) -> int | None:
    """The one option whose words are in the text; not one that is only part of another that is there."""
    folded = _folded(text)
    there = {value: label for value, label in ((v, _folded(t)) for v, t in labels.items()) if _within(label, folded)}
    longest = [
        value
        for value, label in there.items()
        if not any(other != value and label != words and label in words for other, words in there.items())
    ]
    return longest[0] if len(longest) == 1 else None


def _folded(text: str) -> str:
    return re.sub(r"[\s\"'“”‘’.,;:!?。，；：！？]+", " ", text.casefold()).strip()


def _within(label: str, text: str) -> bool:
    if not label:
        return False
    before, after = (r"\b" if end.isascii() else "" for end in (label[0], label[-1]))
    return re.search(before + re.escape(label) + after, text) is not None


class Mark(msgspec.Struct, frozen=True, gc=False):
    """One trial with the answer that counts."""

    trial: Trial
    repeat: int
    attempts: int
    answer: Answer | None
    right: Mapping[str, bool]
    """By question; empty without an answer that could be read."""

    @property
    def status(self) -> Status | None:
        return self.answer.status if self.answer else None

    @property
    def all_right(self) -> bool | None:
        """An item with several questions counts only if all are right; None without an answer."""
        return all(self.right.values()) if self.right else None

    @property
    def language(self) -> str:
        return str(self.trial.key["language"])

    @property
    def item(self) -> str:
        """In another language than English it is another item, and named after it."""
        own = self.trial.items[0]
        return own if self.language == "en" else f"{own} ({self.language})"

    @property
    def guessed_share(self) -> float:
        return guessed_share(self.trial)


def guessed_share(trial: Trial) -> float:
    """The share that guesses get right."""
    return 1 / math.prod(scale.high for scale in trial.form.scales)


def mark(scored: Scored) -> Mark:
    answer = final(scored.attempts)
    correct = scored.trial.key["correct"]
    right: dict[str, bool] = {}
    if answer is not None and answer.status == "ok":
        right = {key: answer.values.get(key) == value for key, value in correct.items()}
    return Mark(scored.trial, scored.repeat, len(scored.attempts), answer, right)


def read_marks(scored: Iterable[Scored]) -> list[Mark]:
    """The marks of all answers that could be read."""
    return [one for one in map(mark, scored) if one.all_right is not None]


Unit = Callable[[Mark], str]


def accuracy(
    name: str, marks: Sequence[Mark], unit: Unit, right: Callable[[Mark], bool | None] = lambda one: one.all_right
) -> Estimate:
    """The mean over items (of people: over persons) of the share that was right, with its 95 % interval."""
    shares = group_means((unit(mark), 100.0 * told) for mark in marks if (told := right(mark)) is not None)
    return mean_estimate(name, list(shares.values()), unit="%", digits=1, bounds=(0.0, 100.0))


def no_skill(marks: Sequence[Mark], unit: Unit, got: Callable[[Mark], float | None]) -> float | None:
    """What answers that read nothing get, in percent, as `accuracy` counts: a mean over items, or over persons."""
    shares = group_means((unit(mark), got(mark)) for mark in marks)
    return 100.0 * fmean(shares.values()) if shares else None


def by_chance(marks: Sequence[Mark], unit: Unit) -> float | None:
    return no_skill(marks, unit, lambda one: one.guessed_share)


def languages(read: Sequence[Mark], first: str = "en", second: str = "zh") -> list[Estimate]:
    """The same items in two languages, and the difference item by item."""
    shares: dict[str, dict[str, list[float]]] = {}
    for one in read:
        shares.setdefault(one.trial.items[0], {}).setdefault(one.language, []).append(100.0 * bool(one.all_right))
    both = [share for share in shares.values() if {first, second} <= set(share)]
    if not both:
        return []
    gaps = [fmean(item[first]) - fmean(item[second]) for item in both]
    names = {code: NAMES.get(code, code) for code in (first, second)}
    gap = mean_estimate(f"{names[first]} − {names[second]}, paired", gaps, digits=1, bounds=(-100.0, 100.0))
    sides = [
        mean_estimate(f"right in {name}", [fmean(item[code]) for item in both], unit="%", digits=1, bounds=(0.0, 100.0))
        for code, name in names.items()
    ]
    return [*sides, gap]


NAMES = {"en": "English", "zh": "Chinese"}


# -- position of the choices -----------------------------------------------------------------------------------------
# Where a choice stands: whether a subject likes a place whatever stands there. Drawn orders spread the right choices
# over the places; what is chosen oftener at a place than it is right there is the bias.

Given = tuple[str, int, int, int]
"""One answered question: item, or person of people, each of whom has likings of their own; choices, place chosen, place
of the right one."""


def given(read: Sequence[Mark]) -> Iterator[Given]:
    for one in read:
        for scale in one.trial.form.scales:
            if one.answer is not None:
                unit = one.answer.subject if one.answer.subject.startswith(PERSON) else one.item
                yield unit, scale.high, int(one.answer.values[scale.key]), int(one.trial.key["correct"][scale.key])


def excess(answers: Sequence[Given], place: int) -> Estimate:
    """How much oftener a place was chosen than it was right, in points; over items, of people over people. 0 for a
    subject without a liking for places, whatever it knows."""
    pulls = group_means((unit, 100.0 * ((chosen == place) - (right == place))) for unit, _, chosen, right in answers)
    name, of = f"choice {ascii_uppercase[place - 1]}", "people" if answers[0][0].startswith(PERSON) else ""
    return structs.replace(mean_estimate(name, list(pulls.values()), digits=1, bounds=(-100.0, 100.0)), of=of)


def bias_estimates(read: Sequence[Mark]) -> list[Estimate]:
    """The first place's excess, and how often the same choice is made in every order."""
    answers = list(given(read))
    if not answers:
        return []
    first = structs.replace(
        excess(answers, 1), name="first choice taken too often, points", note="0: no preference for the position"
    )
    return [first, *_consistency(read)]


def _consistency(read: Sequence[Mark]) -> list[Estimate]:
    """Of one subject that was asked in several orders; people are each asked once."""
    told: dict[tuple[str, str, str], dict[tuple[str, ...], set[str]]] = {}
    for one in read:
        for scale in one.trial.form.scales:
            if one.answer is not None:
                order = tuple(words for _, words in scale.anchors)
                chosen = dict(scale.anchors)[int(one.answer.values[scale.key])]
                asked = told.setdefault((one.item, scale.key, one.answer.subject), {})
                asked.setdefault(order, set()).add(chosen)
    again = {which: set().union(*orders.values()) for which, orders in told.items() if len(orders) > 1}
    same, items = [len(chosen) == 1 for chosen in again.values()], [item for item, _, _ in again]
    return [clustered_share("same choice in every order", same, items)] if again else []


def bias_table(read: Sequence[Mark]) -> list[Table]:
    """Place by place, for questions with as many choices."""
    answers = list(given(read))
    rows = []
    for n in sorted({choices for _, choices, _, _ in answers}):
        of_length = [answer for answer in answers if answer[1] == n]
        for place in range(1, n + 1):
            right = sum(one[3] == place for one in of_length)
            rows.append(
                (
                    f"{many(n, 'choice')}: {ascii_uppercase[place - 1]}",
                    clustered_share("chosen", [one[2] == place for one in of_length], [one[0] for one in of_length]),
                    100 * right / len(of_length),
                    excess(of_length, place),
                )
            )
    if not rows:
        return []
    note = (
        "Excess: chosen minus right, in points, its interval over scenarios, or people; all 0 without a preference for "
        "positions."
    )
    return [Table("Where the choice stands", ("place", "chosen", "right there, %", "excess"), tuple(rows), note)]

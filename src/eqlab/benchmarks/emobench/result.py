"""From answers to marks, and from marks to a result. The scenario is the unit of every interval: a scenario asked in
four orders is still one."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from string import ascii_uppercase
from typing import Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share, mean_estimate, proportion_estimate
from eqlab.benchmarks.common.outcome import count_outcomes, is_valid
from eqlab.benchmarks.emobench.items import TASKS
from eqlab.core.answers import STATUSES, UNANSWERED, Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.results import Baseline, Estimate, ItemScore, Result, Table, whiskers
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.trials import Trial


@dataclass(frozen=True, slots=True)
class Mark:
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
        """An item of understanding counts only if emotion and cause are both right; None without an answer."""
        return all(self.right.values()) if self.right else None

    @property
    def language(self) -> str:
        return str(self.trial.key["language"])

    @property
    def item(self) -> str:
        """The scenario; in another language than English it is another item, and named after it."""
        own = self.trial.items[0]
        return own if self.language == "en" else f"{own} ({self.language})"

    @property
    def guessed_share(self) -> float:
        return guessed_share(self.trial)


def guessed_share(trial: Trial) -> float:
    """The share that guesses get right."""
    return 1 / math.prod(scale.high for scale in trial.form.scales)


def mark(one: Scored) -> Mark:
    answer = final(one.attempts)
    correct = one.trial.key["correct"]
    right: dict[str, bool] = {}
    if answer is not None and answer.status == "ok":
        right = {key: answer.values.get(key) == value for key, value in correct.items()}
    return Mark(one.trial, one.repeat, len(one.attempts), answer, right)


def shown(one: Mark) -> ItemScore:
    """As it stands in the list of items: in the words of the choices."""
    words = {scale.key: dict(scale.anchors) for scale in one.trial.form.scales}
    given = one.answer.values if one.answer and one.right else {}
    points = None if one.all_right is None else 100.0 * one.all_right
    return ItemScore(
        one.item,
        one.trial.id,
        one.repeat,
        one.status,
        points,
        title=f"{one.trial.condition}, {one.trial.key['category']}",
        text=one.answer.text if one.answer else "",
        values={key: words[key].get(value, value) for key, value in given.items()},
        reference={key: words[key][value] for key, value in one.trial.key["correct"].items()},
        attempts=one.attempts,
        points=points,
        shown=one.trial.stimulus,
    )


HEADLINE = "right answers"
BOTH = "understanding, emotion and cause both right"
Unit = Callable[[Mark], str]


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    marks = [mark(one) for one in scored]
    people = subject == PEOPLE or subject.startswith(PERSON)
    unit: Unit = _person if people else _scenario
    read = [one for one in marks if one.all_right is not None]
    counts = count_outcomes(one.status for one in marks)
    valid = is_valid(counts)
    headline = accuracy(HEADLINE, read, unit)
    chance = by_chance(read)
    return Result(
        benchmark="emobench",
        title="EmoBench",
        subject=subject,
        rules={**options, "mode": marks[0].trial.mode if marks else "text", "orders": _orders(marks)},
        sentence=_sentence(subject, headline, chance, valid, people),
        headline=headline,
        score_range=(0.0, 100.0),
        estimates=(*parts(read, unit), *_strict(marks, unit), *languages(read), *bias_estimates(read)),
        counts=counts,
        items=tuple(shown(one) for one in marks),
        item_range=(0.0, 100.0),
        baselines=_baselines(read, chance),
        valid=valid,
        caveats=_caveats(marks, read, counts, options),
        tables=(*_by_category(read, unit), *bias_table(read)),
        noun="scenarios",
    )


def accuracy(
    name: str, marks: Sequence[Mark], unit: Unit, right: Callable[[Mark], bool | None] = lambda one: one.all_right
) -> Estimate:
    """The mean over scenarios (of people: over persons) of the share that was right, with its 95 % interval."""
    shares: dict[str, list[float]] = {}
    for one in marks:
        told = right(one)
        if told is not None:
            shares.setdefault(unit(one), []).append(100.0 * told)
    values = [fmean(own) for own in shares.values()]
    return mean_estimate(name, values, unit="%", digits=1, bounds=(0.0, 100.0))


def by_chance(marks: Sequence[Mark]) -> float | None:
    return 100.0 * fmean(one.guessed_share for one in marks) if marks else None


def parts(read: Sequence[Mark], unit: Unit) -> list[Estimate]:
    """Each task, and emotion and cause by themselves, each with what guesses would get."""
    found = []
    understood, applied = ([one for one in read if one.trial.condition == task] for task in TASKS)
    if understood:
        found.append(_noted(accuracy(BOTH, understood, unit), by_chance(understood)))
        for key in ("emotion", "cause"):
            alone = accuracy(f"{key} right", understood, unit, partial(_right, key))
            guesses = fmean(1 / scale.high for one in understood for scale in one.trial.form.scales if scale.key == key)
            found.append(_noted(alone, 100 * guesses))
    if applied:
        found.append(_noted(accuracy("application right", applied, unit), by_chance(applied)))
    return found


def languages(read: Sequence[Mark]) -> list[Estimate]:
    """The same scenarios in two languages: English minus Chinese, scenario by scenario."""
    shares: dict[str, dict[str, list[float]]] = {}
    for one in read:
        shares.setdefault(one.trial.items[0], {}).setdefault(one.language, []).append(100.0 * bool(one.all_right))
    both = [own for own in shares.values() if {"en", "zh"} <= set(own)]
    if not both:
        return []
    gaps = [fmean(own["en"]) - fmean(own["zh"]) for own in both]
    gap = mean_estimate("English − Chinese, paired", gaps, digits=1, bounds=(-100.0, 100.0))
    sides = [
        mean_estimate(f"right in {name}", [fmean(own[code]) for own in both], unit="%", digits=1, bounds=(0.0, 100.0))
        for code, name in (("en", "English"), ("zh", "Chinese"))
    ]
    return [*sides, gap]


def _strict(marks: Sequence[Mark], unit: Unit) -> list[Estimate]:
    """With what could not be read, or was refused, as wrong; the same where there is none, so then it is not said."""
    answered = [one for one in marks if one.answer is not None and one.answer.answered]
    if all(one.all_right is not None for one in answered):
        return []
    refused = clustered_share("refused", [one.status == "refused" for one in answered], [one.item for one in answered])
    name = f"{HEADLINE}, if no answer is a wrong one"
    return [accuracy(name, answered, unit, lambda one: bool(one.all_right)), refused]


def _right(key: str, one: Mark) -> bool | None:
    return one.right.get(key)


def _noted(estimate: Estimate, chance: float | None) -> Estimate:
    return estimate if chance is None else structs.replace(estimate, note=f"by chance {chance:.1f}")


def _by_category(read: Sequence[Mark], unit: Unit) -> list[Table]:
    tables = []
    for task in TASKS:
        own = [one for one in read if one.trial.condition == task]
        groups: dict[tuple[str, str], list[Mark]] = {}
        for one in own:
            for name in (("category", str(one.trial.key["category"])), ("kind", str(one.trial.key["kind"]))):
                groups.setdefault(name, []).append(one)
        rows = tuple(
            (name, level, accuracy(name, some, unit), by_chance(some), len({_scenario(one) for one in some}))
            for (level, name), some in sorted(groups.items())
        )
        if rows:
            note = "Right if emotion and cause both are." if task == "understanding" else ""
            columns = ("part", "of", "right", "by chance, %", "scenarios")
            tables.append(Table(task.capitalize(), columns, rows, note, draw=(whiskers("right"),)))
    return tables


def _baselines(read: Sequence[Mark], chance: float | None) -> tuple[Baseline, ...]:
    """What needs no reading of the scenario."""
    if chance is None:
        return ()
    longest = [
        all(
            max(scale.anchors, key=lambda pair: (len(pair[1]), -pair[0]))[0] == one.trial.key["correct"][scale.key]
            for scale in one.trial.form.scales
        )
        for one in read
    ]
    return (Baseline("a guess", chance), Baseline("always the longest choice", 100 * fmean(longest)))


def _sentence(subject: str, headline: Estimate, chance: float | None, valid: bool, people: bool) -> str:
    who = "People" if people else subject.removeprefix("model:")
    if headline.value is None or chance is None:
        return f"No answer of {who} could be read."
    things = "people" if people else "scenarios"
    bounds = f", 95 % interval {headline.low:.1f} to {headline.high:.1f}" if headline.low is not None else ""
    text = f"{who} {'get' if people else 'gets'} {headline.value:.1f} % right ({headline.n} {things}{bounds})"
    text += f"; guesses get {chance:.1f} %."
    return text if valid else f"{text} But too few answers could be read: not valid."


def _caveats(
    marks: Sequence[Mark], read: Sequence[Mark], counts: Mapping[str, int], options: Mapping[str, Any]
) -> tuple[str, ...]:
    said = []
    lost = sum(counts[status] for status in STATUSES[1:])
    if lost:
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES[1:])
        said.append(f"{lost} of {len(marks)} answers are left out ({told}).")
    if counts[UNANSWERED]:
        said.append(f"{counts[UNANSWERED]} questions are not answered yet; the result is preliminary.")
    if _orders(marks) == 1 and read:
        said.append(
            "Asked in one order of choices: a preference for a position cannot be told from knowledge (--repeats 4)."
        )
    if options["item_set"] == "open":
        said.append("Open scenarios: the key is one author's, not a panel's; not comparable with published scores.")
    return tuple(said)


def _orders(marks: Sequence[Mark]) -> int:
    return len({one.trial.order_seed for one in marks})


def _scenario(one: Mark) -> str:
    return one.item


def _person(one: Mark) -> str:
    return one.answer.subject if one.answer else ""


# -- position of the choices -----------------------------------------------------------------------------------------
# Where a choice stands: whether a subject likes a place whatever stands there. Drawn orders spread the right choices
# over the places; what is chosen oftener at a place than it is right there is the bias.

Given = tuple[str, int, int, int]
"""One answered question: scenario, choices, place chosen, place of the right one."""


def given(read: Sequence[Mark]) -> Iterator[Given]:
    for one in read:
        for scale in one.trial.form.scales:
            if one.answer is not None:
                yield one.item, scale.high, int(one.answer.values[scale.key]), int(one.trial.key["correct"][scale.key])


def excess(answers: Sequence[Given], place: int) -> Estimate:
    """How much oftener a place was chosen than it was right, in points; over scenarios. 0 for a subject without a
    liking for places, whatever it knows."""
    by_scenario: dict[str, list[float]] = {}
    for item, _, chosen, right in answers:
        by_scenario.setdefault(item, []).append(100.0 * ((chosen == place) - (right == place)))
    values = [fmean(own) for own in by_scenario.values()]
    return mean_estimate(f"choice {ascii_uppercase[place - 1]}", values, digits=1, bounds=(-100.0, 100.0))


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
    told: dict[tuple[str, str], list[str]] = {}
    for one in read:
        for scale in one.trial.form.scales:
            if one.answer is not None:
                words = dict(scale.anchors)[int(one.answer.values[scale.key])]
                told.setdefault((one.item, scale.key), []).append(words)
    again = [own for own in told.values() if len(own) > 1]
    same = sum(len(set(own)) == 1 for own in again)
    return [proportion_estimate("same choice in every order", same, len(again))] if again else []


def bias_table(read: Sequence[Mark]) -> list[Table]:
    """Place by place, for questions with as many choices."""
    answers = list(given(read))
    rows = []
    for n in sorted({choices for _, choices, _, _ in answers}):
        own = [one for one in answers if one[1] == n]
        for place in range(1, n + 1):
            chosen = sum(one[2] == place for one in own)
            right = sum(one[3] == place for one in own)
            rows.append(
                (
                    f"{n} choices: {ascii_uppercase[place - 1]}",
                    proportion_estimate("chosen", chosen, len(own)),
                    100 * right / len(own),
                    excess(own, place),
                )
            )
    if not rows:
        return []
    note = (
        "Excess: chosen minus right, in points, its interval over scenarios; all 0 without a preference for positions."
    )
    return [Table("Where the choice stands", ("place", "chosen", "right there, %", "excess"), tuple(rows), note)]

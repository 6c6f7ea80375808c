"""Multiple choice, marked: which answers are right, how often with what interval, whether a subject likes a place
whatever stands there, and what is left in another language. The item is the unit: asked in four orders it is still
one."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from string import ascii_uppercase

from msgspec import structs

from eqlab.analysis.intervals import mean_estimate, proportion_estimate
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.results import Estimate, Table
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


def mark(one: Scored) -> Mark:
    answer = final(one.attempts)
    correct = one.trial.key["correct"]
    right: dict[str, bool] = {}
    if answer is not None and answer.status == "ok":
        right = {key: answer.values.get(key) == value for key, value in correct.items()}
    return Mark(one.trial, one.repeat, len(one.attempts), answer, right)


Unit = Callable[[Mark], str]


def accuracy(
    name: str, marks: Sequence[Mark], unit: Unit, right: Callable[[Mark], bool | None] = lambda one: one.all_right
) -> Estimate:
    """The mean over items (of people: over persons) of the share that was right, with its 95 % interval."""
    shares: dict[str, list[float]] = {}
    for one in marks:
        told = right(one)
        if told is not None:
            shares.setdefault(unit(one), []).append(100.0 * told)
    values = [fmean(own) for own in shares.values()]
    return mean_estimate(name, values, unit="%", digits=1, bounds=(0.0, 100.0))


def by_chance(marks: Sequence[Mark]) -> float | None:
    return 100.0 * fmean(one.guessed_share for one in marks) if marks else None


def languages(read: Sequence[Mark], first: str = "en", second: str = "zh") -> list[Estimate]:
    """The same items in two languages, and the difference item by item."""
    shares: dict[str, dict[str, list[float]]] = {}
    for one in read:
        shares.setdefault(one.trial.items[0], {}).setdefault(one.language, []).append(100.0 * bool(one.all_right))
    both = [own for own in shares.values() if {first, second} <= set(own)]
    if not both:
        return []
    gaps = [fmean(own[first]) - fmean(own[second]) for own in both]
    names = {code: NAMES.get(code, code) for code in (first, second)}
    gap = mean_estimate(f"{names[first]} − {names[second]}, paired", gaps, digits=1, bounds=(-100.0, 100.0))
    sides = [
        mean_estimate(f"right in {name}", [fmean(own[code]) for own in both], unit="%", digits=1, bounds=(0.0, 100.0))
        for code, name in names.items()
    ]
    return [*sides, gap]


NAMES = {"en": "English", "zh": "Chinese"}


# -- position of the choices -----------------------------------------------------------------------------------------
# Where a choice stands: whether a subject likes a place whatever stands there. Drawn orders spread the right choices
# over the places; what is chosen oftener at a place than it is right there is the bias.

Given = tuple[str, int, int, int]
"""One answered question: item, choices, place chosen, place of the right one."""


def given(read: Sequence[Mark]) -> Iterator[Given]:
    for one in read:
        for scale in one.trial.form.scales:
            if one.answer is not None:
                yield one.item, scale.high, int(one.answer.values[scale.key]), int(one.trial.key["correct"][scale.key])


def excess(answers: Sequence[Given], place: int) -> Estimate:
    """How much oftener a place was chosen than it was right, in points; over items. 0 for a subject without a
    liking for places, whatever it knows."""
    by_item: dict[str, list[float]] = {}
    for item, _, chosen, right in answers:
        by_item.setdefault(item, []).append(100.0 * ((chosen == place) - (right == place)))
    values = [fmean(own) for own in by_item.values()]
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

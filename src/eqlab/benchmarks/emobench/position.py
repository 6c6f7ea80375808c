"""Where a choice stands: whether a subject likes a place whatever stands there. Drawn orders spread the right choices
over the places; what is chosen oftener at a place than it is right there is the bias."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from string import ascii_uppercase

from eqlab.analysis.intervals import mean_estimate, proportion_estimate
from eqlab.benchmarks.emobench.marks import Mark
from eqlab.core.results import Estimate, Table

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
    first = replace(
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

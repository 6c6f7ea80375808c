"""From answers to marks, and from marks to a result. The scenario is the unit of every interval: a scenario asked in
four orders is still one."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share
from eqlab.benchmarks.common.marks import (
    Mark,
    Unit,
    accuracy,
    bias_estimates,
    bias_table,
    by_chance,
    languages,
    mark,
)
from eqlab.benchmarks.common.outcome import count_outcomes, is_valid
from eqlab.benchmarks.emobench.items import TASKS
from eqlab.core.answers import STATUSES, UNANSWERED
from eqlab.core.benchmark import Scored
from eqlab.core.results import Baseline, Estimate, ItemScore, Result, Table, whiskers
from eqlab.core.runs import PEOPLE, PERSON


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

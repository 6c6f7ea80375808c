"""The same questions asked a little differently: other words for the instruction, another order of the emotion words,
another temperature. Perturbed trials belong to the run and are scored apart; the headline is made of plain ones."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.prompt import TASKS
from eqlab.core.benchmark import Scored
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, ItemScore, Table

KINDS = ("instruction", "order", "temperature")
TEMPERATURE = 0.7
PLAIN = "as always"


def read_kinds(text: str, item_set: str) -> list[str]:
    """The kinds in the order of KINDS; published prompts are asked as published, so only the temperature may change."""
    named = [part.strip() for part in text.split(",") if part.strip()]
    for name in named:
        if name not in KINDS:
            raise UsageError(f"There is no perturbation '{name}'.", f"Choose among {', '.join(KINDS)}.")
        if item_set == "published" and name != "temperature":
            raise UsageError(
                f"Published prompts are asked as published, so '{name}' cannot be perturbed.",
                "Use open items, or perturb the temperature only.",
            )
    return [name for name in KINDS if name in named]


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
    return (Table("Score by perturbation", columns, tuple(rows), f"{note} {_spread(known)}", "difference, paired"),)


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

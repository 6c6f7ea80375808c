"""What answers without any reading would score on the same questions: the floor a score must be seen against."""

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean

from eqlab.benchmarks.eqbench.rules import EqBenchRules
from eqlab.benchmarks.eqbench.score import item_score
from eqlab.core.results import Baseline

Reference = Mapping[str, float]


def baselines(references: Sequence[Reference], version: str, rules: EqBenchRules) -> tuple[Baseline, ...]:
    """Constant answers, the best of them included, and uniformly random ones."""
    return _of(tuple(tuple(reference.items()) for reference in references), version, rules) if references else ()


@lru_cache(maxsize=16)
def _of(asked: tuple[tuple[tuple[str, float], ...], ...], version: str, rules: EqBenchRules) -> tuple[Baseline, ...]:
    """Kept: many models answer the same questions."""
    references = [dict(reference) for reference in asked]
    if version == "v1":  # v1 normalises: every constant is the same answer
        constants = {1: _constant(references, 1, version, rules)}
    else:
        every = {value: _constant(references, value, version, rules) for value in range(11)}
        best = max(every, key=lambda value: every[value])
        constants = {value: every[value] for value in sorted({0, best, 5, 10})}
    found = [Baseline(f"always {value}", score) for value, score in constants.items()]
    return (*found, Baseline("random", _random(references, version, rules)))


def _constant(references: Sequence[Reference], value: int, version: str, rules: EqBenchRules) -> float:
    scores = [item_score(dict.fromkeys(reference, value), reference, version, rules) for reference in references]
    return 10 * fmean(score for score in scores if score is not None)


def _random(references: Sequence[Reference], version: str, rules: EqBenchRules) -> float:
    """Uniform whole numbers from 0 to 10: exact for v2, whose item score is a sum over emotions; drawn for v1."""
    if version == "v1":
        draw = random.Random(0)
        drawn = (
            item_score({name: draw.randint(0, 10) for name in reference}, reference, version, rules)
            for _ in range(200)
            for reference in references
        )
        return 10 * fmean(score for score in drawn if score is not None)
    best = item_score(references[0], references[0], version, rules) or 0.0
    lost = fmean(
        sum(
            best - (item_score({name: value}, {name: level}, version, rules) or 0.0)
            for name, level in reference.items()
            for value in range(11)
        )
        / 11
        for reference in references
    )
    return 10 * (best - lost)

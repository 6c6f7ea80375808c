"""From four scores to an item score, and from item scores to a run's score (protocol: arXiv 2312.06281, v1 and v2)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Literal

from eqlab.analysis.intervals import sample_sd
from eqlab.benchmarks.eqbench.rules import EqBenchRules

Pass = Literal["first_pass", "revised"]

_SCALE = 0.7477
"""Chosen upstream so that random answers score about 0."""


def item_score_v1(answer: Mapping[str, float], reference: Mapping[str, float]) -> float | None:
    """10 − Σ|10·a/Σa − r|, from −10 to 10; undefined for four zeros."""
    total = sum(answer.values())
    if total <= 0:
        return None
    return 10 - sum(abs(10 * answer[name] / total - reference[name]) for name in reference)


def penalty(distance: float, rules: EqBenchRules) -> float:
    """f(d): an S-curve for small differences, the difference itself for large ones."""
    return _penalty(distance, rules.five)


@lru_cache(maxsize=4096)
def _penalty(distance: float, five: str) -> float:
    """Kept by the one rule it depends on: hashing all rules would take longer than computing it."""
    if distance == 0:
        return 0.0
    on_curve = distance < 5 or (distance == 5 and five == "curve")
    return 6.5 / (1 + math.exp(-1.2 * (distance - 4))) if on_curve else distance


def item_score_v2(answer: Mapping[str, float], reference: Mapping[str, float], rules: EqBenchRules) -> float:
    """10 − 0.7477·Σ f(|a − r|); at most 10, below −100 for absurd answers."""
    five = rules.five
    return 10 - _SCALE * sum([_penalty(abs(answer[name] - level), five) for name, level in reference.items()])


def item_score(
    answer: Mapping[str, float] | None, reference: Mapping[str, float], version: str, rules: EqBenchRules
) -> float | None:
    """None where there is no answer, or none that this version can score."""
    if answer is None:
        return None
    return item_score_v1(answer, reference) if version == "v1" else item_score_v2(answer, reference, rules)


@dataclass(frozen=True, slots=True)
class RunScore:
    """One iteration over all questions. Scores are on the 0–100 scale; None where nothing could be scored."""

    score: float | None
    used: Pass
    items: tuple[float | None, ...]
    """Item scores of the pass that was used, question by question."""
    n: int
    n_questions: int
    first_pass: float | None
    n_first: int
    revised: float | None
    n_revised: int
    as_zero: float | None
    """The score with unparseable questions counted as 0."""
    first_as_zero: float | None
    """The same of the first pass, which is what lm-evaluation-harness, knowing no revision, would report."""
    sd: float | None
    se: float | None
    valid: bool


def run_score(first: Sequence[float | None], revised: Sequence[float | None], rules: EqBenchRules) -> RunScore:
    """The published aggregate: first pass or revised for the whole run, never question by question."""
    first_mean, n_first = _mean(first)
    revised_mean, n_revised = _mean(revised)
    use_revised = (
        revised_mean is not None
        and (first_mean is None or revised_mean >= first_mean)
        and n_revised >= rules.revised_share * n_first
    )
    items = tuple(revised if use_revised else first)
    mean, n = (revised_mean, n_revised) if use_revised else (first_mean, n_first)
    scored = [value for value in items if value is not None]
    sd = sample_sd(scored, fmean(scored)) if n > 1 else None
    as_zero = _mean_as_zero(items)
    return RunScore(
        score=as_zero if rules.missing == "zero" else mean,
        used="revised" if use_revised else "first_pass",
        items=items,
        n=n,
        n_questions=len(items),
        first_pass=first_mean,
        n_first=n_first,
        revised=revised_mean,
        n_revised=n_revised,
        as_zero=as_zero,
        first_as_zero=_mean_as_zero(first),
        sd=sd,
        se=None if sd is None else 10 * sd / math.sqrt(n),
        valid=bool(items) and n / len(items) >= rules.min_parseable,
    )


def _mean(scores: Sequence[float | None]) -> tuple[float | None, int]:
    scored = [score for score in scores if score is not None]
    return (10 * fmean(scored) if scored else None), len(scored)


def _mean_as_zero(scores: Sequence[float | None]) -> float | None:
    return 10 * sum(score or 0.0 for score in scores) / len(scores) if scores else None

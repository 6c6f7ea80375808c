"""From four scores to an item score, and from item scores to a run's score (protocol: arXiv 2312.06281, v1 and v2)."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Literal

from eqlab.analysis.intervals import sample_sd
from eqlab.benchmarks.options import Options, listed, option
from eqlab.core.results import Baseline
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

# -- rules -----------------------------------------------------------------------------------------------------------
# Every switch of EQ-Bench in one value, so that a score always says under which rules it was made.  The published
# code and the published leaderboard disagree in two of them: the leaderboard's numbers come out only if pairs with
# other names are ignored and a difference of exactly five counts five.


@dataclass(frozen=True, slots=True)
class EqBenchRules:
    name: str
    parser: Literal["names", "strict"]
    """`strict`: exactly four pairs, all asked for, as published. `names`: pairs with other names are ignored."""
    five: Literal["linear", "curve"]
    """What a difference of exactly 5 costs: 5 (leaderboard) or 4.995, the curve's value (published code)."""
    missing: Literal["omit", "zero"] = "omit"
    """Unparseable questions are left out of the mean, or count 0 (as later lm-evaluation-harness versions do)."""
    zero_gate: bool = True
    """Four zeros are no answer: the v1 score, which gates v2 too, cannot be computed for them."""
    revised_share: float = 0.95
    """The revised scores count only if at least this share of the first-pass questions has them."""
    min_parseable: float = 0.8333
    """A run with a smaller share of readable answers is marked as failed."""
    tries: int = 3
    temperature: float = 0.01
    temperature_step: float = 0.15
    """Added after a reply that could not be read, so that the next try can differ."""
    tokens_plain: int = 256
    tokens_revision: int = 1000


PRESETS: dict[str, EqBenchRules] = {
    "leaderboard": EqBenchRules("leaderboard", parser="names", five="linear"),
    "published-code": EqBenchRules("published-code", parser="strict", five="curve", tokens_plain=60),
}


Pass = Literal["first_pass", "revised"]

_SCALE = 0.7477
"""Chosen upstream so that random answers score about 0."""


def item_score_v1(answer: Mapping[str, float], reference: Mapping[str, float]) -> float | None:
    """10 − Σ|10·a/Σa − r|, from −10 to 10; undefined for four zeros."""
    total = sum(answer.values())
    if total <= 0:
        return None
    return 10 - sum(abs(10 * answer[name] / total - reference[name]) for name in reference)


@lru_cache(maxsize=4096)
def penalty(distance: float, five: str) -> float:
    """f(d): an S-curve for small differences, the difference itself for large ones. Kept by the one rule it depends on:
    hashing all rules would take longer than computing it."""
    if distance == 0:
        return 0.0
    on_curve = distance < 5 or (distance == 5 and five == "curve")
    return 6.5 / (1 + math.exp(-1.2 * (distance - 4))) if on_curve else distance


def item_score_v2(answer: Mapping[str, float], reference: Mapping[str, float], rules: EqBenchRules) -> float:
    """10 − 0.7477·Σ f(|a − r|); at most 10, below −100 for absurd answers."""
    five = rules.five
    return 10 - _SCALE * sum([penalty(abs(answer[name] - level), five) for name, level in reference.items()])


def worst_score(reference: Mapping[str, float], version: str, rules: EqBenchRules) -> float:
    """The item score of the worst answer from 0 to 10: in v1 everything on the emotion that is felt least."""
    return _worst_score(tuple(reference.values()), version, rules.five)


@lru_cache(maxsize=4096, typed=True)
def _worst_score(levels: tuple[float, ...], version: str, five: str) -> float:
    """Kept: many subjects, and repeats, answer the same questions."""
    if version == "v1":
        return 10 - max(sum(levels) - level + abs(10 - level) for level in levels)
    return 10 - _SCALE * sum(penalty(max(level, 10 - level), five) for level in levels)


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


VERSIONS = ("v1", "v2")


@dataclass(frozen=True, slots=True)
class EqBenchOptions(Options):
    version: str = option("v2", "v1: 60 published questions, scores share ten points; v2: 171, full scale", VERSIONS)
    language: str = option("en", "language of the published questions (German: v2 only)", ("en", "de"))
    revision: bool = option(False, "ask for a critique and revised scores as well")
    rules: str = option("leaderboard", "rules for reading and scoring", tuple(PRESETS))
    short: int = option(0, "estimate the score from a short form of N published questions; 0: ask all", late=True)
    perturb: tuple[str, ...] = listed(
        "no", "ask again with other instruction, order, temperature (a list with commas); no: do not", late=True
    )
    width: int = option(0, "ask until the estimate's 90 % interval is this many points wide; 0: ask all", late=True)


# -- what answers without any reading would score --------------------------------------------------------------------
# What answers without any reading would score on the same questions: the floor a score must be seen against.

Reference = Mapping[str, float]
Weights = tuple[float, ...] | None


def as_shown(trial: Trial) -> Reference:
    """The reference in the order in which the emotions stood before the subject: places are theirs."""
    reference: Reference = trial.key["reference"]
    return {name: reference[name] for name in trial.form.keys if name in reference} or reference


def baselines(
    references: Sequence[Reference], version: str, rules: EqBenchRules, weights: Sequence[float] | None = None
) -> tuple[Baseline, ...]:
    """Constant answers, the best of them included, the best fixed answer by place, and uniformly random ones.
    `weights`: how much each question counts, where people did not all answer the same."""
    if not references:
        return ()
    return _of(tuple(tuple(one.items()) for one in references), version, rules, tuple(weights) if weights else None)


@lru_cache(maxsize=16)
def _of(
    asked: tuple[tuple[tuple[str, float], ...], ...], version: str, rules: EqBenchRules, weights: Weights
) -> tuple[Baseline, ...]:
    """Kept: many models answer the same questions."""
    references = [dict(reference) for reference in asked]
    score_of, places = _fixed(references, version, rules, weights), max(map(len, references))
    if version == "v1":  # v1 normalises: every constant is the same answer
        constants = {1: score_of([1] * places)}
    else:
        every = {value: score_of([value] * places) for value in range(11)}
        best = max(every, key=lambda value: every[value])
        constants = {value: every[value] for value in sorted({0, best, 5, 10})}
    found = [Baseline(f"always {value}", score) for value, score in constants.items()]
    values, score = _best_by_place(score_of, places)
    if len(set(values)) > 1:
        found.append(Baseline(f"{'-'.join(map(str, values))} by place", score))
    return (*found, Baseline("random", _random(references, version, rules, weights)))


def by_place(references: Sequence[Reference], version: str, rules: EqBenchRules) -> tuple[list[int], float]:
    """The strongest answer that gives the same numbers to the first, second … emotion whatever the question, and its
    score. In v2 the item score is a sum over emotions, so that each place has a best number of its own."""
    return _best_by_place(_fixed(references, version, rules, None), max(map(len, references)))


def _best_by_place(score_of: Callable[[Sequence[int]], float], places: int) -> tuple[list[int], float]:
    found = max(([value] * places for value in range(11)), key=score_of)
    for place in range(places):
        found = max(([*found[:place], value, *found[place + 1 :]] for value in range(11)), key=score_of)
    return found, score_of(found)


def _fixed(
    references: Sequence[Reference], version: str, rules: EqBenchRules, weights: Weights
) -> Callable[[Sequence[int]], float]:
    """The score of whoever gives the same numbers to the first, second … emotion whatever the question."""
    if version != "v1":
        # Hundreds of answers are tried: what each number loses at each place is worked out once.
        lost = [
            [[penalty(abs(value - level), rules.five) for value in range(11)] for level in reference.values()]
            for reference in references
        ]
        return lambda values: (
            10
            * fmean(
                [10 - _SCALE * sum([place[value] for place, value in zip(q, values, strict=False)]) for q in lost],
                weights,
            )
        )

    def score_of(values: Sequence[int]) -> float:
        answers = ((dict(zip(reference, values, strict=False)), reference) for reference in references)
        return 10 * _weighted([item_score_v1(*pair) for pair in answers], weights)

    return score_of


def _random(references: Sequence[Reference], version: str, rules: EqBenchRules, weights: Weights) -> float:
    """Uniform whole numbers from 0 to 10: exact for v2, whose item score is a sum over emotions; drawn for v1."""
    if version == "v1":
        draw = random.Random(0)
        drawn = [
            item_score({name: draw.randint(0, 10) for name in reference}, reference, version, rules)
            for _ in range(200)
            for reference in references
        ]
        return 10 * _weighted(drawn, weights and weights * 200)
    levels = [level for reference in references for level in reference.values()]
    score_of = {
        (level, value): item_score_v2({"": value}, {"": level}, rules) for level in set(levels) for value in range(11)
    }
    lost = [
        sum([10 - score_of[level, value] for level in reference.values() for value in range(11)]) / 11
        for reference in references
    ]
    return 10 * (10 - fmean(lost, weights))


def _weighted(scores: Sequence[float | None], weights: Weights) -> float:
    """Of those that are defined; minus infinity where none is, so that another answer is better."""
    told = [
        (score, weight)
        for score, weight in zip(scores, weights or [1.0] * len(scores), strict=True)
        if score is not None
    ]
    return fmean((score for score, _ in told), [weight for _, weight in told]) if told else float("-inf")

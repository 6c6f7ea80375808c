"""From a subject's attempts to its EQ-Bench result: the score, its interval, what to say."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.outcome import FORCED, against, count_outcomes, flatness, not_answered_yet
from eqlab.benchmarks.eqbench.score import (
    PRESETS,
    EqBenchOptions,
    EqBenchRules,
    Pass,
    RunScore,
    as_shown,
    baselines,
    item_score,
    run_score,
    worst_score,
)
from eqlab.benchmarks.eqbench.short import as_short, is_short
from eqlab.benchmarks.eqbench.trials import FIGURES, Chosen, choose, choose_again, perturbation_of
from eqlab.benchmarks.eqbench.trials import tables as perturbation_tables
from eqlab.core.benchmark import Scored
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import Baseline, ByEmotion, Estimate, ItemScore, Result, Table


def iterations_of(scored: Iterable[Scored], stored: Mapping[str, Any], rules: EqBenchRules) -> list[RunScore]:
    """The published aggregate of each repeat under any rules."""
    return _iterations([choose(one, rules) for one in scored], EqBenchOptions.of(stored).version, rules)


def _iterations(questions: Sequence[Chosen], version: str, rules: EqBenchRules) -> list[RunScore]:
    """One published aggregate per repeat."""
    by_repeat = grouped((question.scored.repeat, question) for question in questions)
    iterations = []
    for _, group in sorted(by_repeat.items()):
        references = [question.scored.trial.key["reference"] for question in group]
        first = [item_score(q.scores.first, r, version, rules) for q, r in zip(group, references, strict=True)]
        revised = [item_score(q.scores.revised, r, version, rules) for q, r in zip(group, references, strict=True)]
        iterations.append(run_score(first, revised, rules))
    return iterations


def _question_means(iterations: Sequence[RunScore], *, zero: bool = False) -> list[float]:
    """Per question the mean over repeats, on the 0–100 scale: the independent units behind the standard error."""
    means = []
    for scores in zip(*(iteration.items for iteration in iterations), strict=False):
        known = [0.0 if score is None else score for score in scores if zero or score is not None]
        if known:
            means.append(10 * fmean(known))
    return means


def _run_estimate(name: str, iterations: Sequence[RunScore], rules: EqBenchRules, note: str = "") -> Estimate:
    """The published score (mean of the iterations' scores) with the standard error over questions."""
    defined = [iteration.score for iteration in iterations if iteration.score is not None]
    around = mean_estimate(name, _question_means(iterations, zero=rules.missing == "zero"), note=note)
    if not defined or around.value is None:
        return around
    shift = fmean(defined) - around.value  # not 0 only if questions were lost in some of several repeats
    return Estimate(
        name,
        fmean(defined),
        around.n,
        around.se,
        None if around.low is None else around.low + shift,
        None if around.high is None else min(100.0, around.high + shift),
        note=note,
    )


def result(subject: str, scored: Iterable[Scored], stored: Mapping[str, Any]) -> Result:
    """`stored`: the run's options, which are shown as they are."""
    options = EqBenchOptions.of(stored)
    rules, version = PRESETS[options.rules], options.version
    everything = list(scored)
    planned = [one for one in everything if not perturbation_of(one)]
    questions = [choose(one, rules) for one in planned]
    iterations = _iterations(questions, version, rules)
    headline = _run_estimate(f"EQ-Bench {version}", iterations, rules)
    n_valid = sum(iteration.valid for iteration in iterations)
    valid = bool(iterations) and n_valid == len(iterations)
    references = list({one.trial.id: as_shown(one.trial) for one in planned}.values())
    floor = baselines(references, version, rules)
    items = _items(questions, iterations, version, rules)
    whole = [score for score in items if set(score.reference) <= set(score.values)]
    flat = flatness([score.values[key] for key in score.reference] for score in whole)
    found = Result(
        noun="questions",
        benchmark="eqbench",
        title=f"EQ-Bench {version}",
        subject=subject,
        rules={
            **asdict(rules),
            **{key: value for key, value in stored.items() if key != "rules"},
            "mode": planned[0].trial.mode if planned else "text",
        },
        sentence=_sentence(subject, headline, len(references), valid, floor),
        headline=headline,
        score_range=(0.0, 100.0),
        estimates=(
            *_other_estimates(questions, iterations, options, rules),
            *(flat.estimates if flat else ()),
        ),
        counts=count_outcomes(question.status for question in questions),
        items=items,
        item_range=(-10.0, 10.0),
        baselines=floor,
        valid=valid,
        caveats=(*(flat.caveats if flat else ()), *_caveats(planned, questions, options, rules, valid)),
        emotions=deviations(items) if (version, options.language) == ("v2", "en") else None,
    )
    if options.perturb:
        found = replace(found, tables=(*found.tables, *_perturbations(items, everything, version, rules)))
    return as_short(found, options) if is_short(options) else found


def _perturbations(
    plain: Sequence[ItemScore], everything: Sequence[Scored], version: str, rules: EqBenchRules
) -> tuple[Table, ...]:
    other: dict[str, list[ItemScore]] = {}
    for scored in everything:
        if name := perturbation_of(scored):
            other.setdefault(name, []).append(_item(choose(scored, rules), version, rules))
    return perturbation_tables(plain, other) if other else ()


def _other_estimates(
    questions: Sequence[Chosen],
    iterations: Sequence[RunScore],
    options: EqBenchOptions,
    rules: EqBenchRules,
) -> tuple[Estimate, ...]:
    version = options.version
    estimates = [
        clustered_share(
            "readable answers", [one.status == "ok" for one in questions], [one.scored.trial.items for one in questions]
        ),
        mean_estimate("unreadable answers counted as 0", _question_means(iterations, zero=True)),
    ]
    estimates += _repeatability(iterations)
    for other in PRESETS.values():
        if other.name != rules.name:
            strict = _iterations([choose_again(question, other) for question in questions], version, other)
            estimates.append(_run_estimate(f"under the rules '{other.name}'", strict, other))
    if options.revision and len(iterations) == 1:
        for name, value, n in (
            ("first pass", iterations[0].first_pass, iterations[0].n_first),
            ("revised", iterations[0].revised, iterations[0].n_revised),
        ):
            used = "used for the score" if iterations[0].used == name.replace(" ", "_") else ""
            estimates.append(Estimate(name, value, n, note=used))
    return tuple(estimates)


def _repeatability(iterations: Sequence[RunScore]) -> list[Estimate]:
    """How far the score, and each question's score, is the same when asked again; nothing without repeats."""
    if len(iterations) < 2:
        return []
    from eqlab.analysis.clusters import item_agreement, score_variation

    scores = [iteration.score for iteration in iterations if iteration.score is not None]
    matrix = [
        [math.nan if score is None else score for score in question]
        for question in zip(*(iteration.items for iteration in iterations), strict=False)
    ]
    return [score_variation(scores), item_agreement(matrix)]


def item(scored: Scored, options: EqBenchOptions) -> ItemScore:
    rules = PRESETS[options.rules]
    return _item(choose(scored, rules), options.version, rules)


def _items(
    questions: Sequence[Chosen], iterations: Sequence[RunScore], version: str, rules: EqBenchRules
) -> tuple[ItemScore, ...]:
    """Every question with the pass that its repeat's score was made of."""
    repeats = sorted({question.scored.repeat for question in questions})
    used = {repeat: iteration.used for repeat, iteration in zip(repeats, iterations, strict=True)}
    return tuple(_item(question, version, rules, used[question.scored.repeat]) for question in questions)


def _item(question: Chosen, version: str, rules: EqBenchRules, used: Pass | None = None) -> ItemScore:
    """`used`: the pass that counts; without one the revised scores, if there are any."""
    trial, scores = question.scored.trial, question.scores
    shown = scores.revised if scores.revised is not None else scores.first
    if used is not None:
        shown = scores.revised if used == "revised" else scores.first
    score = item_score(shown, trial.key["reference"], version, rules)
    counted = 0.0 if score is None and question.status is not None and rules.missing == "zero" else score
    return ItemScore(
        item=trial.items[0],
        trial=trial.id,
        repeat=question.scored.repeat,
        status=question.status,
        score=score,
        title=f"How {trial.key['character']} feels" if trial.key["character"] else ", ".join(trial.form.keys),
        text=question.answer.text if question.answer else "",
        values=dict(shown or {}),
        reference=trial.key["reference"],
        reasons=trial.key["reasons"],
        attempts=len(question.scored.attempts),
        points=None if counted is None else 10 * counted,
        words_absent=question.answer.values["words"] if question.answer and question.answer.run == FIGURES else None,
        topics=topics(trial.form.keys) if trial.key["language"] == "en" else (),
        worst=10 * worst_score(trial.key["reference"], version, rules),
    )


def _sentence(subject: str, score: Estimate, n_questions: int, valid: bool, floor: Sequence[Baseline]) -> str:
    who = subject.removeprefix("model:")
    if score.value is None:
        return f"No answer of {who} could be scored, so there is no score."
    text = f"{who} scores {score.value:.2f} on {score.name}"
    if score.low is None or score.high is None:
        return f"{text} with {score.n} of {many(n_questions, 'question')}, too few for an interval."
    text += f" (95 % interval {score.low:z.1f} to {score.high:z.1f}, {score.n} of {many(n_questions, 'question')})"
    if not valid:
        return f"{text}, but too few answers could be read: by the published rule the run has failed."
    return f"{text}, {against(score, floor)}"


def _caveats(
    planned: Sequence[Scored],
    questions: Sequence[Chosen],
    options: EqBenchOptions,
    rules: EqBenchRules,
    valid: bool,
) -> tuple[str, ...]:
    said = []
    if options.item_set == "open":
        said.append("References are the author's, not a human norm; scores are not those of the published questions.")
    if planned and planned[0].trial.mode == "json":
        said.append(FORCED)
    if not valid and any(question.status is not None for question in questions):
        said.append(f"Fewer than {100 * rules.min_parseable:.2f} % of the answers could be read: the run has failed.")
    cut = sum(1 for q in questions if q.status != "ok" and q.answer is not None and q.answer.finish == "length")
    if cut:
        said.append(
            f"{many(cut, 'unread answer was', 'unread answers were')} cut off by the token limit; raise it "
            "with --set max_tokens=N."
        )
    return (*said, *not_answered_yet(sum(question.status is None for question in questions), what="score"))


# -- emotion words in groups -----------------------------------------------------------------------------------------
# The questions' emotion words in twelve groups, and how far answers lie from the references in each.  The grouping is
# ours, for reading only: no score depends on it. A word without a group counts as "other".

GROUPS: dict[str, str] = json.loads(Path(__file__).with_name("emotion_groups.json").read_text(encoding="utf-8"))
OTHER = "other"
_GROUP_OF = {word: group for group, words in GROUPS.items() for word in words.split()}


def group_of(word: str) -> str:
    return _GROUP_OF.get(word.casefold(), OTHER)


@lru_cache(maxsize=512)
def topics(words: tuple[str, ...]) -> tuple[str, ...]:
    """Kept: many subjects answer the same questions."""
    return tuple(dict.fromkeys(group_of(word) for word in words))


def deviations(items: Sequence[ItemScore]) -> ByEmotion | None:
    """Mean absolute distance between answer and reference, group by group. The question is the unit: words of one
    group in one question, and its repeats, are averaged first."""
    found: dict[str, dict[str, list[float]]] = {}
    for item in items:
        for word, level in item.reference.items():
            if word in item.values:
                own = found.setdefault(group_of(word), {}).setdefault(item.item, [])
                own.append(abs(float(item.values[word]) - float(level)))
    if not found:
        return None
    means = {
        group: [sum(question) / len(question) for question in questions.values()] for group, questions in found.items()
    }
    order = [group for group in (*GROUPS, OTHER) if group in means]
    return ByEmotion(
        "mean absolute deviation from the reference",
        tuple(_not_below_zero(mean_estimate(group, means[group])) for group in order),
        note="In points of the scale from 0 to 10; smaller is better. n counts questions with a word of the group. "
        "The groups are ours and no score depends on them.",
    )


def _not_below_zero(estimate: Estimate) -> Estimate:
    """A distance has no negative bound, which the t-interval of a few questions does not know."""
    return estimate if estimate.low is None else structs.replace(estimate, low=max(0.0, estimate.low))

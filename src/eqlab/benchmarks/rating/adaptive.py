"""Pairs asked in rounds: first some prompts with every pair, then those pairs whose verdicts would narrow the rank
ranges most, until the ranges are as narrow as wanted or all is asked.

The same verdicts always lead to the same round, which is written down before it is asked; so a run that was stopped
goes on with the same choice. Prompts come in one shuffled order for every pair, so that which prompts a pair has met
tells nothing about the verdicts."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eqlab.analysis.bradley_terry import next_pairs
from eqlab.benchmarks.rating.pair_trials import Design, designed, on_prompts, pair
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.reply_rows import ReplyRow, choose
from eqlab.benchmarks.rating.strengths import anchors_of, fitted
from eqlab.core.benchmark import Selection
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial

FIRST = 10
"""Prompts that every pair is asked at the beginning: below that strengths are a guess."""
STEP = 10
"""Prompts by which a chosen pair goes on, each in both orders."""
PAIRS = 4
"""Pairs of a round at most."""


def first_round(
    rows: Sequence[ReplyRow], rubric: Rubric, options: Mapping[str, Any], selection: Selection
) -> list[Trial]:
    by_prompt = on_prompts(rows)
    order = prompt_order(by_prompt, selection.seed)
    met = designed(rows, options)
    return [trial for one in met for trial in _asked(by_prompt, order[:FIRST], one, rubric, selection)]


def prompt_order(prompts: Mapping[str, object], seed: int) -> list[str]:
    found = sorted(prompts)
    random.Random(f"adaptive {seed}").shuffle(found)
    return found


def next_round(
    rows: Sequence[ReplyRow],
    rubric: Rubric,
    options: Mapping[str, Any],
    selection: Selection,
    ratings: Sequence[RatedReply],
) -> list[tuple[Trial, int]]:
    """Empty when the ranges are narrow enough, when nothing more would help, or when everything was asked."""
    chosen = choose(rows, selection.limit, selection.seed)
    by_prompt = on_prompts(chosen)
    order = prompt_order(by_prompt, selection.seed)
    met = designed(chosen, options)
    left = _left(ratings, by_prompt, order, met)
    if not left:
        return []
    pairs = _wanted(ratings, options, list(left))
    asked = [trial for one in pairs for trial in _asked(by_prompt, left[one][:STEP], one, rubric, selection)]
    return [(trial, repeat) for repeat in range(selection.repeats or 1) for trial in asked]


def _wanted(ratings: Sequence[RatedReply], options: Mapping[str, Any], open_: Design) -> Design:
    subject = next((one.rater for one in ratings if one.rater), "")
    found, _ = fitted({"": ratings}, anchors_of(options, subject))
    if found is None or found.table.shape[1] < 2 or not np.isfinite(found.table).all():
        return open_[:PAIRS]  # nothing can be told yet: more of everything
    known = [one for one in open_ if set(one) <= set(found.names)]
    plan = next_pairs(found, PAIRS, batch=2 * STEP, width=float(options["width"]), only=known)
    if plan.stop:
        return []
    return list(dict.fromkeys((one.first, one.second) for one in plan.pairs))


def _left(
    ratings: Sequence[RatedReply], by_prompt: Mapping[str, Mapping[str, ReplyRow]], order: Sequence[str], met: Design
) -> dict[tuple[str, str], list[str]]:
    """Prompts that a pair has not been asked yet, in their order."""
    done = {(one.prompt, frozenset(one.key["arms"])) for one in ratings}
    found = {}
    for one in met:
        own = [
            prompt
            for prompt in order
            if (prompt, frozenset(one)) not in done and all(arm in by_prompt[prompt] for arm in one)
        ]
        if own:
            found[one] = own
    return found


def _asked(
    by_prompt: Mapping[str, Mapping[str, ReplyRow]],
    prompts: Sequence[str],
    met: tuple[str, str],
    rubric: Rubric,
    selection: Selection,
) -> list[Trial]:
    one, other = met
    return [
        pair(by_prompt[prompt][first], by_prompt[prompt][second], rubric, selection)
        for prompt in prompts
        if one in by_prompt[prompt] and other in by_prompt[prompt]
        for first, second in ((one, other), (other, one))
    ]

"""A ranking from replies in pairs: Bradley–Terry with ties over prompts and judges, the worth of the first place, rank
ranges; and an adaptive run's rounds, each of the pairs whose verdicts would narrow the ranges most.

The same verdicts always lead to the same round, which is written down before it is asked; so a run that was stopped
goes on with the same choice. Prompts come in one shuffled order for every pair, so that which prompts a pair has met
tells nothing about the verdicts."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from eqlab.analysis.bradley_terry import Strengths, Verdicts, next_pairs, strengths
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.trials import Design, RatingOptions, choose, designed, on_prompts, pair
from eqlab.core.benchmark import ReplyRow, Selection
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, Table, whiskers
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial
from eqlab.tables.cells import rank_text

PRIOR_SD = 2.0
"""In log odds, where somebody won or lost everything and has no finite strength: 95 % of strengths within ±4."""
BATCH = 20


def verdicts_of(given: Iterable[tuple[str, RatedReply]]) -> Verdicts | None:
    """All readable verdicts, each with its rater's name; None without any."""
    rows = [(rater, reply, points) for rater, reply in given if (points := reply.first_points) is not None]
    if not rows:
        return None
    return Verdicts(
        [str(reply.key["arms"][0]) for _, reply, _ in rows],
        [str(reply.key["arms"][1]) for _, reply, _ in rows],
        [points for *_, points in rows],
        [reply.prompt for _, reply, _ in rows],
        [rater for rater, *_ in rows],
    )


LOOKED = 0.98
"""The level of the intervals of an adaptive run, which looks at its verdicts on the way and stops when they please: so
drawn they hold 95 % (docs/evidence/coverage.md); drawn at 95 % they held 91 %."""


def level_of(options: RatingOptions) -> float:
    return LOOKED if options.adaptive else 0.95


Anchors = Mapping[str, Mapping[str, Any]]
"""By arm, as an earlier run had it: `value`, `low`, `high`, `prompts`, and who is certainly `above` and `below` it."""


def anchors_of(options: RatingOptions, subject: str) -> Anchors | None:
    """The strengths that a judge's earlier run gave, if this run was added to one."""
    known: Mapping[str, Anchors] = options.anchors.get("strengths", {})
    return known.get(subject)


def fitted(given: Mapping[str, Sequence[RatedReply]], anchors: Anchors | None = None) -> tuple[Strengths | None, str]:
    """The strengths, and what must be said of them; or why there are none."""
    verdicts = verdicts_of((judge, reply) for judge, ratings in given.items() for reply in ratings)
    if verdicts is None:
        return None, "no verdict could be read"
    fixed = {arm: float(anchor["value"]) for arm, anchor in anchors.items()} if anchors else None
    try:
        return strengths(verdicts, anchors=fixed), ""
    except (UsageError, FitError, np.linalg.LinAlgError) as error:
        why = str(error)
    try:
        found = strengths(verdicts, anchors=fixed, prior_sd=PRIOR_SD)
    except (UsageError, FitError, np.linalg.LinAlgError):
        return None, why
    return found, f"With a normal prior (SD {PRIOR_SD:g}): {why}"


def strengths_tables(
    given: Mapping[str, Sequence[RatedReply]], anchors: Anchors | None = None, run: str = "", level: float = 0.95
) -> tuple[Table, ...]:
    """Ranking, places and next pairs; nothing where no strengths can be fitted. Anchors stay as `run` had them."""
    found, note = fitted(given, anchors)
    if found is None:
        return ()
    if anchors:
        note = f"Those of run {run} keep their strengths; the new ones' intervals take those as given. {note}".strip()
    over = "prompts and judges" if found.judge_table is not None else "prompts"
    ranges = rank_ranges(found, anchors)
    order = sorted(range(len(found.names)), key=lambda index: -found.ability[index])
    estimates = [_former(estimate, anchors) for estimate in found.estimates(level)]
    if level > 0.95:
        note = f"Drawn at {100 * level:g} %, so that after looking on the way they hold 95 %. {note}".strip()
    rows = tuple(
        (found.names[index], estimates[index], rank_text(ranges[index]), "yes" if ranges[index][0] == 1 else "no")
        for index in order
    )
    ranking = Table(
        "Strengths from pairs",
        ("replies by", "strength, log odds", "rank", "may be first"),
        rows,
        f"Bradley–Terry with ties (Davidson), mean 0; intervals and ranks over {over}, not verdicts "
        f"({found.verdicts}). {note}".strip(),
        draw=(whiskers("strength, log odds"),),
    )
    return (ranking, *_place(found), *_next(found))


def preferred_pairs(found: Strengths, level: float = 0.95) -> list[tuple[str, str]]:
    """(better, worse), best first, all pairs at once: what a sentence about several may say."""
    pairs, order = found.pairs(), np.argsort(-found.ability, kind="stable").tolist()
    sure = np.nan_to_num(pairs.p, nan=1.0) < 1 - level
    if len(order) > 2:
        together = found.ranks(level, claim="all")
        sure &= together.above | together.below
    return [(found.names[a], found.names[b]) for a, b in combinations(order, 2) if sure[a, b]]


def width_of(found: Strengths) -> float:
    """How many ranks an arm may have, on average."""
    return float(np.mean([high - low + 1 for low, high in found.ranks().ranges]))


def _former(one: Estimate, anchors: Anchors | None) -> Estimate:
    """An anchor with the interval that it had."""
    if not anchors or one.name not in anchors:
        return one
    was = anchors[one.name]
    return Estimate(one.name, was["value"], was["prompts"], None, was["low"], was["high"], note="anchor", of="prompts")


def rank_ranges(found: Strengths, anchors: Anchors | None = None) -> list[tuple[int, int]]:
    """The ranks that each arm may have. Which of two anchors is better is as certain as it was in their own run; the
    strengths that they keep are no proof of it."""
    sets = found.ranks()
    if not anchors:
        return list(sets.ranges)
    made = []
    for place, name in enumerate(found.names):
        above = {found.names[other] for other in np.flatnonzero(sets.above[:, place])}
        below = {found.names[other] for other in np.flatnonzero(sets.below[:, place])}
        if name in anchors:
            above = (above - set(anchors)) | set(anchors[name]["above"])
            below = (below - set(anchors)) | set(anchors[name]["below"])
        made.append((1 + len(above), len(found.names) - len(below)))
    return made


def as_anchors(found: Strengths, before: Anchors | None = None) -> dict[str, dict[str, Any]]:
    """What a later run keeps of this one."""
    sets, kept = found.ranks(), {}
    for place, estimate in enumerate(found.estimates()):
        was = (before or {}).get(estimate.name)
        fresh = {name for name, free in zip(found.names, found.free, strict=True) if free}
        above = {found.names[other] for other in np.flatnonzero(sets.above[:, place])}
        below = {found.names[other] for other in np.flatnonzero(sets.below[:, place])}
        numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "prompts": estimate.n}
        if was is not None:
            numbers = {name: was[name] for name in numbers}
            above, below = (above & fresh) | set(was["above"]), (below & fresh) | set(was["below"])
        kept[estimate.name] = {**numbers, "above": sorted(above), "below": sorted(below)}
    return kept


def _place(found: Strengths) -> tuple[Table, ...]:
    place = found.position
    if place is None or place.value is None:
        return ()
    shares = [Estimate("odds", float(np.exp(place.value)), place.n, None, _exp(place.low), _exp(place.high))]
    return (
        Table(
            "What the first place is worth",
            ("log odds", "odds of winning there, equals otherwise"),
            ((place, shares[0]),),
            "0 and 1: no position bias. Both orders are asked, so it does not change any strength.",
        ),
    )


def _exp(value: float | None) -> float | None:
    return None if value is None else float(np.exp(value))


def _next(found: Strengths) -> tuple[Table, ...]:
    if len(found.names) < 3 or found.table.shape[1] < 5:
        return ()
    plan = next_pairs(found, batch=BATCH)
    if not plan.pairs:
        return ()
    gains: dict[tuple[str, str], list[float]] = {}
    for next_pair in plan.pairs:  # one that is open enough may be worth several batches
        gains.setdefault((next_pair.first, next_pair.second), []).append(next_pair.gain)
    return (
        Table(
            "Which pairs to ask next",
            ("replies by", "against", "verdicts", "open pairs decided, expected"),
            tuple((*pair, BATCH * len(gain), sum(gain)) for pair, gain in gains.items()),
            f"The rank ranges are {plan.width:.1f} ranks wide on average now.",
        ),
    )


# -- rounds of an adaptive run --------------------------------------------------------------------------------------

FIRST = 10
"""Prompts that every pair is asked at the beginning: below that strengths are a guess."""
STEP = 10
"""Prompts by which a chosen pair goes on, each in both orders."""
PAIRS = 4
"""Pairs of a round at most."""


def first_round(rows: Sequence[ReplyRow], rubric: Rubric, options: RatingOptions, selection: Selection) -> list[Trial]:
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
    options: RatingOptions,
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
    trials = [trial for one in pairs for trial in _asked(by_prompt, left[one][:STEP], one, rubric, selection)]
    return [(trial, repeat) for repeat in range(selection.repeats or 1) for trial in trials]


def _wanted(ratings: Sequence[RatedReply], options: RatingOptions, open_: Design) -> Design:
    subject = next((reply.rater for reply in ratings if reply.rater), "")
    found, _ = fitted({"": ratings}, anchors_of(options, subject))
    if found is None or found.table.shape[1] < 2 or not np.isfinite(found.table).all():
        return open_[:PAIRS]  # nothing can be told yet: more of everything
    known = [one for one in open_ if set(one) <= set(found.names)]
    plan = next_pairs(found, PAIRS, batch=2 * STEP, width=float(options.width), only=known)
    if plan.stop:
        return []
    return list(dict.fromkeys((next_pair.first, next_pair.second) for next_pair in plan.pairs))


def _left(
    ratings: Sequence[RatedReply], by_prompt: Mapping[str, Mapping[str, ReplyRow]], order: Sequence[str], met: Design
) -> dict[tuple[str, str], list[str]]:
    """Prompts that a pair has not been asked yet, in their order."""
    done = {(reply.prompt, frozenset(reply.key["arms"])) for reply in ratings}
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

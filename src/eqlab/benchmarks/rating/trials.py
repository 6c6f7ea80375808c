"""Replies become trials: the scene and a reply above, Bad, Okay, Good below; or two replies (pair_trials.py).
Who wrote a reply is in the trial's key, which no rater sees; the order of asking is shuffled."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.rating import prompt as wording
from eqlab.benchmarks.rating.pair_trials import designed, pairs
from eqlab.benchmarks.rating.reply_rows import ReplyRow, choose, prompt_key
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form, Scale
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial
from eqlab.data.rubric_files import PUBLISHED, shipped

SCALES = "scales"
"""Condition of trials with scales of a study's own."""


def plan(
    rows: Sequence[ReplyRow], rubric: Rubric, options: Mapping[str, Any], selection: Selection
) -> Iterator[tuple[Trial, int]]:
    chosen = choose(rows, selection.limit, selection.seed)
    if not options["pairwise"]:
        trials = [judged(row, rubric, selection) for row in chosen]
    elif options.get("adaptive"):
        from eqlab.benchmarks.rating.adaptive import first_round

        trials = first_round(chosen, rubric, options, selection)
    else:
        trials = pairs(chosen, rubric, selection, designed(chosen, options))
    random.Random(selection.seed).shuffle(trials)
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def judged(row: ReplyRow, rubric: Rubric, selection: Selection) -> Trial:
    """One reply, or one talk, for a judge."""
    shown, replies = wording.shown_one(row, rubric)
    told = wording.build(rubric, shown, replies, pairwise=False, structured=selection.structured)
    published = is_published(rubric)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition="absolute" if published else SCALES,
        stimulus=shown + replies,
        form=Form(rubric.scales),
        prompt=told,
        mode="json" if selection.structured else "text",
        order_seed=selection.seed,
        key=_reply_key(row) | ({} if published else {"human_scales": [list(one) for one in row.human_scales]}),
    )


def is_published(rubric: Rubric) -> bool:
    """By what it says, whatever it is called: whose results have P(Good)."""
    return rubric.sha256 == shipped(PUBLISHED).sha256


def single(
    row: ReplyRow,
    *,
    scales: tuple[Scale, ...] = (wording.RATING,),
    words: Mapping[str, str] = wording.WORDS,
) -> Trial:
    """One reply for people: no prompt, but a page."""
    shown = wording.scene(row.emotion, row.situation, row.utterance, words)
    replies = wording.one_reply(row.reply, words)
    ours = scales == (wording.RATING,)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition="absolute" if [scale.key for scale in scales] == [wording.RATING.key] else SCALES,
        stimulus=shown + replies,
        form=Form(scales),
        prompt=wording.build(shipped(PUBLISHED), shown, replies, pairwise=False, structured=False) if ours else "",
        mode="text",
        key=_reply_key(row),
    )


def _reply_key(row: ReplyRow) -> dict[str, Any]:
    return {
        **prompt_key(row),
        "arm": row.arm,
        "reply": row.reply,
        "words": len(row.reply.split()),
        "batch": row.batch,
        "reply_repeat": row.repeat,
        "human": [list(one) for one in row.human],
    }

"""Replies become trials: the scene and a reply above, Bad, Okay, Good below; or two replies, once in each order.
Who wrote a reply is in the trial's key, which no rater sees; the order of asking is shuffled."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from eqlab.benchmarks.rating import prompt as wording
from eqlab.benchmarks.rating.reply_rows import ReplyRow, order_arms
from eqlab.core.benchmark import Selection
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial

SCALES = "scales"
"""Condition of trials with scales of a study's own."""


def plan(rows: Sequence[ReplyRow], options: Mapping[str, Any], selection: Selection) -> Iterator[tuple[Trial, int]]:
    chosen = choose(rows, selection.limit, selection.seed)
    build_all = pairs if options["pairwise"] else singles
    trials = build_all(chosen, selection)
    random.Random(selection.seed).shuffle(trials)
    for repeat in range(selection.repeats or 1):
        for trial in trials:
            yield trial, repeat


def choose(rows: Sequence[ReplyRow], limit: int | None, seed: int) -> list[ReplyRow]:
    """All replies to at most `limit` prompts, drawn by seed."""
    prompts = sorted({row.prompt for row in rows})
    if limit is None or limit >= len(prompts):
        return list(rows)
    kept = set(random.Random(seed).sample(prompts, limit))
    return [row for row in rows if row.prompt in kept]


def singles(rows: Sequence[ReplyRow], selection: Selection) -> list[Trial]:
    return [single(row, structured=selection.structured, seed=selection.seed) for row in rows]


def single(
    row: ReplyRow,
    *,
    structured: bool = False,
    seed: int | None = None,
    scales: tuple[Scale, ...] = (wording.RATING,),
    words: Mapping[str, str] = wording.WORDS,
) -> Trial:
    """A judge is told in English what the one scale of ours means; other words and scales are for people."""
    shown = wording.scene(row.emotion, row.situation, row.utterance, words)
    replies = wording.one_reply(row.reply, words)
    ours = scales == (wording.RATING,)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition="absolute" if [scale.key for scale in scales] == [wording.RATING.key] else SCALES,
        stimulus=shown + replies,
        form=Form(scales),
        prompt=wording.build(shown, replies, pairwise=False, structured=structured) if ours else "",
        mode="json" if structured else "text",
        order_seed=seed,
        key={
            **_prompt_key(row),
            "arm": row.arm,
            "reply": row.reply,
            "words": len(row.reply.split()),
            "batch": row.batch,
            "reply_repeat": row.repeat,
            "human": [list(one) for one in row.human],
        },
    )


def pairs(rows: Sequence[ReplyRow], selection: Selection) -> list[Trial]:
    """Every two arms on every prompt, in both orders: what the first place is worth can then be seen and removed."""
    by_prompt: dict[str, dict[str, ReplyRow]] = {}
    for row in rows:
        if row.repeat == 0:
            by_prompt.setdefault(row.prompt, {})[row.arm] = row
    arms = order_arms(row.arm for row in rows)
    if len(arms) < 2:
        raise UsageError("A pairwise comparison needs replies of two arms.", "Name a second run or file with --on.")
    return [
        _pair(own[first], own[second], selection)
        for own in by_prompt.values()
        for one, other in combinations(arms, 2)
        if one in own and other in own
        for first, second in ((one, other), (other, one))
    ]


def _pair(first: ReplyRow, second: ReplyRow, selection: Selection) -> Trial:
    shown = wording.scene(first.emotion, first.situation, first.utterance)
    replies = wording.two_replies(first.reply, second.reply)
    return Trial(
        benchmark="rating",
        items=(first.prompt,),
        condition="pairwise",
        stimulus=shown + replies,
        form=Form((wording.BETTER,)),
        prompt=wording.build(shown, replies, pairwise=True, structured=selection.structured),
        mode="json" if selection.structured else "text",
        order_seed=selection.seed,
        key=pair_key(first, second),
    )


def pair_key(first: ReplyRow, second: ReplyRow) -> dict[str, Any]:
    return {
        **_prompt_key(first),
        "arms": [first.arm, second.arm],
        "replies": [first.reply, second.reply],
        "words": [len(first.reply.split()), len(second.reply.split())],
    }


def _prompt_key(row: ReplyRow) -> dict[str, Any]:
    return {"prompt": row.prompt, "emotion": row.emotion, "valence": row.valence, "utterance": row.utterance}

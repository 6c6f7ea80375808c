"""Replies become trials: the scene and a reply above, Bad, Okay, Good or a rubric's scales below; or two replies, once
in each order, and which arms meet at all. Who wrote a reply is in the trial's key, which no rater sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from eqlab.benchmarks.options import Options, option
from eqlab.benchmarks.rating import prompt as wording
from eqlab.benchmarks.rating.reply_rows import ReplyRow, order_arms, prompt_key
from eqlab.core.benchmark import Selection
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial
from eqlab.data.items import PUBLISHED, shipped

ABSOLUTE, SCALES, PAIRWISE = "absolute", "scales", "pairwise"
"""Conditions of trials: the published form, scales of a rubric or a study, two replies."""
ALL, RING = "all", "ring"
Design = Sequence[tuple[str, str]]
"""Which two arms meet."""
PURPOSES = ("judging", "calibration", "people")


@dataclass(frozen=True, slots=True)
class RatingOptions(Options):
    """What a user may ask for, and below it what a run of ratings keeps beside."""

    pairwise: bool = option(False, "two replies at a time, in both orders")
    purpose: str = option("judging", "what the ratings are for", PURPOSES)
    pairs: str = option(
        ALL,
        "which are compared: all, ring (each with the next), or the name of one that all are compared with",
        late=True,
    )
    adaptive: bool = option(False, "ask the pairs that narrow the ranks most, in rounds", late=True)
    width: str = option("", "adaptive: mean width of the rank ranges at which to stop", late=True)
    rubric: str = ""
    """Its name; empty: the published form."""
    rubric_title: str = "Empathy"
    rubric_sha256: str = ""
    prompt_sha256: str = ""
    reference: str = ""
    """The arm that others are compared with, where a study's plan names it."""
    anchors: Mapping[str, Any] = field(default_factory=dict)
    """Where this run was added to an earlier one: that `run`, its `arms`, and the `strengths` that its judges gave."""


def judged(row: ReplyRow, rubric: Rubric, selection: Selection) -> Trial:
    """One reply, or one talk, for a judge."""
    shown, replies = wording.shown_one(row, rubric)
    told = wording.build(rubric, shown, replies, pairwise=False, structured=selection.structured)
    published = is_published(rubric)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition=ABSOLUTE if published else SCALES,
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
        condition=ABSOLUTE if [scale.key for scale in scales] == [wording.RATING.key] else SCALES,
        stimulus=shown + replies,
        form=Form(scales),
        prompt=wording.build(shipped(PUBLISHED), shown, replies, pairwise=False, structured=False) if ours else "",
        mode="text",
        key=_reply_key(row),
    )


def designed(rows: Sequence[ReplyRow], options: RatingOptions) -> Design:
    """All pairs of arms; or every arm with its next in a ring; or every arm with one. Arms whose strength is known are
    not compared again."""
    arms = order_arms(row.arm for row in rows)
    if len(arms) < 2:
        raise UsageError("A pairwise comparison needs replies of two models.", "Name a second run or file with --on.")
    wanted, known = options.pairs, options.anchors.get("arms", ())
    if wanted == RING and len(arms) > 2:
        met = [(one, arms[(place + 1) % len(arms)]) for place, one in enumerate(arms)]
    elif wanted in (ALL, RING):
        met = list(combinations(arms, 2))
    elif wanted in arms:
        met = [(wanted, other) for other in arms if other != wanted]
    else:
        raise UsageError(
            f"--pairs '{wanted}' is not one of those compared.", f"Write {ALL}, {RING}, or one of: {', '.join(arms)}."
        )
    met = [(one, other) for one, other in met if one not in known or other not in known]
    if not met:
        raise UsageError("All have strengths already: there is nothing to compare.", "Name a new run with --on.")
    return met


def pairs(rows: Sequence[ReplyRow], rubric: Rubric, selection: Selection, met: Design) -> list[Trial]:
    """These pairs on every prompt, in both orders: what the first place is worth can then be seen and removed."""
    by_prompt = on_prompts(rows)
    return [
        pair(own[first], own[second], rubric, selection)
        for own in by_prompt.values()
        for one, other in met
        if one in own and other in own
        for first, second in ((one, other), (other, one))
    ]


def on_prompts(rows: Sequence[ReplyRow]) -> dict[str, dict[str, ReplyRow]]:
    """The first reply of each arm to each prompt."""
    found: dict[str, dict[str, ReplyRow]] = {}
    for row in rows:
        if row.repeat == 0:
            found.setdefault(row.prompt, {})[row.arm] = row
    return found


def pair(first: ReplyRow, second: ReplyRow, rubric: Rubric, selection: Selection) -> Trial:
    shown, replies = wording.shown_two(first, second, rubric)
    return Trial(
        benchmark="rating",
        items=(first.prompt,),
        condition=PAIRWISE,
        stimulus=shown + replies,
        form=Form((wording.BETTER,)),
        prompt=wording.build(rubric, shown, replies, pairwise=True, structured=selection.structured),
        mode="json" if selection.structured else "text",
        order_seed=selection.seed,
        key=pair_key(first, second),
    )


def pair_key(first: ReplyRow, second: ReplyRow) -> dict[str, Any]:
    return {
        **prompt_key(first),
        "arms": [first.arm, second.arm],
        "replies": [first.reply, second.reply],
        "words": [len(first.reply.split()), len(second.reply.split())],
    }


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

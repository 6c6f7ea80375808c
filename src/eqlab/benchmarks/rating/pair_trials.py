"""Two replies to one prompt become trials, once in each order; and which arms meet at all."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from eqlab.benchmarks.rating import prompt as wording
from eqlab.benchmarks.rating.reply_rows import ReplyRow, order_arms, prompt_key
from eqlab.core.benchmark import Selection
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial

ALL, RING = "all", "ring"
Design = Sequence[tuple[str, str]]
"""Which two arms meet."""


def designed(rows: Sequence[ReplyRow], options: Mapping[str, Any]) -> Design:
    """All pairs of arms; or every arm with its next in a ring; or every arm with one. Arms whose strength is known are
    not compared again."""
    arms = order_arms(row.arm for row in rows)
    if len(arms) < 2:
        raise UsageError("A pairwise comparison needs replies of two models.", "Name a second run or file with --on.")
    wanted = str(options.get("pairs", ALL))
    known = options.get("anchors", {}).get("arms", ())
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
        condition="pairwise",
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

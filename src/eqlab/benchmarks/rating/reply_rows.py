"""Replies on their way to raters: one row each, whoever wrote them; as JSON lines the items of a rating run."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import DataError

__all__ = [
    "FILE",
    "REFERENCE_ARMS",
    "ReplyRow",
    "choose",
    "from_jsonl",
    "in_all_arms",
    "order_arms",
    "prompt_key",
    "to_jsonl",
]

FILE = "replies.jsonl"
REFERENCE_ARMS = ("human", "author")
"""Arms that others are compared with, if they are there."""


def order_arms(arms: Iterable[str]) -> tuple[str, ...]:
    """Each once: the reference first, the others by name."""
    names = set(arms)
    first = [name for name in REFERENCE_ARMS if name in names]
    return (*first, *sorted(names.difference(first)))


def to_jsonl(rows: Iterable[ReplyRow]) -> bytes:
    """In one order whatever the order given: the same replies are the same items."""
    ordered = sorted(rows, key=lambda row: (row.arm, row.prompt, row.repeat))
    return "".join(json.dumps(_plain(row), ensure_ascii=False, sort_keys=True) + "\n" for row in ordered).encode()


def _plain(row: ReplyRow) -> dict[str, Any]:
    """What came after 0.1 is told only where it is there, so that the same replies are the same items."""
    body = asdict(row)
    if not row.human_scales:
        del body["human_scales"]
    return body


def from_jsonl(content: bytes, path: str = FILE) -> list[ReplyRow]:
    rows = []
    for number, line in enumerate(content.decode("utf-8").split("\n"), start=1):
        if not line:
            continue
        try:
            body = json.loads(line)
            body["human"] = tuple((str(rater), int(value)) for rater, value in body["human"])
            scales = body.get("human_scales", ())
            body["human_scales"] = tuple((str(rater), str(scale), int(value)) for rater, scale, value in scales)
            rows.append(ReplyRow(**body))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}: line {number} is not a reply ({type(error).__name__}: {error}).") from error
    if not rows:
        raise DataError(f"{path} holds no replies.", "Name a run or a file with replies: eqlab judge MODEL --on RUN.")
    return rows


def in_all_arms(rows: Sequence[ReplyRow]) -> tuple[list[ReplyRow], int]:
    """(rows of the prompts that every arm has replied to, prompts left out): arms are compared on the same prompts."""
    arms: dict[str, set[str]] = {}
    for row in rows:
        arms.setdefault(row.prompt, set()).add(row.arm)
    every = {row.arm for row in rows}
    common = {prompt for prompt, own in arms.items() if own == every}
    return [row for row in rows if row.prompt in common], len(arms) - len(common)


def choose(rows: Sequence[ReplyRow], limit: int | None, seed: int) -> list[ReplyRow]:
    """All replies to at most `limit` prompts, drawn by seed."""
    prompts = sorted({row.prompt for row in rows})
    if limit is None or limit >= len(prompts):
        return list(rows)
    kept = set(random.Random(seed).sample(prompts, limit))
    return [row for row in rows if row.prompt in kept]


def prompt_key(row: ReplyRow) -> dict[str, Any]:
    return {"prompt": row.prompt, "emotion": row.emotion, "valence": row.valence, "utterance": row.utterance}

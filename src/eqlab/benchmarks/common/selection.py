"""Choosing some of many, and dealing them out to people, the same for every benchmark."""

import random
from collections.abc import Sequence
from typing import TypeVar

from eqlab.core.errors import UsageError
from eqlab.core.grouping import grouped

T = TypeVar("T")


def spread(things: Sequence[T], count: int) -> list[T]:
    """`count` of the things, evenly spaced over their order, so that a small run sees every part of the set."""
    count = min(count, len(things))
    return [things[i * len(things) // count] for i in range(count)]


def balanced_batches(items: Sequence[T], groups: Sequence[str], size: int = 10, seed: int = 0) -> list[list[T]]:
    """Batches in which groups repeat as little as they can, by seed: items are dealt group by group, shuffled
    inside each, round the batches; then each batch is shuffled. Sizes differ by one at most."""
    if size < 1:
        raise UsageError("A batch needs at least one item.")
    draw = random.Random(seed)
    by_group = grouped((group, item) for item, group in zip(items, groups, strict=True))
    names = sorted(by_group)
    draw.shuffle(names)
    dealt: list[T] = []
    for name in names:
        draw.shuffle(by_group[name])
        dealt.extend(by_group[name])
    count = -(-len(items) // size)
    batches: list[list[T]] = [dealt[start::count] for start in range(count)]
    for batch in batches:
        draw.shuffle(batch)
    draw.shuffle(batches)
    return batches

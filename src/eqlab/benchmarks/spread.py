"""Choosing some of many, the same for every benchmark."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def spread(things: Sequence[T], count: int) -> list[T]:
    """`count` of the things, evenly spaced over their order, so that a small run sees every part of the set."""
    count = min(count, len(things))
    return [things[i * len(things) // count] for i in range(count)]

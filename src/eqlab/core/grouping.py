"""Values that belong together, by what they have in common."""

import math
from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key; keys and values in the order in which they come."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def group_means(pairs: Iterable[tuple[K, float | None]]) -> dict[K, float]:
    """The mean of each key's values that are defined; a key without any is left out."""
    defined: dict[K, list[float]] = {}
    for key, value in pairs:
        if value is not None:
            defined.setdefault(key, []).append(value)
    return {key: math.fsum(values) / len(values) for key, values in defined.items()}

"""Names for the arrays that all statistics take, and labels as numbers."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.generic] | Sequence[object]


def codes(labels: Iterable[object]) -> Ints:
    """The number of each label, from 0 on, in the order in which labels first occur."""
    numbers: dict[object, int] = {}
    listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.array([numbers.setdefault(label, len(numbers)) for label in listed], dtype=np.intp)


def count_levels(numbers: Ints) -> int:
    """How many different labels these numbers stand for."""
    return int(numbers.max()) + 1 if len(numbers) else 0

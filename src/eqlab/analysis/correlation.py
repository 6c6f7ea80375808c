"""Pearson's correlation with Fisher's interval, and the reliability of a profile of group means, which bounds it."""

import math

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats
from eqlab.core.results import Estimate

IntArray = npt.NDArray[np.int64]


def pearson(name: str, x: Floats, y: Floats, *, note: str = "") -> Estimate:
    """r with Fisher's 95 % interval (tanh(artanh r ± 1.96/√(n − 3))); undefined if either side does not vary."""
    n = len(x)
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(name, None, n, note=note)
    r = float(np.corrcoef(x, y)[0, 1])
    if n < 4 or abs(r) >= 1:
        return Estimate(name, r, n, note=note)
    z, reach = math.atanh(r), 1.959963984540054 / math.sqrt(n - 3)
    return Estimate(name, r, n, None, math.tanh(z - reach), math.tanh(z + reach), note=note)


def split_half(values: Floats, group: IntArray, *, splits: int = 500, seed: int = 0) -> float | None:
    """Reliability of the group means: the correlation between means of random halves of each group, averaged over
    splits and stepped up to the full size (Spearman 1910, Brown 1910). None with fewer than three groups."""
    labels, index = np.unique(group, return_inverse=True)
    sizes = np.bincount(index)
    if len(labels) < 3 or sizes.min() < 2:
        return None
    member = np.zeros((len(values), len(labels)))
    member[np.arange(len(values)), index] = 1
    draw = np.random.default_rng(seed).random((splits, len(values)))
    order = np.lexsort((draw, np.broadcast_to(index, draw.shape)), axis=-1)
    starts = np.repeat(np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    even = (np.arange(len(values)) - starts) % 2 == 0
    half = np.zeros(draw.shape)
    np.put_along_axis(half, order, np.broadcast_to(even, draw.shape).astype(float), axis=-1)
    one = (half * values) @ member / (half @ member)
    other = ((1 - half) * values) @ member / ((1 - half) @ member)
    one -= one.mean(axis=1, keepdims=True)
    other -= other.mean(axis=1, keepdims=True)
    spread = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    if not spread.all():
        return None
    r = float(((one * other).sum(axis=1) / spread).mean())
    return 2 * r / (1 + r)

"""Repeats inside one situation are not independent: how alike they are, and what that costs.

ICC(1) from the one-way analysis of variance (Shrout & Fleiss 1979), the design effect 1 + (m − 1)·ICC (Kish 1965)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eqlab.core.results import Estimate


@dataclass(frozen=True, slots=True)
class Clustering:
    n: int
    n_clusters: int
    size: float
    """Mean number of values per cluster, corrected for unequal sizes."""
    icc: float | None
    design_effect: float | None
    """By how much the variance of a mean is larger than if the values were independent; at least 1."""


def clustering(values: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64]) -> Clustering:
    labels, index = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(index, minlength=len(labels)).astype(float)
    n, k = len(values), len(labels)
    if k < 2 or n <= k:
        return Clustering(n, k, n / k if k else 0.0, None, None)
    means = np.bincount(index, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (k - 1)
    within = float(((values - means[index]) ** 2).sum()) / (n - k)
    size = float((n - (sizes**2).sum() / n) / (k - 1))
    total = between + (size - 1) * within
    icc = None if total == 0 else (between - within) / total
    effect = None if icc is None else max(1.0, 1 + (n / k - 1) * icc)
    return Clustering(n, k, size, icc, effect)


def reliability_of_means(name: str, found: Clustering) -> Estimate:
    """ICC(1,k) = 1 − 1/F, the reliability of the clusters' means, with its 95 % interval from the F distribution
    (Shrout & Fleiss 1979): exact where clusters are equally large and values normal, near it elsewhere."""
    if found.icc is None or found.icc >= 1:
        return Estimate(name, None, found.n_clusters)
    from scipy.special import fdtri

    ratio = (1 + (found.size - 1) * found.icc) / (1 - found.icc)
    if ratio <= 0:
        return Estimate(name, None, found.n_clusters)
    between, within = found.n_clusters - 1, found.n - found.n_clusters
    low = 1 - float(fdtri(between, within, 0.975)) / ratio
    high = 1 - 1 / (ratio * float(fdtri(within, between, 0.975)))
    return Estimate(name, 1 - 1 / ratio, found.n_clusters, None, low, high)


def cluster_means(values: npt.NDArray[np.float64], cluster: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """One mean per cluster that has values, in the order of the cluster numbers, which begin at 0."""
    sizes = np.bincount(cluster)
    there = sizes > 0
    return np.asarray(np.bincount(cluster, weights=values)[there] / sizes[there])

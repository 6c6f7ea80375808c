"""ICC and design effect against the analysis of variance of statsmodels and by hand."""

import numpy as np
import pytest
from scipy import stats

from eqlab.analysis.clusters import cluster_means, clustering


def test_icc_follows_from_the_f_ratio():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(12), 10)
    values = rng.normal(0, 2, 12)[cluster] + rng.normal(0, 1, 120)
    found = clustering(values, cluster)
    f = stats.f_oneway(*(values[cluster == k] for k in range(12))).statistic
    assert found.icc == pytest.approx((f - 1) / (f + 9))
    assert found.design_effect == pytest.approx(1 + 9 * found.icc)


def test_extremes():
    cluster = np.repeat(np.arange(4), 5)
    assert clustering(cluster.astype(float), cluster).icc == 1
    assert clustering(cluster.astype(float), cluster).design_effect == 5
    alternating = np.tile([0.0, 1, 0, 1, 0.5], 4)
    assert clustering(alternating, cluster).design_effect == 1
    assert clustering(np.zeros(20), cluster).icc is None
    assert clustering(np.arange(4.0), np.arange(4)).icc is None
    assert clustering(np.arange(4.0), np.zeros(4, int)).icc is None


def test_unequal_clusters_and_means():
    cluster = np.array([7, 7, 3, 3, 3, 9])
    values = np.array([1.0, 3, 0, 1, 2, 8])
    assert list(cluster_means(values, cluster)) == [1, 2, 8]
    assert clustering(values, cluster).n_clusters == 3

"""Correlation, reliability and equivalence against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from eqlab.analysis.correlation import pearson, split_half
from eqlab.analysis.two_samples import describe, tost, welch_comparison


def test_pearson_is_scipys():
    rng = np.random.default_rng(0)
    x = rng.normal(size=36)
    y = x + rng.normal(size=36)
    found = pearson("r", x, y)
    theirs = stats.pearsonr(x, y)
    interval = theirs.confidence_interval()
    assert (found.value, found.low, found.high) == pytest.approx((theirs.statistic, interval.low, interval.high))


def test_a_profile_without_variation_has_no_correlation():
    assert pearson("r", np.zeros(5), np.arange(5.0)).value is None
    assert pearson("r", np.arange(2.0), np.arange(2.0)).value is None
    assert pearson("r", np.arange(3.0), np.arange(3.0)).low is None


def test_split_half_finds_a_known_reliability():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(400), 20)
    values = rng.normal(0, 1, 400)[group] + rng.normal(0, np.sqrt(20), 8000)  # reliability 1 / (1 + 20/20) = 0.5
    assert split_half(values, group, splits=50) == pytest.approx(0.5, abs=0.07)
    assert split_half(group.astype(float), group, splits=5) == pytest.approx(1)
    assert split_half(np.arange(4.0), np.array([0, 0, 1, 1])) is None
    assert split_half(np.zeros(9), np.repeat(np.arange(3), 3)) is None


def test_equivalence_is_statsmodels_tost():
    rng = np.random.default_rng(2)
    for shift in (0.0, 1.0, 5.0):
        a, b = rng.normal(shift, 3, 40), rng.normal(0, 2, 30)
        test = welch_comparison(describe(a), describe(b))
        ours = tost(test.difference, test.se, (-2.0, 2.0), df=test.df).p
        theirs = CompareMeans(DescrStatsW(a), DescrStatsW(b)).ttost_ind(-2.0, 2.0, usevar="unequal")[0]
        assert ours == pytest.approx(theirs)

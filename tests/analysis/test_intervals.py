"""Means and shares with their intervals, held against scipy and the standard library."""

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eqlab.analysis.intervals import mean_estimate, proportion_estimate, sample_sd

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


@given(VALUES)
def test_the_quick_standard_deviation_is_the_exact_one(values):
    assert sample_sd(values, fmean(values)) == pytest.approx(stdev(values), rel=1e-9, abs=1e-9)


def test_a_mean_has_students_interval():
    values = [3.0, 4.5, 1.25, 9.0, 4.0]
    found = mean_estimate("m", values)
    expected = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)
    assert (found.value, found.n, found.se) == pytest.approx((np.mean(values), 5, stats.sem(values)), rel=1e-12)


def test_one_value_has_no_interval_and_none_no_mean():
    one = mean_estimate("m", [2.0])
    assert (one.value, one.n, one.se, one.low, one.high) == (2.0, 1, None, None, None)
    none = mean_estimate("m", [])
    assert (none.value, none.n) == (None, 0)


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (91, 140)])
def test_a_share_has_wilsons_interval(hits, n):
    found = proportion_estimate("p", hits, n)
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-9)

"""Tables of counts against scipy and the published numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.contingency import Counts, chi_square, count_ratings, good_gain, implied_good, rao_scott

chi2_contingency = Later("scipy.stats", "chi2_contingency")

cells = st.integers(1, 500)


@given(st.lists(st.tuples(cells, cells, cells), min_size=2, max_size=5))
def test_pearson_equals_scipy(table):
    mine, theirs = chi_square(table), chi2_contingency(table, correction=False)
    assert mine.chi2 == pytest.approx(theirs.statistic)
    assert mine.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-300)
    assert mine.df == theirs.dof
    assert 0 <= mine.cramers_v <= 1 + 1e-9
    assert mine.min_expected == pytest.approx(theirs.expected_freq.min())


@given(cells, cells, cells, cells)
def test_yates_equals_scipy_and_is_smaller(a, b, c, d):
    mine = chi_square([(a, b), (c, d)], yates=True)
    assert mine.chi2 == pytest.approx(chi2_contingency([(a, b), (c, d)], correction=True).statistic)
    assert mine.chi2 <= chi_square([(a, b), (c, d)]).chi2 + 1e-12


def test_an_empty_row_or_column_is_undefined():
    assert chi_square([(0, 0), (3, 4)]) is None
    assert chi_square([(3, 0), (4, 0)]) is None
    gain = good_gain(0, 10, 0, 10)
    assert (gain.increase_pct, gain.yates, gain.odds_ratio) == (None, None, None)
    assert Counts(0, 0, 0).mean is None
    assert Counts(1, 0, 0).sd is None
    assert Counts(0, 0, 0).percent(0) is None


def test_the_headline_as_published():
    gain = good_gain(986, 2000, 1295, 2000)
    assert gain.increase_pct == pytest.approx(31.339, abs=5e-4)
    assert gain.yates.chi2 == pytest.approx(96.7743, abs=5e-5)
    assert gain.pearson.chi2 == pytest.approx(97.4038, abs=5e-5)
    assert gain.odds_ratio == pytest.approx(1.889, abs=5e-4)
    assert (gain.or_low, gain.or_high) == pytest.approx((1.664, 2.145), abs=5e-4)
    assert gain.cohen_h == pytest.approx(0.3135, abs=5e-5)


def test_counts_give_mean_and_sd():
    values = [1, 1, 2, 3, 3, 3]
    counts = count_ratings(values)
    assert counts == Counts(2, 1, 3)
    assert counts.mean == pytest.approx(np.mean(values))
    assert counts.sd == pytest.approx(np.std(values, ddof=1))
    assert counts.percent(counts.good) == 50


def test_counts_are_recovered_from_a_printed_test():
    assert implied_good(8.85, 986, 2000) == [1081]
    assert implied_good(54.40, 986, 2000) == [1219]
    assert implied_good(8.02, 600, 1119, more=False) == [532]


@given(st.integers(101, 190))
def test_every_printed_test_leads_back_to_its_count(good):
    printed = round(good_gain(100, 200, good, 200).yates.chi2, 2)
    assert good in implied_good(printed, 100, 200)


def test_rao_scott_divides_by_the_mean_design_effect():
    mean, chi2, p = rao_scott(good_gain(986, 2000, 1295, 2000).pearson, [1.1634, 1.9133])
    assert mean == pytest.approx(1.538, abs=5e-4)
    assert chi2 == pytest.approx(63.317, abs=2e-3)
    assert p == pytest.approx(1.76e-15, rel=5e-3)

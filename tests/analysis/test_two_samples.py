"""Tests of means against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eqlab.analysis.two_samples import (
    Sample,
    describe,
    f_test,
    hedges_g,
    paired_comparison,
    published_comparison,
    welch_comparison,
)

values = st.lists(st.integers(10, 50), min_size=3, max_size=40).filter(lambda found: len(set(found)) > 1)


@given(values, values)
def test_welch_is_scipys(a, b):
    found = welch_comparison(describe(np.array(a, float)), describe(np.array(b, float)))
    theirs = stats.ttest_ind(a, b, equal_var=False)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-8, abs=1e-300)
    assert found.df == pytest.approx(theirs.df)


@given(values, values)
def test_the_published_procedure_is_an_f_test_then_student_or_welch(a, b):
    x, y = np.array(a, float), np.array(b, float)
    found = published_comparison(describe(x), describe(y))
    big, small = sorted((x, y), key=lambda z: z.std(ddof=1), reverse=True)
    ratio = big.var(ddof=1) / small.var(ddof=1)
    p = min(1.0, 2 * stats.f.sf(ratio, len(big) - 1, len(small) - 1))
    if ratio > 1:
        assert found.p_variances == pytest.approx(p, rel=1e-5)
    assert found.test == ("student" if found.p_variances > 0.01 else "welch")
    theirs = stats.ttest_ind(x, y, equal_var=found.test == "student")
    assert found.t == pytest.approx(theirs.statistic, rel=1e-5, abs=1e-6)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-4, abs=1e-300)


@given(values)
def test_paired_is_scipys(a):
    found = paired_comparison(np.array(a, float) - 30)
    theirs = stats.ttest_1samp(np.array(a, float) - 30, 0)
    assert found.p == pytest.approx(theirs.pvalue)


def test_a_default_that_never_varies_does_not_break_the_published_test():
    found = published_comparison(describe(np.array([20.0, 25, 30])), describe(np.full(50, 10.0)))
    assert found.test == "welch"
    assert 0 < found.p < 0.1
    same = published_comparison(describe(np.full(5, 10.0)), describe(np.full(50, 10.0)))
    assert (same.difference, same.p) == (0, 1)


def test_undefined_is_none():
    one, none, some = describe(np.array([3.0])), describe(np.array([])), describe(np.array([1.0, 2, 3]))
    assert (one.mean, one.sd, none.mean) == (3, None, None)
    assert published_comparison(none, some).difference is None
    assert published_comparison(one, some).p is None
    assert welch_comparison(one, some).p is None
    assert welch_comparison(Sample(3, 1.0, 0.0), Sample(3, 2.0, 0.0)).p is None
    assert paired_comparison(np.array([2.0, 2.0])).p is None
    assert hedges_g(one, some) is None
    assert hedges_g(Sample(3, 1.0, 0.0), Sample(3, 2.0, 0.0)) is None


def test_f_test_is_symmetric_and_at_most_one():
    assert f_test(2.0, 10, 3.0, 20) == f_test(3.0, 20, 2.0, 10)
    assert f_test(2.0, 10, 2.0, 200) == 1.0


def test_hedges_g():
    a, b = Sample(10, 5.0, 2.0), Sample(20, 3.0, 2.0)
    assert hedges_g(a, b) == pytest.approx(1.0 * (1 - 3 / (4 * 28 - 1)))

"""Tests with the rater as the unit, against scipy."""

import numpy as np
import pytest
from scipy import stats

from eqlab.analysis.two_samples import anova, compare_raters, permutation_p

RANDOM = np.random.default_rng(5)
ONE, OTHER = RANDOM.normal(2.5, 0.3, 60), RANDOM.normal(2.3, 0.4, 50)


def test_comparison_equals_scipy():
    found = compare_raters(ONE, OTHER)
    welch = stats.ttest_ind(ONE, OTHER, equal_var=False)
    rank = stats.mannwhitneyu(ONE, OTHER)
    assert (found.welch_t, found.p) == pytest.approx((welch.statistic, welch.pvalue))
    assert found.df == pytest.approx(welch.df)
    assert (found.mannwhitney_u, found.mannwhitney_p) == pytest.approx((rank.statistic, rank.pvalue))
    superior = np.mean(ONE[:, None] > OTHER[None, :])
    assert found.a12 == pytest.approx(superior)
    assert found.cohen_d == pytest.approx(
        (ONE.mean() - OTHER.mean()) / np.sqrt((ONE.var(ddof=1) + OTHER.var(ddof=1)) / 2)
    )


def test_no_spread_no_effect_size():
    found = compare_raters(np.full(5, 2.0), np.full(5, 2.0))
    assert (found.welch_t, found.p, found.cohen_d) == (None, None, None)
    assert found.a12 == 0.5


def test_anova_equals_scipy():
    f, df, p = anova([ONE, OTHER, ONE + 0.1])
    theirs = stats.f_oneway(ONE, OTHER, ONE + 0.1)
    assert (f, p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert df == (2, 167)


def test_permutation_p_is_never_zero_and_near_the_t_test():
    assert permutation_p(ONE + 5, OTHER, draws=999) == pytest.approx(1 / 1000)
    near = permutation_p(ONE, ONE + 0.05, draws=4000)
    assert near == pytest.approx(stats.ttest_ind(ONE, ONE + 0.05).pvalue, abs=0.04)

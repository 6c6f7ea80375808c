"""Tests of means against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.two_samples import (
    Sample,
    adjusted_differences,
    anova,
    compare_raters,
    describe,
    f_test,
    hedges_g,
    paired_comparison,
    permutation_p,
    published_comparison,
    tost,
    welch_comparison,
)
from eqlab.core.errors import UsageError
from eqlab.study.results import redo_script

sm = Later("statsmodels.api")
stats = Later("scipy.stats")

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


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 7 / 3])
def test_changes_all_alike_have_no_test_however_they_round(value):
    for n in range(2, 40):
        assert describe(np.full(n, value)).sd == 0.0
        assert paired_comparison(np.full(n, value)).test == ""


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


@given(st.floats(-2, 2), st.floats(0.05, 2), st.floats(3, 200))
def test_the_interval_says_the_same(difference, se, df):
    found = tost(difference, se, (-1, 1), df=df)
    assert found.equivalent == (found.low > -1 and found.high < 1)
    assert found.p_above_low == pytest.approx(stats.t.sf((difference + 1) / se, df), abs=1e-12)


def test_normal_by_default():
    found = tost(0.0689, 0.0936, (-0.18, 0.18))
    assert found.p == pytest.approx(stats.norm.cdf((0.0689 - 0.18) / 0.0936))
    assert not found.equivalent


def test_nonsense_raises():
    with pytest.raises(UsageError):
        tost(0.0, 0.0, (-1, 1))
    with pytest.raises(UsageError):
        tost(0.0, 1.0, (1, -1))


def made(seed, sizes, slope=0.5, gap=4.0):
    draw = np.random.default_rng(seed)
    groups = [name for name, size in zip("abc", sizes, strict=False) for _ in range(size)]
    before = draw.normal(40, 10, len(groups))
    spread = np.array([{"a": 3.0, "b": 8.0, "c": 12.0}[name] for name in groups])
    values = slope * before + gap * np.array([name == "b" for name in groups]) + draw.normal(0, 1, len(groups)) * spread
    return values.tolist(), groups, before.tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(3, 30), min_size=2, max_size=3))
def test_as_statsmodels(seed, sizes):
    values, groups, before = made(seed, sizes)
    x = np.asarray(before)
    names = sorted(set(groups) - {"a"})
    columns = [np.ones(len(x)), *(np.array([g == n for g in groups], float) for n in names), x - x.mean()]
    design = np.column_stack(columns)
    fit = sm.OLS(values, design).fit(cov_type="HC3", use_t=True)
    hat = design @ np.linalg.pinv(design)
    for place, one in enumerate(adjusted_differences(values, groups, before, "a"), start=1):
        assert one.value == pytest.approx(fit.params[place])
        assert one.se == pytest.approx(fit.bse[place])
        weights = np.diag((np.linalg.pinv(design)[place] / (1 - np.diag(hat))) ** 2)
        parts = np.linalg.eigvalsh((np.eye(len(x)) - hat) @ weights @ (np.eye(len(x)) - hat))  # of the squared error
        assert one.df == pytest.approx(parts.sum() ** 2 / (parts**2).sum())
        assert 1 <= one.df <= len(x) - design.shape[1]
        assert one.p == pytest.approx(2 * stats.t.sf(abs(one.value / one.se), one.df), abs=1e-9)
        assert one.bounds() == pytest.approx(stats.t.interval(0.95, one.df, one.value, one.se))
        assert one.bounds(0.01)[0] < one.bounds()[0]


@pytest.mark.parametrize(("few", "spread"), [(2, 12.0), (3, 12.0), (3, 24.0), (5, 24.0)])
def test_a_few_people_beside_many_are_not_told_apart_by_chance(few, spread):
    """With n − 3 degrees of freedom two who were like 24 others differed in 13 of 100 studies, in 18 where they vary
    more."""
    random = np.random.default_rng(few)
    groups, found = ["a"] * few + ["b"] * 24, 0
    for _ in range(600):
        before = random.normal(50, 15, len(groups))
        values = 0.5 * before + random.normal(0, [spread] * few + [12.0] * 24)
        (one,) = adjusted_differences(values.tolist(), groups, before.tolist(), "a")
        found += one.p < 0.05
    assert found <= 0.05 * 600 + 2 * math.sqrt(600 * 0.05 * 0.95)


def test_a_measure_that_does_not_vary_is_left_out():
    values, groups, _ = made(1, (8, 8))
    (one,) = adjusted_differences(values, groups, [50.0] * 16, "a")
    assert one.value == pytest.approx(np.mean(values[8:]) - np.mean(values[:8]))
    assert one.df == pytest.approx(14)


@pytest.mark.parametrize("groups", [["a"] * 4, ["a", "a", "a", "b"], ["b", "b", "b", "b"]])
def test_nothing_is_told_of_too_few(groups):
    assert adjusted_differences([1.0, 2.0, 3.0, 4.0], groups, [1.0, 2.0, 1.0, 2.0], "a") == []


def test_values_that_do_not_vary_have_no_error():
    assert adjusted_differences([1.0] * 6, ["a"] * 3 + ["b"] * 3, [1.0, 2.0, 3.0] * 2, "a") == []


def test_what_is_explained_without_a_rest_has_no_error():
    """Rounding must not pass for an error that makes everything significant."""
    before = [0.1, 0.7, 0.3, 0.9, 0.2, 0.6]
    values = [0.3 * one + 0.1 for one in before]
    groups = ["a", "b"] * 3
    assert adjusted_differences(values, groups, before, "a") == []
    people = [[one] for one in zip(groups, before, values, strict=True)]
    assert redo_script._adjusted(people, "a") == {}
    assert redo_script._adjusted([*people, [("a", 0.5, 0.9)]], "a") != {}


@pytest.mark.parametrize("other", [100.0, 90.0])
def test_groups_that_do_not_vary_are_not_told_apart_by_rounding(other):
    """Arms that were exactly alike differed with p = 0, and a negative variance ended in a traceback."""
    varying = [61.0, 70.0, 58.0, 66.0, 73.0, 49.0, 80.0, 55.0]
    values = [*[100.0] * 12, *[other] * 12, *varying]
    groups = [*"a" * 12, *"b" * 12, *"c" * 8]
    (one,) = adjusted_differences(values, groups, [50.0] * 32, "a")
    assert one.group == "c"
    assert one.se > 1


def test_lists_of_different_length_are_refused():
    with pytest.raises(UsageError, match="differ in number"):
        adjusted_differences([1.0], ["a", "b"], [1.0], "a")


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

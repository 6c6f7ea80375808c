"""Differences adjusted for a measure before: the same as statsmodels', and undefined where nothing can be told."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.analysis.two_samples import adjusted_differences
from eqlab.core.errors import UsageError


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
    fit = sm.OLS(values, np.column_stack(columns)).fit(cov_type="HC3", use_t=True)
    for place, one in enumerate(adjusted_differences(values, groups, before, "a"), start=1):
        assert one.value == pytest.approx(fit.params[place])
        assert one.se == pytest.approx(fit.bse[place])
        assert one.p == pytest.approx(fit.pvalues[place], abs=1e-9)
        assert one.bounds() == pytest.approx(tuple(fit.conf_int()[place]))
        assert one.bounds(0.01)[0] < one.bounds()[0]


def test_a_measure_that_does_not_vary_is_left_out():
    values, groups, _ = made(1, (8, 8))
    (one,) = adjusted_differences(values, groups, [50.0] * 16, "a")
    assert one.value == pytest.approx(np.mean(values[8:]) - np.mean(values[:8]))
    assert one.df == 14


@pytest.mark.parametrize("groups", [["a"] * 4, ["a", "a", "a", "b"], ["b", "b", "b", "b"]])
def test_nothing_is_told_of_too_few(groups):
    assert adjusted_differences([1.0, 2.0, 3.0, 4.0], groups, [1.0, 2.0, 1.0, 2.0], "a") == []


def test_values_that_do_not_vary_have_no_error():
    assert adjusted_differences([1.0] * 6, ["a"] * 3 + ["b"] * 3, [1.0, 2.0, 3.0] * 2, "a") == []


def test_lists_of_different_length_are_refused():
    with pytest.raises(UsageError, match="differ in number"):
        adjusted_differences([1.0], ["a", "b"], [1.0], "a")

"""Corrections for many tests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.multiplicity import benjamini_hochberg, bonferroni, holm

false_discovery_control = Later("scipy.stats", "false_discovery_control")
multipletests = Later("statsmodels.stats.multitest", "multipletests")

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(p_values)
def test_benjamini_hochberg_equals_scipy(p):
    assert benjamini_hochberg(p) == pytest.approx(list(false_discovery_control(p)))


@given(p_values)
def test_order_of_strictness(p):
    for raw, bh, step, most in zip(p, benjamini_hochberg(p), holm(p), bonferroni(p), strict=True):
        assert raw <= bh + 1e-12
        assert bh <= step + 1e-12
        assert step <= most + 1e-12 <= 1 + 1e-9


def test_what_was_not_tested_does_not_count():
    assert bonferroni([0.01, None, 0.02]) == [0.02, None, 0.04]
    assert benjamini_hochberg([0.01, None, 0.02]) == [0.02, None, 0.02]
    assert holm([0.01, None, 0.02]) == [0.02, None, 0.02]
    assert benjamini_hochberg([None]) == [None]


@settings(max_examples=8)  # theirs takes a tenth of a second
@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_holm_is_statsmodels_holm(p_values):
    theirs = multipletests(p_values, method="holm")[1]
    assert all(abs(a - b) < 1e-12 for a, b in zip(holm(p_values), theirs, strict=True))


def test_a_test_that_was_not_made_does_not_count():
    assert holm([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert holm([]) == []

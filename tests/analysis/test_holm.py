"""Holm's correction against statsmodels."""

from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from eqlab.analysis.holm import holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_holm_is_statsmodels_holm(p_values):
    theirs = multipletests(p_values, method="holm")[1]
    assert all(abs(a - b) < 1e-12 for a, b in zip(holm(p_values), theirs, strict=True))


def test_a_test_that_was_not_made_does_not_count():
    assert holm([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert holm([]) == []

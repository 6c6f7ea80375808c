"""Two one-sided tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eqlab.analysis.two_samples import tost
from eqlab.core.errors import UsageError


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

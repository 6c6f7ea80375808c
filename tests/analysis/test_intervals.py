"""Means and shares with their intervals, held against scipy and the standard library."""

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.intervals import (
    clustered_share,
    mean_bounds,
    mean_estimate,
    proportion_bounds,
    proportion_estimate,
    sample_sd,
)
from eqlab.core.errors import UsageError

stats = Later("scipy.stats")

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


def test_values_alike_and_few_values_are_no_certainty():
    assert mean_estimate("m", [1.0, 1.0, 1.0, 1.0]).low is None
    assert mean_estimate("m", [1.0, 2.0, 3.0, 4.0]).low is None
    assert mean_estimate("m", [0.1] * 30).low is None
    assert mean_estimate("m", [100.0] * 4, bounds=(0, 100)).low is None
    top = mean_estimate("m", [100.0] * 10, bounds=(0, 100))
    assert (top.low, top.high) == (pytest.approx(100 * 0.025**0.1), 100.0)


@pytest.mark.parametrize("hits", [0, 1, 4, 16, 20])
def test_zeros_and_ones_nearly_all_alike_have_the_exact_interval(hits):
    low, high = mean_bounds([1.0] * hits + [0.0] * (20 - hits), (0, 1))
    exact = stats.binomtest(hits, 20).proportion_ci(method="exact")
    if hits in (0, 20):
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert low <= exact.low + 1e-9 or hits < 10
    assert high >= exact.high - 1e-9 or hits > 10


@given(st.lists(st.integers(0, 10), min_size=5, max_size=60))
def test_an_interval_stays_on_the_scale_holds_the_mean_and_has_width(values):
    low, high = mean_bounds([float(value) for value in values], (0, 10))
    assert 0 <= low <= fmean(values) <= high <= 10
    assert high > low


def test_a_value_off_the_scale_is_refused():
    with pytest.raises(UsageError, match="outside"):
        mean_bounds([1.0, 2.0, 3.0, 4.0, 11.0], (0, 10))


@pytest.mark.parametrize(("chance", "n"), [(0.99, 10), (0.99, 40), (0.95, 20), (0.9, 40), (0.7, 20)])
def test_intervals_on_a_bounded_scale_hold_the_truth(chance, n):
    """Mostly at the top, else anywhere: where Student's interval is far too narrow."""
    random = np.random.default_rng(n)
    truth = chance * 100 + (1 - chance) * 40
    hits = 0
    for _ in range(600):
        values = np.where(random.random(n) < chance, 100.0, random.choice([0.0, 20.0, 60.0, 80.0], n))
        low, high = mean_bounds(values.tolist(), (0, 100))
        hits += low <= truth <= high
    assert hits / 600 >= 0.93


def test_a_share_of_repeats_counts_items():
    alike = clustered_share("x", [True] * 40 + [False] * 10, [item for item in range(10) for _ in range(5)])
    plain = proportion_estimate("x", 40, 50)
    assert alike.value == plain.value == 80.0
    assert alike.n == 50
    assert alike.high - alike.low > 1.8 * (plain.high - plain.low)  # repeats of an item are all alike: ten answers
    mixed = clustered_share("x", [True, True, True, True, False] * 10, [item for item in range(10) for _ in range(5)])
    assert mixed.low >= 0.9 * plain.low  # nothing is alike: no narrower than independent answers
    assert mixed.high >= plain.high
    once = clustered_share("x", [True, False, True, True, True, False], range(6))
    assert (once.low, once.high) == (proportion_estimate("x", 4, 6).low, proportion_estimate("x", 4, 6).high)
    sure = clustered_share("x", [True] * 50, [item for item in range(10) for _ in range(5)])
    assert sure.low == pytest.approx(proportion_estimate("x", 10, 10).low)
    alone = clustered_share("x", [True] * 12, ["one"] * 12)
    assert (alone.n, alone.low) == (12, pytest.approx(proportion_estimate("one", 1, 1).low))
    half = clustered_share("x", [True, False] * 6, ["one"] * 12)
    assert (half.value, half.low < 10, half.high > 90) == (50.0, True, True)
    assert clustered_share("x", [], []).value is None
    with pytest.raises(UsageError):
        clustered_share("x", [True], [])


def test_a_share_of_unequal_clusters_by_hand():
    """Clusters of 4, 1 and 3 answers with 4, 0 and 1 hits: deviations from p·size are 1.5, −0.625 and −0.875."""
    hits = [True] * 4 + [False] + [True, False, False]
    found = clustered_share("s", hits, list("aaaabccc"))
    p, spread = 5 / 8, (1.5**2 + 0.625**2 + 0.875**2) * 3 / 2 / 64
    effect = spread / (p * (1 - p) / 8)
    worth = 8 / effect * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 2)) ** 2
    low, high = proportion_bounds(p, worth)
    assert (found.value, found.n) == (62.5, 8)
    assert (found.low, found.high) == pytest.approx((100 * low, 100 * high))

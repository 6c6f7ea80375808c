"""Correlation, reliability and equivalence against scipy and statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.correlation import associate, disattenuate, pearson, reliability_from_errors, split_half
from eqlab.analysis.intervals import fisher
from eqlab.analysis.two_samples import describe, tost, welch_comparison
from eqlab.core.results import Estimate

stats = Later("scipy.stats")
bootstrap = Later("scipy.stats", "bootstrap")
pearsonr = Later("scipy.stats", "pearsonr")
spearmanr = Later("scipy.stats", "spearmanr")
CompareMeans = Later("statsmodels.stats.weightstats", "CompareMeans")
DescrStatsW = Later("statsmodels.stats.weightstats", "DescrStatsW")


def test_pearson_is_scipys():
    rng = np.random.default_rng(0)
    x = rng.normal(size=36)
    y = x + rng.normal(size=36)
    found = pearson("r", x, y)
    theirs = stats.pearsonr(x, y)
    interval = theirs.confidence_interval()
    assert (found.value, found.low, found.high) == pytest.approx((theirs.statistic, interval.low, interval.high))


def test_a_perfect_correlation_has_no_interval_however_it_was_rounded():
    """One without width was told."""
    for r in (1.0, -1.0, 1 - 2**-53, -1 + 2**-52):
        assert fisher(r, 6) == (None, None)
    low, high = fisher(0.999999, 6)
    assert low < 0.999999 < high < 1


def test_a_profile_without_variation_has_no_correlation():
    assert pearson("r", np.zeros(5), np.arange(5.0)).value is None
    assert pearson("r", np.arange(2.0), np.arange(2.0)).value is None
    assert pearson("r", np.arange(3.0), np.arange(3.0)).low is None


def test_split_half_finds_a_known_reliability():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(400), 20)
    values = rng.normal(0, 1, 400)[group] + rng.normal(0, np.sqrt(20), 8000)  # reliability 1 / (1 + 20/20) = 0.5
    assert split_half(values, group, splits=50) == pytest.approx(0.5, abs=0.07)
    assert split_half(group.astype(float), group, splits=5) == pytest.approx(1)
    assert split_half(np.arange(4.0), np.array([0, 0, 1, 1])) is None
    assert split_half(np.zeros(9), np.repeat(np.arange(3), 3)) is None


def test_equivalence_is_statsmodels_tost():
    rng = np.random.default_rng(2)
    for shift in (0.0, 1.0, 5.0):
        a, b = rng.normal(shift, 3, 40), rng.normal(0, 2, 30)
        test = welch_comparison(describe(a), describe(b))
        ours = tost(test.difference, test.se, (-2.0, 2.0), df=test.df).p
        theirs = CompareMeans(DescrStatsW(a), DescrStatsW(b)).ttost_ind(-2.0, 2.0, usevar="unequal")[0]
        assert ours == pytest.approx(theirs)


def draw(seed, n=40, r=0.8, reliabilities=(1.0, 1.0)):
    """Observed scores whose true parts correlate with r."""
    random = np.random.default_rng(seed)
    true = random.multivariate_normal([0, 0], [[1, r], [r, 1]], n)
    errors = [np.sqrt(1 / value - 1) for value in reliabilities]
    return true[:, 0] + errors[0] * random.normal(size=n), true[:, 1] + errors[1] * random.normal(size=n)


def test_values_are_scipys():
    x, y = draw(1)
    y[3] = y[4]  # a tie
    found = associate(x, y, draws=500)
    assert found.pearson.value == pytest.approx(pearsonr(x, y).statistic)
    assert found.spearman.value == pytest.approx(spearmanr(x, y).statistic)


def test_intervals_are_scipys():
    x, y = draw(2)
    found = associate(x, y)
    for mine, statistic, method in (
        (found.pearson, lambda a, b: pearsonr(a, b).statistic, "BCa"),
        (found.spearman, lambda a, b: spearmanr(a, b).statistic, "percentile"),
    ):
        theirs = bootstrap((x, y), statistic, paired=True, vectorized=False, n_resamples=500, method=method, rng=1)
        bounds = theirs.confidence_interval
        assert (mine.low, mine.high) == pytest.approx((bounds.low, bounds.high), abs=0.06)


def test_pearsons_interval_covers_the_truth():
    found = [associate(*draw(seed), draws=300, seed=seed).pearson for seed in range(120)]
    assert 0.89 <= np.mean([one.low <= 0.8 <= one.high for one in found]) <= 0.99


def test_the_correction_gives_back_the_correlation_of_the_true_scores():
    reliabilities = (0.7, 0.85)
    found = [
        associate(*draw(seed, 200, 0.6, reliabilities), reliabilities=reliabilities, draws=100) for seed in range(40)
    ]
    assert np.mean([one.pearson.value for one in found]) == pytest.approx(0.6 * np.sqrt(0.7 * 0.85), abs=0.03)
    assert np.mean([one.corrected.value for one in found]) == pytest.approx(0.6, abs=0.03)


def test_one_reliability_is_half_a_correction():
    r = Estimate("r", 0.6, 20, None, 0.3, 0.8)
    half = disattenuate(r, (0.81, None))
    assert (half.value, half.low, half.high) == pytest.approx((0.6 / 0.9, 0.3 / 0.9, 0.8 / 0.9))
    assert "only one" in half.note
    assert disattenuate(r, (None, None)).value is None
    assert "above 1" in disattenuate(Estimate("r", 0.95, 20), (0.8, 0.8)).note


def test_reliability_from_standard_errors():
    random = np.random.default_rng(3)
    scores = random.normal(0, 2, 5000) + random.normal(0, 1, 5000)
    assert reliability_from_errors(scores, np.ones(5000)) == pytest.approx(0.8, abs=0.02)
    assert reliability_from_errors(scores, np.full(5000, 9.0)) is None
    assert reliability_from_errors([1, 1, 1], [1, 1, 1]) is None


def test_what_is_undefined_says_why():
    for x, y in (([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3])):
        found = associate(x, y, reliabilities=(0.9, 0.9))
        assert found.pearson.value is None
        assert found.spearman.value is None
        assert found.corrected.value is None
    assert "few" in associate(*draw(4, n=6), draws=500).pearson.note


def test_leaving_one_out_finds_the_one_that_carries_it():
    x, y = np.append(np.tile([0.0, 1.0], 5), 50.0), np.append(np.repeat([0.0, 1.0], 5), 50.0)
    (low, place), (high, _) = associate(x, y, draws=200).without_one
    assert place == 10
    assert low < 0.3
    assert high > 0.99


@given(st.integers(0, 1000), st.floats(0.5, 20), st.floats(-50, 50))
@settings(max_examples=20, deadline=None)
def test_units_do_not_matter_and_neither_side_is_first(seed, scale, shift):
    x, y = draw(seed, n=15)
    one = associate(x, y, draws=200)
    for other in (associate(scale * x + shift, y, draws=200), associate(y, x, draws=200)):
        assert other.pearson.value == pytest.approx(one.pearson.value)
        assert other.pearson.low == pytest.approx(one.pearson.low, abs=1e-6)
        assert other.spearman.value == pytest.approx(one.spearman.value)

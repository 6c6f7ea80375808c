"""Asked again: does the score, and does each item, come out the same?"""

import numpy as np
import pytest

from eqlab.analysis.clusters import clustering, item_agreement, repeatability, score_variation


def table(seed, items=40, repeats=3, item=2.0, noise=1.0):
    random = np.random.default_rng(seed)
    return 50 + random.normal(0, item, (items, 1)) + random.normal(0, noise, (items, repeats))


def test_agreement_is_the_icc_of_the_analysis_of_variance():
    y = table(1)
    y[3, 0] = np.nan
    row, column = np.nonzero(np.isfinite(y))
    found = item_agreement(y)
    assert found.value == pytest.approx(clustering(y[row, column], row).icc)
    assert found.low < found.value < found.high
    assert found.n == 40


def test_its_interval_covers_the_truth():
    truth = 4 / 5
    times = 600
    found = [item_agreement(table(seed)) for seed in range(times)]
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97


def test_the_variation_covers_the_truth():
    random = np.random.default_rng(2)
    found = [score_variation(random.normal(70, 1.4, 5)) for _ in range(600)]
    assert 0.93 <= np.mean([one.low <= 2.0 <= one.high for one in found]) <= 0.97


def test_cv_by_hand():
    found = score_variation([69.0, 70.0, 71.0])
    assert found.value == pytest.approx(100 / 70)
    assert (found.unit, found.n) == ("%", 3)


def test_what_is_undefined_says_why():
    assert "not above 0" in score_variation([-1.0, 1.0]).note
    assert "fewer than two" in score_variation([1.0]).note
    assert "fewer than two items" in item_agreement([[1.0, np.nan], [2.0, 3.0]]).note
    assert "no score differs" in item_agreement(np.ones((5, 3))).note
    assert repeatability(np.ones((5, 1))) is None


def test_a_subject_that_never_changes_its_mind():
    y = np.repeat(np.arange(1.0, 11.0)[:, None], 3, axis=1)
    found = repeatability(y)
    assert found.agreement.value == 1.0
    assert found.cv.value == 0.0
    assert found.identical == 1.0


def test_repeats_nobody_answered_do_not_count():
    y = np.column_stack([table(3), np.full(40, np.nan)])
    found = repeatability(y)
    assert found.repeats == 3
    assert found.items == 40
    assert found.identical == 0.0


def test_a_variation_of_few_repeats_has_no_interval():
    """From two repeats it would reach from half the value to thirty times it."""
    assert score_variation([69.0, 70.0, 71.0, 70.0]).low is None
    assert score_variation([69.0, 70.0, 71.0, 70.0, 69.0]).low is not None

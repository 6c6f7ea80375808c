"""Group-sequential bounds: the textbook's, and simulation."""

import numpy as np
import pytest
from later import Later

from eqlab.analysis.sequential import drift_for_power, inflation, obrien_fleming, outlook, rerandomised
from eqlab.core.errors import UsageError

norm = Later("scipy.stats", "norm")

FOUR = obrien_fleming([0.25, 0.5, 0.75, 1.0])


def test_the_textbook_bounds():
    assert FOUR.bounds == pytest.approx((4.3326, 2.9631, 2.3590, 2.0141), abs=6e-5)
    assert FOUR.spent[-1] == pytest.approx(0.05)
    assert obrien_fleming([0.5, 1.0]).bounds == pytest.approx((2.9626, 1.9686), abs=2e-4)  # Lan & DeMets
    assert obrien_fleming([1.0]).bounds == pytest.approx((norm.isf(0.025),), abs=1e-6)


def test_errors_and_power_hold():
    assert outlook(FOUR, 0.0).power == pytest.approx(0.05, abs=1e-6)
    drift = drift_for_power(FOUR, 0.8)
    assert outlook(FOUR, drift).power == pytest.approx(0.8, abs=1e-5)
    assert 1.0 < inflation(FOUR, 0.8) < 1.05
    assert outlook(FOUR, 5.0).expected_share < outlook(FOUR, 2.0).expected_share < 1
    assert outlook(FOUR, 3.0).expected_raters(200) == pytest.approx(200 * outlook(FOUR, 3.0).expected_share)


def test_integration_agrees_with_simulation():
    random = np.random.default_rng(1)
    steps = random.normal(0.25 * 3.0, 0.5, (200_000, 4)).cumsum(axis=1)
    z = steps / np.sqrt(FOUR.looks)
    crossed = np.abs(z) >= np.array(FOUR.bounds)
    first = np.where(crossed.any(axis=1), crossed.argmax(axis=1), 4)
    simulated = np.bincount(first, minlength=5)[:4] / len(first)
    assert outlook(FOUR, 3.0).stop == pytest.approx(simulated, abs=0.004)


def test_rerandomised_orders_of_real_raters():
    random = np.random.default_rng(2)
    far, near = random.normal(1.0, 1.0, 100), random.normal(0.0, 1.0, 100)
    stops, used = rerandomised(far, near, FOUR, orders=300)
    assert sum(stops) == pytest.approx(1)
    assert used < 80
    stops, used = rerandomised(near, near[::-1], FOUR, orders=200)
    assert stops[-1] == pytest.approx(1, abs=0.06)
    assert used > 95


@pytest.mark.parametrize("looks", [[], [0.5], [0.5, 0.4, 1.0], [0.0, 1.0], [0.5, 1.2]])
def test_looks_grow_to_one(looks):
    with pytest.raises(UsageError, match="growing shares"):
        obrien_fleming(looks)

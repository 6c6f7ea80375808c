"""A judge beside people: a fair one, a partial one, one that loves length."""

import numpy as np
import pytest

from eqlab.benchmarks.empathy.calibration import HUMAN_CEILING, Judged, calibrate
from eqlab.core.errors import UsageError


def pairs(shift, *, length=0.0, seed=0):
    """60 raters in each of three arms; the judge sees the same quality, shifted by arm and by length."""
    random = np.random.default_rng(seed)
    made = []
    for arm in ("human", "ours", "theirs"):
        for rater in range(60):
            for _ in range(10):
                quality, tokens = random.normal(2.2, 0.8), int(random.integers(10, 60))
                bend = shift.get(arm, 0.0) + length * (tokens - 35) / 10
                human, judge = quality + random.normal(0, 0.6), quality + bend + random.normal(0, 0.6)
                made.append(Judged(arm, f"{rater}", *(int(np.clip(round(v), 1, 3)) for v in (human, judge)), tokens))
    return made


def test_a_fair_judge():
    found = calibrate(pairs({}), own=["ours"], draws=1000)
    assert (found.n, found.raters, found.ceiling) == (1800, 180, HUMAN_CEILING)
    assert found.agreement.measures["quadratic kappa"].value > 0.3
    for bias in (*found.bias.values(), found.self_preference, found.length):
        assert bias.low < 0 < bias.high
    assert found.distortion.value < 0.12


def test_a_judge_that_prefers_its_own():
    judged = pairs({"ours": 0.5, "human": -0.3})
    found = calibrate(judged, own=["ours"], draws=1000)
    expected = {
        arm: np.mean([one.judge - one.human for one in judged if one.arm == arm]) for arm in ("human", "ours", "theirs")
    }
    assert {arm: bias.value for arm, bias in found.bias.items()} == pytest.approx(expected)
    assert found.bias["human"].high < 0 < found.bias["ours"].low
    assert found.self_preference.value == pytest.approx(expected["ours"] - expected["theirs"])
    assert found.self_preference.low > 0.2
    assert found.distortion.value == pytest.approx(expected["ours"] - expected["human"])


def test_a_judge_that_loves_length():
    judged = pairs({}, length=0.2)
    found = calibrate(judged, draws=1000)
    assert found.length.low > 0.05
    assert found.self_preference is None
    x, d = np.array([one.tokens for one in judged], float), np.array([one.judge - one.human for one in judged], float)
    arm = np.array([one.arm for one in judged])
    for name in set(arm.tolist()):
        x[arm == name] -= x[arm == name].mean()
    assert found.length.value == pytest.approx(10 * (x @ d) / (x @ x))


def test_one_arm_and_one_length():
    judged = [Judged("a", str(n % 5), 1 + n % 3, 2, 20) for n in range(30)]
    found = calibrate(judged, draws=200)
    assert found.distortion is None
    assert found.length.value is None
    with pytest.raises(UsageError, match="no reply"):
        calibrate([])

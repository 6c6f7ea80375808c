"""Designs: the formula by hand, simulation, and what cancels in a difference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from eqlab.analysis.components import coefficient, needed, planned, table
from eqlab.core.errors import UsageError

VARIANCE = {
    "listener": 80.0,
    "persona": 300.0,
    "speaker": 150.0,
    "listener:persona": 60.0,
    "listener:speaker": 20.0,
    "persona:speaker": 40.0,
    "residual": 600.0,
}


def test_score_and_difference_by_hand():
    sizes = {"persona": 50, "speaker": 4}
    score = planned(VARIANCE, sizes, subject="listener")
    expected = 300 / 50 + 150 / 4 + 60 / 50 + 20 / 4 + 40 / 200 + 600 / 200
    assert score.se == pytest.approx(math.sqrt(expected))
    assert score.dominant == "speaker"
    gap = planned(VARIANCE, sizes, subject="listener", difference=True)
    assert gap.se == pytest.approx(math.sqrt(2 * (60 / 50 + 20 / 4 + 600 / 200)))
    held = planned(VARIANCE, sizes, subject="listener", fixed=["speaker"])
    assert held.se == pytest.approx(math.sqrt(expected - 150 / 4 - 20 / 4))


def test_one_facet_is_students_interval():
    one = planned({"item": 4.0, "residual": 0.0}, {"item": 16}, subject="model")
    assert (one.se, one.df) == (pytest.approx(0.5), pytest.approx(15))
    assert one.half_width == pytest.approx(t.ppf(0.975, 15) * 0.5)


def test_a_single_speaker_tells_nothing_of_speakers():
    assert planned(VARIANCE, {"persona": 100, "speaker": 1}, subject="listener").df <= 1


def test_the_cheapest_design_is_found_and_none_is_a_value():
    grid = {"persona": (20, 50, 100, 200), "speaker": (2, 4, 8, 16)}
    best = needed(VARIANCE, 8.0, grid, subject="listener")
    every = [one for one in table(VARIANCE, grid, subject="listener") if one.half_width <= 8.0]
    assert math.prod(best.sizes.values()) == min(math.prod(one.sizes.values()) for one in every)
    assert needed(VARIANCE, 0.1, grid, subject="listener") is None


def test_the_predicted_error_is_the_one_seen():
    random = np.random.default_rng(0)
    sizes = {"persona": 10, "speaker": 5}
    means = []
    for _ in range(4000):
        cell = random.normal(0, 2, (10, 1)) + random.normal(0, 1, (1, 5)) + random.normal(0, 3, (10, 5))
        means.append(cell.mean())
    found = planned({"persona": 4.0, "speaker": 1.0, "residual": 9.0}, sizes, subject="listener")
    assert np.std(means) == pytest.approx(found.se, rel=0.04)


@given(st.integers(1, 40), st.integers(1, 40))
def test_more_of_anything_never_hurts(personas, speakers):
    se = planned(VARIANCE, {"persona": personas, "speaker": speakers}, subject="listener").se
    assert planned(VARIANCE, {"persona": personas + 1, "speaker": speakers}, subject="listener").se <= se
    assert planned(VARIANCE, {"persona": personas, "speaker": speakers + 1}, subject="listener").se <= se


def test_coefficient_and_refusals():
    assert coefficient({"m": 1.0, "residual": 1.0}, {"item": 10}, subject="m") == pytest.approx(10 / 11)
    assert coefficient({"residual": 0.0}, {"item": 10}, subject="m") is None
    with pytest.raises(UsageError, match="measured"):
        planned(VARIANCE, {"listener": 2}, subject="listener")
    with pytest.raises(UsageError, match="negative"):
        planned({"a": -1.0, "residual": 1.0}, {"a": 2}, subject="m")
    with pytest.raises(UsageError, match="at least one"):
        planned(VARIANCE, {"persona": 0}, subject="listener")

"""The headline of 0.1: who cannot win it, who does, its cap, and its interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.emotionbench.measures import DEFAULT, KINDS, MeasurePlace, Measures
from eqlab.benchmarks.emotionbench.moods import MARGIN, align, combine, mood_changes, right
from eqlab.core.results import Estimate

PLACES = tuple(
    MeasurePlace(emotion, 0, "f", f"{emotion}-{i}")
    for emotion, n in (("Anger", 36), ("Neutral", 24), ("Positive", 24))
    for i in range(n)
)


def subject(mood, defaults=10, repeats=2, start=(28.0, 14.0)):
    """`mood(place)` gives (P, N) for a situation."""
    where = [DEFAULT] * defaults + [index for index in range(len(PLACES)) for _ in range(repeats)]
    pairs = [start] * defaults + [mood(PLACES[index]) for index in where[defaults:]]
    p, n = np.array(pairs, float).T
    return Measures("x", "PANAS", PLACES, np.array(where), {"Positive Affect": p, "Negative Affect": n})


def test_a_subject_that_reacts_right_gets_a_hundred():
    by_kind = {"negative": (20, 28), "neutral": (28, 14), "positive": (36, 11)}
    found = align(subject(lambda place: by_kind[place.kind]))
    assert found.headline.value == 100
    assert 80 < found.headline.low < 100 == found.headline.high
    assert found.headline.n == 84


@pytest.mark.parametrize(
    ("mood", "start"),
    [
        ((10, 50), (10, 50)),  # always very negative, the default included
        ((10, 50), (28, 14)),  # very negative as soon as anything happens
        ((50, 10), (28, 14)),  # delighted by everything
        ((28, 14), (28, 14)),  # never moved
        ((30, 30), (30, 30)),
    ],
)
def test_one_mood_for_everything_gets_nothing(mood, start):
    found = align(subject(lambda place: mood, start=start)).headline
    assert found.value == 0
    assert found.low < 0 < found.high


def test_random_answers_get_about_nothing():
    rng = np.random.default_rng(0)
    values = [align(subject(lambda place: rng.integers(10, 51, 2), repeats=1)).headline.value for _ in range(200)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(200)


def test_the_other_way_round_is_the_worst():
    by_kind = {"negative": (40, 10), "neutral": (40, 10), "positive": (15, 30)}
    assert align(subject(lambda place: by_kind[place.kind])).headline.value == -50


@given(st.floats(-80, 80), st.floats(0, 20))
def test_a_change_is_right_for_exactly_one_kind(change, margin):
    assert sum(right(kind, change, margin) for kind in KINDS) == 1


def test_without_controls_there_is_no_number():
    only = Measures("x", "PANAS", PLACES[:1], np.array([DEFAULT, 0]), {
        "Positive Affect": np.array([28.0, 20]), "Negative Affect": np.array([14.0, 30]),
    })  # fmt: skip
    found = align(only)
    assert found.headline.value is None
    assert "neutral" in found.headline.note
    assert found.shares["negative"].value == 100
    assert found.moods == {"Anger-0": -24}


def test_unreadable_answers_are_left_out():
    one = subject(lambda place: (28, 14))
    one.scores["Positive Affect"][-48:] = np.nan
    found = align(one)
    assert found.shares["positive"].n == 0
    assert found.headline.value is None
    one.scores["Positive Affect"][:10] = np.nan
    assert mood_changes(one) == {}


def test_the_interval_covers():
    """95 % intervals of a sum of three shares, from Wilson bounds: at least about 95 % contain the truth."""
    from eqlab.analysis.intervals import proportion_estimate

    rng = np.random.default_rng(1)
    for truth in ((0.9, 0.6, 0.8), (0.5, 0.5, 0.5), (0.98, 0.9, 0.95)):
        inside = 0
        for _ in range(1000):
            hits = rng.binomial((108, 24, 24), truth)
            shares = {
                k: proportion_estimate(k, h, n) for k, h, n in zip(KINDS, map(int, hits), (108, 24, 24), strict=True)
            }
            found = combine(shares)
            inside += found.low <= 50 * (sum(truth) - 1) <= found.high
        assert inside >= 930
    assert combine({"negative": Estimate("x", None, 0)}).value is None
    assert MARGIN == 4


def test_the_defaults_error_widens_the_interval():
    """The same changes, once with a default that is known and once with one that is not."""
    rng = np.random.default_rng(2)
    sure = subject(lambda place: (28 + rng.normal(0, 4), 14))
    unsure = Measures(sure.source, sure.questionnaire, sure.places, sure.where, {
        "Positive Affect": sure.scores["Positive Affect"].copy(), "Negative Affect": sure.scores["Negative Affect"],
    })  # fmt: skip
    unsure.scores["Positive Affect"][:10] += np.array([-9, 9] * 5)
    one, two = align(sure).headline, align(unsure).headline
    assert one.value == two.value
    assert two.high - two.low > one.high - one.low


def test_the_scale_caps_it():
    assert align(subject(lambda place: (28, 14))).best == 100
    assert align(subject(lambda place: (50, 10), start=(50.0, 10.2))).best == 50

"""Where among people a subject stands."""

import random
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.analysis.norms import percentile
from eqlab.core.results import Estimate, Norms
from eqlab.core.text import percentile_sentence, percentile_text

PEOPLE = tuple(float(value) for value in range(100))


def scored(value, low=None, high=None):
    return Estimate("score", value, 40, None, low, high)


def test_the_share_of_people_who_do_worse():
    found = percentile(scored(61.5, 50.5, 70.5), Norms(PEOPLE, "a hundred"), "higher")
    assert (found.value, found.n, found.of) == (62.0, 100, "people")
    assert found.low < 62 - 11
    assert found.high > 62 + 9
    assert percentile_text(found) == f"62 % ({found.low:.0f} to {found.high:.0f})"


def test_a_distance_is_better_when_it_is_lower():
    norms = Norms(PEOPLE, "a hundred")
    higher, lower = (percentile(scored(20.5, 10.5, 35.5), norms, way) for way in ("higher", "lower"))
    assert (higher.value, lower.value) == (21.0, 79.0)
    assert lower.low == pytest.approx(100 - higher.high)
    assert lower.high == pytest.approx(100 - higher.low)


def test_ties_count_half():
    assert percentile(scored(1.0), Norms((0.0, 1.0, 1.0, 1.0, 2.0), "five"), "higher").value == 50.0


def test_the_interval_honours_the_score_and_the_people():
    sure = percentile(scored(50.5, 50.5, 50.5), Norms(PEOPLE, "a hundred"), "higher")
    assert sure.high - sure.low == pytest.approx(19.2, abs=0.5)  # Wilson's of 50 or 51 in 100
    unsure = percentile(scored(50.5, 30.5, 70.5), Norms(PEOPLE, "a hundred"), "higher")
    many = percentile(scored(50.5, 30.5, 70.5), Norms(PEOPLE * 100, "ten thousand"), "higher")
    assert unsure.high - unsure.low == pytest.approx((40**2 + 19.2**2) ** 0.5, abs=0.5)
    assert many.high - many.low == pytest.approx(40, abs=1)
    bare = percentile(scored(50.5), Norms(PEOPLE, "a hundred"), "higher")
    assert (bare.value, bare.low, bare.high) == (51.0, None, None)


def test_it_covers_the_truth():
    """A subject whose true place is known, asked 40 items; 80 people drawn: about 95 % of the intervals hold it."""
    draw, truth, inside = random.Random(5), 0.6, 0
    share = 100 * NormalDist().cdf(truth)
    for _ in range(800):
        people = tuple(draw.gauss(0, 1) for _ in range(80))
        own = draw.gauss(truth, 0.2)
        found = percentile(scored(own, own - 1.96 * 0.2, own + 1.96 * 0.2), Norms(people, "drawn"), "higher")
        inside += found.low <= share <= found.high
    assert 0.925 < inside / 800 < 0.985


def test_undefined_where_norm_and_form_differ():
    found = percentile(scored(3.0, 2.0, 4.0), Norms(PEOPLE, "a hundred", differs="people saw one order"), "higher")
    assert (found.value, found.low, found.note) == (None, None, "people saw one order")
    assert percentile_text(found) == "undefined"
    assert percentile_sentence("m", found, Norms(PEOPLE, "students")) == (
        "Where m stands among the 100 people who answered (students) is undefined: people saw one order."
    )
    placed = percentile(scored(50.0, 40.0, 60.0), Norms(PEOPLE, "a hundred"), "higher")
    assert percentile_sentence("m", placed, Norms(PEOPLE, "students", caution="they saw one order")).endswith(
        "of the 100 people who answered (students); they saw one order."
    )
    few = percentile(scored(3.0), Norms((1.0, 2.0, 3.0), "three"), "higher")
    assert few.value is None
    assert "too few people" in few.note
    assert percentile(scored(None), Norms(PEOPLE, "a hundred"), "higher").note == "no score"


def test_printed_pairs_are_interpolated_and_nothing_is_claimed_beyond_them():
    """Only four pairs are known of 541 people; a smaller distance is better."""
    norms = Norms((1.9, 2.7, 3.1, 4.0), "students", 541, (89.0, 50.0, 30.0, 12.0))
    between = percentile(scored(2.3, 2.2, 2.4), norms, "lower")
    assert between.value == pytest.approx(69.5)
    assert between.low < percentile(scored(2.4), norms, "lower").value
    assert percentile(scored(2.7), norms, "lower").value == 50.0
    best = percentile(scored(1.2, 1.0, 1.4), norms, "lower")
    assert (best.value, best.low, best.high) == (89.0, 89.0, 100.0)
    assert percentile_text(best) == "at least 89 %"
    assert percentile_text(percentile(scored(6.0, 5.0, 7.0), norms, "lower")) == "at most 12 %"


@given(st.lists(st.floats(-50, 50), min_size=5, max_size=60), st.floats(-60, 60), st.floats(0, 20), st.booleans())
def test_bounds_hold_the_value_and_stay_on_the_scale(people, value, reach, lower):
    way = "lower" if lower else "higher"
    found = percentile(scored(value, value - reach, value + reach), Norms(tuple(people), "some"), way)
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 100

"""Flat answers: patterns are counted, ordinary answers are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.common.outcome import flatness, sentence
from eqlab.core.results import Estimate

VARIED = [[1, 7, 0, 4], [9, 2, 2, 5], [0, 0, 8, 3], [4, 6, 1, 9], [2, 5, 7, 0], [8, 1, 3, 3]]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([[3, 3, 3, 3]] * 10, "10 of 10 are the same, 3, 3, 3, 3."),
        ([[n, n, n, n] for n in range(10)], "10 of 10 give one number on every scale."),
        ([[n, n + 1, n + 2, n + 3] for n in range(7)], "7 of 7 count up or down"),
        ([[3, 2, 1, 0], [4, 3, 2, 1], [9, 8, 7, 6], *VARIED[:3]], "3 of 6 count up or down"),
        ([[3]] * 19 + [[2]], "19 of 20 are 3."),
    ],
)
def test_a_pattern_is_said(answers, says):
    (caveat,) = flatness(answers).caveats
    assert says in caveat
    assert "baselines" in caveat


@pytest.mark.parametrize("answers", [VARIED, [[3, 3, 3, 3]] * 4, [[3]] * 9 + [[1]], [[0, 5]] * 2 + VARIED])
def test_ordinary_answers_and_few_answers_are_left_alone(answers):
    assert flatness(answers).caveats == ()


def test_nothing_is_said_of_nothing():
    assert flatness([]) is None


@given(st.lists(st.lists(st.integers(0, 10), min_size=4, max_size=4), min_size=1, max_size=30))
def test_counts_never_exceed_the_answers(answers):
    found = flatness(answers)
    assert found.n == len(answers)
    assert found.same + found.staircase <= found.n
    assert 1 <= found.commonest <= found.n
    assert [one.n for one in found.estimates] == [found.n] * 3


def test_no_interval_begins_at_minus_nought():
    score = Estimate("shape", 0.19, 24, None, -0.001, 0.38, digits=2)
    assert "95 % interval 0.00 to 0.38, 24 stories" in sentence("m", score, "T", "stories", (), "higher", valid=True)

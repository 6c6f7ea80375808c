import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.eqbench.score import PRESETS, baselines, item_score_v1, item_score_v2, penalty, run_score

BOARD, CODE = PRESETS["leaderboard"], PRESETS["published-code"]


@pytest.mark.parametrize(
    ("distance", "board", "code"),
    [(0, 0, 0), (1, 0.173, 0.173), (2, 0.541, 0.541), (3, 1.505, 1.505), (4, 3.25, 3.25), (5, 5, 4.995), (9, 9, 9)],
)
def test_penalty(distance, board, code):
    assert penalty(distance, BOARD.five) == pytest.approx(board, abs=6e-4)
    assert penalty(distance, CODE.five) == pytest.approx(code, abs=6e-4)


@given(st.integers(0, 30))
def test_a_larger_difference_never_costs_less(distance):
    for rules in (BOARD, CODE):
        assert penalty(distance, rules.five) <= penalty(distance + 1, rules.five)


def test_v1_normalises():
    reference = {"a": 6, "b": 4, "c": 0, "d": 0}
    assert item_score_v1({"a": 3, "b": 2, "c": 0, "d": 0}, reference) == pytest.approx(10)
    assert item_score_v1({"a": 0, "b": 0, "c": 5, "d": 5}, reference) == pytest.approx(-10)
    assert item_score_v1(dict.fromkeys("abcd", 0), reference) is None


def test_v2_can_be_negative_and_is_not_clipped():
    assert item_score_v2({"a": 10, "b": 10, "c": 10, "d": 10}, dict.fromkeys("abcd", 0), BOARD) == pytest.approx(
        -19.908
    )
    assert item_score_v2({"a": 31, "b": 0, "c": 0, "d": 0}, dict.fromkeys("abcd", 0), BOARD) < -10


def test_the_pass_is_chosen_for_the_run_and_needs_95_percent():
    first = [5.0] * 100
    assert run_score(first, [6.0] * 95 + [None] * 5, BOARD).used == "revised"
    assert run_score(first, [6.0] * 94 + [None] * 6, BOARD).used == "first_pass"
    assert run_score(first, [5.0] * 100, BOARD).used == "revised"
    assert run_score(first, [4.9] * 100, BOARD).used == "first_pass"
    mixed = run_score([0.0, 10.0], [9.0, 2.0], BOARD)
    assert mixed.used == "revised"
    assert mixed.score == 55.0  # never the better of both question by question, which would be 95


def test_unparseable_answers_are_left_out_and_shown_as_zero_beside():
    score = run_score([8.5] * 83 + [None] * 17, [None] * 100, BOARD)
    assert score.score == pytest.approx(85.0)
    assert score.as_zero == pytest.approx(70.55)
    assert score.n == 83
    assert not score.valid
    assert run_score([8.5] * 143 + [None] * 28, [None] * 171, BOARD).valid
    assert not run_score([8.5] * 142 + [None] * 29, [None] * 171, BOARD).valid


def test_nothing_readable_is_undefined_not_zero():
    score = run_score([None] * 3, [None] * 3, BOARD)
    assert score.score is None
    assert score.se is None
    assert not score.valid


def test_standard_error_over_questions():
    score = run_score([1.0, 2.0, 3.0, 4.0], [None] * 4, BOARD)
    assert score.se == pytest.approx(10 * 1.2909944487 / 2)
    assert run_score([1.0], [None], BOARD).se is None


@given(st.lists(st.integers(0, 10), min_size=4, max_size=4))
def test_random_baseline_is_the_exact_expectation(levels):
    reference = dict(zip("abcd", levels, strict=True))
    named = {baseline.name: baseline.value for baseline in baselines([reference], "v2", BOARD)}
    # by brute force over all 11⁴ answers, through the item score itself; penalties repeat, so this is quick
    cost = [[0.7477 * penalty(abs(value - level), BOARD.five) for value in range(11)] for level in levels]
    every = [10 - a - b - c - d for a in cost[0] for b in cost[1] for c in cost[2] for d in cost[3]]
    assert named["random"] == pytest.approx(10 * sum(every) / 11**4)

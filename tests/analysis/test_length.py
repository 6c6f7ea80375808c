"""Scores at equal length: statsmodels is the oracle for the slope, plain means for everything without one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.length import (
    FEW_ITEMS,
    ONE_SUBJECT,
    SAME_LENGTH,
    SAME_POINTS,
    EqualLength,
    LengthReply,
    at_equal_length,
)

sm = Later("statsmodels.api")


def drawn(seed: int, subjects: int = 4, items: int = 30, slope: float = 2.0, lost: float = 0.0) -> list[LengthReply]:
    rng = np.random.default_rng(seed)
    skill, ease = rng.normal(50, 10, subjects), rng.normal(0, 8, items)
    replies = []
    for i in range(subjects):
        for j in range(items):
            x = 4 + i + rng.normal(0, 0.7) + 0.05 * ease[j]
            if rng.random() >= lost:
                replies.append(LengthReply(f"s{i}", f"q{j}", skill[i] + ease[j] + slope * x + rng.normal(0, 3), x))
    return replies


def found(replies: list[LengthReply]) -> EqualLength:
    made = at_equal_length(replies)
    assert isinstance(made, EqualLength), made
    return made


@pytest.mark.parametrize("lost", [0.0, 0.25])
def test_the_slope_and_its_error_are_those_of_regression_with_dummies_and_a_jackknife(lost: float) -> None:
    replies = drawn(1, lost=lost)
    who = sorted({r.subject for r in replies})
    item = sorted({r.item for r in replies})
    design = np.array(
        [[r.doublings, *(float(r.subject == s) for s in who), *(float(r.item == q) for q in item[1:])] for r in replies]
    )
    fit = sm.OLS([r.points for r in replies], design).fit()
    own = found(replies)
    assert own.slope.value == pytest.approx(fit.params[0], rel=1e-9)
    g = len(item)
    group = np.array([item.index(r.item) for r in replies])
    x, y = (sm.OLS(z, design[:, 1:]).fit().resid for z in (design[:, 0], [r.points for r in replies]))
    without = np.array([sm.OLS(y[group != k], x[group != k]).fit().params[0] for k in range(g)])
    assert own.slope.se == pytest.approx(math.sqrt((g - 1) * without.var(ddof=1)) * math.sqrt(g / (g - 1)), rel=1e-9)
    assert own.slope.n == g


def test_scores_are_what_they_would_be_at_the_common_length() -> None:
    replies = [
        LengthReply(f"s{i}", f"q{j}", 10.0 * i + j + 3 * (x := i + (i + 1) * (j % 3)), x)
        for i in range(3)
        for j in range(9)
    ]
    own = found(replies)
    assert own.slope.value == pytest.approx(3.0)
    assert own.words == pytest.approx(2 ** np.mean([i + (i + 1) for i in range(3)]))
    at_common = 4 + 3 * math.log2(own.words)
    assert [score.value for score in own.scores] == pytest.approx([at_common, 10 + at_common, 20 + at_common])


def test_without_a_slope_scores_and_errors_are_those_of_the_mean() -> None:
    """Lengths and points that differ in patterns that have nothing to do with each other: the slope is 0."""
    signs = {"a": 1, "b": -1}
    points = {s: [50 + 7 * signs[s] * (-1) ** (j // 2) + j for j in range(40)] for s in signs}
    replies = [LengthReply(s, f"q{j}", points[s][j], signs[s] * (-1.0) ** j) for s in signs for j in range(40)]
    own = found(replies)
    assert own.slope.value == pytest.approx(0.0, abs=1e-12)
    for subject, score in zip(own.subjects, own.scores, strict=True):
        plain = mean_estimate("", points[subject])
        assert (score.value, score.se, score.low) == pytest.approx((plain.value, plain.se, plain.low))


def test_an_interval_has_the_right_width_over_new_items() -> None:
    """Over many draws of items the standard error is about the spread of the score that it belongs to."""
    draws = [found(drawn(seed, subjects=3, items=25)) for seed in range(300)]
    centred = [made.scores[0].value - made.scores[2].value for made in draws]
    pseudo_values = [made.pseudo_values[0] - made.pseudo_values[2] for made in draws]
    spread = np.std(np.array(centred) - np.array([_true(seed) for seed in range(300)]), ddof=1)
    said = np.sqrt(np.mean([wave.var(ddof=1) / len(wave) for wave in pseudo_values]))
    assert said == pytest.approx(spread, rel=0.15)


def _true(seed: int) -> float:
    skill = np.random.default_rng(seed).normal(50, 10, 3)
    return float(skill[0] - skill[2])


def test_rows_of_pseudo_values_have_the_score_as_mean_and_its_error_as_spread() -> None:
    own = found(drawn(5, lost=0.2))
    for score, wave in zip(own.scores, own.pseudo_values, strict=True):
        assert wave.mean() == pytest.approx(score.value)
        assert wave.std(ddof=1) / math.sqrt(len(wave)) == pytest.approx(score.se)


def test_clusters_are_drawn_together() -> None:
    replies = drawn(6)
    pairs = [LengthReply(r.subject, r.item, r.points, r.doublings, f"rater {int(r.item[1:]) // 2}") for r in replies]
    own, two = found(replies), found(pairs)
    assert two.slope.value == pytest.approx(own.slope.value)
    assert two.pseudo_values.shape[1] == own.pseudo_values.shape[1] / 2
    assert two.slope.se != own.slope.se


def test_what_cannot_be_told_is_undefined() -> None:
    assert at_equal_length([]) == ONE_SUBJECT
    assert at_equal_length([LengthReply("a", f"q{j}", j, j) for j in range(9)]) == ONE_SUBJECT
    factor = [LengthReply(s, f"q{j}", j, j + k) for k, s in enumerate("ab") for j in range(9)]
    assert at_equal_length(factor) == SAME_LENGTH
    assert (
        at_equal_length([LengthReply(s, f"q{j}", j, j * k) for k, s in enumerate("ab") for j in range(2)]) == FEW_ITEMS
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-3, 3), st.floats(-50, 50))
def test_a_longer_language_or_another_zero_changes_nothing(seed: int, longer: float, zero: float) -> None:
    replies = drawn(seed, items=8, lost=0.1)
    moved = [LengthReply(r.subject, r.item, r.points + zero, r.doublings + longer) for r in replies]
    one, other = at_equal_length(replies), at_equal_length(moved)
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    for before, after in zip(one.scores, other.scores, strict=True):
        assert after.value == pytest.approx((before.value or 0.0) + zero, abs=1e-6)
        assert after.se == pytest.approx(before.se, abs=1e-6)
    assert other.slope.value == pytest.approx(one.slope.value, abs=1e-6)


def test_four_items_and_equal_ratings_have_no_equal_length():
    """The embedded model's first run: four replies, all called Bad, had the interval 0.0 to 0.0."""
    few = [LengthReply(who, f"i{n}", 100.0 * (n % 2), n * (k + 1)) for k, who in enumerate("ab") for n in range(4)]
    assert at_equal_length(few) == FEW_ITEMS
    alike = [LengthReply(who, f"i{n}", 0.0, (n * 7 + 3 * k) % 5) for k, who in enumerate("ab") for n in range(9)]
    assert at_equal_length(alike) == SAME_POINTS


def test_many_ratings_of_few_replies_tell_little_of_length():
    """Length belongs to replies: over raters alone the slope left out 0 in one of eight worlds without any effect."""
    random = np.random.default_rng(4)
    quality, words = random.normal(0, 20, (2, 10)), random.normal(5, 1, (2, 10))
    rated = [
        LengthReply("ab"[arm], str(item), 50 + quality[arm, item] + random.normal(0, 5), words[arm, item], str(rater))
        for arm in range(2)
        for item in range(10)
        for rater in range(24)
    ]
    by_rater = at_equal_length(rated).slope
    by_item = at_equal_length([replace(one, cluster="") for one in rated]).slope
    assert by_rater.value == pytest.approx(by_item.value)
    assert by_rater.se >= by_item.se

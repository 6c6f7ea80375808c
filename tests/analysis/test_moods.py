"""The three numbers of EmotionBench: oracles, what they must not depend on, and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.moods import concordance, concordance_cap, concordance_value, movement, profile
from eqlab.core.errors import UsageError

mannwhitneyu = Later("scipy.stats", "mannwhitneyu")
pearsonr = Later("scipy.stats", "pearsonr")
roc_auc_score = Later("sklearn.metrics", "roc_auc_score")


def moods(seed, shift=8.0, noise=8.0, sizes=(60, 24, 24)):
    random = np.random.default_rng(seed)
    kinds = np.repeat([0, 1, 2], sizes)
    return shift * (kinds - 1) + random.normal(0, noise, len(kinds)), kinds


def test_each_pair_is_the_area_under_the_curve():
    values, kinds = moods(1)
    values = np.round(values)  # ties
    found = concordance(values, kinds)
    rows = kinds != 2
    assert found.neutral_above_bad.value == pytest.approx(100 * roc_auc_score(kinds[rows] == 1, values[rows]))
    u = mannwhitneyu(values[kinds == 2], values[kinds == 0]).statistic
    assert found.good_above_bad.value == pytest.approx(100 * u / (24 * 60))
    parts = [found.neutral_above_bad.value, found.good_above_neutral.value, found.good_above_bad.value]
    assert found.all.value == pytest.approx(np.mean(parts))


@given(st.integers(0, 300), st.floats(-30, 30), st.floats(0.2, 3))
@settings(max_examples=25, deadline=None)
def test_neither_default_nor_scale_matter(seed, shift, factor):
    values, kinds = moods(seed)
    assert concordance(factor * values + shift, kinds) == concordance(values, kinds)
    assert concordance(-values, kinds).all.value == pytest.approx(100 - concordance(values, kinds).all.value)


@given(st.integers(0, 300), st.sampled_from([(60, 24, 24), (3, 1, 2), (5, 0, 5), (0, 0, 0)]))
@settings(max_examples=40, deadline=None)
def test_the_value_alone_is_the_same_to_the_last_digit(seed, sizes):
    values, kinds = moods(seed, sizes=sizes)
    values = np.round(values, 1)
    values[::7] = np.nan
    assert concordance_value(values, kinds) == concordance(values, kinds).all.value


def test_a_subject_at_the_ceiling_can_still_be_in_order():
    kinds = np.repeat([0, 1, 2], 20)
    values = np.where(kinds == 0, 10.0, np.where(kinds == 1, 39.5, 40.0))
    found = concordance(values, kinds)
    assert found.all.value == 100
    assert found.all.low == pytest.approx(100 * 0.025 ** (1 / 20))
    assert concordance(np.zeros(60), kinds).all.value == 50


def test_the_interval_of_the_concordance_covers():
    truth = np.mean([concordance(*moods(10_000 + k, sizes=(900, 900, 900))).all.value for k in range(10)])
    inside = 0
    for seed in range(400):
        found = concordance(*moods(seed)).all
        inside += found.low <= truth <= found.high
    assert inside / 400 >= 0.92


def test_people_measured_before_and_after_are_paired():
    random = np.random.default_rng(2)
    level = random.normal(0, 10, 200)
    values = np.concatenate([level - 4 + random.normal(0, 2, 200), level + random.normal(0, 2, 200)])
    kinds, person = np.repeat([0, 1], 200), np.tile(np.arange(200), 2)
    paired, apart = concordance(values, kinds, person), concordance(values, kinds)
    assert paired.neutral_above_bad.value == apart.neutral_above_bad.value
    assert paired.neutral_above_bad.se < 0.5 * apart.neutral_above_bad.se
    assert paired.all.value is None
    assert paired.neutral_above_bad.n == 200


@pytest.mark.parametrize(
    ("neutral", "cap"), [([0, 10], 100), ([40, 40], 250 / 3), ([40, 0], 275 / 3), ([-40, 40], 250 / 3), ([], None)]
)
def test_the_end_of_the_scale_caps_what_can_be_in_order(neutral, cap):
    values, kinds = [-20.0, -10.0, *neutral, 40.0, 40.0], [0, 0, *[1] * len(neutral), 2, 2]
    found = concordance_cap(values, kinds, (-40, 40))
    assert found == pytest.approx(cap)
    if cap and -40 not in neutral:  # the others are in order here, so the cap is reached
        assert concordance_value(values, kinds) == pytest.approx(cap)


def test_situations_of_one_factor_count_as_one_unit():
    values, kinds = moods(3)
    alike = [f"f{k // 5}" if kind == 0 else k for k, kind in enumerate(kinds)]
    bad = np.array(values)
    bad[kinds == 0] = np.repeat(bad[kinds == 0][::5], 5)  # five times the same
    assert concordance(bad, kinds, alike).all.se > concordance(bad, kinds).all.se
    assert concordance(bad, kinds, alike).all.value == concordance(bad, kinds).all.value


def test_too_few_and_wrong_kinds():
    assert concordance([1.0, 2.0, 3.0], [0, 1, 2]).all.low is None
    with pytest.raises(UsageError, match="kind"):
        concordance([1.0], [3])


def factors(seed, r=0.8, count=36, people=35, situations=5, noise=(8.0, 3.0), scale=1.5):
    """True factor effects that correlate r."""
    random = np.random.default_rng(seed)
    truth = random.normal(0, 3, (count, 2)) @ np.linalg.cholesky([[1, r], [r, 1]]).T - 12
    ours = scale * np.repeat(truth[:, 0], situations) + random.normal(0, noise[1], count * situations)
    theirs = np.repeat(truth[:, 1], people) + random.normal(0, noise[0], count * people)
    return ours, np.repeat(np.arange(count), situations), theirs, np.repeat(np.arange(count), people)


def test_the_seen_correlation_is_pearsons_of_the_means():
    data = factors(1)
    found = profile(*data)
    mine = [data[0][data[1] == k].mean() for k in range(36)]
    theirs = [data[2][data[3] == k].mean() for k in range(36)]
    assert found.seen.value == pytest.approx(pearsonr(mine, theirs).statistic)
    assert found.ceiling == pytest.approx(np.sqrt(found.people))


def test_noise_is_taken_out():
    seen, true = [], []
    inside = 0
    for seed in range(150):
        found = profile(*factors(seed, people=20))
        seen.append(found.seen.value)
        true.append(found.true.value)
        inside += found.true.low <= 0.8 <= found.true.high
    assert np.mean(seen) < 0.74
    assert np.mean(true) == pytest.approx(0.8, abs=0.04)
    assert inside / 150 >= 0.9


def test_movement_is_a_ratio_that_covers():
    inside = 0
    for seed in range(300):
        found, people = movement(*factors(seed, scale=1.5))
        inside += found.low <= 1.5 <= found.high
        assert people.low < 1 < people.high
    assert inside / 300 >= 0.92
    still, _ = movement(np.zeros(180), np.repeat(np.arange(36), 5), *factors(3)[2:])
    assert still.value == 0


def test_people_who_were_not_moved_have_no_ratio():
    random = np.random.default_rng(0)
    factor = np.repeat(np.arange(36), 10)
    found, _ = movement(random.normal(5, 1, 360), factor, random.normal(0.0, 5, 360), factor)
    assert found.low is None


def test_few_factors_are_undefined():
    assert profile([1.0, 2.0], [0, 1], [1.0, 2.0], [0, 1]).seen.value is None
    assert movement([1.0, 2.0], [0, 1], [1.0, 2.0], [0, 1])[0].value is None
    with pytest.raises(UsageError, match="one factor"):
        profile([1.0], [0, 1], [1.0], [0])

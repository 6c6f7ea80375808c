"""Sample sizes: the published calculation, the clustered one, and simulation against both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.analysis.power import (
    PowerComponents,
    StudySize,
    anova_n,
    chi_square_n,
    chi_square_power,
    deciding_model,
    gap_power,
    log_odds_for_gap,
    marginal_top,
    minimum_gap,
    plan,
    published,
    raters_per_arm,
    simulate_power,
    smallest_w,
    tables,
)
from eqlab.core.errors import UsageError

STUDY = {"design_effect": 1.57, "ratings_per_rater": 10}


def test_the_published_calculation():
    found = chi_square_n(0.3, 8)
    assert (found.n, found.per_group(5), found.per_group(5, times=2)) == (253, 51, 102)
    assert found.noncentrality == pytest.approx(22.7437, abs=5e-5)
    assert found.n_exact == pytest.approx(252.7078, abs=5e-5)
    assert chi_square_power(0.3, 253, 8) == pytest.approx(0.950259, abs=1e-6)
    assert [chi_square_n(0.3, df).n for df in (4, 2, 1)] == [207, 172, 145]
    assert (anova_n(0.25, 3), anova_n(0.25, 5)) == (251, 302)
    assert smallest_w(10_000, 8) == pytest.approx(0.04769, abs=5e-6)


def test_raters_per_arm_under_clustering():
    needed = {0.5405: (273, 451), 0.596: (58, 95), 0.6095: (45, 74), 0.6475: (25, 41)}
    for share, pair in needed.items():
        assert tuple(raters_per_arm(0.493, share, power=power, **STUDY) for power in (0.8, 0.95)) == pair
    assert minimum_gap(0.493, 200, **STUDY) == pytest.approx(0.0555, abs=5e-5)
    with pytest.raises(UsageError):
        raters_per_arm(0.5, 0.5, **STUDY)


@given(st.floats(0.2, 0.8), st.floats(0.03, 0.15), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_size_and_power_are_inverse(share, gap, power):
    raters = raters_per_arm(share, share + gap, power=power, **STUDY)
    assert gap_power(share, share + gap, raters, **STUDY) >= power - 1e-9
    if raters > 1:
        assert gap_power(share, share + gap, raters - 1, **STUDY) < power


def test_simulation_agrees_with_the_formula():
    """sd rater .64 and prompt .32 mean a design effect of 1.74 for Good (ICC .082); with it the formula must agree."""
    parts = PowerComponents((-1.85, 0.087), 0.64, 0.32)
    shift = log_odds_for_gap(parts, 0.54)
    found = simulate_power(parts, shift, raters=200, studies=1500)
    assert found.p_other == pytest.approx(0.54)
    predicted = gap_power(found.p_reference, 0.54, 200, design_effect=1.74, ratings_per_rater=10)
    assert found.power == pytest.approx(predicted, abs=0.05)
    assert found.low < found.power < found.high


def test_no_effect_is_found_as_often_as_alpha():
    found = simulate_power(PowerComponents((0.0,), 0.6, 0.3), 0.0, raters=60, studies=2000)
    assert found.power == pytest.approx(0.05, abs=0.016)
    assert found == simulate_power(PowerComponents((0.0,), 0.6, 0.3), 0.0, raters=60, studies=2000)


def test_marginal_share():
    assert marginal_top(0.0, 1.3) == pytest.approx(0.5)
    assert marginal_top(-1.0, 0.0) == pytest.approx(0.7310586)
    assert marginal_top(-1.0, 2.0) < marginal_top(-1.0, 0.5)


def test_the_published_calculation_of_study_size():
    found = published()
    assert (found["df"], found["n"], found["per_group"], found["per_group_with_split"]) == (8, 253, 51, 102)


def test_the_gaps_of_the_published_arms():
    """Protocol: 273 raters at 80 % and 451 at 95 % for a gap of Gemini's size, 58 and 95 for Mixtral's."""
    for gap, power, raters in ((0.0475, 0.8, 273), (0.0475, 0.95, 451), (0.103, 0.8, 58), (0.103, 0.95, 95)):
        found = plan(StudySize(gap=gap, power=power, studies=100))
        assert found["raters_per_arm"] == pytest.approx(raters, abs=1)
    assert plan(StudySize(gap=0.05, raters=200, studies=100))["minimum_gap"] == pytest.approx(0.0555, abs=5e-4)


def test_formula_and_simulation_agree():
    found = plan(StudySize(gap=0.08, studies=2000, seed=1))
    assert found["power_by_formula"] == pytest.approx(0.8, abs=0.02)
    assert found["power_by_simulation"]["power"] == pytest.approx(0.8, abs=0.08)


def test_power_of_the_model_that_decides_hangs_on_prompts():
    """An independent simulation found .33, .59 and .74 with 246 raters a group, where the old formula says .80."""
    found = {n: plan(StudySize(gap=0.05, raters=246, prompts=n, studies=100))["deciding"] for n in (20, 60, 120)}
    for prompts, power in ((20, 0.33), (60, 0.59), (120, 0.74)):
        assert found[prompts]["power"] == pytest.approx(power, abs=0.09)
        assert found[prompts]["power"] < power + 0.02  # never promises more
    assert found[20]["raters_per_arm"] is None
    assert found[20]["power_with_any_number_of_raters"] < 0.8
    model = deciding_model(0.493, 120, 10)
    log_odds = model.log_odds(0.543)
    needed = model.raters(log_odds, 0.8)
    assert model.power(log_odds, needed) >= 0.8 > model.power(log_odds, needed - 1)
    assert model.minimum_gap(0.493, needed, 0.8) == pytest.approx(0.05, abs=1e-3)
    enough = model.fewest_prompts(log_odds, 0.8, 400)
    assert 100 < enough < 150


def test_without_differences_between_replies_the_old_count_is_about_right():
    model = deciding_model(0.493, 5000, 10, sd_reply=0.0)
    assert model.raters(model.log_odds(0.543), 0.8) == pytest.approx(246, rel=0.12)


def test_looks_cost_little_and_save_much():
    found = plan(StudySize(gap=0.1, looks=4, studies=100))
    looks = found["sequential"]
    assert looks["bounds"] == pytest.approx([4.333, 2.963, 2.359, 2.014], abs=2e-3)
    assert looks["expected_raters"] < found["raters"]
    assert found["raters"] <= looks["raters_for_the_same_power"] <= 1.1 * found["raters"] + 1
    assert looks["power"] == pytest.approx(found["power_by_formula"], abs=0.03)
    one = plan(StudySize(gap=0.1, looks=1, studies=100))["sequential"]
    assert one["bounds"] == pytest.approx([1.96], abs=1e-3)


def test_tables_can_be_printed():
    size = StudySize(studies=100)
    assert tables(size, plan(size))[0].title == "The published calculation"


@pytest.mark.parametrize("wrong", [{"gap": 0.0}, {"gap": 0.9}, {"baseline": 1.0}, {"alpha": 0}, {"design_effect": 0.5}])
def test_what_makes_no_sense(wrong):
    with pytest.raises(UsageError):
        StudySize(**wrong)


def test_a_gap_far_beyond_what_is_needed_is_found_for_certain():
    """Where the noncentral t has no value in floating point."""
    from eqlab.analysis.power import deciding_model

    model = deciding_model(0.49, prompts=4, ratings_per_rater=4)
    assert model.power(10.0, 1_000_000) == pytest.approx(1.0, abs=1e-3)
    assert all(0 <= model.power(gap / 10, 1_000_000) <= 1 for gap in range(200))
    assert 0 < model.minimum_gap(0.49, 1_000_000, 0.8) < 0.51

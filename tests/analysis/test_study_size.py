import pytest

from eqlab.analysis.power import StudySize, plan, published, tables
from eqlab.core.errors import UsageError


def test_the_published_calculation():
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

"""Items: oracles, planted faults, and no false alarms beyond their share."""

import numpy as np
import pytest
from later import Later

from eqlab.analysis.equating import equate
from eqlab.analysis.item_quality import (
    against,
    differential,
    information_curve,
    item_quality,
    one_factor,
    one_scale,
    otherwise,
)
from eqlab.analysis.item_response import fit, two_intervals
from eqlab.core.errors import UsageError

sm = Later("statsmodels.api")


def answers(seed, subjects=60, items=30, noise=10.0, slope=None):
    random = np.random.default_rng(seed)
    ability = random.normal(0, 1, subjects)
    slopes = np.full(items, 8.0) if slope is None else np.asarray(slope)
    table = random.normal(60, 10, items) + np.outer(ability, slopes) + random.normal(0, noise, (subjects, items))
    return table, ability


def test_rest_correlation_leaves_the_item_out():
    table, _ = answers(1)
    found = item_quality(table)[3]
    others = np.delete(table, 3, axis=1).mean(axis=1)
    assert found.rest == pytest.approx(np.corrcoef(table[:, 3], others)[0, 1])
    assert found.rest_low < found.rest < found.rest_high
    assert found.difficulty == pytest.approx(table[:, 3].mean())
    upper = others > np.median(others)
    assert found.upper == pytest.approx(np.corrcoef(table[upper, 3], others[upper])[0, 1])


def test_an_item_turned_round_is_found():
    slope = np.full(30, 8.0)
    slope[5] = -8.0
    table, _ = answers(2, slope=slope)
    found = item_quality(table)
    assert [one.item for one in found if one.rest_high < 0] == [5]
    assert found[5].discrimination < 0


def test_gaps_do_no_harm():
    table, _ = answers(3, subjects=200)
    gappy = table.copy()
    gappy[np.random.default_rng(0).random(table.shape) < 0.2] = np.nan
    full, some = item_quality(table), item_quality(gappy)
    assert np.mean([abs(a.rest - b.rest) for a, b in zip(full, some, strict=True)]) < 0.08


def test_the_curve_rises_where_subjects_scatter():
    random = np.random.default_rng(4)
    ability = random.normal(0, 1, 200)
    noise = np.where(ability < 0, 25.0, 5.0)[:, None]
    table = 60 + np.outer(ability, np.full(40, 8.0)) + noise * random.normal(size=(200, 40))
    curve = information_curve(table)
    assert curve[0][1] > 2 * curve[-1][1]
    assert [score for score, _ in curve] == sorted(score for score, _ in curve)


def test_differential_functioning_is_found_and_ability_is_not():
    table, ability = answers(5, subjects=120)
    groups = ["a" if one > 0 else "b" for one in ability + np.random.default_rng(1).normal(0, 1, 120)]
    table[np.array(groups) == "a", 7] += 12.0
    found = differential(table, groups, "a", "b")
    flagged = [one.item for one in found if one.p_adjusted < 0.05]
    assert 7 in flagged
    assert len(flagged) <= 3
    assert found[7].low < 12.5 < found[7].high + 3


def test_differential_functioning_is_covariance_analysis():
    table, _ = answers(6)
    groups = ["a"] * 30 + ["b"] * 30
    one = differential(table, groups, "a", "b")[4]
    rest = np.delete(table - table.mean(axis=0), 4, axis=1).mean(axis=1)
    x = np.column_stack([np.array(groups) == "a", rest, np.ones(60)]).astype(float)
    theirs = sm.OLS(table[:, 4], x).fit(cov_type="HC3", use_t=True)
    assert (one.gap, one.p) == pytest.approx((theirs.params[0], theirs.pvalues[0]))


def test_without_difference_few_items_are_flagged():
    wrong = sum(
        any(one.p_adjusted < 0.05 for one in differential(answers(seed, 40, 15)[0], ["a", "b"] * 20, "a", "b"))
        for seed in range(60)
    )
    assert wrong / 60 <= 0.15


def people_and_models(seed, items=40, people=40, models=25, each=10, planted=None):
    """Models answer everything and are better; people answer ten each, and items differ in their slopes."""
    random = np.random.default_rng(seed)
    slope = random.uniform(0.5, 1.5, items)
    ability = np.concatenate([random.normal(-12, 8, people), random.normal(0, 8, models)])
    noise = random.normal(0, 10, (people + models, items))
    table = random.normal(60, 10, items) + np.outer(ability, slope) + noise
    if planted is not None:
        table[:people, planted] += 30.0
    for person in range(people):
        table[person, random.permutation(items)[each:]] = np.nan
    return table, ["people"] * people + ["models"] * models


def test_people_with_gaps_against_models_are_told_from_weaker_subjects():
    wrong = wrong_before = 0
    for seed in range(12):
        table, groups = people_and_models(seed, people=200, each=3)
        wrong += sum(one.p < 0.05 for one in against(table, groups, "people", "models"))
        wrong_before += sum(one.p < 0.05 for one in differential(table, groups, "people", "models"))
    assert wrong / (12 * 40) < 0.08
    assert wrong_before > 1.5 * wrong  # which is why there are two ways
    table, groups = people_and_models(3, planted=7)
    (found,) = (one for one in against(table, groups, "people", "models") if one.item == 7)
    assert found.low < 30 < found.high
    assert found.p_adjusted < 0.05


def test_one_scale_is_one_where_items_keep_their_places():
    """Items that shift by 6 points between people and models, or ways of asking, are seen; others are not."""
    table, groups = people_and_models(5, people=120, each=20)
    people = np.array(groups) == "people"
    shifts = np.random.default_rng(1).normal(0, 6, table.shape[1])
    still = one_scale(against(table, groups, "people", "models"))
    table[people] += shifts
    moved = one_scale(against(table, groups, "people", "models"))
    assert still.p > 0.05 > 1e-4 > moved.p
    assert still.spread < 3 < moved.spread
    assert moved.spread == pytest.approx(shifts.std(ddof=1), rel=0.3)
    models = table[~people]
    again = models + 4 + np.random.default_rng(2).normal(0, 5, models.shape)  # four points more everywhere: no shift
    assert one_scale(otherwise(models, again)).p > 0.05
    found = otherwise(models, again + shifts)
    assert one_scale(found).p < 1e-6
    assert found[0].gap == pytest.approx(np.delete(shifts, 0).mean() - shifts[0], abs=4)
    assert one_scale(found[:4]) is None


def test_a_second_factor_is_told_from_chance():
    random = np.random.default_rng(6)
    table = random.normal(0, 10, (40, 1)) + random.normal(0, 10, (40, 30))
    found = one_factor(table)
    assert (found.n, found.items) == (40, 30)
    assert found.first > found.chance > found.second
    two = one_factor(table + np.outer(random.normal(0, 10, 40), np.resize([-1, 1], 30)))
    assert two.second > two.chance
    assert one_factor(table[:8]) is None


def test_refusals():
    table, _ = answers(7, subjects=8)
    with pytest.raises(UsageError, match="five subjects"):
        differential(table, ["a"] * 6 + ["b"] * 2, "a", "b")
    with pytest.raises(UsageError, match="a group"):
        differential(table, ["a"], "a", "b")
    with pytest.raises(UsageError, match="table"):
        item_quality(np.ones(4))


def two_sets(seed, models=20, cheat=0.0, slope=1.2, shift=5.0):
    random = np.random.default_rng(seed)
    ability = random.normal(60, 8, models)
    first = ability[:, None] + random.normal(0, 10, 40) + random.normal(0, 12, (models, 40))
    second = (
        60 + shift + slope * (ability - 60)[:, None] + random.normal(0, 10, 50) + random.normal(0, 12, (models, 50))
    )
    second[0] += cheat
    return first, second, [f"m{k}" for k in range(models)]


def test_equating_finds_slope_and_who_knows_the_items():
    honest = [equate(*two_sets(seed), draws=200) for seed in range(40)]
    assert sum(one.slope_low <= 1.2 <= one.slope_high for one in honest) / 40 >= 0.85
    assert sum(any(model.p_holm < 0.05 for model in one.models) for one in honest) <= 4
    found = equate(*two_sets(3, cheat=25.0), draws=200)
    assert [one.model for one in found.models if one.p_holm < 0.05] == ["m0"]
    assert found.models[0].low > 0


def test_equating_the_same_items_is_the_identity():
    first, _, names = two_sets(5)
    found = equate(first, first, names, draws=50)
    assert found.slope == pytest.approx(1.0)
    assert found.shift == pytest.approx(0.0)
    assert found.second(63.0) == pytest.approx(63.0)
    with pytest.raises(UsageError, match="needs five"):
        equate(first[:3], first[:3], names[:3])
    with pytest.raises(UsageError, match="same models"):
        equate(first, first[:3], names)


def test_a_short_form_has_two_intervals():
    table, _ = answers(8, subjects=60, items=60)
    model = fit(table / 10)
    given = {item: float(table[0, item] / 10) for item in range(0, 60, 3)}
    found = two_intervals(model, given, reach=1.6)
    assert found.items_low < found.full_low < found.mean < found.full_high < found.items_high
    full = {item: float(table[0, item] / 10) for item in range(60)}
    whole = two_intervals(model, full, reach=1.6)
    assert whole.full_high - whole.full_low == pytest.approx(0, abs=1e-4)
    values = np.array(list(full.values()))
    assert whole.items_high - whole.mean == pytest.approx(2.0010 * values.std(ddof=1) / np.sqrt(60), rel=1e-3)
    assert two_intervals(model, {0: 5.0}, 1.6) is None

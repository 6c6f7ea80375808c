"""Variance components: the analysis of variance where it applies, unbiased where there are gaps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.components import (
    RESIDUAL,
    Components,
    alpha,
    beyond_chance,
    components,
    designs,
    difference_designs,
    measure,
    needed,
    of_matrix,
    planned,
    precision_table,
)
from eqlab.core.errors import UsageError

f = Later("scipy.stats", "f")
t = Later("scipy.stats", "t")
MixedLM = Later("statsmodels.regression.mixed_linear_model", "MixedLM")


def table(seed, items=60, repeats=5, sd=(2.0, 0.5, 1.0)):
    random = np.random.default_rng(seed)
    item, repeat, noise = sd
    return (
        random.normal(0, item, (items, 1))
        + random.normal(0, repeat, (1, repeats))
        + random.normal(0, noise, (items, repeats))
    )


def test_reliability_and_the_error_of_measurement():
    """Alpha, by Feldt's own formula its interval; the errors' mean square is what alpha leaves of the scores' variance;
    the better half differs less and is told apart less; gaps are left out."""
    random = np.random.default_rng(3)
    skill = np.linspace(0, 30, 24)[:, None]
    points = skill + random.normal(0, 5, 60) + random.normal(0, 12, (24, 60))
    found = measure(points)
    whole = found.reliability
    assert (whole.value, whole.n, found.items) == (pytest.approx(alpha(points)), 24, 60)
    ends = [1 - (1 - whole.value) * f.ppf(at, 23, 23 * 59) for at in (0.975, 0.025)]
    assert (whole.low, whole.high) == pytest.approx(tuple(ends))
    variance = points.mean(axis=1).var(ddof=1)
    assert np.mean(np.square(found.errors)) == pytest.approx((1 - whole.value) * variance)
    half = found.better_half
    assert half.n == 12
    assert half.low < half.value < whole.value
    assert half.value == pytest.approx(1 - 12**2 / 60 / skill[12:].var(ddof=1), abs=0.06)
    points[3, :50] = np.nan
    points[5, 7] = np.nan
    gaps = measure(points)
    assert (gaps.reliability.n, gaps.items, gaps.errors[3]) == (23, 59, None)
    assert measure(points[:4]) is None
    assert measure(points[:8]).better_half.value is None


def test_balanced_it_is_the_analysis_of_variance():
    y = table(1)
    items, repeats = y.shape
    rest = y - y.mean(1, keepdims=True) - y.mean(0, keepdims=True) + y.mean()
    error = (rest**2).sum() / ((items - 1) * (repeats - 1))
    found = of_matrix(y)
    assert found.raw["item"] == pytest.approx(y.mean(1).var(ddof=1) - error / repeats)
    assert found.raw["repeat"] == pytest.approx(y.mean(0).var(ddof=1) - error / items)
    assert found.raw[RESIDUAL] == pytest.approx(error)
    assert sum(found.share.values()) == pytest.approx(1)


def test_one_factor_equals_restricted_maximum_likelihood():
    y = table(2, items=40, repeats=4, sd=(2.0, 0.0, 1.0))
    item = np.repeat(np.arange(40), 4)
    theirs = MixedLM(y.ravel(), np.ones(160), groups=item).fit(reml=True)
    found = components(y.ravel(), {"item": item})
    assert found.raw["item"] == pytest.approx(float(theirs.cov_re[0, 0]), rel=1e-3)
    assert found.raw[RESIDUAL] == pytest.approx(theirs.scale, rel=1e-3)


def test_the_components_come_back_with_gaps_too():
    sums = {"item": 0.0, "repeat": 0.0, RESIDUAL: 0.0}
    times = 150
    for seed in range(times):
        y = table(seed, items=50, repeats=8, sd=(2.0, 1.0, 1.5))
        y[np.random.default_rng(seed + 999).random(y.shape) < 0.25] = np.nan
        for name, value in of_matrix(y).raw.items():
            sums[name] += value / times
    assert sums == pytest.approx({"item": 4.0, "repeat": 1.0, RESIDUAL: 2.25}, rel=0.12)


def test_orders_inside_items_are_told_apart():
    random = np.random.default_rng(3)
    item, order = np.repeat(np.arange(300), 6), np.repeat(np.arange(900), 2)
    y = random.normal(0, 2, 300)[item] + random.normal(0, 1, 900)[order] + random.normal(0, 0.5, 1800)
    found = components(y, {"item": item, "order": order})
    assert found.raw == pytest.approx({"item": 4.0, "order": 1.0, RESIDUAL: 0.25}, rel=0.2)
    assert found.levels == {"item": 300, "order": 900}


def test_what_cannot_be_told_apart_is_none():
    y = table(4)
    assert of_matrix(y[:, :1]) is None
    assert components([1.0, 2.0], {"item": [0, 1]}) is None
    flat, item = y.ravel(), np.repeat(np.arange(60), 5)
    assert components(flat, {"item": item, "order": np.arange(300)}) is None


def test_repeats_count_only_if_they_differ_beyond_chance():
    labels = {"item": np.repeat(np.arange(60), 5), "repeat": np.tile(np.arange(5), 60)}
    kept = [beyond_chance(table(seed, sd=(2.0, 0.0, 1.0)).ravel(), labels, "repeat") for seed in range(300)]
    wrong = np.mean(["repeat" in found.raw for found, _ in kept])
    assert 0.02 <= wrong <= 0.09
    found, p = beyond_chance(table(1, sd=(2.0, 1.0, 1.0)).ravel(), labels, "repeat")
    assert p < 0.001
    assert found.raw["repeat"] > 0.1


def test_the_f_test_is_the_analysis_of_variances():
    y = table(9, sd=(2.0, 0.2, 1.0))
    items, repeats = y.shape
    rest = y - y.mean(1, keepdims=True) - y.mean(0, keepdims=True) + y.mean()
    error = (rest**2).sum() / ((items - 1) * (repeats - 1))
    ratio = items * y.mean(0).var(ddof=1) / error
    labels = {"item": np.repeat(np.arange(items), repeats), "repeat": np.tile(np.arange(repeats), items)}
    _, p = beyond_chance(y.ravel(), labels, "repeat")
    assert p == pytest.approx(f.sf(ratio, repeats - 1, (items - 1) * (repeats - 1)))


def test_a_negative_estimate_counts_as_zero():
    y = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    found = of_matrix(y)
    assert found.raw["item"] < 0
    assert found.variance["item"] == 0
    assert of_matrix(np.ones((4, 3))).share == {"item": None, "repeat": None, RESIDUAL: None}


@given(st.integers(0, 1000), st.floats(-1e4, 1e4), st.floats(0.1, 10))
@settings(max_examples=40)
def test_shifting_does_nothing_and_scaling_squares(seed, shift, scale):
    y = table(seed, items=12, repeats=3)
    one, other = of_matrix(y), of_matrix(y * scale + shift)
    for name in one.raw:
        assert other.raw[name] == pytest.approx(one.raw[name] * scale**2, rel=1e-6, abs=1e-6)


def test_alpha_is_cronbachs():
    y = table(5, items=30, repeats=20, sd=(1.0, 2.0, 3.0))
    k = y.shape[1]
    expected = k / (k - 1) * (1 - y.var(axis=0, ddof=1).sum() / y.sum(axis=1).var(ddof=1))
    assert alpha(y) == pytest.approx(expected)
    gappy = y.copy()
    gappy[np.random.default_rng(6).random(y.shape) < 0.05] = np.nan
    assert alpha(gappy) == pytest.approx(expected, abs=0.05)
    assert alpha(y[:2]) is None


def test_a_design_has_the_standard_error_it_was_promised():
    """Seen in many small runs of other items."""
    found = Components(100, {"item": 20, "repeat": 5}, {"item": 4.0, "repeat": 0.25, RESIDUAL: 1.0})
    promised = {(d.items, d.repeats): d.se for d in designs(found, 20, times=(1, 2), repeats=(1, 3))}
    for (items, repeats), se in promised.items():
        seen = np.std([table(seed, items, repeats).mean() for seed in range(1500)])
        assert seen == pytest.approx(se, rel=0.12)
    assert promised[40, 3] < promised[20, 3] < promised[20, 1]


def test_a_difference_gains_from_repeats_what_is_noise():
    random = np.random.default_rng(8)
    item = random.normal(0, 3, (2000, 1))
    both = [item + random.normal(0, 1, (2000, 1)) + random.normal(0, 2, (2000, 4)) for _ in range(2)]
    gaps = both[0].mean(1) - both[1].mean(1)
    sides = [(components(one.ravel(), {"item": np.repeat(np.arange(2000), 4)}), 4.0) for one in both]
    promised = {(d.items, d.repeats): d.se for d in difference_designs(gaps.std(ddof=1), sides, 2000)}
    assert promised[2000, 1] == pytest.approx(np.sqrt((2 + 8) / 2000), rel=0.1)
    assert promised[2000, 5] == pytest.approx(np.sqrt((2 + 8 / 5) / 2000), rel=0.1)
    assert promised[8000, 1] == pytest.approx(promised[2000, 1] / 2, rel=0.1)


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
    for difference in (False, True):
        every = precision_table(VARIANCE, grid, subject="listener", difference=difference)
        for wanted in {one.half_width for one in every}:
            best = needed(VARIANCE, wanted, grid, subject="listener", difference=difference)
            enough = [one for one in every if one.half_width <= wanted]
            assert best == min(enough, key=lambda one: (math.prod(one.sizes.values()), one.half_width))
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


def test_designs_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="object of measurement"):
        planned(VARIANCE, {"listener": 2}, subject="listener")
    with pytest.raises(UsageError, match="negative"):
        planned({"a": -1.0, "residual": 1.0}, {"a": 2}, subject="m")
    with pytest.raises(UsageError, match="at least one"):
        planned(VARIANCE, {"persona": 0}, subject="listener")

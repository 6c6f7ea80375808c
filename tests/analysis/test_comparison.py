"""Two subjects on the same items, and on different ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.comparison import above_p, cluster_points, items_needed, least, paired, unpaired
from eqlab.core.errors import UsageError

binomtest = Later("scipy.stats", "binomtest")
permutation_test = Later("scipy.stats", "permutation_test")
ttest_ind = Later("scipy.stats", "ttest_ind")
ttest_rel = Later("scipy.stats", "ttest_rel")
TTestPower = Later("statsmodels.stats.power", "TTestPower")

scores = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))
pairs_of_scores = st.lists(st.tuples(scores, scores), min_size=2, max_size=30)


def draw(seed, n=60, gap=0.5):
    random = np.random.default_rng(seed)
    item = random.normal(0, 2, n)
    return item + gap + random.normal(0, 1, n), item + random.normal(0, 1, n)


def test_paired_is_students_test():
    a, b = draw(1)
    found, theirs = paired(a, b), ttest_rel(a, b)
    bounds = theirs.confidence_interval()
    assert (found.p, found.low, found.high) == pytest.approx((theirs.pvalue, bounds.low, bounds.high))
    assert found.probability == pytest.approx(ttest_rel(a, b, alternative="less").pvalue)
    assert (found.n, found.df, found.method) == (60, 59, "paired")


def test_items_in_clusters_count_by_cluster():
    """With clusters of one size it is Student's test of the clusters' means, and n still counts items."""
    a, b = draw(4)
    group = np.repeat(np.arange(12), 5)
    found, theirs = (
        paired(a, b, clusters=group),
        ttest_rel(a.reshape(12, 5).mean(axis=1), b.reshape(12, 5).mean(axis=1)),
    )
    bounds = theirs.confidence_interval()
    assert (found.p, found.low, found.high) == pytest.approx((theirs.pvalue, bounds.low, bounds.high))
    assert (found.n, found.df) == (60, 11)
    assert found.effect == paired(a, b).effect
    assert paired(a, b, clusters=range(60)) == paired(a, b)
    assert paired(a, b, clusters=np.repeat([0, 1, 2], 20)).p is None
    gaps = np.where(np.arange(60) == 7, np.nan, a - b)
    uneven = cluster_points(gaps, group)
    assert uneven.mean() == pytest.approx(np.nanmean(gaps))
    assert cluster_points(np.array([gaps, -gaps]), group)[1] == pytest.approx(-uneven)
    assert np.isnan(cluster_points(np.where(group == 3, np.nan, gaps), group)[3])


def test_one_sided_claims_correct_for_skew():
    """Few large losses: Student's bound is short. Hall's lies lower; where nothing is skewed they are the same."""
    loss = np.where(np.arange(600) < 47, -20.0, 0.0)
    found = paired(loss, np.zeros(600))
    assert found.skew < 0
    assert found.low > -2 > least(found)
    assert above_p(found, -2.0) > 0.025 > ttest_rel(loss, np.full(600, -2.0), alternative="greater").pvalue
    assert above_p(found, least(found)) == pytest.approx(0.025)
    even = paired(np.resize([-1.0, 2.0], 600), np.zeros(600))
    assert least(even) == pytest.approx(even.low)
    assert above_p(even, 0.4) == pytest.approx(
        ttest_rel(np.resize([-1.0, 2.0], 600), np.full(600, 0.4), alternative="greater").pvalue
    )
    assert least(paired(loss, loss)) is None
    with pytest.raises(UsageError):
        above_p(paired(loss, loss), 0.0)


def test_unpaired_is_welchs_test():
    a, b = draw(2)
    b = b[:25]
    found, theirs = unpaired(a, b), ttest_ind(a, b, equal_var=False)
    bounds = theirs.confidence_interval()
    assert (found.p, found.df) == pytest.approx((theirs.pvalue, theirs.df))
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))
    assert found.n == 85


def test_items_that_are_shared_after_all_are_taken_into_account():
    a, b = draw(3)
    apart, known = unpaired(a, b), unpaired(a, b, overlap=(a, b))
    assert known.se == pytest.approx(paired(a, b).se)
    assert known.se < apart.se


@given(pairs_of_scores)
def test_a_against_b_is_b_against_a_turned_round(rows):
    a, b = np.array(rows).T
    for compare in (paired, unpaired):
        one, other = compare(a, b), compare(b, a)
        assert one.value == pytest.approx(-other.value, abs=1e-9)
        assert one.superiority == pytest.approx(1 - other.superiority)
        if one.p is not None and other.p is not None:
            assert one.p == pytest.approx(other.p, abs=1e-9)
            assert one.probability == pytest.approx(1 - other.probability, abs=1e-9)
        assert (one.low is None) == (other.high is None)
        if one.low is not None:
            assert one.low == pytest.approx(-other.high, abs=1e-6)
        if one.effect is not None and other.effect is not None:
            assert one.effect == pytest.approx(-other.effect, abs=1e-9)


@given(pairs_of_scores, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_of_items_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = paired(*np.array(rows).T), paired(*np.array(shuffled).T)
    assert one.value == pytest.approx(other.value, abs=1e-9)
    assert one.se == pytest.approx(other.se, abs=1e-9)
    assert one.superiority == other.superiority


def test_missing_items_are_left_out():
    a, b = draw(4)
    gappy = a.copy()
    gappy[:10] = np.nan
    assert paired(gappy, b) == paired(a[10:], b[10:])
    assert paired([np.nan], [1.0]).value is None
    assert unpaired([], [1.0]).value is None


def test_what_cannot_be_tested_is_undefined():
    one = paired([2.0], [1.0])
    assert (one.value, one.n, one.low, one.p, one.probability) == (1.0, 1, None, None, None)
    few = paired([2.0, 3.0, 5.0, 9.0], [1.0, 2.0, 4.5, 4.0])
    assert (few.n, few.low, few.high, few.p, few.probability) == (4, None, None, None, None)
    constant = paired(np.arange(6.0) + 1, np.arange(6.0))
    assert (constant.value, constant.p, constant.low) == (1.0, 2 / 64, None)
    assert unpaired([1.0, 1.0], [2.0, 2.0]).p is None
    assert items_needed(unpaired([1.0, 1.0], [2.0, 2.0])) is None
    same = paired(np.arange(7.0), np.arange(7.0))
    assert (same.value, same.p, same.probability, same.superiority) == (0.0, 1.0, 0.5, 0.5)
    assert (same.low, same.high) == (None, None)
    assert items_needed(same) is None
    with pytest.raises(UsageError):
        paired([1.0, 2.0], [1.0])


def test_the_same_gap_on_every_item_is_judged_by_its_signs():
    found = paired(np.arange(10.0) + 0.3, np.arange(10.0))
    theirs = binomtest(10, 10).pvalue
    assert (found.p, found.probability) == pytest.approx((theirs, 1 - theirs / 2))
    needed = items_needed(found)
    assert binomtest(needed, needed).pvalue <= 0.05 < binomtest(needed - 1, needed - 1).pvalue


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=1, max_size=7))
def test_few_differing_items_of_one_size_are_mcnemars_exact_test(signs):
    a = np.concatenate([np.array(signs), np.zeros(30)])
    wins = sum(one > 0 for one in signs)
    found = paired(a, np.zeros(len(a)))
    assert found.p == pytest.approx(binomtest(wins, len(signs)).pvalue)
    assert (found.differ, found.low) == (len(signs), None)


def test_few_differing_items_are_the_permutation_test_of_scipy():
    gaps = np.concatenate([[3.0, -1.0, 7.0, 2.5, 0.4, 6.0], np.zeros(20)])
    theirs = permutation_test((gaps[:6],), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert paired(gaps, np.zeros(26)).p == pytest.approx(theirs)


def test_the_effect_is_in_standard_deviations():
    random = np.random.default_rng(5)
    a, b = random.normal(1.0, 2.0, 4000), random.normal(0.0, 2.0, 4000)
    assert unpaired(a, b).effect == pytest.approx(0.5, abs=0.05)
    assert unpaired(a, b).superiority == pytest.approx(0.638, abs=0.02)  # Φ(0.5/√2)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Skewed scores, as on a benchmark with a ceiling."""
    hits = {"paired": 0, "unpaired": 0}
    times = 1500
    random = np.random.default_rng(6)
    for _ in range(times):
        item = random.standard_exponential(80) * 2
        a = item + 1.0 + random.standard_exponential(80)
        b = item + random.standard_exponential(80)
        other = random.standard_exponential(50) * 2 + random.standard_exponential(50)
        hits["paired"] += (one := paired(a, b)).low <= 1.0 <= one.high
        hits["unpaired"] += (two := unpaired(a, other)).low <= 1.0 <= two.high
    for method, count in hits.items():
        assert 0.93 <= count / times <= 0.97, method


@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.9, 0.01)])
def test_items_needed_is_what_the_power_analysis_says(power, alpha):
    a, b = draw(7, n=171, gap=0.2)
    found = paired(a, b)
    spread = found.se * math.sqrt(found.n)
    theirs = TTestPower().solve_power(abs(found.value) / spread, power=power, alpha=alpha)
    assert items_needed(found, alpha, power) == pytest.approx(theirs, abs=3)


def test_that_many_items_do_separate():
    first = paired(*draw(8, n=171, gap=0.2))
    needed = items_needed(first)
    random = np.random.default_rng(9)
    gaps = random.normal(first.value, first.se * math.sqrt(first.n), (400, needed))
    separated = [paired(row, np.zeros(needed)).p < 0.05 for row in gaps]
    assert 0.73 <= np.mean(separated) <= 0.87


def test_on_a_bounded_scale_alike_is_no_certainty():
    same = paired(np.full(20, 100.0), np.full(20, 100.0), bounds=(0, 100))
    assert same.low == pytest.approx(-same.high)
    assert same.high == pytest.approx(100 * (1 - 0.025 ** (1 / 20)))
    best = paired(np.full(8, 100.0), np.zeros(8), bounds=(0, 100))
    assert 0 < best.low < 100 == best.high


def test_the_effect_of_few_items_is_corrected():
    """Hedges: g = d·(1 − 3/(4·df − 1)), here with five items and df = 4."""
    a, b = np.array([3.0, 5.0, 4.0, 6.0, 2.0]), np.array([1.0, 4.0, 4.0, 3.0, 3.0])
    spread = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    assert paired(a, b).effect == pytest.approx((a - b).mean() / spread * (1 - 3 / 15))

"""ICC and design effect against the analysis of variance of statsmodels and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.clusters import (
    cluster_means,
    clustering,
    crossed_mean,
    item_agreement,
    reliability_of_means,
    score_variation,
)
from eqlab.analysis.intervals import mean_estimate

stats = Later("scipy.stats")


def test_icc_follows_from_the_f_ratio():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(12), 10)
    values = rng.normal(0, 2, 12)[cluster] + rng.normal(0, 1, 120)
    found = clustering(values, cluster)
    f = stats.f_oneway(*(values[cluster == k] for k in range(12))).statistic
    assert found.icc == pytest.approx((f - 1) / (f + 9))
    assert found.design_effect == pytest.approx(1 + 9 * found.icc)


def test_extremes():
    cluster = np.repeat(np.arange(4), 5)
    assert clustering(cluster.astype(float), cluster).icc == 1
    assert clustering(cluster.astype(float), cluster).design_effect == 5
    alternating = np.tile([0.0, 1, 0, 1, 0.5], 4)
    assert clustering(alternating, cluster).design_effect == 1
    assert clustering(np.zeros(20), cluster).icc is None
    assert clustering(np.arange(4.0), np.arange(4)).icc is None
    assert clustering(np.arange(4.0), np.zeros(4, int)).icc is None


def test_unequal_clusters_and_means():
    cluster = np.array([7, 7, 3, 3, 3, 9])
    values = np.array([1.0, 3, 0, 1, 2, 8])
    assert list(cluster_means(values, cluster)) == [1, 2, 8]
    assert clustering(values, cluster).n_clusters == 3


def test_unequal_clusters_by_hand():
    """Sizes 1, 2 and 5: the mean size of the analysis of variance is (8 − 30/8)/2, not 8/3."""
    values = np.array([1.0, 2, 4, 6, 7, 8, 9, 10])
    found = clustering(values, np.array([0, 1, 1, 2, 2, 2, 2, 2]))
    between, within = 62.875 / 2, 12 / 5
    assert found.size == pytest.approx(2.125)
    assert found.icc == pytest.approx((between - within) / (between + 1.125 * within))
    assert found.design_effect == pytest.approx(1 + (8 / 3 - 1) * found.icc)
    assert reliability_of_means("r", found).value == pytest.approx(1 - within / between)


def test_items_asked_unequally_often_agree_as_unequal_clusters_do():
    nan = np.nan
    rows = [[1.0, 2, nan, nan], [4, 5, 7, nan], [9, 8, 9, 10]]
    flat = np.array([value for row in rows for value in row if value == value])
    found = clustering(flat, np.repeat([0, 1, 2], [2, 3, 4]))
    assert item_agreement(rows).value == pytest.approx(found.icc)


def test_the_variance_is_never_below_that_of_people_or_of_questions_alone():
    """Answers that differ within people and questions, and cancel out in both: V_people + V_questions − V_answers falls
    short of V_people, even below 0."""
    people = np.array([-1.0, 0.0, 1.0, 0.0])
    within = 3.0 * np.array([[1, -1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    values = (people[:, None] + within).ravel()
    person, question = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    plain = mean_estimate("m", people.tolist())
    over_people = crossed_mean("m", values, list(person), list(question))
    over_questions = crossed_mean("m", values, list(question), list(person))
    assert (over_people.value, over_people.se) == pytest.approx((0.0, plain.se))
    assert over_questions.se == pytest.approx(plain.se)


def test_own_questions_for_everybody_is_the_plain_mean_over_people():
    values = np.array([3.0, 5.0, 4.0, 8.0, 1.0, 2.0, 7.0, 7.0, 2.0, 4.0])
    found = crossed_mean("m", values, list("aabbccddee"), range(10))
    plain = mean_estimate("m", [4.0, 6.0, 1.5, 7.0, 3.0])
    assert (found.value, found.n, found.of) == (plain.value, 5, "people")
    assert (found.se, found.low, found.high) == pytest.approx((plain.se, plain.low, plain.high))


def test_everybody_the_same_question_has_no_interval():
    found = crossed_mean("m", np.array([3.0, 5.0]), list("ab"), list("xx"))
    assert (found.value, found.low) == (4.0, None)
    assert crossed_mean("m", np.array([]), [], []).value is None
    assert crossed_mean("m", np.array([1.0, 2.0]), list("aa"), list("xy")).low is None


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 7 / 3])
def test_answers_all_alike_have_no_interval_however_they_round(value):
    for people in range(2, 15):
        found = crossed_mean("m", np.full(3 * people, value), [*range(people)] * 3, [*"abc"] * people)
        assert (found.se, found.low, found.high) == (0.0, None, None), people


def test_two_way_variance_is_that_of_statsmodels():
    import statsmodels.api as sm
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    draw = np.random.default_rng(3)
    person, question = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    values = draw.normal(size=12)[person] + draw.normal(size=8)[question] + draw.normal(size=96)
    fit = sm.OLS(values, np.ones(96)).fit()
    both, _, _ = cov_cluster_2groups(fit, person, question, use_correction=False)
    found = crossed_mean("m", values, list(person), list(question))
    # statsmodels has no correction G/(G − 1) here; put it on each part
    parts = [sm.OLS(values, np.ones(96)).fit().resid]
    sums = [np.bincount(person, parts[0]) / 96, np.bincount(question, parts[0]) / 96, parts[0] / 96]
    raw = [(one**2).sum() for one in sums]
    assert raw[0] + raw[1] - raw[2] == pytest.approx(float(both[0, 0]))
    assert found.se == pytest.approx(math.sqrt(raw[0] * 12 / 11 + raw[1] * 8 / 7 - raw[2] * 96 / 95))


@pytest.mark.parametrize(("people", "questions", "batch"), [(40, 60, 10), (24, 20, 20), (60, 30, 10)])
def test_the_interval_covers(people, questions, batch):
    """Random people and random questions, each person with one of the batches: 95 % of intervals hold the truth."""
    draw = np.random.default_rng(11)
    person = np.repeat(np.arange(people), batch)
    starts = (np.arange(people) % (questions // batch)) * batch
    question = (starts[:, None] + np.arange(batch)).ravel()
    hits = 0
    for _ in range(400):
        values = 50 + 8 * draw.normal(size=people)[person] + 12 * draw.normal(size=questions)[question]
        values += 15 * draw.normal(size=len(person))
        found = crossed_mean("m", values, list(person), list(question))
        hits += found.low <= 50 <= found.high
    assert 0.92 <= hits / 400 <= 0.985


def test_an_interval_over_people_alone_would_not_cover():
    """Why both must count: with the same questions for all, plain intervals over people miss the truth."""
    draw = np.random.default_rng(5)
    person, question = np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30)
    hits = 0
    for _ in range(200):
        values = 3 * draw.normal(size=30)[person] + 12 * draw.normal(size=10)[question] + draw.normal(size=300)
        plain = mean_estimate("m", list(values.reshape(30, 10).mean(axis=1)))
        hits += plain.low <= 0 <= plain.high
    assert hits / 200 < 0.6


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(-9, 9)), min_size=2, max_size=30),
    st.randoms(use_true_random=False),
)
def test_order_and_names_do_not_matter(rows, draw):
    mixed = list(rows)
    draw.shuffle(mixed)
    one = crossed_mean("m", np.array([v for *_, v in rows], float), [p for p, *_ in rows], [q for _, q, _ in rows])
    other = crossed_mean(
        "m", np.array([v for *_, v in mixed], float), [f"p{p}" for p, *_ in mixed], [9 - q for _, q, _ in mixed]
    )
    assert one.value == pytest.approx(other.value)
    assert (one.se is None) == (other.se is None)
    if one.se is not None:
        assert one.se == pytest.approx(other.se, abs=1e-9)


def test_reliability_of_means_is_that_of_shrout_and_fleiss():
    """Their worked example (1979, table 2): six targets, four judges: ICC(1,1) = .17, ICC(1,4) = .44."""
    table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    alike = clustering(table.ravel(), np.repeat(np.arange(6), 4))
    found = reliability_of_means("r", alike)
    assert (round(alike.icc, 2), round(found.value, 2), found.n) == (0.17, 0.44, 6)
    assert (round(found.low, 2), round(found.high, 2)) == (-0.88, 0.91)  # as R's psych::ICC prints them
    assert reliability_of_means("r", clustering(np.array([1.0, 2.0]), np.array([0, 1]))).value is None


def test_no_bound_lies_above_the_best_score():
    values = np.array([99.0, 70.0, 99.0, 99.0, 60.0, 99.0])
    person, question = ["a", "a", "b", "b", "c", "c"], ["x", "y", "x", "y", "x", "y"]
    free, cut = (crossed_mean("m", values, person, question, most=most) for most in (np.inf, 100.0))
    assert free.high > 100.0
    assert (cut.low, cut.value, cut.high) == (free.low, free.value, 100.0)


def table(seed, items=40, repeats=3, item=2.0, noise=1.0):
    random = np.random.default_rng(seed)
    return 50 + random.normal(0, item, (items, 1)) + random.normal(0, noise, (items, repeats))


def test_agreement_is_the_icc_of_the_analysis_of_variance():
    y = table(1)
    y[3, 0] = np.nan
    row, column = np.nonzero(np.isfinite(y))
    found = item_agreement(y)
    assert found.value == pytest.approx(clustering(y[row, column], row).icc)
    assert found.low < found.value < found.high
    assert found.n == 40


def test_its_interval_covers_the_truth():
    truth = 4 / 5
    times = 600
    found = [item_agreement(table(seed)) for seed in range(times)]
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97


def test_the_variation_covers_the_truth():
    random = np.random.default_rng(2)
    found = [score_variation(random.normal(70, 1.4, 5)) for _ in range(600)]
    assert 0.93 <= np.mean([one.low <= 2.0 <= one.high for one in found]) <= 0.97


def test_cv_by_hand():
    found = score_variation([69.0, 70.0, 71.0])
    assert found.value == pytest.approx(100 / 70)
    assert (found.unit, found.n) == ("%", 3)


def test_what_is_undefined_says_why():
    assert "not above 0" in score_variation([-1.0, 1.0]).note
    assert "fewer than two" in score_variation([1.0]).note
    assert "fewer than two items" in item_agreement([[1.0, np.nan], [2.0, 3.0]]).note
    assert "no score differs" in item_agreement(np.ones((5, 3))).note


def test_a_subject_that_never_changes_its_mind():
    y = np.repeat(np.arange(1.0, 11.0)[:, None], 3, axis=1)
    assert item_agreement(y).value == 1.0
    assert score_variation(y.mean(axis=0)).value == 0.0


def test_a_variation_of_few_repeats_has_no_interval():
    """From two repeats it would reach from half the value to thirty times it."""
    assert score_variation([69.0, 70.0, 71.0, 70.0]).low is None
    assert score_variation([69.0, 70.0, 71.0, 70.0, 69.0]).low is not None

"""The mean over people and questions: known cases, coverage, and no dependence on order."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.analysis.clusters import clustering, crossed_mean, reliability_of_means
from eqlab.analysis.intervals import mean_estimate


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

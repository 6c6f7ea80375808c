"""Bootstrap over clusters."""

import time

import numpy as np
import pytest
from later import Later

from eqlab.analysis.bootstrap import draw_totals, interval

scipy_bootstrap = Later("scipy.stats", "bootstrap")


def share(totals):
    return totals[0][..., 0] / totals[0][..., 1]


def raters(seed, m=80, each=10, spread=1.0):
    random = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-random.normal(0.3, spread, m)))
    return np.column_stack([random.binomial(each, p), np.full(m, each)]).astype(float)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_equal_scipys(method):
    rows = raters(1)
    found = interval([rows], share, method=method)
    values = rows[:, 0] / rows[:, 1]
    theirs = scipy_bootstrap((values,), np.mean, n_resamples=10_000, method=method, random_state=1).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)
    assert found.value == pytest.approx(values.mean())


def test_the_seed_decides():
    rows = raters(2)
    assert interval([rows], share, seed=5) == interval([rows], share, seed=5)
    assert interval([rows], share, seed=5) != interval([rows], share, seed=6)


def test_two_samples_are_drawn_apart():
    one, other = raters(3), raters(4, m=50)

    def gap(totals):
        return totals[0][..., 0] / totals[0][..., 1] - totals[1][..., 0] / totals[1][..., 1]

    totals = draw_totals([one, other], 4000, 1)
    assert [t.shape for t in totals] == [(4000, 2), (4000, 2)]
    assert abs(np.corrcoef(totals[0][:, 0], totals[1][:, 0])[0, 1]) < 0.06
    plain, bca = (interval([one, other], gap, totals=totals, method=m) for m in ("percentile", "bca"))
    assert plain.low < plain.value < plain.high
    assert (bca.low, bca.high) == pytest.approx((plain.low, plain.high), abs=0.02)


def test_undefined_is_none():
    assert interval([np.array([[1.0, 2.0]])], share).low is None
    empty = interval([np.zeros((5, 2))], lambda totals: np.asarray(np.where(totals[0][..., 1] > 0, 1.0, np.nan)))
    assert (empty.value, empty.low, empty.high, empty.defined) == (None, None, None, 0)


@pytest.mark.parametrize("n", [8, 12, 20])
def test_expanded_percentiles_of_few_are_as_wide_as_students_interval(n):
    """Of a mean the exact answer is known: plain percentiles are a sixth too narrow for eight."""
    values = np.random.default_rng(n).normal(0, 1, n)
    rows = np.column_stack([values, np.ones(n)])
    plain, wide = (interval([rows], share, method=method) for method in ("percentile", "expanded"))
    exact = 2 * Later("scipy.stats", "t").ppf(0.975, n - 1) * values.std(ddof=1) / n**0.5
    assert wide.high - wide.low == pytest.approx(exact, rel=0.07)
    assert plain.high - plain.low < 0.93 * exact


def test_expanded_percentiles_of_two_samples_count_the_clusters_of_both():
    first, second = (raters(seed, m=8) for seed in (1, 2))
    few = [
        interval([first, second], lambda t: share(t[:1]) - share(t[1:]), method=m) for m in ("percentile", "expanded")
    ]
    assert few[1].low < few[0].low < few[0].high < few[1].high


def test_a_constant_has_no_width():
    rows = np.tile([3.0, 10.0], (20, 1))
    for method in ("percentile", "bca"):
        found = interval([rows], share, method=method, draws=500)
        assert (found.low, found.high) == (0.3, 0.3)


def test_coverage_with_clusters():
    """95 % intervals over 200 studies; the naive binomial interval would cover about 80 %."""
    truth = np.mean(1 / (1 + np.exp(-np.random.default_rng(0).normal(0.3, 1.0, 400_000))))
    hits = 0
    for seed in range(200):
        found = interval([raters(1000 + seed)], share, draws=600, seed=seed)
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / 200 <= 0.99


def test_ten_thousand_draws_are_quick():
    start = time.process_time()
    interval([raters(1, m=200), raters(2, m=200), raters(3, m=200)], share, method="bca")
    assert time.process_time() - start < 5

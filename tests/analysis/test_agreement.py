"""Agreement of two sources, against scikit-learn (where installed) and Krippendorff's own example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.agreement import (
    agreement,
    coincidences,
    confusion,
    mean_difference,
    ordinal_alpha,
    pair_alpha,
    printed_kappa,
    quadratic_kappa,
    spearman,
    tables_agreement,
)
from eqlab.core.errors import UsageError

spearmanr = Later("scipy.stats", "spearmanr")

ratings = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=4, max_size=60)


def test_kappa_equals_scikit_learns():
    first = [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]
    second = [1, 1, 2, 3, 2, 2, 3, 3, 3, 3, 2, 1]
    sklearn = pytest.importorskip("sklearn.metrics")
    expected = sklearn.cohen_kappa_score(first, second, weights="quadratic")
    assert quadratic_kappa(confusion(first, second)) == pytest.approx(expected)


def test_kappa_by_hand():
    """Observed disagreement 1/4, expected 1/2 (one point apart each): kappa 1/2."""
    assert quadratic_kappa(np.array([[2.0, 1.0], [1.0, 4.0]])) == pytest.approx(1 - (2 / 8) / (30 / 64))


def test_alpha_of_krippendorffs_example():
    """Krippendorff (2011), computing alpha-reliability, example C: ordinal alpha .815."""
    nan = None
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    units = [[row[i] for row in data if row[i] is not None] for i in range(12)]
    tables = coincidences(units, 5)
    assert tables[11].sum() == 0  # a single rating makes no pair
    assert ordinal_alpha(tables.sum(axis=0)) == pytest.approx(0.815, abs=5e-4)


@given(ratings)
def test_spearman_equals_scipy(pairs):
    first, second = zip(*pairs, strict=True)
    mine = spearman(confusion(first, second))
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert np.isnan(mine)
    else:
        assert mine == pytest.approx(spearmanr(first, second).statistic)


@given(ratings)
def test_symmetry_and_bounds(pairs):
    first, second = zip(*pairs, strict=True)
    table = confusion(first, second)
    for measure in (quadratic_kappa, pair_alpha):
        one, other = measure(table), measure(table.T)
        assert (np.isnan(one) and np.isnan(other)) or one == pytest.approx(other)
        assert np.isnan(one) or -1 - 1e-9 <= one <= 1
    assert mean_difference(table) == pytest.approx(np.mean(first) - np.mean(second))


def test_perfect_agreement_is_one():
    table = confusion([1, 2, 3, 3], [1, 2, 3, 3])
    assert quadratic_kappa(table) == pair_alpha(table) == spearman(table) == 1


def test_intervals_are_wider_with_clusters():
    """Raters who agree or disagree wholesale: pairs of one rater count little more than one."""
    random = np.random.default_rng(4)
    human = random.integers(1, 4, 600)
    rater = np.repeat(np.arange(60), 10)
    flips = random.random(60)[rater] < 0.4
    judge = np.where(flips, 4 - human, human)
    clustered = agreement(judge, human, rater.tolist(), draws=2000)
    single = agreement(judge, human, draws=2000)
    width = {
        name: found.measures["quadratic kappa"].high - found.measures["quadratic kappa"].low
        for name, found in (("clustered", clustered), ("single", single))
    }
    assert width["clustered"] > 1.7 * width["single"]
    assert (clustered.n, clustered.clusters, single.clusters) == (600, 60, 600)
    assert clustered.confusion.sum() == 600
    for found in clustered.measures.values():
        assert found.low <= found.value <= found.high


def test_undefined_is_none():
    found = agreement([3, 3, 3], [3, 3, 3], draws=200)
    assert found.measures["quadratic kappa"].value is None
    assert found.measures["exact agreement"].value == 1
    nothing = agreement([], [])
    assert nothing.measures["ordinal alpha"].value is None


def test_several_raters_per_reply_have_an_interval():
    random = np.random.default_rng(1)
    quality = random.normal(0, 1.5, 150)
    units = [np.clip(np.round(2 + q + random.normal(0, 0.8, 3)), 1, 3).astype(int).tolist() for q in quality]
    found = tables_agreement(coincidences(units), {"alpha": ordinal_alpha}, draws=1000)["alpha"]
    assert found.low < found.value < found.high
    assert 0.4 < found.value < 0.9


def test_a_printed_kappa_has_the_interval_of_an_intraclass_correlation():
    low, high = printed_kappa(0.2817, 100)
    assert (low, high) == pytest.approx((0.0904, 0.4531), abs=1e-3)  # psych::r.con(0.2817, 100)
    assert printed_kappa(0.2817, 400)[0] > low
    with pytest.raises(UsageError):
        printed_kappa(1.0, 100)
    with pytest.raises(UsageError):
        printed_kappa(0.3, 3)

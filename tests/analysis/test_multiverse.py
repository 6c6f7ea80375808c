"""Every combination of exclusion rules."""

import numpy as np
import pytest

from eqlab.analysis.multiverse import cluster_share, multiverse

RANDOM = np.random.default_rng(1)
HITS = RANDOM.integers(0, 2, 200).astype(float)
ARM = np.repeat([True, False], 100)
RATER = np.repeat(np.arange(20), 10)


def test_every_set_of_rules_once():
    rules = {"a": RATER == 3, "b": HITS == 2, "c": RATER > 16}
    found = multiverse(HITS, ARM, RATER, rules)
    assert len(found) == 8
    assert len({universe.rules for universe in found}) == 8
    assert found[0].rules == ()
    assert found[0].gap == pytest.approx(HITS[:100].mean() - HITS[100:].mean())
    by_rules = {universe.rules: universe for universe in found}
    assert by_rules["b",].gap == found[0].gap
    assert by_rules["a",].arm.n == 90
    assert by_rules["a", "c"].reference.clusters == 7
    assert len(multiverse(HITS, ARM, RATER, rules, at_most=1)) == 4


def test_standard_error_is_that_of_cluster_means():
    share = cluster_share(HITS[:100], RATER[:100])
    means = HITS[:100].reshape(10, 10).mean(axis=1)
    assert share.se == pytest.approx(means.std(ddof=1) / np.sqrt(10))


def test_nobody_left_is_undefined():
    universe = multiverse(HITS, ARM, RATER, {"all": ARM})[1]
    assert (universe.arm.value, universe.gap, universe.low) == (None, None, None)
    alone = multiverse(HITS, ARM, RATER, {"all but one": ARM & (RATER > 0)})[1]
    assert alone.gap is not None
    assert alone.low is None

"""Prediction-powered inference: it covers, it never loses, a good judge helps."""

import numpy as np
import pytest

from eqlab.analysis.ppi import ppi_mean
from eqlab.core.errors import UsageError


def draw(seed, *, n=150, big=1500, noise=0.5, bias=0.4):
    random = np.random.default_rng(seed)
    quality = random.normal(2.0, 1.0, n + big)
    judge = quality + bias + random.normal(0, noise, n + big)
    return quality[:n], judge[:n], judge[n:]


def test_a_biased_judge_is_corrected_and_intervals_cover():
    covered = narrower = 0
    for seed in range(300):
        found = ppi_mean(*draw(seed))
        covered += found.low <= 2.0 <= found.high
        narrower += found.se < found.human_only_se
    assert 0.91 <= covered / 300 <= 0.985
    assert narrower == 300
    assert found.gain > 2


def test_a_useless_judge_costs_nothing():
    random = np.random.default_rng(99)
    human, _, _ = draw(3)
    found = ppi_mean(human, random.normal(size=150), random.normal(size=1500))
    assert found.weight < 0.15
    assert found.gain == pytest.approx(1.0, abs=0.05)
    assert ppi_mean(human, np.ones(150), np.ones(900)).weight == 0


def test_weight_one_is_the_first_ppi():
    human, judge, rest = draw(7)
    found = ppi_mean(human, judge, rest, weight=1.0)
    assert found.value == pytest.approx(rest.mean() + (human - judge).mean())
    variance = (human - judge).var(ddof=1) / 150 + rest.var(ddof=1) / 1500
    assert found.se == pytest.approx(np.sqrt(variance))
    nothing = ppi_mean(human, judge, rest, weight=0.0)
    assert nothing.value == pytest.approx(human.mean())
    assert nothing.se == pytest.approx(nothing.human_only_se)


def test_the_weight_is_that_of_the_second_paper():
    human, judge, rest = draw(8)
    both = np.cov(human, judge)[0, 1] / 150
    assert ppi_mean(human, judge, rest).weight == pytest.approx(
        both / (judge.var(ddof=1) / 150 + rest.var(ddof=1) / 1500)
    )


def test_clusters_widen_the_interval():
    random = np.random.default_rng(9)
    rater = np.repeat(np.arange(30), 10)
    human = random.normal(0, 1, 30)[rater] + random.normal(0, 0.5, 300)
    judge, rest = human + random.normal(0, 2, 300), random.normal(0, 2, 1000)
    plain, clustered = ppi_mean(human, judge, rest), ppi_mean(human, judge, rest, clusters=rater)
    assert clustered.human_only_se > 2 * plain.human_only_se
    means = human.reshape(30, 10).mean(axis=1)
    assert clustered.human_only_se == pytest.approx(means.std(ddof=1) / np.sqrt(30))
    with pytest.raises(UsageError, match="one cluster"):
        ppi_mean(human, judge, rest, clusters=np.zeros(300))


def test_too_little_raises():
    with pytest.raises(UsageError):
        ppi_mean(np.ones(1), np.ones(1), np.ones(5))

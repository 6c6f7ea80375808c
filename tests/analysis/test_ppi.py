"""Prediction-powered inference: it covers, a good judge helps, a bad one costs little."""

import numpy as np
import pytest

from eqlab.analysis.ppi import Arm, ppi_difference, ppi_mean, ppi_wins
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


def test_a_useless_judge_costs_little():
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


def test_the_weight_is_that_of_the_second_paper_learned_on_other_folds():
    human, judge, rest = draw(8)
    weights = []
    for fold in range(10):
        kept = np.arange(150) % 10 != fold
        n = int(kept.sum())
        both = np.cov(human[kept], judge[kept])[0, 1] / n
        every = np.concatenate([judge[kept], rest])
        weights.append(both / (judge[kept].var(ddof=1) / n + every.var(ddof=1) / 1500))
    assert ppi_mean(human, judge, rest).weight == pytest.approx(np.mean(weights), rel=1e-6)


def test_two_replies_that_the_judge_alone_rated_tell_nothing_of_how_its_ratings_vary():
    """By these alone the weight was 1 wherever both were alike, and 80 of 100 intervals held."""
    found = []
    for seed in range(400):
        random = np.random.default_rng(seed)
        quality, raters = random.normal(0, 0.5, 92), np.repeat(np.arange(9), 10)
        judge = (quality + random.normal(0, 0.5, 92) > 0).astype(float)
        liking = quality[:90] + random.normal(0, 0.6, 9)[raters] + random.logistic(size=90)
        found.append(ppi_wins((liking > 0).astype(float), judge[:90], judge[90:], raters=raters))
    assert max(one.weight for one in found) < 0.1
    assert sum(one.low <= 0.5 <= one.high for one in found) / 400 >= 0.92


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


def study(seed, raters, *, ratings=10, prompts=100, rater_sd=0.6, prompt_sd=0.3, noise=0.7, arms=1, gap=0.0):
    """Raters and prompts both vary; a judge sees all replies. The truth is 0 (arm 1: gap)."""
    random = np.random.default_rng(seed)
    who_effect, prompt_effect = random.normal(0, rater_sd, raters), random.normal(0, prompt_sd, prompts)
    found = []
    for arm in range(arms):
        quality = gap * arm + prompt_effect + random.normal(0, 0.3, prompts)
        judge = 0.8 * quality + 0.5 + random.normal(0, 0.4, prompts)
        who = np.repeat(np.arange(raters), ratings)
        which = np.concatenate([random.choice(prompts, ratings, replace=False) for _ in range(raters)])
        human = quality[which] + who_effect[who] + random.normal(0, noise, len(who))
        rest = np.setdiff1d(np.arange(prompts), which)
        found.append(Arm(human, judge[which], judge[rest], who, which, rest))
    return found


@pytest.mark.claims  # coverage over repetitions
@pytest.mark.parametrize("raters", [5, 10])
def test_few_raters_are_covered(raters):
    inside = 0
    for seed in range(400):
        (arm,) = study(seed, raters)
        found = ppi_mean(
            arm.human,
            arm.judge,
            arm.judge_only,
            clusters=arm.raters,
            prompts=arm.prompts,
            judge_clusters=arm.judge_prompts,
        )
        inside += found.low <= 0 <= found.high
    assert inside / 400 >= 0.92
    assert found.df == raters - 1 or found.df > 20


@pytest.mark.claims
def test_differences_pair_raters_and_prompts():
    inside = 0
    shared, apart = [], []
    for seed in range(300):
        one, other = study(seed, 8, arms=2, gap=0.4)
        found = ppi_difference(other, one)
        inside += found.low <= 0.4 <= found.high
        shared.append(found.se)
        a = ppi_mean(one.human, one.judge, one.judge_only, clusters=one.raters)
        b = ppi_mean(other.human, other.judge, other.judge_only, clusters=other.raters)
        apart.append(np.hypot(a.se, b.se))
    assert inside / 300 >= 0.92
    assert np.mean(shared) < 0.8 * np.mean(apart)


def test_a_difference_turns_round():
    one, other = study(3, 8, arms=2)
    forth, back = ppi_difference(one, other), ppi_difference(other, one)
    assert forth.value == pytest.approx(-back.value)
    assert (forth.low, forth.se) == pytest.approx((-back.high, back.se))


def test_wins_stay_shares():
    random = np.random.default_rng(0)
    chance = random.beta(8, 1, 300)
    human, judge = (random.random(300) < chance).astype(float), (random.random(300) < chance).astype(float)
    found = ppi_wins(human[:40], judge[:40], judge[40:], raters=np.arange(40) % 10, prompts=np.arange(40))
    assert 0 <= found.low < found.value < found.high <= 1
    with pytest.raises(UsageError, match="between 0"):
        ppi_wins(human[:40] + 1, judge[:40], judge[40:])


def test_prompts_need_one_name_each():
    human, judge, rest = draw(1)
    with pytest.raises(UsageError, match="one prompt"):
        ppi_mean(human, judge, rest, prompts=["a"])


def test_repeats_of_a_judge_or_of_a_rater_are_no_further_evidence():
    """A judge that is asked five times about a reply, or a rating that is there five times, tells no more of prompts
    and raters than once."""
    human, judge, judged = draw(5, n=40, big=200)
    raters, prompts, others = np.arange(40) % 8, np.arange(40), np.arange(200) + 100
    once = ppi_mean(human, judge, judged, clusters=raters, prompts=prompts, judge_clusters=others, weight=0.8)
    judged_often = ppi_mean(
        human, judge, np.repeat(judged, 5), clusters=raters, prompts=prompts, judge_clusters=np.repeat(others, 5),
        weight=0.8,
    )  # fmt: skip
    rated_often = ppi_mean(
        *(np.repeat(one, 5) for one in (human, judge)), judged, clusters=np.repeat(raters, 5),
        prompts=np.repeat(prompts, 5), judge_clusters=others, weight=0.8,
    )  # fmt: skip
    for found in (judged_often, rated_often):
        assert (found.value, found.se, found.df) == pytest.approx((once.value, once.se, once.df))
    alone = ppi_mean(human, judge, np.repeat(judged, 5), clusters=raters, prompts=prompts, weight=0.8)
    assert alone.se < once.se, "without their prompts, repeats pass for replies of their own"

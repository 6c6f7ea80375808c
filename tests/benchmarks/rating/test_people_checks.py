"""Checks beside the model of people's ratings, on ratings with a known make-up."""

import numpy as np

from eqlab.benchmarks.rating.people import equivalence, fit_crossed, proportional, several_raters
from eqlab.benchmarks.rating.rated import GivenRating


def ratings(shift=0.0, odd=0.0, raters=120, per_rater=10, prompts=4, seed=1):
    """Two arms of raters; `shift` moves arm b on both thresholds, `odd` only Good against the rest."""
    rng = np.random.default_rng(seed)
    found = []
    for arm, move, extra in (("a", 0.0, 0.0), ("b", shift, odd)):
        for rater in range(raters):
            mood = rng.normal(0, 0.5)
            for k in range(per_rater):
                x = mood + rng.logistic()
                value = 1 + (x + move > -1) + (x + move + extra > 1)
                found.append(
                    GivenRating(arm, f"p{rater % prompts}-{k}", f"{arm}{rater}", int(value), "sad", "negative", 20)
                )
    return found


def test_alike_is_shown_only_where_it_is():
    same = ratings(raters=250)
    fit, _ = fit_crossed(same, ["a", "b"])
    assert equivalence(fit).rows[0][3] == "yes"
    apart = ratings(shift=1.0)
    fit, _ = fit_crossed(apart, ["a", "b"])
    assert equivalence(fit).rows[0][3] == "not shown"


def test_proportional_odds():
    even = ratings(shift=0.8)
    fit, _ = fit_crossed(even, ["a", "b"])
    assert "is not contradicted" in proportional(fit.fit, even, ["a", "b"])
    uneven = ratings(odd=1.5)
    fit, _ = fit_crossed(uneven, ["a", "b"])
    assert "does not hold" in proportional(fit.fit, uneven, ["a", "b"])


def test_agreement_of_several_raters():
    def given(rater, prompt, value):
        return GivenRating("a", prompt, rater, value, "sad", "negative", 20)

    agreed = [given(rater, f"p{n}", 1 + n % 3) for rater in "xyz" for n in range(30)]
    assert several_raters(agreed).rows[0][1].value == 1.0
    rng = np.random.default_rng(3)
    random = [given(rater, f"p{n}", int(rng.integers(1, 4))) for rater in "xyz" for n in range(200)]
    estimate = several_raters(random).rows[0][1]
    assert abs(estimate.value) < 0.1
    assert estimate.low < 0 < estimate.high
    assert several_raters([given("x", "p1", 1), given("x", "p2", 2)]) is None

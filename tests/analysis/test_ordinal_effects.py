"""What follows from a fitted ordinal model, against simulated truth."""

import numpy as np
import pytest

from eqlab.analysis.ordinal import RandomEffect, category_share, fit_ordinal, pooled_effects, proportional_odds
from eqlab.analysis.ordinal_likelihood import FitError


@pytest.fixture(scope="module")
def study():
    """40 groups with slopes around 0.6 (sd 0.5), 60 answers each, 80 raters."""
    random = np.random.default_rng(11)
    group = np.repeat(np.arange(40), 60)
    rater = random.integers(0, 80, len(group))
    arm = random.integers(0, 2, len(group)).astype(float)
    slopes = random.normal(0.6, 0.5, 40)
    latent = slopes[group] * arm + random.normal(0, 0.5, 80)[rater] + random.logistic(size=len(group))
    y = 1 + (latent > -1.2).astype(int) + (latent > 0.2)
    return y, arm, rater.tolist(), group.tolist(), slopes


def test_shares_add_up_and_are_those_of_the_data(study):
    y, arm, rater, _, _ = study
    fit = fit_ordinal(y, {"arm": arm}, [RandomEffect("rater", rater)])
    for value in (0.0, 1.0):
        shares = [category_share(fit, {"arm": value}, category) for category in fit.categories]
        assert sum(share.value for share in shares) == pytest.approx(1.0)
        good = shares[-1]
        assert good.low < good.value < good.high
        assert good.value == pytest.approx(float((y[arm == value] == 3).mean()), abs=0.03)
    with pytest.raises(FitError, match="no category 7"):
        category_share(fit, {}, 7)
    with pytest.raises(FitError, match="no fixed effect leg"):
        category_share(fit, {"leg": 1.0}, 3)


def test_pooled_effects_shrink_towards_the_mean_and_cover_the_truth(study):
    y, arm, rater, group, slopes = study
    random = [RandomEffect("rater", rater), RandomEffect("group", group), RandomEffect("arm|group", group, arm)]
    fit = fit_ordinal(y, {"arm": arm}, random)
    pooled = pooled_effects(fit, "arm", "arm|group")
    assert [one.level for one in pooled] == list(range(40))
    assert fit.sd["arm|group"] == pytest.approx(0.5, abs=0.2)
    found = np.array([one.est for one in pooled])
    assert np.corrcoef(found, slopes)[0, 1] > 0.6
    assert found.std() < slopes.std()
    covered = np.mean([one.low < slope < one.high for one, slope in zip(pooled, slopes, strict=True)])
    assert covered >= 0.85
    with pytest.raises(FitError, match="random slope 'leg'"):
        pooled_effects(fit, "arm", "leg")


def test_proportional_odds_is_kept_when_true_and_rejected_when_false(study):
    y, arm, _, _, _ = study
    assert proportional_odds(y, {"arm": arm}, (), ["arm"]).test.p > 0.01
    broken = np.where((arm == 1) & (y == 1), 2, y)
    check = proportional_odds(broken, {"arm": np.where(np.arange(len(y)) % 50 == 0, 1 - arm, arm)}, (), ["arm"])
    assert check.test.df == 1
    assert check.test.p < 1e-6
    assert "1|2.arm" in check.free.names
    with pytest.raises(FitError, match="common to all thresholds"):
        category_share(check.free, {}, 3)

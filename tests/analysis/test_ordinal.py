"""Ordinal models against R's `ordinal` (the bitterness of wine, Randall 1989: clm and clmm) and against truth."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.analysis.ordinal import (
    RandomEffect,
    category_share,
    fit_ordinal,
    likelihood_ratio,
    pooled_effects,
    proportional_odds,
)
from eqlab.analysis.ordinal_likelihood import FitError

RATING = [int(c) for c in "233444551213235423325544323232532343333332322454112223232223333412323244"]
WARM = np.array(([0] * 4 + [1] * 4) * 9, dtype=float)
CONTACT = np.array([0, 0, 1, 1] * 18, dtype=float)
JUDGE = [judge for judge in range(9) for _ in range(8)]
BOTTLE = list(range(8)) * 9
FIXED = {"warm": WARM, "contact": CONTACT}


def test_plain_model_agrees_with_r():
    fit = fit_ordinal(RATING, FIXED)
    expected = {
        "1|2": (-1.344383411, 0.5171020453),
        "2|3": (1.250808798, 0.4378802030),
        "3|4": (3.466886926, 0.5977604246),
        "4|5": (5.006404204, 0.7309063437),
        "warm": (2.503102008, 0.5286801008),
        "contact": (1.527797658, 0.4766226296),
    }
    assert fit.loglik == pytest.approx(-86.49192337, abs=1e-7)
    for name, (est, se) in expected.items():
        assert fit.coefficients[name].est == pytest.approx(est, abs=1e-5)
        assert fit.coefficients[name].se == pytest.approx(se, rel=1e-4)


def test_mixed_model_agrees_with_r():
    fit = fit_ordinal(RATING, FIXED, [RandomEffect("judge", JUDGE)])
    assert fit.loglik == pytest.approx(-81.56540929, abs=1e-5)
    assert fit.sd["judge"] == pytest.approx(1.131132655, rel=1e-4)
    for name, (est, se) in {"warm": (3.062996824, 0.5953799733), "4|5": (6.088772779, 0.9724611197)}.items():
        assert fit.coefficients[name].est == pytest.approx(est, rel=1e-4)
        assert fit.coefficients[name].se == pytest.approx(se, rel=1e-3)
    judged = [1.69617825879, -0.56578314677, 0.96880831990, -0.05954990337, 0.23051010907, 0.47703865143]
    assert [effect.value for effect in fit.effects["judge"]][:6] == pytest.approx(judged, abs=1e-3)
    assert [effect.level for effect in fit.effects["judge"]] == list(range(9))


def test_a_spread_on_the_edge_is_zero():
    fit = fit_ordinal(RATING, FIXED, [RandomEffect("judge", JUDGE), RandomEffect("bottle", BOTTLE)])
    assert fit.loglik == pytest.approx(-81.56541, abs=1e-4)
    assert fit.sd["bottle"] == 0.0
    assert fit.sd["judge"] == pytest.approx(1.1311, abs=1e-3)


def test_likelihood_ratio_of_nested_models():
    test = likelihood_ratio(fit_ordinal(RATING, {"warm": WARM}), fit_ordinal(RATING, FIXED))
    assert test.df == 1
    assert test.chi2 == pytest.approx(11.0431, abs=1e-3)  # anova(clm(rating ~ temp), clm(rating ~ temp + contact))
    assert test.p == pytest.approx(math.erfc(math.sqrt(test.chi2 / 2)), rel=1e-6)
    with pytest.raises(FitError, match="smaller one first"):
        likelihood_ratio(fit_ordinal(RATING, FIXED), fit_ordinal(RATING, {"warm": WARM}))


def test_contrast_is_a_weighted_sum():
    fit = fit_ordinal(RATING, FIXED)
    gap = fit.contrast({"warm": 1.0, "contact": -1.0})
    assert gap.est == pytest.approx(fit.coefficients["warm"].est - fit.coefficients["contact"].est)
    variance = fit.covariance[4, 4] + fit.covariance[5, 5] - 2 * fit.covariance[4, 5]
    assert gap.se == pytest.approx(math.sqrt(variance))
    with pytest.raises(FitError, match="no coefficient 'cold'"):
        fit.contrast({"cold": 1.0})


def test_statsmodels_agrees():
    miscmodels = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    design = np.column_stack([WARM, CONTACT])
    model = miscmodels.OrderedModel(np.array(RATING), design, distr="logit").fit(method="bfgs", disp=False)
    fit = fit_ordinal(RATING, FIXED)
    assert fit.loglik == pytest.approx(model.llf, abs=1e-4)
    assert [fit.coefficients[name].est for name in FIXED] == pytest.approx(list(model.params[:2]), abs=1e-3)


@pytest.mark.parametrize(
    ("columns", "random", "message"),
    [
        ({"a": WARM, "b": 1 - WARM}, (), "cannot be told apart"),
        ({"a": np.ones(72)}, (), "cannot be told apart"),
        ({"a": np.where(WARM > 0, np.nan, 1.0)}, (), "missing or infinite"),
        ({"a": WARM[:-1]}, (), "71 values for 72"),
        (FIXED, (RandomEffect("all", list(range(72))),), "cannot be estimated: 72 levels"),
        (FIXED, (RandomEffect("none", [0] * 72),), "cannot be estimated: 1 levels"),
        (FIXED, (RandomEffect("short", [0, 1]),), "2 levels for 72 answers"),
    ],
)
def test_a_model_that_cannot_be_identified_raises(columns, random, message):
    with pytest.raises(FitError, match=message):
        fit_ordinal(RATING, columns, random)


def test_separation_raises_instead_of_returning_numbers():
    y = [1] * 20 + [2, 3] * 10
    with pytest.raises(FitError):
        fit_ordinal(y, {"group": [0.0] * 20 + [1.0] * 20})
    with pytest.raises(FitError):  # nobody called a cold wine 5 or a warm one 1: R warns of a singular Hessian
        fit_ordinal(RATING, {"contact": CONTACT}, nominal={"warm": WARM})
    with pytest.raises(FitError, match="two categories"):
        fit_ordinal([2] * 30, {})


def simulated(seed, *, raters=120, each=10, effect=0.7, sd_rater=0.8, sd_item=0.5):
    random = np.random.default_rng(seed)
    rater = np.repeat(np.arange(raters), each)
    item = np.arange(raters * each) % (raters * each // 3)
    arm = (rater % 2).astype(float)
    latent = effect * arm + random.normal(0, sd_rater, raters)[rater]
    latent += random.normal(0, sd_item, item.max() + 1)[item] + random.logistic(size=len(rater))
    return 1 + (latent > -1.8).astype(int) + (latent > 0.1), arm, rater, item


def test_truth_is_recovered_from_crossed_effects():
    z = []
    spreads = []
    for seed in range(6):
        y, arm, rater, item = simulated(seed)
        fit = fit_ordinal(y, {"arm": arm}, [RandomEffect("rater", rater.tolist()), RandomEffect("item", item.tolist())])
        effect = fit.coefficients["arm"]
        z.append((effect.est - 0.7) / effect.se)
        spreads.append(fit.sd["rater"])
    assert max(map(abs, z)) < 3.2
    assert abs(np.mean(z)) < 1.3
    assert np.mean(spreads) == pytest.approx(0.8, abs=0.12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.permutations([1, 2, 3]))
def test_labels_and_order_of_answers_do_not_matter(seed, names):
    y, arm, rater, _ = simulated(seed, raters=40, each=5)
    order = np.random.default_rng(seed).permutation(len(y))
    labels = {index: f"r{index * names[0]}" for index in range(40)}
    one = fit_ordinal(y, {"arm": arm}, [RandomEffect("rater", rater.tolist())])
    other = fit_ordinal(
        10 * y[order], {"arm": arm[order]}, [RandomEffect("rater", [labels[r] for r in rater[order].tolist()])]
    )
    assert other.loglik == pytest.approx(one.loglik, abs=1e-6)
    assert other.coefficients["arm"].est == pytest.approx(one.coefficients["arm"].est, abs=1e-4)
    assert other.names[0] == "10|20"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_turning_the_scale_turns_the_effect(seed):
    y, arm, rater, _ = simulated(seed, raters=40, each=5)
    random = [RandomEffect("rater", rater.tolist())]
    one, other = fit_ordinal(y, {"arm": arm}, random), fit_ordinal(4 - y, {"arm": arm}, random)
    assert other.loglik == pytest.approx(one.loglik, abs=1e-6)
    assert other.coefficients["arm"].est == pytest.approx(-one.coefficients["arm"].est, abs=1e-4)
    assert other.coefficients["1|2"].est == pytest.approx(-one.coefficients["2|3"].est, abs=1e-4)


@pytest.mark.parametrize(
    ("random", "expected"),
    [
        (
            (),
            {
                "warm": (2.19460512973e-06, 1.466908050939, 3.539295964859),
                "contact": (1.34843952861e-03, 0.593634469768, 2.461960846422),
                "2|3": (4.28327682963e-03, 0.392579371069, 2.109038225764),
            },
        ),
        (
            (RandomEffect("judge", JUDGE),),
            {
                "warm": (2.68033107460e-07, 1.896080749654, 4.229912502034),
                "contact": (3.43517471296e-04, 0.830345890533, 2.839423954035),
                "1|2": (1.73500372716e-02, -2.961226768281, -0.286107079856),
            },
        ),
    ],
)
def test_p_values_and_wald_intervals_agree_with_r(random, expected):
    """summary() and confint(type = "Wald") of clm and clmm: two-sided p, 95 % intervals."""
    fit = fit_ordinal(RATING, FIXED, random)
    for name, (p, low, high) in expected.items():
        found = fit.coefficients[name]
        assert found.p == pytest.approx(p, rel=2e-3)
        assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


def test_a_larger_model_that_fits_no_better_has_no_negative_statistic():
    smaller, larger = fit_ordinal(RATING, {"warm": WARM}), fit_ordinal(RATING, FIXED)
    worse = replace(larger, loglik=smaller.loglik - 1e-9)  # what a search may leave behind
    assert (likelihood_ratio(smaller, worse).chi2, likelihood_ratio(smaller, worse).p) == (0.0, 1.0)


def test_likelihoods_of_different_answers_are_not_compared():
    fewer = fit_ordinal(RATING[:-8], {"warm": WARM[:-8]})
    with pytest.raises(FitError, match="same answers"):
        likelihood_ratio(fewer, fit_ordinal(RATING, FIXED))


def test_an_estimate_without_bounds_is_refused():
    """Everybody of one group answers at the top, everybody else below: the effect grows for ever."""
    group = np.array([0.0] * 30 + [1.0] * 30)
    answers = [1, 2] * 15 + [3] * 30
    with pytest.raises(FitError, match="no finite estimate"):
        fit_ordinal(answers, {"group": group})


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

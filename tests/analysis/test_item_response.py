"""The item-response model finds the parameters that made the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.analysis.item_response import (
    SHRINKAGE,
    ItemModel,
    adaptive,
    choose,
    copies,
    estimate,
    factors,
    figures,
    fit,
    fixed,
    leave_out,
    next_items,
)
from eqlab.core.errors import DataError


def simulate(subjects, items, seed, shared=None):
    random = np.random.default_rng(seed)
    b, a = random.normal(6, 1.5, items), random.uniform(0.4, 2.5, items)
    sd = random.uniform(0.5, 1.5, items)
    y = b + np.outer(random.normal(size=subjects), a) + random.normal(size=(subjects, items)) * sd
    if shared is not None:
        y += np.outer(random.normal(size=subjects), shared)
    return y, b, a, sd


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_difficulty_slope_and_residual_variance_are_recovered(missing):
    y, b, a, sd = simulate(1500, 30, seed=1)
    y[np.random.default_rng(2).random(y.shape) < missing] = np.nan
    found = fit(y)
    assert np.abs(found.difficulty - b).max() < 0.25
    assert np.abs(found.slope - a).max() < 0.2
    assert np.abs(found.residual - sd**2).max() < 0.25
    assert np.corrcoef(found.slope, a)[0, 1] > 0.99


def test_the_covariance_is_that_of_the_scores_shrunken_towards_ability():
    shared = np.where(np.arange(30) < 10, 1.2, 0.0)
    y, *_ = simulate(800, 30, seed=3, shared=shared)
    found = fit(y)
    assert np.abs(found.covariance() - np.cov(y.T, bias=True)).max() < 0.15
    together = found.shared @ found.shared.T
    assert together[:10, :10].mean() == pytest.approx(1.44, abs=0.5)
    assert abs(together[10:, 10:][~np.eye(20, dtype=bool)]).mean() < 0.1


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_every_item_keeps_a_share_to_itself_with_more_items_than_subjects(missing):
    y, *_ = simulate(20, 60, seed=4)
    y[np.random.default_rng(2).random(y.shape) < missing] = np.nan
    found = fit(y)
    assert found.shared.shape == (60, 20)
    share = found.unique / found.residual
    assert share.min() >= SHRINKAGE - 1e-9
    assert np.median(share) < 2 * SHRINKAGE
    assert np.linalg.eigvalsh(found.covariance()).min() > 0


def test_too_little_to_learn_from():
    with pytest.raises(DataError, match="four subjects"):
        fit(np.ones((3, 5)))
    with pytest.raises(DataError, match="same score"):
        fit(np.ones((6, 5)))


ITEMS = 60


def truth(seed=0):
    random = np.random.default_rng(seed)
    shared = random.normal(0, 0.4, (ITEMS, 2))
    return ItemModel(random.normal(6, 1.5, ITEMS), random.uniform(0.6, 2.4, ITEMS), shared, random.uniform(1, 5, ITEMS))


def subjects(model, count, seed, scale=None):
    random = np.random.default_rng(seed)
    scale = np.ones(count) if scale is None else scale
    residual = random.normal(size=(count, model.shared.shape[1])) @ model.shared.T
    residual += random.normal(size=(count, model.size)) * np.sqrt(model.unique)
    return model.difficulty + np.outer(random.normal(size=count), model.slope) + residual * scale[:, None]


MODEL = truth()


def errors(y, items):
    return np.array([estimate(MODEL, {i: row[i] for i in items}).mean for row in y]) - y.mean(axis=1)


def test_the_choice_is_deterministic_and_better_than_chance():
    chosen = choose(MODEL, 15)
    assert chosen == choose(truth(), 15) == sorted(set(chosen))
    assert len(chosen) == 15
    assert set(chosen) < set(choose(MODEL, 20))
    y = subjects(MODEL, 300, seed=1)
    random = np.random.default_rng(2)
    chance = [np.abs(errors(y, random.choice(ITEMS, 15, replace=False))).mean() for _ in range(60)]
    assert np.abs(errors(y, chosen)).mean() < np.quantile(chance, 0.05)


def left(items):
    """Variance of the mean over all items given some: the conditional normal distribution, written out."""
    sigma, w = MODEL.covariance(), np.full(ITEMS, 1 / ITEMS)
    along = sigma[items] @ w
    return w @ sigma @ w - along @ np.linalg.inv(sigma[np.ix_(items, items)]) @ along


def test_every_item_is_the_one_that_leaves_the_least_variance():
    asked, closed = [3, 41], [7]
    for item in next_items(MODEL, asked, closed, 5):
        candidates = [other for other in range(ITEMS) if other not in (*asked, *closed)]
        assert item == min(candidates, key=lambda other: left([*asked, other]))
        asked.append(item)


def test_the_estimate_is_halfway_between_equating_and_the_best_prediction_with_the_error_they_make():
    items = [2, 11, 30, 31, 55]
    sigma, a, b = MODEL.covariance(), MODEL.slope, MODEL.difficulty
    y = subjects(MODEL, 1, seed=8)[0][items]
    equating = b.mean() + a.mean() * (y.mean() - b[items].mean()) / a[items].mean()
    best = b.mean() + sigma[:, items].mean(axis=0) @ np.linalg.inv(sigma[np.ix_(items, items)]) @ (y - b[items])
    guess = estimate(MODEL, dict(zip(items, y, strict=True)))
    assert guess.mean == pytest.approx((equating + best) / 2)
    many = subjects(MODEL, 4000, seed=9)
    assert guess.sd / guess.spread == pytest.approx(errors(many, items).std(), rel=0.05)


def test_subjects_with_the_same_scores_are_one_subject():
    y = subjects(MODEL, 5, seed=5)
    y[3, :40] = y[1, :40]
    y[4, 25:] = y[3, 25:]
    y[2, :29] = y[0, :29]
    assert copies(y, list("abcde")) == ["a", "b", "c", "b", "b"]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, ITEMS), st.integers(1, ITEMS))
def test_next_items_are_new_and_as_many_as_there_are(asked, count):
    before = choose(MODEL, asked)
    closed, kept = before[::3], [item for item in before if item not in before[::3]]
    added = next_items(MODEL, kept, closed, count)
    assert len(added) == len(set(added)) == min(count, ITEMS - asked)
    assert not set(added) & set(before)


def test_rounds_of_one_and_one_round_of_many_ask_the_same():
    one_by_one = []
    for _ in range(8):
        one_by_one += next_items(MODEL, one_by_one, [], 1)
    assert one_by_one == next_items(MODEL, [], [], 8)


def test_all_items_answered_leave_nothing_to_guess():
    y = subjects(MODEL, 1, seed=3)[0]
    guess = estimate(MODEL, dict(enumerate(y)))
    assert guess.mean == pytest.approx(y.mean())
    assert guess.sd == pytest.approx(0, abs=1e-9)


def test_no_answer_is_no_certainty():
    assert estimate(MODEL, {}).sd == float("inf")


@pytest.mark.parametrize(("scale", "least"), [(1.0, 0.86), (2.0, 0.78)])
def test_a_scattered_subjects_own_residuals_widen_its_interval(scale, least):
    y = subjects(MODEL, 1500, seed=4, scale=np.full(1500, scale))
    items = choose(MODEL, 20)
    found = [estimate(MODEL, {item: row[item] for item in items}) for row in y]
    error = np.array([one.mean for one in found]) - y.mean(axis=1)
    sd, spread = np.array([one.sd for one in found]), np.array([one.spread for one in found])
    assert least < (np.abs(error) < 1.6449 * sd).mean() < 0.94
    assert abs((error / sd).mean()) < 0.1
    if scale == 2.0:
        assert (np.abs(error) < 1.6449 * sd / spread).mean() < 0.65


def test_the_calibrated_interval_covers_nine_in_ten_of_held_out_subjects():
    families = [f"f{i // 4}" for i in range(60)]
    hits = []
    for seed in range(4):
        scale = np.random.default_rng(seed).uniform(0.6, 1.8, 60)
        y = subjects(MODEL, 60, seed=10 + seed, scale=scale)
        y[np.random.default_rng(seed).random(y.shape) < 0.02] = np.nan
        (held,) = leave_out(y, families, [fixed(20)])
        found = figures(held, families, factors([held], families, 0.90))
        hits.append(found.covered)
        assert found.mae_low < found.mae < found.mae_high
        assert found.r > 0.9
    assert 0.85 <= np.mean(hits) <= 0.95


def test_an_adaptive_form_stops_when_it_is_sure():
    y = subjects(MODEL, 24, seed=30, scale=np.repeat([0.5, 2.0], 12))
    families = [f"f{i}" for i in range(24)]
    reach = dict.fromkeys(families, 1.645)
    (held,) = leave_out(y, families, [adaptive(reach, 0.6, 10, 5)])
    assert held.asked[:12].mean() < held.asked[12:].mean()
    sure = held.asked < ITEMS
    assert sure.any()
    assert (2 * 1.645 * held.sd[sure] <= 0.6).all()

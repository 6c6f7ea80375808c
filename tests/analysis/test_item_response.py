"""The item-response model finds the parameters that made the data."""

import numpy as np
import pytest

from eqlab.analysis.item_response import SHRINKAGE, fit
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

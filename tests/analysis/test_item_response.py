"""The item-response model finds the parameters that made the data."""

import numpy as np
import pytest

from eqlab.analysis.item_response import fit, shrinkage
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


def test_a_shared_residual_factor_is_kept_and_noise_is_not():
    shared = np.where(np.arange(30) < 10, 1.2, 0.0)
    with_factor, *_ = simulate(800, 30, seed=3, shared=shared)
    without, *_ = simulate(60, 30, seed=3)
    found = fit(with_factor)
    together = found.shared @ found.shared.T
    assert together[:10, :10].mean() == pytest.approx(1.44, abs=0.5)
    assert abs(together[10:, 10:][~np.eye(20, dtype=bool)]).mean() < 0.1
    noise = fit(without).shared
    assert (noise**2).sum() < 0.35 * fit(without).residual.sum()


def test_shrinkage_is_near_one_for_independent_residuals_and_near_zero_for_dependent_ones():
    random = np.random.default_rng(5)
    assert shrinkage(random.normal(size=(50, 40))) > 0.9
    assert shrinkage(random.normal(size=(50, 1)) + 0.1 * random.normal(size=(50, 40))) < 0.1


def test_too_little_to_learn_from():
    with pytest.raises(DataError, match="four subjects"):
        fit(np.ones((3, 5)))
    with pytest.raises(DataError, match="same score"):
        fit(np.ones((6, 5)))

"""The Laplace approximation: its gradient against differences, its algebra against dense matrices."""

import numpy as np
import pytest

from eqlab.analysis.crossed import Factor, Layout, Term
from eqlab.analysis.ordinal_likelihood import LikelihoodProblem, cut_points, evaluate, terms


def problem(seed=0, n=240, dense=False):
    random = np.random.default_rng(seed)
    raters = random.integers(0, 12 if dense else 30, n)
    items = np.arange(n) % 60
    groups = items % 5
    x = random.normal(size=(n, 2))
    layout = Layout(
        [
            Term("rater", raters, int(raters.max()) + 1),
            Term("item", items, 60),
            Term("slope", groups, 5, x[:, 0].copy()),
        ]
    )
    y = random.integers(0, 3, n).astype(np.intp)
    return LikelihoodProblem(y, 2, np.column_stack([np.ones(n), x[:, 1]]), x[:, :1], layout)


PARAMETERS = np.array([-0.8, 0.1, 0.7, -0.05, 0.3, 0.7, 0.4, 0.25])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("sds", [(0.7, 0.4, 0.25), (1.5, 0.0, 0.6)])
def test_gradient_equals_differences(dense, sds):
    made = problem(dense=dense)
    parameters = PARAMETERS.copy()
    parameters[-3:] = sds
    start = np.zeros(made.layout.size)
    here = evaluate(made, parameters, start)
    for index in range(made.size):
        move = np.zeros(made.size)
        move[index] = 1e-5
        up, down = evaluate(made, parameters + move, start), evaluate(made, parameters - move, start)
        assert here.gradient[index] == pytest.approx((up.loglik - down.loglik) / 2e-5, abs=2e-5)


def test_factor_equals_dense_algebra():
    made = problem()
    layout, sds = made.layout, np.array([0.7, 0.4, 0.25])
    weight = np.random.default_rng(1).uniform(0.1, 0.5, len(made.y))
    z = np.zeros((len(made.y), layout.size))
    for term, part, sd in zip(layout.terms, layout.slices, sds, strict=True):
        values = np.ones(len(made.y)) if term.values is None else term.values
        z[np.arange(len(made.y)), part.start + term.codes] = sd * values
    h = np.eye(layout.size) + z.T @ (weight[:, None] * z)
    factor = Factor(layout, weight, sds)
    right = np.random.default_rng(2).normal(size=layout.size)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(h)[1])
    assert factor.solve(right) == pytest.approx(np.linalg.solve(h, right))
    columns = np.column_stack([right, 2 * right])
    assert factor.solve(columns) == pytest.approx(np.linalg.solve(h, columns))
    variance = np.einsum("ij,jk,ik->i", z, np.linalg.inv(h), z)
    assert factor.sensitivities() @ sds == pytest.approx(variance)


def test_one_answer_per_rater_is_a_plain_integral():
    """One binary answer with a normal effect: Laplace is near the exact logistic-normal integral."""
    layout = Layout([Term("rater", np.arange(4), 4)])
    made = LikelihoodProblem(np.array([0, 1, 1, 0]), 1, np.ones((4, 1)), np.empty((4, 0)), layout)
    point = evaluate(made, np.array([0.3, 0.5]), np.zeros(4))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    low = (weights / (1 + np.exp(-(0.3 - 0.5 * nodes)))).sum() / weights.sum()
    assert point.loglik == pytest.approx(2 * np.log(low) + 2 * np.log(1 - low), abs=0.01)


def test_crossed_thresholds_have_no_density():
    assert evaluate(problem(), -PARAMETERS, np.zeros(problem().layout.size)) is None


@pytest.mark.parametrize("eta", [0.0, 30.0, -30.0, 200.0])
def test_likelihood_is_exact_in_both_tails(eta):
    y = np.array([0, 1, 2])
    here = terms(*cut_points(y, np.ones((3, 1)), np.array([[-1.0], [1.0]]), np.full(3, eta)))
    assert np.all(np.isfinite(here.log_p))
    if abs(eta) < 100:
        assert np.exp(here.log_p).sum() == pytest.approx(1.0)
    assert np.all(here.weight >= 0)


def test_an_answer_that_is_next_to_impossible_has_no_density_and_warns_of_nothing():
    """Three raters who nearly agree send the search far out before it turns back."""
    assert terms(np.array([np.inf, 0.5]), np.array([800.0, -0.5])) is None
    assert terms(np.array([-800.0, 0.5]), np.array([-np.inf, -0.5])) is None
    assert terms(np.array([np.inf, 0.5]), np.array([700.0, -0.5])) is not None

"""Restricted maximum likelihood against the analysis of variance, statsmodels and the dense formula."""

import numpy as np
import pytest
from later import Later
from scipy.optimize import check_grad, minimize

from eqlab.analysis.crossed import Layout
from eqlab.analysis.reml import RESIDUAL, _fixed, _Model, _term, variances
from eqlab.core.errors import UsageError

MixedLM = Later("statsmodels.regression.mixed_linear_model", "MixedLM")


def crossed(seed, sizes=(6, 20, 4), sd=(3.0, 2.0, 1.5, 1.0, 1.0), missing=0.0):
    """listener × persona × speaker with listener:persona."""
    random = np.random.default_rng(seed)
    listeners, personas, speakers = sizes
    grid = np.indices(sizes).reshape(3, -1)
    listener, persona, speaker = grid
    y = (
        50
        + random.normal(0, sd[0], listeners)[listener]
        + random.normal(0, sd[1], personas)[persona]
        + random.normal(0, sd[2], speakers)[speaker]
        + random.normal(0, sd[3], (listeners, personas))[listener, persona]
        + random.normal(0, sd[4], grid.shape[1])
    )
    kept = random.random(grid.shape[1]) >= missing
    return y[kept], {"listener": listener[kept], "persona": persona[kept], "speaker": speaker[kept]}


TERMS = ("listener", "persona", "speaker", "listener:persona")


def dense_criterion(y, factors, terms, x, variance):
    """−2 restricted log-likelihood straight from its definition."""
    v = np.eye(len(y)) * variance[-1]
    for term, value in zip(terms, variance, strict=False):
        codes = _term(term, factors).codes
        v += value * (codes[:, None] == codes[None, :])
    inverse = np.linalg.inv(v)
    inner = x.T @ inverse @ x
    p = inverse - inverse @ x @ np.linalg.solve(inner, x.T @ inverse)
    return np.linalg.slogdet(v)[1] + np.linalg.slogdet(inner)[1] + y @ p @ y


def test_balanced_and_inside_it_is_the_analysis_of_variance():
    random = np.random.default_rng(0)
    a, b = 12, 9
    y = random.normal(0, 2, (a, 1)) + random.normal(0, 3, (1, b)) + random.normal(0, 1, (a, b))
    rest = y - y.mean(1, keepdims=True) - y.mean(0, keepdims=True) + y.mean()
    error = (rest**2).sum() / ((a - 1) * (b - 1))
    row, column = np.indices((a, b)).reshape(2, -1)
    found = variances(y.ravel(), {"row": row, "column": column})
    assert found.variance["row"] == pytest.approx(y.mean(1).var(ddof=1) - error / b, rel=1e-5)
    assert found.variance["column"] == pytest.approx(y.mean(0).var(ddof=1) - error / a, rel=1e-5)
    assert found.variance[RESIDUAL] == pytest.approx(error, rel=1e-5)
    # Var(σ̂²) of a balanced design is known: 2·EMS²/df over the replication, plus that of the error
    ms = b * y.mean(1).var(ddof=1)
    known = (2 * ms**2 / (a - 1) + 2 * error**2 / ((a - 1) * (b - 1))) / b**2
    assert found.covariance[0, 0] == pytest.approx(known, rel=1e-4)
    assert found.df(RESIDUAL) == pytest.approx((a - 1) * (b - 1), rel=1e-4)


def test_gaps_and_crossings_agree_with_statsmodels():
    y, factors = crossed(3, sizes=(4, 10, 3), missing=0.2)
    found = variances(y, factors, TERMS)
    frame = {name: np.asarray(labels) for name, labels in factors.items()}
    frame["both"] = frame["listener"] * 100 + frame["persona"]
    import pandas as pd

    table = pd.DataFrame({**frame, "y": y})
    formulas = {"listener": "0+C(listener)", "persona": "0+C(persona)", "speaker": "0+C(speaker)", "both": "0+C(both)"}
    theirs = MixedLM.from_formula("y ~ 1", groups=np.ones(len(y)), vc_formula=formulas, data=table).fit(
        reml=True, method="powell", maxiter=3000
    )
    names = theirs.model.exog_vc.names
    order = {"listener": "listener", "persona": "persona", "speaker": "speaker", "both": "listener:persona"}
    ours = [found.variance[order[name]] for name in names]
    x = np.ones((len(y), 1))

    def height(values):
        return dense_criterion(y, factors, TERMS, x, values)

    at_ours = height([*(found.variance[term] for term in TERMS), found.variance[RESIDUAL]])
    theirs_by = dict(zip([order[name] for name in names], theirs.vcomp, strict=True))
    at_theirs = height([*(theirs_by[term] for term in TERMS), theirs.scale])
    assert at_ours <= at_theirs + 1e-6
    assert ours == pytest.approx(list(theirs.vcomp), rel=0.02, abs=0.02)


def test_no_point_of_the_dense_likelihood_is_higher():
    y, factors = crossed(5, sizes=(3, 8, 3), missing=0.3)
    found = variances(y, factors, TERMS)
    x = np.ones((len(y), 1))
    best = np.array([*(found.variance[term] for term in TERMS), found.variance[RESIDUAL]])
    other = minimize(
        lambda logs: dense_criterion(y, factors, TERMS, x, np.exp(logs)), np.zeros(5), method="Nelder-Mead",
        options={"maxiter": 6000, "xatol": 1e-8, "fatol": 1e-10},
    )  # fmt: skip
    assert dense_criterion(y, factors, TERMS, x, best) <= other.fun + 1e-6


def test_gradient_is_the_derivative():
    y, factors = crossed(6, sizes=(4, 7, 3), missing=0.25)
    x, _ = _fixed(factors, "listener", len(y))
    model = _Model(y, x, Layout([_term(name, factors) for name in ("persona", "speaker", "listener:persona")]))
    at = np.log([0.7, 1.3, 0.4])
    assert check_grad(lambda p: model.criterion(p)[0], lambda p: model.criterion(p)[1], at) < 1e-3


def test_fixed_effects_equal_the_paired_t_test():
    random = np.random.default_rng(1)
    a = random.normal(0, 2, 25) + np.array([0, 1.0])[:, None] + random.normal(0, 1, (2, 25))
    who, persona = np.indices(a.shape).reshape(2, -1)
    found = variances(a.ravel(), {"who": np.array(["x", "y"])[who], "persona": persona}, fixed="who")
    gap = found.effect({"y": 1, "x": -1})
    d = a[1] - a[0]
    assert gap.value == pytest.approx(d.mean())
    assert gap.se == pytest.approx(d.std(ddof=1) / 5, rel=1e-5)
    assert gap.df == pytest.approx(24, rel=1e-3)


def test_what_cannot_be_told_apart_is_undefined():
    one = np.arange(12)
    y = np.random.default_rng(0).normal(size=12)
    assert variances(y, {"cell": one}) is None  # each level once: the residual itself
    assert variances(y, {"a": one % 4, "b": (one % 4) + 10}) is None
    assert variances(np.array([1.0, 2.0]), {"a": [0, 1]}) is None


def test_no_variance_is_zero_and_without_interval():
    random = np.random.default_rng(4)
    row, column = np.indices((30, 30)).reshape(2, -1)
    for _ in range(20):
        y = random.normal(0, 1, 900)
        found = variances(y, {"row": row, "column": column})
        if found.variance["row"] == 0:
            assert found.interval("row") is None
            assert sum(found.share.values()) == pytest.approx(1)
            return
    raise AssertionError("never at the bound")


def test_unknown_names_are_refused():
    with pytest.raises(UsageError, match="person"):
        variances([1.0, 2.0, 3.0], {"a": [0, 1, 0]}, terms=["person"])
    with pytest.raises(UsageError, match="finite"):
        variances([1.0, np.nan, 3.0], {"a": [0, 1, 0]})


def test_order_and_shift_do_not_matter():
    y, factors = crossed(8, missing=0.2)
    found = variances(y, factors, TERMS)
    turn = np.random.default_rng(0).permutation(len(y))
    again = variances(3 * y[turn] - 7, {name: labels[turn] for name, labels in factors.items()}, TERMS)
    for name, value in found.variance.items():
        assert again.variance[name] == pytest.approx(9 * value, rel=1e-3, abs=1e-3)


def test_intervals_of_an_effect_hold_over_personas_and_speakers():
    """The usual interval over personas alone would not: speakers differ more."""
    inside = total = 0
    for seed in range(16):
        y, factors = crossed(seed, sizes=(2, 20, 6), sd=(0.0, 2.0, 0.0, 1.0, 1.0), missing=0.1)
        random = np.random.default_rng(1000 + seed)
        y = y + random.normal(0, 2, (2, 6))[factors["listener"], factors["speaker"]]
        terms = ("persona", "speaker", "listener:persona", "listener:speaker")
        found = variances(y, factors, terms, fixed="listener")
        gap = found.effect({"1": 1, "0": -1})
        inside += gap.low <= 0 <= gap.high
        total += 1
    assert inside / total > 0.8

"""Errors over prompts and judges: the variance, the quantile, and tastes pooled over subjects."""

import numpy as np
import pytest
from later import Later

from eqlab.analysis.two_way import over_judges, tastes, two_way

stats = Later("scipy.stats")


def spread(prompts, judges, both, n=20, df=3.0):
    return two_way(np.array(prompts), np.array(judges), np.array(both), n, df)


@pytest.mark.parametrize(
    ("prompts", "judges", "both", "total"), [(1.0, 0.2, 0.9, 1.0), (0.1, 0.5, 0.4, 0.5), (0.3, 0.5, 0.1, 0.7)]
)
def test_the_variance_over_prompts_and_judges_is_never_below_either(prompts, judges, both, total):
    assert float(spread(prompts, judges, both).variance) == pytest.approx(total)


def test_the_quantile_is_students_where_one_kind_of_unit_is_all():
    assert float(spread(1.0, 0.0, 0.0).quantile(0.025)) == pytest.approx(stats.t.ppf(0.975, 19))
    assert float(spread(0.0, 1.0, 0.0).quantile(0.025)) == pytest.approx(stats.t.ppf(0.975, 3))
    both = float(spread(1.0, 1.0, 0.0).quantile(0.025))
    assert both == pytest.approx((stats.t.ppf(0.975, 19) + stats.t.ppf(0.975, 3)) / 2)


def test_p_and_interval_say_the_same():
    made = spread([0.3, 0.2, 0.0], [0.1, 0.5, 0.4], [0.05, 0.1, 0.1])
    for alpha in (0.2, 0.05, 0.001):
        end = made.quantile(alpha / 2) * made.se
        assert made.p(end) == pytest.approx(alpha)
        assert (made.p(end * 1.01) < alpha).all()
    alone = spread(0.25, 0.0, 0.0)
    assert float(alone.p(np.array(1.2))) == pytest.approx(2 * stats.t.sf(2.4, 19))


def test_tastes_are_the_interaction_of_a_two_way_table():
    statsmodels = pytest.importorskip("statsmodels.formula.api")
    pandas = pytest.importorskip("pandas")
    table = np.random.default_rng(1).normal(size=(4, 3))
    rows, columns = np.indices(table.shape)
    frame = pandas.DataFrame({"y": table.ravel(), "subject": rows.ravel(), "judge": columns.ravel()})
    theirs = statsmodels.ols("y ~ C(subject) + C(judge)", frame).fit()
    variance, df = tastes(table)
    assert (variance, df) == (pytest.approx(theirs.mse_resid), theirs.df_resid)
    table[0, 0] = np.nan
    assert tastes(table)[0] == 0


def test_judges_who_differ_about_two_are_not_averaged_away_by_those_who_agree_about_the_rest():
    table = np.zeros((4, 3))
    table[0] = (-1.0, 0.0, 1.0)
    variance, df = over_judges(table)
    assert variance[0, 1] == pytest.approx(1 / 3)
    assert df[0, 1] == 2
    pooled = tastes(table)[0]
    assert variance[1, 2] == pytest.approx(2 * pooled / 3)
    assert df[1, 2] == 6

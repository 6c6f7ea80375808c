"""Panels: severities against least squares, agreement against known truths, favour that is planted and found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.panel import (
    PanelRatings,
    effective_judges,
    leave_one_out,
    most_disputed,
    panel_alpha,
    pool,
    preferences,
)
from eqlab.core.errors import UsageError

smf = Later("statsmodels.formula.api")


def panel(seed, prompts=40, subjects=4, judges=3, missing=0.0, severity=(0.8, 0.0, -0.8), shared=0.0, favour=0.0):
    random = np.random.default_rng(seed)
    prompt, subject = (one.ravel() for one in np.indices((prompts, subjects)))
    quality = np.linspace(0, 1, subjects)[subject] + random.normal(0, 0.5, prompts)[prompt]
    quality = quality + random.normal(0, 0.3, len(prompt))
    error = np.sqrt(shared) * random.normal(size=(len(prompt), 1)) + np.sqrt(1 - shared) * random.normal(
        size=(len(prompt), judges)
    )
    values = quality[:, None] + np.resize(severity, judges) + error
    values[subject == 0, 0] += favour
    values[random.random(values.shape) < missing] = np.nan
    ratings = PanelRatings(
        values, [f"p{one}" for one in prompt], [f"s{one}" for one in subject], [f"j{one}" for one in range(judges)]
    )
    return ratings, quality


def test_severities_are_least_squares():
    import pandas as pd

    ratings, _ = panel(1, prompts=12, missing=0.3)
    found = pool(ratings)
    row, column = np.nonzero(np.isfinite(ratings.values))
    frame = pd.DataFrame({"y": ratings.values[row, column], "reply": row, "judge": column})
    theirs = smf.ols("y ~ 0 + C(reply) + C(judge, Sum)", frame).fit()
    ours = [one.value for one in found.severity]
    assert ours[:2] == pytest.approx([theirs.params["C(judge, Sum)[S.0]"], theirs.params["C(judge, Sum)[S.1]"]])
    assert sum(ours) == pytest.approx(0, abs=1e-9)
    assert found.residuals[row, column] == pytest.approx(theirs.resid.to_numpy(), abs=1e-8)


def test_a_reply_gains_nothing_by_mild_judges():
    """Half of the replies are seen by the mild judge only; the plain mean would favour them."""
    ratings, quality = panel(2, prompts=300, severity=(2.0, 0.0, -2.0))
    values = ratings.values.copy()
    values[::3, 1:] = np.nan
    pooled = pool(PanelRatings(values, ratings.prompts, ratings.subjects, ratings.judges))
    gap = pooled.replies - quality
    assert gap[::3].mean() - np.delete(gap, np.s_[::3]).mean() == pytest.approx(0, abs=0.25)
    plain = np.nanmean(values, axis=1) - quality
    assert plain[::3].mean() - np.delete(plain, np.s_[::3]).mean() > 1.5


def test_severity_intervals_hold_the_truth():
    hits = 0
    for seed in range(200):
        ratings, _ = panel(seed, prompts=15, missing=0.2)
        first = pool(ratings).severity[0]
        hits += first.low <= 0.8 <= first.high
    assert hits / 200 >= 0.9


def test_judges_without_common_replies_cannot_be_pooled():
    values = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0], [np.nan, 1.0]])
    with pytest.raises(UsageError, match="rated no reply"):
        pool(PanelRatings(values, list("abcd"), list("xxyy"), ["j", "k"]))
    with pytest.raises(UsageError, match="one row"):
        PanelRatings(values, ["a"], ["x"], ["j", "k"])


@given(st.integers(0, 1000), st.permutations(range(3)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_judges_does_not_matter(seed, order):
    ratings, _ = panel(seed, prompts=10, missing=0.2)
    turned = PanelRatings(
        ratings.values[:, list(order)], ratings.prompts, ratings.subjects, [ratings.judges[k] for k in order]
    )
    assert pool(turned).replies == pytest.approx(pool(ratings).replies, nan_ok=True)
    assert [pool(turned).severity[i].value for i in range(3)] == pytest.approx(
        [pool(ratings).severity[k].value for k in order]
    )


def test_one_judge_is_its_own_panel():
    ratings, _ = panel(3, judges=1, severity=(0.0,))
    assert pool(ratings).replies == pytest.approx(ratings.values[:, 0])
    assert leave_one_out(ratings) == []


def test_leaving_out_the_judge_that_made_the_order_changes_it():
    ratings, _ = panel(4, prompts=200, favour=6.0)
    by = {one.judge: one.ranks for one in leave_one_out(ratings)}
    assert by["j0"]["s0"] == 4
    assert by["j1"]["s0"] == 1


def test_the_disputed_reply_is_found():
    ratings, _ = panel(5)
    ratings.values[17] = [9.0, 0.0, -9.0]
    reply, spread = most_disputed(ratings, 1)[0]
    assert reply == 17
    assert spread > 5
    ratings.values[3, 1:] = np.nan  # one rating cannot be disputed
    assert all(index != 3 for index, _ in most_disputed(ratings, 1000))


def test_effective_judges_are_counted_from_their_errors():
    for shared, expected in ((0.0, 6.0), (0.5, 6 / 3.5), (0.9, 6 / 5.5)):
        ratings, quality = panel(6, prompts=600, judges=6, severity=(0.5, -0.5), shared=shared)
        found = effective_judges(ratings, np.column_stack([quality, quality]), draws=200)
        assert found.value == pytest.approx(expected, rel=0.08)
        assert found.low <= expected * 1.02
        assert found.high >= expected * 0.98
        assert found.of == "errors"
        assert found.correlation == pytest.approx(shared, abs=0.05)


def test_without_people_agreement_counts_as_shared_error():
    ratings, quality = panel(7, prompts=400, judges=6, shared=0.3)
    least = effective_judges(ratings, draws=100)
    true = effective_judges(ratings, np.column_stack([quality, quality]), draws=100)
    assert least.value <= true.value
    assert least.of == "ratings"
    assert effective_judges(panel(8, prompts=3)[0]).value is None


@pytest.mark.parametrize("shared", [0.0, 0.5])
@pytest.mark.parametrize(("raters", "everybody_rates_all"), [(2, False), (10, False), (3, True)])
def test_what_people_err_by_themselves_is_no_error_that_judges_share(shared, raters, everybody_rates_all):
    """Few people a reply, each with a severity of their own: as an error of the judges it made one judge of three."""
    hits, values, expected = 0, [], 3 / (1 + 2 * shared)
    for seed in range(200):
        ratings, quality = panel(seed, subjects=2, prompts=60, shared=shared)
        random = np.random.default_rng(seed)
        severity = random.normal(0, 0.6, raters if everybody_rates_all else 40)
        people = quality[:, None] + severity + random.normal(0, 0.8, (len(quality), len(severity)))
        people[random.random(people.shape).argsort(axis=1) >= raters] = np.nan
        found = effective_judges(ratings, people, draws=150)
        values.append(found.value)
        hits += found.low <= expected <= found.high
    assert hits / 200 >= 0.92
    assert np.median(values) == pytest.approx(expected, rel=0.1)


def test_one_rating_of_a_reply_does_not_tell_what_people_err():
    ratings, quality = panel(9)
    people = np.column_stack([quality, np.full(len(quality), np.nan)])
    assert effective_judges(ratings, people).value is None
    people[:40, 1] = quality[:40]  # of ten prompts
    assert effective_judges(ratings, people, draws=100).prompts == 10


def test_alpha_equals_the_formula_for_units():
    from eqlab.analysis.agreement import coincidences, ordinal_alpha

    random = np.random.default_rng(0)
    values = random.integers(1, 4, (60, 3)).astype(float)
    values[:, 1] = values[:, 0]
    values[random.random(values.shape) < 0.2] = np.nan
    ratings = PanelRatings(values, [str(k // 2) for k in range(60)], ["s"] * 60, ["a", "b", "c"])
    units = [[int(v) for v in row if np.isfinite(v)] for row in values]
    expected = float(ordinal_alpha(coincidences(units, 3).sum(axis=0)))
    found = panel_alpha(ratings, 3, draws=500)
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high
    with pytest.raises(UsageError, match="whole"):
        panel_alpha(PanelRatings(values + 0.5, ratings.prompts, ratings.subjects, ratings.judges), 3)


def test_planted_favour_is_found_with_its_size_and_none_where_there_is_none():
    hits = false = 0
    for seed in range(100):
        ratings, _ = panel(seed, prompts=30, favour=0.7)
        own = preferences(ratings, {"j0": "a", "j1": "b", "j2": "c"}, {"s0": "a", "s1": "b"}, {"j0": "s0", "j1": "s1"})
        mine, other = own[0].estimate, own[1].estimate
        hits += mine.low <= 0.7 <= mine.high
        # j0's favour to s0 bends what j1 is compared with by a third of the replies, a known and small effect
        false += not other.low <= 0 <= other.high
    assert hits / 100 >= 0.88
    assert false / 100 <= 0.2


def test_family_is_told_from_self():
    ratings, _ = panel(9, prompts=200, favour=1.0)
    found = preferences(ratings, {"j0": "a", "j1": "b", "j2": "c"}, {"s0": "a", "s3": "a"}, {"j0": "s3"})
    by = {(one.judge, one.of): one.estimate for one in found}
    assert by["j0", "family"].low > 0.5
    assert by["j0", "self"].low < 0.3
    assert preferences(ratings, {}, {}, {}) == []

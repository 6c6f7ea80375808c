"""Strengths from verdicts: against logistic regression, choix, closed forms and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later
from scipy.optimize import check_grad

from eqlab.analysis.bradley_terry import (
    Cells,
    Davidson,
    Verdicts,
    directions,
    next_pairs,
    strengths,
)
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.core.errors import UsageError

sm = Later("statsmodels.api")


def contest(seed, ability, prompts=40, tie=-np.inf, place=0.0, spread=0.0, judges=1, judge_spread=0.0):
    """Every pair in both orders on every prompt; `spread`: how much a model's strength varies from prompt to prompt."""
    random = np.random.default_rng(seed)
    ability = np.asarray(ability, dtype=float)
    tilt = random.normal(0, judge_spread, (judges, len(ability)))
    rows = []
    for prompt in range(prompts):
        own = ability + random.normal(0, spread, len(ability))
        for judge in range(judges):
            for i in range(len(ability)):
                for j in range(len(ability)):
                    if i == j:
                        continue
                    eta = own[i] - own[j] + place + tilt[judge, i] - tilt[judge, j]
                    shares = np.array([np.exp(eta / 2), np.exp(tie), np.exp(-eta / 2)])
                    outcome = random.choice([1.0, 0.5, 0.0], p=shares / shares.sum())
                    rows.append((f"m{i}", f"m{j}", outcome, f"p{prompt}", f"j{judge}"))
    first, second, outcome, prompt, judge = zip(*rows, strict=True)
    return Verdicts(first, second, np.array(outcome), prompt, judge if judges > 1 else None)


def test_without_ties_it_is_logistic_regression():
    data = contest(1, [0, 0.5, 1.2, -0.4], place=0.3)
    found = strengths(data)
    x = np.zeros((len(data.first), 4))
    for row, (one, other) in enumerate(zip(data.first, data.second, strict=True)):
        x[row, int(one[1])] += 1
        x[row, int(other[1])] -= 1
    theirs = sm.Logit(np.asarray(data.outcome), np.column_stack([x[:, 1:], np.ones(len(x))])).fit(disp=0)
    by_name = dict(zip(found.names, found.ability, strict=True))
    assert [by_name[f"m{k}"] - by_name["m0"] for k in (1, 2, 3)] == pytest.approx(theirs.params[:3], abs=1e-6)
    assert found.position.value == pytest.approx(theirs.params[3], abs=1e-6)
    assert found.ability.sum() == pytest.approx(0, abs=1e-9)
    assert found.tie is None


def test_it_is_what_choix_finds():
    """choix 0.4.1, `choix.ilsr_pairwise(4, wins)` on these verdicts, once computed; no ties, no places."""
    wins = {
        (0, 1): 7,
        (1, 0): 3,
        (1, 2): 6,
        (2, 1): 5,
        (2, 3): 9,
        (3, 2): 2,
        (0, 3): 8,
        (3, 0): 1,
        (0, 2): 4,
        (2, 0): 4,
    }
    rows = [(f"m{i}", f"m{j}") for (i, j), n in wins.items() for _ in range(n)]
    first, second = zip(*rows, strict=True)
    found = strengths(Verdicts(first, second, np.ones(len(rows)), [str(k) for k in range(len(rows))]), position=False)
    by_name = dict(zip(found.names, found.ability, strict=True))
    assert [by_name[f"m{k}"] for k in range(4)] == pytest.approx(CHOIX, abs=1e-7)


CHOIX = [0.72979306, 0.21702045, 0.3063299, -1.25314341]


def test_two_models_with_ties_have_a_closed_form():
    outcome = np.array([1.0] * 30 + [0.5] * 20 + [0.0] * 10)
    n = len(outcome)
    first = ["a"] * n
    found = strengths(Verdicts(first, ["b"] * n, outcome, [str(k) for k in range(n)]), position=False)
    a, b = found.ability
    assert a - b == pytest.approx(np.log(30 / 10))
    assert found.tie == pytest.approx(np.log(20 / np.sqrt(30 * 10)))


def test_at_the_maximum_expected_counts_equal_the_seen_ones():
    data = contest(2, [0, 1, 0.5], tie=-0.3, place=0.4)
    found = strengths(data)
    score = np.zeros(3)
    expected = np.zeros(3)
    for one, other, outcome in zip(data.first, data.second, np.asarray(data.outcome), strict=True):
        i, j = found.names.index(one), found.names.index(other)
        eta = found.ability[i] - found.ability[j] + found.position.value
        shares = np.array([np.exp(eta / 2), np.exp(found.tie), np.exp(-eta / 2)])
        shares /= shares.sum()
        score[i] += outcome
        score[j] += 1 - outcome
        expected[i] += shares[0] + shares[1] / 2
        expected[j] += shares[2] + shares[1] / 2
    assert expected == pytest.approx(score, abs=1e-5)


def test_gradient_and_information_are_the_derivatives():
    data = contest(3, [0, 1, 0.5], prompts=5, tie=-0.3)
    names = ("m0", "m1", "m2")
    cells = Cells(names, data.first, data.second, np.asarray(data.outcome), data.prompts, None)
    model = Davidson(cells, directions((True,) * 3), np.zeros(3), delta=None, tau=None, prior=0.25)
    at = np.array([0.3, -0.2, 0.4, -0.5])

    def slope(theta):
        return model.scores(theta, cells.total) - model.prior * theta

    assert check_grad(lambda t: model.loglik(t, cells.total), slope, at) < 1e-4
    numeric = np.array([(slope(at - e) - slope(at + e)) / 2e-5 for e in 1e-5 * np.eye(4)])
    assert model.information(at, cells.total) == pytest.approx(numeric, abs=1e-4)


def test_one_step_jackknife_is_near_the_refitted_one():
    data = contest(4, [0, 0.6, 1.0], prompts=25, tie=-0.5, spread=0.6)
    found = strengths(data)
    prompts = list(dict.fromkeys(data.prompts))
    for k in (0, 7, 19):
        kept = [i for i, p in enumerate(data.prompts) if p != prompts[k]]
        rest = strengths(
            Verdicts(
                [data.first[i] for i in kept],
                [data.second[i] for i in kept],
                np.asarray(data.outcome)[kept],
                [data.prompts[i] for i in kept],
            )
        )
        pseudo = 25 * found.ability - 24 * rest.ability
        assert found.table[:, k] == pytest.approx(pseudo, abs=0.15)


def test_intervals_hold_over_prompts_where_verdicts_alone_would_not():
    inside = naive = 0
    times = 120
    truth = np.array([0.0, 0.8, 1.2])
    large = [strengths(contest(9000 + k, truth, 200, -0.5, spread=1.2)) for k in range(6)]
    reference = np.mean([one.difference("m1", "m0").value for one in large])
    for seed in range(times):
        found = strengths(contest(seed, truth, prompts=20, tie=-0.5, spread=1.2))
        gap = found.difference("m1", "m0")
        inside += gap.low <= reference <= gap.high
        x = np.array([name == "m1" for name in found.names], float) - np.array([n == "m0" for n in found.names], float)
        half = 1.96 * np.sqrt(x @ found.covariance @ x)
        naive += abs(gap.value - reference) <= half
    assert inside / times >= 0.9
    assert naive / times < 0.9


def test_several_judges_widen_the_interval():
    data = contest(5, [0, 0.5, 1.0], prompts=20, judges=4, judge_spread=0.6)
    both = strengths(data)
    alone = strengths(Verdicts(data.first, data.second, data.outcome, data.prompts))
    assert both.ability == pytest.approx(alone.ability)
    assert both.difference("m2", "m0").se > alone.difference("m2", "m0").se
    assert both.judge_table.shape == (3, 4)


def test_a_new_model_does_not_move_the_others():
    ability = [0, 0.5, 1.0, 0.7]
    data = contest(6, ability, prompts=60, tie=-0.4, place=0.3)
    old = [k for k in range(len(data.first)) if "m3" not in (data.first[k], data.second[k])]

    def pick(rows):
        columns = [[column[k] for k in rows] for column in (data.first, data.second, data.outcome, data.prompts)]
        return Verdicts(*columns)

    before = strengths(pick(old))
    new = [k for k in range(len(data.first)) if "m3" in (data.first[k], data.second[k])]
    after = strengths(pick(new), anchors=before)
    assert after.names[:3] == before.names
    assert after.ability[:3].tolist() == before.ability.tolist()
    assert after.position == before.position
    whole = strengths(data)
    gap = dict(zip(whole.names, whole.ability - whole.ability[0], strict=True))
    assert after.ability[3] - after.ability[0] == pytest.approx(gap["m3"], abs=0.12)
    assert [one.note for one in after.estimates()] == ["anchor"] * 3 + [""]
    with pytest.raises(UsageError, match="anchors"):
        strengths(pick(old), anchors=before)


def test_a_model_that_won_everything_has_no_finite_strength_without_a_prior():
    data = Verdicts(["a", "a", "b", "c"], ["b", "c", "c", "b"], [1, 1, 1, 1], ["1", "2", "3", "4"])
    with pytest.raises(FitError, match="a won or lost everything"):
        strengths(data, position=False)
    held = strengths(data, position=False, prior_sd=2.0)
    assert np.isfinite(held.ability).all()
    assert held.names[int(np.argmax(held.ability))] == "a"


def test_refusals():
    with pytest.raises(UsageError, match="two different"):
        Verdicts(["a"], ["a"], [1], ["p"])
    with pytest.raises(UsageError, match="tie"):
        Verdicts(["a"], ["b"], [0.7], ["p"])
    with pytest.raises(UsageError, match="one by one"):
        Verdicts([], [], [], [])


@given(st.integers(0, 500))
@settings(max_examples=15, deadline=None)
def test_turning_every_pair_round_turns_the_place_and_nothing_else(seed):
    data = contest(seed, [0, 0.3, 0.6], prompts=12, tie=-0.2, place=0.5)
    turned = Verdicts(data.second, data.first, 1 - np.asarray(data.outcome), data.prompts)
    one, other = strengths(data), strengths(turned)
    by = dict(zip(other.names, other.ability, strict=True))
    assert [by[name] for name in one.names] == pytest.approx(one.ability, abs=1e-6)
    assert one.position.value == pytest.approx(-other.position.value, abs=1e-6)


def test_ranks_come_from_prompts():
    found = strengths(contest(7, [0, 2.0, 4.0], prompts=60))
    ranges = dict(zip(found.names, found.ranks().ranges, strict=True))
    assert ranges == {"m0": (3, 3), "m1": (2, 2), "m2": (1, 1)}
    assert sum(found.ranks().first) == 1


def test_the_next_pair_is_one_that_is_still_open():
    found = strengths(contest(8, [0, 0.25, 4.0, 4.3], prompts=25))
    plan = next_pairs(found, 2)
    assert {frozenset((one.first, one.second)) for one in plan.pairs} <= {
        frozenset(("m0", "m1")), frozenset(("m2", "m3")),
    }  # fmt: skip
    assert not plan.stop
    assert next_pairs(found, width=4.0).stop
    assert next_pairs(found, 1, only=[("m0", "m3")]).pairs[0].second == "m3"


def test_chosen_pairs_decide_more_than_all_pairs_alike():
    """The same number of verdicts, on open pairs or spread over all."""
    truth = np.array([0, 0.4, 3.0, 3.4, 6.0, 6.4])
    widths = {"chosen": 0.0, "alike": 0.0}
    for seed in range(6):
        random = np.random.default_rng(seed)
        start = _verdicts(random, truth, [(i, j) for i in range(6) for j in range(i + 1, 6)], 12, 0)
        for way in widths:
            rows = list(start)
            for turn in range(4):
                found = strengths(_as(rows), prior_sd=5.0)
                plan = [(int(one.first[1]), int(one.second[1])) for one in next_pairs(found, 3, batch=20).pairs]
                if way == "alike" or not plan:
                    plan = [tuple(random.choice(6, 2, replace=False)) for _ in range(3)]
                rows += _verdicts(random, truth, plan, 10, 100 * (turn + 1))
            ranges = strengths(_as(rows), prior_sd=5.0).ranks().ranges
            widths[way] += np.mean([b - a + 1 for a, b in ranges])
    assert widths["chosen"] < widths["alike"]


def _verdicts(random, truth, pairs, prompts, start):
    rows = []
    for i, j in pairs:
        for prompt in range(prompts):
            for one, other in ((i, j), (j, i)):
                win = random.random() < 1 / (1 + np.exp(truth[other] - truth[one]))
                rows.append((f"m{one}", f"m{other}", float(win), f"p{start + prompt}"))
    return rows


def _as(rows):
    first, second, outcome, prompt = zip(*rows, strict=True)
    return Verdicts(first, second, np.array(outcome), prompt)


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        ({"ab": [1, 1], "ba": [0, 1]}, "so much one way"),  # a wins always where it is first
        ({"ab": [1, 1], "ba": [1, 1]}, "so much one way"),  # the first place wins always
        ({"ab": [1, 0]}, "in one order only"),
        ({"ab": [0.5], "ba": [0.5]}, "all are ties"),
    ],
)
def test_why_verdicts_identify_no_strengths_is_told_as_it_is(outcomes, why):
    rows = [(*pair, value) for pair, values in outcomes.items() for value in values * 12]
    first, second, outcome = zip(*rows, strict=True)
    with pytest.raises(FitError, match=why) as error:
        strengths(Verdicts(first, second, outcome, [f"p{at % 6}" for at in range(len(rows))]))
    assert ("both orders" in error.value.hint) == (why == "in one order only")

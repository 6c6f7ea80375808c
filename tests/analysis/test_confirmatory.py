"""The deciding model: its random effects, what it leaves out, and what it protects from."""

import json

import numpy as np
import pytest

from eqlab.analysis.confirmatory import decide
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ordinal import RandomEffect, fit_ordinal
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.rating.people import contrasts_of
from eqlab.benchmarks.rating.rated import GivenRating
from eqlab.study.results import redo_script
from eqlab.study.results.redo_script import mixed_logit


def study(seed, prompts=30, per_reply=6, sd_reply=0.9, gap=0.0, arms=2, each=10):
    random = np.random.default_rng(seed)
    prompt_effect = random.normal(0, 0.3, prompts)
    y, arm, rater, prompt = [], [], [], []
    count = 0
    for one in range(arms):
        reply = random.normal(0, sd_reply, prompts)
        slots = np.concatenate([random.permutation(prompts) for _ in range(per_reply)])
        for start in range(0, len(slots), each):
            own = random.normal(0, 0.6)
            for which in slots[start : start + each]:
                eta = gap * one + prompt_effect[which] + reply[which] + own + random.logistic()
                y.append(1 + int(eta > -1.2) + int(eta > 0))
                arm.append(f"arm{one}")
                rater.append(count)
                prompt.append(int(which))
            count += 1
    return y, arm, rater, prompt


def test_it_is_the_ordinal_model_with_three_random_effects():
    y, arm, rater, prompt = study(1)
    found = decide(y, arm, rater, prompt)
    assert found.random == ("rater", "prompt", "reply")
    terms = [
        RandomEffect("rater", rater), RandomEffect("prompt", prompt),
        RandomEffect("reply", list(zip(prompt, arm, strict=True))),
    ]  # fmt: skip
    plain = fit_ordinal(y, {"arm1": np.array([one == "arm1" for one in arm], float)}, terms)
    assert found.fit.loglik == pytest.approx(plain.loglik)
    assert found.contrasts[0].est == pytest.approx(plain.contrast({"arm1": 1}).est)
    assert found.contrasts[0].df == min(30, max(rater) + 1) - 1
    assert found.fit.sd["reply"] == pytest.approx(0.9, abs=0.4)


def test_a_shared_reply_makes_the_error_larger():
    y, arm, rater, prompt = study(2)
    without = fit_ordinal(
        y, {"arm1": np.array([one == "arm1" for one in arm], float)},
        [RandomEffect("rater", rater), RandomEffect("prompt", prompt)],
    )  # fmt: skip
    assert decide(y, arm, rater, prompt, omnibus=False).contrasts[0].se > 1.2 * without.contrast({"arm1": 1}).se


def of_one_arm(seed, arms=6, each=3, prompts=20):
    """Arms that are alike, and a few raters who see all prompts of one of them."""
    random = np.random.default_rng(seed)
    at, reply = random.normal(0, 0.5, prompts), random.normal(0, 0.4, (arms, prompts))
    level = random.normal(0, 0.9, arms * each)
    cells = [(rater, prompt, rater % arms) for rater in range(arms * each) for prompt in range(prompts)]
    y = []
    for rater, prompt, arm in cells:
        eta = level[rater] + at[prompt] + reply[arm, prompt] + random.logistic()
        y.append(1 + int(eta > -1.2) + int(eta > 0.4))
    return y, [f"arm{arm}" for _, _, arm in cells], [rater for rater, *_ in cells], [prompt for _, prompt, _ in cells]


def test_few_raters_of_several_arms_are_no_more_than_their_number_less_the_arms():
    """By all 18 raters .89 of the intervals held, and one study in nine found a difference."""
    found = [decide(*of_one_arm(seed), reference="arm0", omnibus=False) for seed in range(30)]
    own = [one for decision in found for one in decision.contrasts if one.against == "arm0"]
    assert {one.df for one in own} == {12}
    assert own[0].se == pytest.approx(np.sqrt(17 / 12) * found[0].fit.contrast({own[0].arm: 1}).se)
    assert sum(one.low <= 0 <= one.high for one in own) / len(own) >= 0.92


def test_raters_who_see_all_arms_alike_count_whole_and_others_as_far_as_they_do():
    y, arm, rater, prompt = both_arms(1, taste=0.8)
    whole = decide(y, arm, rater, prompt, omnibus=False)
    assert whole.contrasts[0].df == 19, "one less than prompts"
    assert whole.contrasts[0].se == whole.fit.contrast({"arm1": 1}).se
    kept = [at for at, who in enumerate(rater) if who < 8 and (who < 4 or arm[at] == f"arm{who % 2}")]
    half = decide(*([column[at] for at in kept] for column in (y, arm, rater, prompt)), omnibus=False)
    assert half.contrasts[0].df == 8 - 1.5, "four of the eight saw one arm"


def both_arms(seed, taste, raters=24, prompts=20):
    """Every rater sees both arms, which do not differ; what an arm is worth to a rater does."""
    random = np.random.default_rng(seed)
    level, worth = (
        random.normal(0, 0.9, raters),
        random.normal(0, taste, (raters, 2)) if taste else np.zeros((raters, 2)),
    )
    at = random.normal(0, 0.5, prompts)
    cells = [(rater, prompt, (rater + prompt) % 2) for rater in range(raters) for prompt in range(prompts)]
    y = []
    for rater, prompt, arm in cells:
        eta = level[rater] + at[prompt] + worth[rater, arm] + random.logistic()
        y.append(1 + int(eta > -0.5) + int(eta > 1))
    return y, [f"arm{arm}" for _, _, arm in cells], [rater for rater, *_ in cells], [prompt for _, prompt, _ in cells]


def test_raters_who_see_several_arms_have_tastes():
    y, arm, rater, prompt = both_arms(1, taste=0.8)
    found = decide(y, arm, rater, prompt)
    assert found.random == ("rater", "prompt", "reply", "taste")
    assert found.fit.sd["taste"] == pytest.approx(0.8, abs=0.35)
    assert decide(*study(1), omnibus=False).random == ("rater", "prompt", "reply")  # one arm a rater


def test_tastes_do_not_pass_for_a_difference_of_the_arms():
    """Without them 4 of these 17 studies find one; how often in general: docs/evidence/coverage.md."""
    found = [decide(*both_arms(seed, 0.9), omnibus=False).contrasts[0].p < 0.05 for seed in range(17)]
    assert sum(found) <= 1


def test_one_rating_an_arm_leaves_tastes_out_and_says_so():
    y, arm, rater, prompt = both_arms(2, taste=0.0, raters=40, prompts=2)
    found = decide(y, arm, rater, prompt, omnibus=False)
    assert "taste" not in found.random
    assert "80 levels for 80 ratings" in found.left_out["taste"]


def test_one_rating_a_reply_leaves_it_out_and_says_so():
    y, arm, rater, prompt = study(3, prompts=120, per_reply=1)
    found = decide(y, arm, rater, prompt, omnibus=False)
    assert "reply" not in found.random
    assert "240 levels for 240 ratings" in found.left_out["reply"]


def test_every_two_arms_after_holm():
    y, arm, rater, prompt = study(4, arms=3, gap=0.8, per_reply=3)
    found = decide(y, arm, rater, prompt, reference="arm1")
    assert [(one.arm, one.against) for one in found.contrasts] == [
        ("arm0", "arm1"), ("arm2", "arm1"), ("arm2", "arm0"),
    ]  # fmt: skip
    assert [one.p_holm for one in found.contrasts] == pytest.approx(holm([one.p for one in found.contrasts]))
    assert found.omnibus.df == 2
    by = {(one.arm, one.against): one.est for one in found.contrasts}
    assert by["arm2", "arm0"] == pytest.approx(by["arm2", "arm1"] - by["arm0", "arm1"])


def sparse(seed, people, each, prompts, points):
    """A few ratings, which depend much on what is rated and by whom."""
    draw = np.random.default_rng(seed)
    luck, kind = draw.normal(0, 1.5, (prompts, 2)), draw.normal(0, 1, people)
    rows = []
    for rater in range(people):
        for at, which in enumerate(draw.permutation(prompts)[:each]):
            arm = (rater + at) % 2
            value = (points + 1) / 2 + kind[rater] + luck[which, arm] + arm + draw.logistic()
            rows.append((int(np.clip(round(value), 1, points)), "ab"[arm], f"r{rater}", f"p{which}"))
    return tuple(map(list, zip(*rows, strict=True)))


def again(y, arm, rater, prompt):
    """As the script of an export finds it."""
    effects = [rater, prompt, list(zip(prompt, arm, strict=True)), list(zip(rater, arm, strict=True))]
    return float(mixed_logit(np.array(y), np.array([[one == "b"] for one in arm], float), effects)[0])


def test_an_effect_without_an_end_is_no_reason_to_leave_it_out():
    """16 ratings: the more prompts may differ the likelier they are, and a model without prompts would tell 0.9."""
    few = sparse(0, 4, 4, 8, 5)
    with pytest.raises(FitError, match="cannot be fitted"):
        decide(*few, reference="a")
    assert np.isnan(again(*few))
    ratings = [GivenRating(arm, prompt, rater, y, "", "", 0) for y, arm, rater, prompt in zip(*few, strict=True)]
    found, why = contrasts_of(ratings, "a", "", 0.05)
    assert found == ()
    assert ".." not in why


def test_a_few_ratings_with_an_estimate_have_the_same_one_in_the_script():
    few = sparse(0, 4, 4, 4, 7)
    found = decide(*few, reference="a", omnibus=False)
    assert found.contrasts[0].est == pytest.approx(again(*few), abs=1e-3)


STEEP = (
    "1113231131133333233332332333333233123332131133332333332333333332313331131133332222333333333331113231132133333233"
    "3333333333321133321311333232333233333333321123333311333233323333332331133211311333232333"
)
"""What 20 raters gave ten prompts, one arm of three each: replies differ by 3.6 log-odds."""


def test_the_script_is_not_led_off_by_its_first_guess():
    """From a wide one its climb ended on a spread without an end, and it had no number where there is one."""
    y = list(map(int, STEEP))
    rater, prompt = zip(*((rater, prompt) for rater in range(20) for prompt in range(10)), strict=True)
    arm = ["abc"[one % 3] for one in rater]
    found = [one.est for one in decide(y, arm, rater, prompt, reference="a").contrasts if one.against == "a"]
    fixed = np.array([[one == "b", one == "c"] for one in arm], float)
    script = mixed_logit(np.array(y), fixed, [rater, prompt, list(zip(prompt, arm, strict=True))])
    assert list(script) == pytest.approx(found, abs=0.02)


FEW = {
    "eight": ([1, 3, 1, 3, 1, 3, 1, 1], "bbaabbaa", "vveexxcc", "nananana"),
    "twelve": ([4, 5, 4, 1, 1, 1, 1, 2, 1, 4, 4, 4], "bbbaaabbbaaa", "vvveeexxxccc", "qpjdanadnpqj"),
}
"""Ratings, arms, raters and prompts of which there is a top, and far off something higher without one."""


@pytest.mark.parametrize("few", FEW)
def test_a_number_that_is_not_told_for_a_spread_without_an_end_is_no_contradiction(few, tmp_path, monkeypatch, capsys):
    """The search went past the top. It may; the script, which stops there, looks once more from wide spreads."""
    y, arm, rater, prompt = FEW[few]
    with pytest.raises(FitError, match="cannot be fitted"):
        decide(y, arm, rater, prompt, reference="a")
    effects = [list(rater), list(prompt), list(zip(prompt, arm, strict=True))]
    fixed = np.array([[one == "b"] for one in arm], float)

    def odds(folder):
        return {"log-odds": (float(mixed_logit(np.array(y), fixed, effects)[0]), redo_script.FITTED)}

    ((number, _),) = odds(tmp_path).values()
    assert 2 < number < 3
    for told, wrong in ((None, 0), (number, 0), (number + 1, 1)):
        result = {"analysed": 4, "estimates": [], "headline": {"name": "log-odds", "value": told}, "contrasts": []}
        (tmp_path / "result.json").write_text(json.dumps(result))
        monkeypatch.setattr(redo_script, "analysed", lambda folder: range(4))
        monkeypatch.setattr(redo_script, "redone", odds)
        redo_script.main(tmp_path)
        assert capsys.readouterr().out.count("DIFFERENT") == wrong


def test_effects_with_the_same_levels_are_one():
    """Each rater has a prompt of their own: which of the two it is changes nothing."""
    y, arm, rater, _ = both_arms(5, taste=0.0)
    found = decide(y, arm, rater, [f"p{one}" for one in rater], omnibus=False)
    assert found.left_out["prompt"] == "its levels are those of the rater effect"


def test_refusals():
    with pytest.raises(FitError, match="only one"):
        decide([1, 2], ["a", "a"], [1, 2], [1, 1])
    with pytest.raises(FitError, match="every rating"):
        decide([1, 2], ["a"], [1, 2], [1, 1])
    with pytest.raises(FitError, match="'c'"):
        decide([1, 2], ["a", "b"], [1, 2], [1, 1], reference="c")

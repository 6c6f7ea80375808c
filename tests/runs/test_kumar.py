"""Kumar's experts as a judge's examination: talks and ratings, and where a judge stands among those who rated them."""

import json
from statistics import median

import pytest

from eqlab.core.errors import DataError
from eqlab.core.results import Estimate, ItemScore, Result
from eqlab.data.items import shipped
from eqlab.reproduce import kumar as reproduced
from eqlab.runs.kumar import (
    EXPERTS,
    FRAMEWORKS,
    LESS_IS_BETTER,
    asked_framework,
    beside_experts,
    expert_replies,
    framework_of,
    read_ratings,
    rubric_name,
)

WITH_TALKS = [one for one in FRAMEWORKS if one.talks]
EAR = framework_of("lend_an_ear")


def result(items):
    return Result("rating", "Ratings", "judge:j", {}, "", Estimate("x", None, 0), (1.0, 5.0), items=tuple(items))


def judging(ratings, value_of):
    return result(
        ItemScore(talk, "t", 0, "ok", None, values={scale: value_of(place, scale) for scale in ratings.scales})
        for place, talk in enumerate(ratings.talks)
    )


@pytest.mark.parametrize("framework", WITH_TALKS, ids=lambda one: one.name)
def test_every_talk_has_three_experts_on_the_scales_of_the_rubric(published, framework):
    rubric = shipped(rubric_name(framework))
    rows = expert_replies(framework, published)
    assert len(rows) == 50
    keys = {scale.key for scale in rubric.scales}
    for row in rows:
        assert row.reply.startswith("A: ")
        assert "\nB: " in row.reply
        assert len(row.human_scales) == 3 * len(keys)
        assert {scale for _, scale, _ in row.human_scales} == keys
    ends = {(scale.low, scale.high) for scale in rubric.scales}
    assert ends == {(framework.low, framework.high)}
    assert all(framework.low <= value <= framework.high for row in rows for _, _, value in row.human_scales)


def test_what_a_listener_had_better_not_do_counts_against_them():
    """Counted as merits, the listener who dismisses feelings was the better one, by 23 points."""
    assert tuple(scale.key for scale in shipped("kumar-lend_an_ear").scales if scale.reverse) == LESS_IS_BETTER
    for framework in WITH_TALKS:
        if framework != EAR:
            assert not any(scale.reverse for scale in shipped(rubric_name(framework)).scales)


def test_no_rubric_says_what_the_study_says(published):
    """The words are ours: no line of the talks, and nothing but the scales' names, is shared with its files."""
    text = (published / "kumar/original_data/sample_lend_an_ear_annotations.csv").read_text(encoding="utf-8")
    for scale in shipped("kumar-lend_an_ear").scales:
        assert scale.text not in text


def test_experts_have_what_the_recomputed_study_gives_them(published):
    table, _ = beside_experts(EAR, published, result(()))
    rows = {row["who"]: row for row in reproduced.reproduce(published)["rows"]
            if (row["framework"], row["scale"]) == ("lend_an_ear", "advice_giving")
            and row["quantity"] == "kappa with two experts"}  # fmt: skip
    shown = dict(zip(table.column("who"), table.column("advice giving"), strict=True))
    for expert in EXPERTS:
        assert shown[expert].value == pytest.approx(rows[expert]["recomputed"])
    assert shown["GPT-4o"].value == pytest.approx(rows["gpt"]["recomputed"])
    assert "this judge" not in shown


def test_a_judge_like_the_experts_is_first_and_a_constant_one_last(published):
    ratings = read_ratings(EAR, published)

    def middle(place, scale):
        return median(ratings.values[expert][scale][place] for expert in EXPERTS)

    best, panel = beside_experts(EAR, published, judging(ratings, middle))
    assert best.column("who")[0] == "this judge"
    estimate = best.column("median over scales")[0]
    assert estimate.low < estimate.value < estimate.high
    assert best.note.startswith("Yes: ")
    alphas = panel.column("experts' alpha with it, of an expert without")
    assert float(panel.note.partition(" is ")[2][:4]) < alphas[0].value, "their median agrees with experts"
    flat, _ = beside_experts(EAR, published, judging(ratings, lambda place, scale: 3))
    assert flat.note.startswith("No: ")
    assert flat.column("who")[-1] == "this judge"
    assert flat.column("median over scales")[-1].value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("framework", WITH_TALKS, ids=lambda one: one.name)
def test_a_mild_judge_is_called_mild_and_a_copy_adds_no_independent_rater(published, framework):
    ratings = read_ratings(framework, published)
    _, panel = beside_experts(
        framework, published, judging(ratings, lambda at, scale: ratings.values["gpt"][scale][at])
    )
    mild = dict(zip(panel.column("who"), panel.column("mildness, points of 100"), strict=True))
    assert mild["this judge"].value == pytest.approx(mild["GPT-4o"].value)
    assert sum(one.value for one in mild.values()) == pytest.approx(0.0, abs=1e-9)
    worth = dict(zip(panel.column("who"), panel.column("others' worth without it"), strict=True))
    assert worth["this judge"].value == pytest.approx(worth["GPT-4o"].value)
    assert worth["expert1"] == ""


def test_all_are_compared_on_the_talks_that_the_judge_rated(published):
    ratings = read_ratings(EAR, published)
    some = judging(ratings, lambda place, scale: 1 + place % 5)
    table, _ = beside_experts(EAR, published, result(some.items[:20]))
    assert {one.n for one in table.column("median over scales")} == {20}


def test_a_judge_is_calibrated_with_one_command(eqlab, server, published):
    keys = [scale.key for scale in shipped("kumar-lend_an_ear").scales]
    server.reply = lambda body, n: "\n".join(f"{key}: {1 + n % 5}" for key in keys)
    done = eqlab(
        *("judge", "calibrate", "openai/j", "--against", "kumar:lend_an_ear", "--limit", "12", "--json"),
        *("--base-url", server.url, "--data", published, "--store", "s.db"),
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)


@pytest.mark.parametrize(
    ("name", "said"), [("kumar:nobody", "no framework"), ("kumar:perceived_empathy", "perceived_empathy")]
)
def test_what_cannot_be_judged_is_said(published, name, said):
    with pytest.raises(DataError, match=said):
        expert_replies(asked_framework(name), published)

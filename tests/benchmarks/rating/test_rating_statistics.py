"""Ratings become results: judges that are perfect, constant, partial to an arm or to length are found out; people's
ratings give the published numbers; pairs lose their position bias."""

import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from eqlab.analysis.intervals import fisher
from eqlab.benchmarks.rating.arm_shares import above_people, arm_shares
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.calibration import (
    JUDGE_LENGTH,
    MORE_LENGTH,
    PEOPLE_LENGTH,
    PILOT,
    RatingPair,
    calibrate,
    family,
    pairs_of,
    published_tables,
    still_missing,
    two_people,
    verdict,
)
from eqlab.benchmarks.rating.judge import correlation_table
from eqlab.benchmarks.rating.pairs import duels
from eqlab.benchmarks.rating.powered import powered_difference, prediction_powered
from eqlab.benchmarks.rating.rated import GivenRating, rated
from eqlab.benchmarks.rating.trials import RATING, pairs, single
from eqlab.core.answers import Answer
from eqlab.core.benchmark import ReplyRow, Scored, Selection
from eqlab.core.forms import Scale
from eqlab.core.results import Estimate
from eqlab.core.runs import PEOPLE
from eqlab.core.text import place_sentences
from eqlab.data.items import PUBLISHED, shipped

BENCHMARK = Ratings()
JUDGING = BENCHMARK.options("replies", {})
CALIBRATION = BENCHMARK.options("published", {"purpose": "calibration"})


def study(prompts=200, arms=("human", "chatgpt"), seed=1):
    """Replies of any length, each rated by one person; ten ratings a person."""
    draw = random.Random(seed)
    return [
        ReplyRow(
            arm, f"p{p}", "word " * draw.randint(10, 60), "sad" if p % 2 else "proud",
            "negative" if p % 2 else "positive", utterance="Hello",
            human=((f"{arm} {p // 10}", draw.choices((1, 2, 3), (1, 2, 3))[0]),),
        )
        for p in range(prompts)
        for arm in arms
    ]  # fmt: skip


def judged(rows, rate, subject="judge:some-model"):
    """Every row rated by a judge that is a function."""
    scored = []
    for row in rows:
        trial = single(row)
        value = rate(row)
        answer = Answer("r", trial.id, subject, 0, 1, str(value), "ok", {"rating": value}, model="some-model-1")
        scored.append(Scored(trial, 0, (answer,)))
    return scored


def human(row):
    return row.human[0][1]


def calibration(rows, rate, judge="some-model"):
    return calibrate(pairs_of(rated(judged(rows, rate))), judge)


def test_a_perfect_judge_agrees_fully_and_has_no_bias():
    found = calibration(study(), human)
    assert found.measures["quadratic kappa"].value == pytest.approx(1)
    assert found.measures["ordinal alpha"].value == pytest.approx(1, abs=0.01)
    assert {bias.value for bias in found.bias.values()} == {0.0}
    assert found.length[MORE_LENGTH].value == pytest.approx(0)
    assert "above two people" in verdict(found)


def test_the_ceiling_has_an_error_of_its_own():
    """0.40 (0.35 to 0.45) is above a ceiling of 0.28 that is known for sure, not above one of 0.09 to 0.45."""
    found = calibration(study(), human)
    near = Estimate("quadratic kappa", 0.40, 900, None, 0.35, 0.45)
    measures = {**found.measures, "quadratic kappa": near}
    assert PILOT.low == pytest.approx(0.09, abs=0.005)
    assert PILOT.high == pytest.approx(0.45, abs=0.005)
    assert "cannot be told apart from two people" in verdict(replace(found, measures=measures))
    sure = replace(found, measures=measures, ceiling=structs.replace(PILOT, low=None, high=None))
    assert "above two people" in verdict(sure)
    unknown = replace(found, measures=measures, ceiling=None)
    assert "two people" not in verdict(unknown)


def test_a_constant_judge_agrees_no_better_than_chance():
    found = calibration(study(), lambda row: 2)
    assert found.measures["quadratic kappa"].value == pytest.approx(0)
    assert found.length[JUDGE_LENGTH].value == pytest.approx(0)
    assert found.length[JUDGE_LENGTH].low is None
    assert "below two people" in verdict(found)
    assert "not shown to be better than chance" in verdict(found)


def test_a_judge_partial_to_an_arm_is_found_out():
    found = calibration(study(), lambda row: min(3, human(row) + 1) if row.arm == "chatgpt" else human(row))
    assert found.bias["human"].value == 0
    assert found.bias["chatgpt"].low > 0.2
    assert found.distortion["chatgpt"].low > 0.2
    assert "distorts the difference chatgpt − human" in verdict(found)


def test_a_judge_partial_to_length_is_found_out():
    found = calibration(study(), lambda row: 1 + (len(row.reply.split()) > 25) + (len(row.reply.split()) > 45))
    assert found.length[JUDGE_LENGTH].low > 0.8
    assert found.length[PEOPLE_LENGTH].low < 0 < found.length[PEOPLE_LENGTH].high
    assert found.length[MORE_LENGTH].low > 0.5
    assert "longer replies better than people do" in verdict(found)


def test_one_judgement_of_a_reply_is_one_however_many_people_rated_it():
    """The judge's errors on few replies look like a bias for one arm as soon as many people stand beside each."""
    draw = random.Random(5)
    told = 0
    for _ in range(40):
        judge = {(arm, prompt): draw.choice((1, 2, 3)) for arm in "ab" for prompt in range(12)}
        crowd = [
            RatingPair(arm, f"{arm}{rater}", judge[arm, prompt], draw.choice((1, 2, 3)), 30, str(prompt))
            for arm in "ab"
            for rater in range(30)
            for prompt in range(12)
        ]
        told += "distorts" in verdict(calibrate(crowd, "some-model"))
    assert told <= 5  # of 40; with whole raters as the only sample: 26


def test_a_judge_that_is_asked_thrice_has_no_more_people_beside_it():
    """Its repeats counted as ratings of people: 300 pairs were told of 100, and enough to need no other calibration."""
    once = rated(judged(study(50), lambda row: 1 + len(row.reply) % 3))
    first, thrice = (
        calibrate(pairs_of(own), "j") for own in (once, [replace(r, repeat=n) for r in once for n in range(3)])
    )
    assert first.pairs == thrice.pairs == 100
    shown = [
        [(one.name, one.n, one.value, one.low, one.high, still_missing(one, 0.1)) for one in found.estimates]
        for found in (first, thrice)
    ]
    for one, other in zip(*shown, strict=True):
        assert one == pytest.approx(other)
    assert published_tables(thrice)[-1].rows == published_tables(first)[-1].rows
    assert "whom a study's own rules leave out" in published_tables(first)[0].note
    result = BENCHMARK.score("judge:j", [Scored(r.trial, n, (r.answer,)) for r in once for n in range(3)], JUDGING)
    assert result.rules["calibration_pairs"] == 100


def test_a_reply_is_no_heavier_for_the_repeats_of_it_that_could_be_read():
    rows = study(50)
    once = rated(judged(rows, lambda row: 3 if row.prompt < "p3" else 1))
    some = [replace(one, repeat=n) for one in once for n in range(4 if one.prompt < "p3" else 1)]
    assert calibrate(pairs_of(some), "j").bias["human"].value == pytest.approx(
        calibrate(pairs_of(once), "j").bias["human"].value
    )


def test_one_rating_of_a_reply_that_two_arms_gave_is_one():
    rows = [replace(row, reply=f"To {row.prompt}", human=(("one", 2),)) for row in study(30)]
    found = calibration(rows, lambda row: 1 + len(row.reply) % 3)
    assert found.pairs == found.slope.n == 30
    assert {bias.n for bias in found.bias.values()} == {30}


def test_a_liking_for_its_own_family_is_measured_or_said_to_be_unknown():
    liked = calibration(study(), lambda row: 3 if row.arm == "chatgpt" else human(row), judge="openai/gpt-4o-mini")
    assert liked.own_family.low > 0
    assert "people's replies only" in liked.own_family_note
    unknown = calibration(study(), human, judge="wizard-9000")
    assert unknown.own_family is None
    assert "does not say" in unknown.own_family_note
    absent = calibration(study(), human, judge="anthropic/claude-x")
    assert absent.own_family is None
    assert "cannot be measured" in absent.own_family_note


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o-mini", "gpt"), ("chatgpt_empathy", "gpt"), ("anthropic/claude-3", "claude"),
        ("ollama/llama3.2", "llama"), ("llamacpp/qwen3", "qwen"), ("mixtral-8x7b", "mistral"), ("embedded", "smollm"),
        ("ollama/deepseek-r1-distill-llama", ""), ("human", ""), ("gguf:/x/my.gguf", ""), ("llama3@run1", "llama"),
    ],
)  # fmt: skip
def test_families_by_name(name, expected):
    assert family(name) == expected


def test_intervals_draw_whole_raters():
    """Raters who agree with themselves make the interval wider than single ratings would."""
    rows = [replace(row, human=((row.human[0][0], 1 + int(row.prompt[1:]) // 10 % 3),)) for row in study()]
    draw = random.Random(4)
    clustered = calibration(rows, lambda row: draw.choice((1, 2, 3)))
    alone = [replace(row, human=((f"{row.arm} {row.prompt}", human(row)),)) for row in rows]
    draw = random.Random(4)
    single_ = calibration(alone, lambda row: draw.choice((1, 2, 3)))
    width = [c.measures["mean difference"].high - c.measures["mean difference"].low for c in (clustered, single_)]
    assert clustered.raters == 40
    assert width[0] > 1.5 * width[1]


def test_a_calibration_is_a_result_with_its_tables():
    result = BENCHMARK.score("judge:gpt-x", judged(study(), human, "judge:gpt-x"), CALIBRATION)
    assert result.title == "Judge calibration"
    assert result.headline.name == "quadratic kappa"
    titles = [table.title for table in result.tables]
    assert len([title for title in titles if title.startswith("Calibration")]) == 6
    assert result.rules["snapshot"] == "some-model-1"
    assert result.rules["prompt_sha256"]
    assert result.items[0].reference


def test_judge_only_results_are_called_so():
    rows = [replace(row, human=()) for row in study()]
    result = BENCHMARK.score("judge:j", judged(rows, lambda row: 3 if row.arm == "chatgpt" else 2), JUDGING)
    assert result.sentence.startswith("Judge-only: j")
    assert "not over other raters" in " ".join(result.caveats)
    assert result.headline.name == "P(Good), chatgpt − human"
    assert result.headline.value == 100.0
    assert result.headline.low is None  # nothing varied: no interval is invented
    arms = result.tables[0]
    assert [row[:5] for row in arms.rows] == [("human", 200, 0, 200, 0), ("chatgpt", 200, 0, 0, 200)]
    assert arms.rows[1][5].low == pytest.approx(98.1, abs=0.1)  # Wilson, where a bootstrap has no width


def test_arms_that_differ_by_chance_only_are_not_separated():
    draw = random.Random(3)
    rows = [replace(row, human=()) for row in study()]
    result = BENCHMARK.score("judge:j", judged(rows, lambda row: draw.choice((1, 2, 3))), JUDGING)
    assert result.headline.low < 0 < result.headline.high
    shares = [float(share) for share in re.findall(r"([\d.]+) % of the replies", result.sentence)]
    assert shares == sorted(shares, reverse=True)


def test_the_headline_of_several_arms_is_the_best_share():
    result = BENCHMARK.score("judge:j", judged(study(20, ("a", "b", "c")), human), JUDGING)
    best = max((row[5] for row in result.tables[0].rows), key=lambda share: share.value)
    assert (result.headline.name, result.headline.value) == ("highest P(Good)", best.value)
    assert "the tables have all 3" in result.headline.note
    assert len(result.tables[1].rows) == 3


@pytest.mark.parametrize("sizes", list(product((1, 2, 3), repeat=3)))
def test_any_numbers_of_raters_an_arm_have_shares_and_gains(sizes):
    """One arm with one rater and two others of different numbers ended in a traceback."""
    ratings = [
        GivenRating(arm, f"p{prompt}", f"{arm}{rater}", 2 + (prompt + rater) % 2, "", "", 5)
        for arm, raters in zip("abc", sizes, strict=True)
        for rater in range(raters)
        for prompt in range(4)
    ]
    shares = arm_shares(ratings, "abc", lambda one: one.rater)
    assert [shares.good(arm).value for arm in "abc"] == [50, 50, 50]
    for arm in "bc":
        assert (shares.gain(arm, "a").value, shares.gap(arm, "a").value) == (0, 0)


def test_a_generous_rater_does_not_make_scales_go_together():
    """Three raters in each of six batches of four replies, all mild or severe on both scales."""
    draw, scales = random.Random(1), [Scale(key, key, 1, 9) for key in "xy"]
    plain = {
        key: [
            GivenRating("ab"[n // 12], f"p{n % 12}", f"{rater} of {n // 4}", draw.randint(2, 6), "", "", 5)
            for n in range(24)
            for rater in range(3)
        ]
        for key in "xy"
    }
    mild = {
        key: [replace(one, value=one.value + sum(map(ord, one.rater)) % 4) for one in own] for key, own in plain.items()
    }
    was, now = (correlation_table(scales, on).rows[0][2] for on in (plain, mild))
    assert (now.value, now.low, now.high) == pytest.approx((was.value, was.low, was.high))
    assert (now.n, now.low, now.high) == (24, *fisher(now.value, 24 - 5))  # six means were taken out instead of one


def test_ratings_that_cannot_be_read_make_a_result_invalid():
    scored = judged(study(10), human)
    broken = [
        structs.replace(one, attempts=(structs.replace(one.attempts[0], status="unparseable", values={}),))
        if index % 2
        else one
        for index, one in enumerate(scored)
    ]
    result = BENCHMARK.score("judge:j", broken, JUDGING)
    assert not result.valid
    assert result.counts["unparseable"] == 10
    assert not BENCHMARK.score("judge:j", [Scored(one.trial, 0, ()) for one in scored], JUDGING).valid
    assert BENCHMARK.score("judge:j", [], JUDGING).headline.value is None


def test_other_snapshots_of_the_judge_are_said():
    scored = judged(study(4), human)
    scored[0] = structs.replace(scored[0], attempts=(structs.replace(scored[0].attempts[0], model="some-model-2"),))
    result = BENCHMARK.score("judge:j", scored, JUDGING)
    assert result.rules["snapshot"] == "some-model-1, some-model-2"


@pytest.mark.parametrize("good", [True, pytest.param(False, marks=pytest.mark.claims)])
def test_people_and_judge_together_cover_the_truth(good):
    """Over many studies the 95 % intervals hold people's P(Good) as often as they say, however bad the judge."""
    covered, narrower, n = 0, 0, 100
    for seed in range(n):
        draw = np.random.default_rng(seed)
        truth = draw.random(300) < 0.6
        judge = np.where(draw.random(300) < (0.9 if good else 0.5), truth, ~truth)
        rows = [
            ReplyRow("a", f"p{i}", "x", human=((f"r{i}", 3 if truth[i] else 1),) if i < 80 else ()) for i in range(300)
        ]
        found = prediction_powered(
            rated(judged(rows, lambda row, judge=judge: 3 if judge[int(row.prompt[1:])] else 1)), "a"
        )
        covered += found.low <= 0.6 <= found.high
        narrower += found.se < found.human_only_se
    assert covered / n > 0.89
    assert narrower / n > 0.95 if good else narrower / n < 0.5  # a judge that knows nothing helps nobody


@pytest.mark.claims
def test_people_and_judge_together_cover_the_difference_of_arms():
    """Two arms 0.2 apart, a judge who flatters one of them: the interval holds people's difference all the same."""
    covered = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        truth = {"a": draw.random(200) < 0.5, "b": draw.random(200) < 0.7}
        said = {arm: np.where(draw.random(200) < 0.85, own, ~own) for arm, own in truth.items()}
        said["a"] |= draw.random(200) < 0.3
        rows = [
            ReplyRow(arm, f"p{i}", "x", human=((f"r{i % 20}", 3 if own[i] else 1),) if i < 60 else ())
            for arm, own in truth.items()
            for i in range(200)
        ]
        given = rated(judged(rows, lambda row, said=said: 3 if said[row.arm][int(row.prompt[1:])] else 1))
        found = powered_difference(given, "b", "a")
        covered += found.low <= 0.2 <= found.high
    assert covered / 60 > 0.86
    assert powered_difference(given, "b", "nobody") is None


def test_prediction_power_needs_people_for_some_and_not_for_all():
    all_rated = rated(judged(study(30), human))
    none_rated = rated(judged([replace(row, human=()) for row in study(30)], lambda row: 3))
    assert prediction_powered(all_rated, "human") is None
    assert prediction_powered(none_rated, "human") is None
    some = [row if int(row.prompt[1:]) < 100 else replace(row, human=()) for row in study(200)]
    result = BENCHMARK.score("judge:j", judged(some, lambda row: 3 if len(row.reply) > 150 else 2), JUDGING)
    assert "prediction-powered" in result.sentence
    assert [table.title for table in result.tables if "prediction-powered" in table.title]


@pytest.mark.parametrize("chosen", [False, True])
def test_replies_that_people_were_not_given_at_random_are_noticed(chosen):
    """People rated the replies that the judge likes: what is joined would speak of those only."""
    rows = study(200, ("a",))
    liked = {row.prompt for row in rows if len(row.reply) > 150}
    given = sorted(liked)[:80] if chosen else sorted(row.prompt for row in rows)[:100]
    some = [row if row.prompt in given else replace(row, human=()) for row in rows]
    result = BENCHMARK.score("judge:j", judged(some, lambda row: 3 if row.prompt in liked else 2), JUDGING)
    assert "prediction-powered" in result.sentence
    said = [one for one in result.caveats if "no random part of all" in one]
    assert bool(said) == chosen
    assert not chosen or said[0].startswith("What people and judge say together does not hold for a:")


def compared(choose, prompts=60):
    rows = study(prompts, ("a", "b"))
    scored = []
    for trial in pairs(rows, shipped(PUBLISHED), Selection(), [("a", "b")]):
        value = choose(*trial.key["arms"], trial.key["prompt"])
        answer = Answer("r", trial.id, "judge:j", 0, 1, "x", "ok", {"better": value})
        scored.append(Scored(trial, 0, (answer,)))
    return scored


PAIRWISE = BENCHMARK.options("replies", {"pairwise": "yes"})


def test_a_judge_that_always_says_first_prefers_nobody():
    scored = compared(lambda first, second, prompt: 1)
    result = BENCHMARK.score("judge:j", scored, PAIRWISE)
    assert result.headline.value == 50.0
    bias = next(one for one in result.estimates if one.name == "first reply preferred over second")
    assert bias.value == 100.0
    same = next(one for one in result.estimates if one.name == "same verdict in both orders")
    assert same.value == 0.0
    assert all(duel.mean == 0.5 for duel in duels(rated(scored), "b", "a"))


def test_a_true_preference_survives_both_orders():
    result = BENCHMARK.score(
        "judge:j", compared(lambda first, second, p: (1 if first == "b" else 3) if int(p[1:]) % 5 else 2), PAIRWISE
    )
    assert result.headline.value == pytest.approx(90.0)
    assert result.headline.low > 80
    assert "prefers b to a" in result.sentence
    assert result.tables[0].rows[0][2:7] == (60, 48, 12, 0, 60)


def test_a_position_bias_is_reported_beside_a_preference():
    draw = random.Random(2)
    result = BENCHMARK.score("judge:j", compared(lambda *_: draw.choices((1, 3), (4, 1))[0]), PAIRWISE)
    assert "favours the first place" in result.sentence


def test_half_a_pair_does_not_count():
    scored = compared(lambda first, second, p: 1)
    result = BENCHMARK.score("judge:j", [one for one in scored if one.trial.key["arms"][0] == "a"], PAIRWISE)
    assert result.headline.value is None


def people(rows):
    scored = []
    for row in rows:
        trial = single(replace(row, human=()))
        for rater, value in row.human:
            answer = Answer("r", trial.id, f"person:{rater}", 0, 1, str(value), "ok", {"rating": value})
            scored.append(Scored(trial, 0, (answer,)))
    return scored


def test_the_published_ratings_as_peoples_ratings(published: Path):
    """Golden: shares and cluster intervals, Yates, the mixed model to four digits, its omnibus test."""
    from eqlab.runs.judge import published_replies

    result = BENCHMARK.score(PEOPLE, people(published_replies(published)), JUDGING | {"purpose": "people"})
    assert result.sentence.startswith(
        "600 people call Good 49.3 % of the replies by human, 63.4 % of the replies by chatgpt, 64.8 %"
    )
    table = {table.title: table for table in result.tables}
    arms = table["Ratings (600 people)"]
    assert [row[:5] for row in arms.rows] == [
        ("human", 2000, 342, 672, 986), ("chatgpt", 2000, 156, 576, 1268), ("chatgpt_empathy", 2000, 142, 563, 1295),
    ]  # fmt: skip
    assert arms.rows[0][5].low == pytest.approx(46.9, abs=0.3)
    assert arms.rows[0][5].high == pytest.approx(51.7, abs=0.3)
    chi2 = [row[2] for row in table["Good against the rest, compared with human"].rows]
    assert chi2 == pytest.approx([80.2554, 96.7743], abs=1e-4)
    model = table["Mixed ordinal model"]
    wider = (599 / 597) ** 0.5  # of 600 raters of three arms; .0925 and .0928 are the likelihood's own errors
    assert model.rows[0][3:5] == pytest.approx((0.7224, 0.0925 * wider), abs=1e-4)
    assert model.rows[1][3:5] == pytest.approx((0.7913, 0.0928 * wider), abs=1e-4)
    assert "SD rater 0.64, prompt 0.32" in model.note
    assert "χ² = 86.85, df 2" in model.note
    assert len(table["Effect per emotion: chatgpt_empathy against human"].rows) == 32


def test_nobody_promises_ratings_of_people_who_left():
    given, *_, missing = people(study(2))
    rated = [given, Scored(missing.trial, 0, ())]
    caveats = BENCHMARK.score(PEOPLE, rated, JUDGING | {"purpose": "people"}).caveats
    assert "1 reply is not rated: raters are still at it, or have left." in caveats
    caveats = BENCHMARK.score("judge:j", rated, JUDGING).caveats
    assert "1 reply is not rated yet; the result is preliminary." in caveats


def test_few_people_are_scored_without_a_model_and_with_a_warning():
    result = BENCHMARK.score(PEOPLE, people(study(2)), JUDGING | {"purpose": "people"})
    assert result.headline.value is not None
    assert "few" in " ".join(result.caveats)
    assert "No mixed model" in " ".join(result.caveats)
    one = BENCHMARK.score(PEOPLE, people(study(1, ("a",)))[:1], JUDGING | {"purpose": "people"})
    assert one.headline.value in (0.0, 100.0)
    assert len(one.items) == 1
    assert BENCHMARK.score(PEOPLE, [], JUDGING | {"purpose": "people"}).sentence == "Nobody has rated anything yet."


def _at_length(rows, rate):
    result = BENCHMARK.score("judge:some-model", judged(rows, rate), JUDGING)
    return next((table for table in result.tables if table.title == "P(Good) at equal length"), None)


def test_an_arm_that_only_talks_more_is_no_better_at_equal_length():
    """The judge looks at length alone: Good from 32 words on."""
    rows = [replace(row, reply=row.reply * 2) if row.arm == "chatgpt" else row for row in study()]
    table = _at_length(rows, lambda row: 3 if len(row.reply.split()) >= 32 else 1)
    shares = {row[0]: (row[2].value, row[1]) for row in table.rows}
    gap = shares["chatgpt"][0] - shares["human"][0]
    adjusted = shares["chatgpt"][1].value - shares["human"][1].value
    assert gap > 25
    assert abs(adjusted) < gap / 2
    assert all(own.low < own.value < own.high for _, own in shares.values())
    assert "A reply twice as long is called Good +" in table.note


def test_at_equal_length_is_undefined_where_all_replies_are_equally_long():
    same = [replace(row, reply="word " * 20) for row in study(20)]
    table = _at_length(same, lambda row: 3 if row.arm == "human" else 1)
    assert [row[1] for row in table.rows] == [None, None]
    assert table.note.startswith("Undefined: ")
    assert _at_length([row for row in same if row.arm == "human"], lambda row: 3) is None


def repeated(rows, rate, times):
    """The same judge asked again and again; it says the same each time."""
    return [structs.replace(one, repeat=repeat) for repeat in range(times) for one in judged(rows, rate)]


def some_rated(prompts=150):
    """Two arms; one person rated each reply to a third of the prompts."""
    return [row if int(row.prompt[1:]) < prompts // 3 else replace(row, human=()) for row in study(prompts)]


def rates(row):
    """Right about Good three times in four."""
    truth = 3 if len(row.reply) % 2 else 1
    return truth if int(row.prompt[1:]) % 4 else 2


def test_a_judge_asked_again_is_no_further_reply():
    """Repeats would multiply the judged replies, and narrow intervals that people's ratings do not."""
    once, thrice = (rated(repeated(some_rated(), rates, times)) for times in (1, 3))
    for arm in ("human", "chatgpt"):
        one, again = prediction_powered(once, arm), prediction_powered(thrice, arm)
        assert (again.n_rated, again.n_judged) == (one.n_rated, one.n_judged) == (50, 100)
        assert (again.value, again.se, again.low, again.high) == (one.value, one.se, one.low, one.high)
    one, again = (powered_difference(some, "chatgpt", "human") for some in (once, thrice))
    assert (again.value, again.low, again.high) == (one.value, one.low, one.high)


def test_two_people_are_no_closer_to_each_other_for_a_judge_asked_again():
    rows = [replace(row, human=(*row.human, ("second", 1 + int(row.prompt[1:]) % 3))) for row in study(40)]
    once, thrice = (rated(repeated(rows, rates, times)) for times in (1, 3))
    one, again = two_people(once, RATING), two_people(thrice, RATING)
    assert one.n == again.n == 80
    assert (one.value, one.low, one.high) == (again.value, again.low, again.high)


# -- where among people's replies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [True, False], ids=["raters of one arm", "raters of both"])
def test_an_arms_place_among_peoples_replies_is_mann_and_whitneys_share(nested):
    draw = random.Random(4)
    people = [("human", f"h{n // 5}" if nested else f"r{n // 5}", draw.choice((1, 2, 3))) for n in range(60)]
    own = [("model", f"m{n // 5}" if nested else f"r{n // 5}", draw.choice((2, 3, 3))) for n in range(40)]
    won = [1.0 if a > b else 0.5 if a == b else 0.0 for *_, a in own for *_, b in people]
    found = above_people([*own, *people])
    assert list(found) == ["model"]
    assert found["model"].value == pytest.approx(100 * sum(won) / len(won))
    assert found["model"].low < found["model"].value < found["model"].high
    assert (found["model"].n, found["model"].of) == (60, "ratings of people's replies")


def test_without_replies_of_people_there_is_no_place_and_the_best_is_not_certain():
    assert above_people([("a", "r", 1), ("b", "r", 3)]) == {}
    best = above_people([(arm, f"r{n}", 3 if arm == "model" else 1) for n in range(20) for arm in ("model", "human")])
    assert best["model"].value == 100.0
    assert 70 < best["model"].low < 100.0


def test_a_rated_arms_place_stands_in_the_table_and_in_words():
    found = BENCHMARK.score("judge:some-model", judged(study(), human), JUDGING)
    assert "above people's replies" in found.tables[0].titles
    (said,) = place_sentences("some-model", found)
    assert re.fullmatch(
        r"chatgpt is rated above \d+ % \(\d+ to \d+\) of the 200 ratings of people's replies \(.*\)\.", said
    )


@pytest.mark.parametrize(("both", "of_b"), [(False, (0, 1, 4)), (True, (0, 1, 4)), (False, (0, 0, 0))])
def test_three_raters_do_not_tell_arms_apart_by_whom_they_happened_to_be(both, of_b):
    """A bootstrap of three raters did in one study of seven whose arms were alike (`bench/claims.py few_raters`)."""
    ratings = [
        GivenRating(arm, str(prompt), f"{'' if both else arm}{rater}", 3 if prompt < good else 1, "", "", 0)
        for arm, goods in (("a", (4, 4, 2)), ("b", of_b))
        for rater, good in enumerate(goods)
        for prompt in range(4)
    ]
    shares = arm_shares(ratings, ("a", "b"), lambda one: one.rater)
    gap = shares.gap("a", "b")
    assert gap.value == pytest.approx(100 * (10 - sum(of_b)) / 12)
    assert gap.low < 0 or of_b == (0, 0, 0)
    assert shares.good("b").high > 50  # three raters are three, not twelve ratings


def test_one_rater_of_an_arm_tells_nothing_of_others():
    ratings = [GivenRating("a", str(prompt), "only", 3, "", "", 0) for prompt in range(12)]
    ratings += [GivenRating("b", str(prompt), f"r{rater}", 1, "", "", 0) for prompt in range(4) for rater in range(3)]
    shares = arm_shares(ratings, ("a", "b"), lambda one: one.rater)
    assert (shares.good("a").value, shares.good("a").low, shares.good("a").high) == (100.0, None, None)
    assert (shares.gap("a", "b").value, shares.gap("a", "b").low) == (100.0, None)


@pytest.mark.parametrize("prompts", [3, 6, 7, 11])
@pytest.mark.parametrize("raters", [2, 3, 5, 6, 7])
def test_raters_of_different_rigour_who_agree_on_the_gap_leave_its_width_unknown(raters, prompts):
    """Thirds and sevenths are no binary numbers: their rounding made a spread of 1e-16, an interval without width."""
    ratings = [
        GivenRating(arm, str(prompt), str(rater), 1 + (prompt < rater % 3 + (arm == "b")), "", "", 0)
        for arm in "ab"
        for rater in range(raters)
        for prompt in range(prompts)
    ]
    shares = arm_shares(ratings, ("a", "b"), lambda one: one.rater)
    gap = shares.mean_gap("a", "b", "gap")
    assert gap.value == pytest.approx(-1 / prompts)
    assert (gap.low, gap.high) == (None, None)
    assert shares.mean("a").low < shares.mean("a").high


def test_who_saw_neither_of_two_arms_makes_no_gap_between_them_surer():
    goods = {"p": {"a": 4, "b": 2}, "q": {"a": 3, "c": 1}, "r": {"b": 0, "c": 2}, "s": {"a": 1, "b": 3}}
    others = {f"o{number}": {"c": number % 5, "d": 2} for number in range(20)}

    def gap(of):
        ratings = [
            GivenRating(arm, str(prompt), rater, 3 if prompt < good else 1, "", "", 0)
            for rater, arms in of.items()
            for arm, good in arms.items()
            for prompt in range(4)
        ]
        return arm_shares(ratings, ("a", "b", "c", "d"), lambda one: one.rater).gap("a", "b")

    alone, beside = gap(goods), gap({**goods, **others})
    assert (beside.value, beside.low, beside.high) == (alone.value, alone.low, alone.high)


def test_means_on_a_scale_of_ones_own_count_every_rating():
    """Ratings of 4 to 7 were not counted: n was 0."""
    ratings = [
        GivenRating(arm, str(prompt), f"{arm}{rater}", 4 + (prompt + rater) % 4, "", "", 0)
        for arm in ("a", "b")
        for rater in range(5)
        for prompt in range(6)
    ]
    shares = arm_shares(ratings, ("a", "b"), lambda one: one.rater)
    assert (shares.mean("a").n, shares.mean_gap("b", "a", "").n) == (30, 60)


def test_the_highest_of_several_shares_is_not_surer_than_its_choice():
    """With six arms alike the interval of the highest missed the truth in one study of seven."""
    random = np.random.default_rng(4)
    missed = 0
    for _ in range(200):
        ratings = [
            GivenRating(arm, str(prompt), f"{arm}{rater}", 3 if random.random() < 0.5 else 1, "", "", 0)
            for arm in "abcdef"
            for rater in range(8)
            for prompt in range(6)
        ]
        highest = arm_shares(ratings, tuple("abcdef"), lambda one: one.rater).highest()
        missed += not highest.low <= 50 <= highest.high
    assert missed <= 14  # of 200: .05, and what chance may add


def test_a_place_among_peoples_replies_is_not_certain_where_nothing_varied():
    """Ten raters who call everything Good had 50.0 to 50.0, and one rater of an arm 88.6 to 100."""
    alike = [(arm, f"{arm}{n}", 3.0) for arm in ("a", "human") for n in range(10)]
    found = above_people(alike)["a"]
    assert (found.value, found.low, found.high) == (50.0, None, None)
    for few in (1, 2):
        above = [*(("a", f"a{n}", 3.0) for n in range(few)), *(("human", f"h{n}", 1.0) for n in range(30))]
        found = above_people(above)["a"]
        assert found.value == 100.0
        assert (found.low is None) if few == 1 else found.low < 40

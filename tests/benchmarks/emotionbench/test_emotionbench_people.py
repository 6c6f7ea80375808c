"""People before and after a situation: pairs, drop-outs, the models' headline, and no dependence on order."""

import json
import math
import random
from collections import Counter
from importlib.resources import files
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import Later

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.items import OPEN
from eqlab.benchmarks.emotionbench.measures import MeasurePlace, People
from eqlab.benchmarks.emotionbench.moods import concordance_of, kinds_of
from eqlab.benchmarks.emotionbench.people import Paired, paired_changes
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.runs import PEOPLE
from eqlab.instruments.catalogue import PANAS

stats = Later("scipy.stats")

EB = EmotionBench()
CONTENT = files("eqlab.data").joinpath("open", OPEN).read_bytes()
POSITIVE = {PANAS.item_keys[number - 1] for number in PANAS.subscales[0].items}
OPTIONS = EB.options("open", {"defaults": "2", "repeats": "1"})
TRIALS = [trial for trial, _ in EB.plan({OPEN: CONTENT}, OPTIONS, Selection(limit=32))]
DEFAULT, SITUATIONS = TRIALS[0], [trial for trial in TRIALS if trial.condition == "evoked"]


def page(trial, person, positive, negative):
    values = {scale.key: positive if scale.key in POSITIVE else negative for scale in trial.form.scales}
    text = json.dumps(values, sort_keys=True)
    return Scored(trial, 0, (Answer("r", trial.id, f"person:{person}", 0, 1, text, "ok", values),))


def kind(trial):
    return {"Neutral": 0, "Positive": 1}.get(trial.key["emotion"], -1)


def felt(person, trial, draw):
    """A default of 3 and 2, moved by the situation, with a will of one's own."""
    own = draw.choice((0, 0, 0, 1))
    return [page(DEFAULT, person, 3 - own, 2), page(trial, person, 3 - own + kind(trial), 2 - kind(trial))]


def study(each=3, seed=1):
    draw = random.Random(seed)
    scored = []
    for turn in range(each):
        for number, trial in enumerate(SITUATIONS):
            scored += felt(f"{turn}-{number}", trial, draw)
    return scored


def score(scored, options=OPTIONS):
    return EB.score(PEOPLE, scored, options)


def test_people_who_feel_have_the_headline_of_models_and_count_as_people():
    found = score(study())
    assert (found.headline.name, found.headline.value) == ("Concordance", 100)
    assert (found.headline.n, found.headline.of) == (96, "people")
    assert "32 situations" in found.headline.note
    assert found.headline.low > 50
    assert (found.subject, found.valid, found.rules["mode"], found.rules["repeats"]) == (PEOPLE, True, "form", 3)
    assert (found.rules["people"], found.rules["participants"]) == (False, 96)  # the option, and how many took part
    assert found.sentence.startswith(
        "96 people: given two situations, the better mood is reported in the better one 100.0 %"
    )
    assert {baseline.value for baseline in found.baselines} == {50.0}
    assert len(found.items) == 32
    assert {item.attempts for item in found.items} == {3}
    assert sum(item.points for item in found.items) / 32 == pytest.approx(found.headline.value)
    single = next(e for e in found.estimates if e.name == "Concordance of single people")
    assert (single.value, single.n, single.of) == (100, 96, "people")
    assert any("Few people per situation (3.0)" in caveat for caveat in found.caveats)
    assert "times as far as the published people" in found.sentence  # and no caveat that they are not compared
    assert not any("Not compared" in caveat for caveat in found.caveats)


def test_people_whom_nothing_moves_get_nothing():
    scored = [page(trial, n, 3, 2) for n, one in enumerate(SITUATIONS) for trial in (DEFAULT, one)]
    found = score(scored)
    assert found.headline.value == 50
    assert "cannot be told apart" in found.sentence


def test_the_change_is_within_person():
    """A person with a low default and one with a high one, both moved by 10: paired, there is no spread at all."""
    negative = [trial for trial in SITUATIONS if kind(trial) < 0][:2]
    scored = [page(DEFAULT, "low", 3, 1), page(negative[0], "low", 3, 2)]
    scored += [page(DEFAULT, "high", 3, 4), page(negative[1], "high", 3, 5)]
    found = score(scored)
    assert found.headline.name == "change in Negative Affect"
    assert (found.headline.value, found.headline.se) == (10, 0)
    assert found.headline.low is None  # two people are no interval
    assert "needs negative, neutral and positive" in found.headline.note


def test_test_and_interval_are_those_of_scipy():
    draw = random.Random(3)
    own = [trial for trial in SITUATIONS if kind(trial) < 0]
    scored, changes = [], []
    for number in range(24):
        before, after = draw.randint(1, 3), draw.randint(1, 5)
        changes.append(10 * (after - before))
        scored += [page(DEFAULT, number, 3, before), page(own[number % len(own)], number, 3, after)]
    found = score(scored)
    views = next(table for table in found.tables if table.title == "Views of every cell")
    row = next(row for row in views.rows if row[:2] == ("all negative situations", "Negative Affect"))
    assert row[4] == pytest.approx(stats.ttest_1samp(changes, 0).pvalue)
    alike = [(one.key["emotion"], one.key["factor_index"]) for one in own]
    sums = Counter()
    for number, change in enumerate(changes):
        sums[alike[number % len(own)]] += change - np.mean(changes)
    se = math.sqrt(len(sums) / (len(sums) - 1) * sum(value**2 for value in sums.values())) / len(changes)
    reach = stats.t.ppf(0.975, len(sums) - 1) * se
    assert (found.headline.se, found.headline.high - found.headline.value) == pytest.approx((se, reach))
    assert (row[7].low, row[7].high) == (found.headline.low, found.headline.high)


def test_intervals_hold_for_other_people_and_other_situations():
    """Two emotions of four factors, three situations each and eight people in every one of them; of all, of an emotion
    and of a factor 95 % of intervals hold the truth, where plain ones over people would not."""
    places = tuple(
        MeasurePlace(emotion, factor, f"f{factor}", f"{emotion}-{factor}-{number}")
        for emotion, factor, number in product(("Anger", "Fear"), range(4), range(3))
    )
    random = np.random.default_rng(1)
    where = np.repeat(np.arange(24), 8)
    held, plain = Counter(), 0
    for _ in range(300):
        own = random.normal(0, 2, 8)[np.arange(24) // 3]
        place = random.normal(0, 4.6, 24)
        change = (5 + own + place)[where] + random.normal(0, 8.4, len(where))
        people = People(places, where, {"m": np.zeros(len(where))}, {"m": change})
        found = {one.key: one for one in paired_changes(Paired(people, np.arange(192), 192, 192, 0, 0))}
        for key, truth in (
            (("overall", "Overall", ""), 5),
            (("emotion", "Anger", ""), 5),
            (("factor", "Fear", "f3"), 5 + own[-1]),
        ):
            one = found["m", *key].change
            held[key[0]] += one.low <= truth <= one.high
        over_people = mean_estimate("m", change.tolist())
        plain += over_people.low <= 5 <= over_people.high
    assert all(0.92 <= held[level] / 300 <= 0.98 for level in ("overall", "emotion", "factor")), held
    assert plain / 300 < 0.75


def test_the_concordance_of_single_people_is_for_other_situations_too():
    """Nine people in each of 24 situations of a kind, who are alike."""
    places = tuple(
        MeasurePlace(emotion, number // 3, "f", f"{emotion}-{number}")
        for emotion in ("Anger", "Neutral", "Positive")
        for number in range(24)
    )
    random, where = np.random.default_rng(2), np.repeat(np.arange(72), 9)
    kinds = kinds_of(places, where.tolist())
    moods = 6.0 * kinds + random.normal(0, 6, (300, 72))[:, where] + random.normal(0, 8, (300, len(where)))
    found = [concordance_of(places, where.tolist(), mood, kinds).all for mood in moods]
    truth = np.mean([one.value for one in found])
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.98


def test_people_in_one_situation_have_a_change_and_no_interval():
    (one, *_) = [trial for trial in SITUATIONS if kind(trial) < 0]
    scored = [page(trial, n, 3, 1 + (trial is one) * (1 + n % 3)) for n in range(9) for trial in (DEFAULT, one)]
    found = score(scored)
    assert (found.headline.value, found.headline.n, found.headline.low) == (20, 9, None)
    assert "(95 % interval" not in found.sentence


def test_who_leaves_after_the_default_is_counted_and_left_out():
    scored = [*study(each=1), page(DEFAULT, "gone", 5, 1), Scored(SITUATIONS[0], 0, ())]
    found = score(scored)
    assert found.headline.n == 32
    assert found.counts["people with the default measure only"] == 1
    assert found.counts["unanswered"] == 1
    assert found.counts["planned"] == 66
    assert any("1 of 33 people gave the default measure only" in caveat for caveat in found.caveats)
    default = next(e for e in found.estimates if e.name == "default Positive Affect")
    assert default.n == 32
    share = next(e for e in found.estimates if e.name == "people with both measures")
    assert (round(share.value, 2), share.n) == (96.97, 33)


def test_a_situation_without_its_default_has_no_change():
    found = score([page(SITUATIONS[0], "a", 1, 5), *study(each=1)])
    assert found.headline.n == 32
    assert any("no readable default" in caveat for caveat in found.caveats)


def test_two_situations_of_one_person_are_one_person():
    negative = [trial for trial in SITUATIONS if kind(trial) < 0][:2]
    scored = [page(DEFAULT, "a", 3, 1), page(negative[0], "a", 3, 2), page(negative[1], "a", 3, 4)]
    scored += [page(DEFAULT, "b", 3, 1), page(negative[0], "b", 3, 5)]
    found = score(scored)
    assert (found.headline.n, found.headline.value) == (2, 30)  # (10 + 30)/2 and 40


@pytest.mark.parametrize("scored", [[], [Scored(DEFAULT, 0, ())], [page(DEFAULT, "a", 3, 2)]])
def test_nobody_yet(scored):
    found = score(scored)
    assert (found.headline.value, found.headline.n, found.valid) == (None, 0, False)
    assert "nobody has both measures" in found.sentence
    assert found.tables == ()


def test_one_person_has_a_change_and_no_interval():
    found = score(felt("a", SITUATIONS[0], random.Random(0)))
    assert found.headline.n == 1
    assert found.headline.low is None
    assert found.sentence.startswith("One person: ")


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_people_does_not_matter(draw):
    scored = study(each=1)
    mixed = list(scored)
    draw.shuffle(mixed)
    assert score(mixed) == score(scored)

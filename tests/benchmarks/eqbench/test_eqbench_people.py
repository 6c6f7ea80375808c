"""People's EQ-Bench result: the same rule as for models, honest about who answered what."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.runs import PEOPLE
from eqlab.data.items import read_sources

EQ = EqBench()
OPTIONS = EQ.options("open", {})
TRIALS = [t for t, _ in EQ.plan(read_sources(EQ.sources("open", OPTIONS), None), OPTIONS, Selection(limit=12))]


def page(trial, person, values):
    """What the web page stores: the form's values, and them again as JSON in place of a reply."""
    if values is None:
        return Scored(trial, 0, ())
    text = json.dumps(values, ensure_ascii=False, sort_keys=True)
    return Scored(trial, 0, (Answer("r", trial.id, f"person:{person}", 0, 1, text, "ok", values, latency=4.0),))


def exact(trial):
    return {name: int(value) for name, value in trial.key["reference"].items()}


def guess(trial, draw, noise=2.0):
    return {
        name: min(10, max(0, round(value + draw.gauss(0, noise)))) for name, value in trial.key["reference"].items()
    }


def crowd(people=20, batch=4, seed=0):
    """People in batches, so that each dialogue has several."""
    draw = random.Random(seed)
    scored = []
    for person in range(people):
        start = person * batch % len(TRIALS)
        scored += [page(trial, f"{person:02d}", guess(trial, draw)) for trial in TRIALS[start : start + batch]]
    return scored


def score(scored, options=OPTIONS):
    return EQ.score(PEOPLE, scored, options)


def test_who_gives_the_references_scores_100():
    found = score([page(trial, name, exact(trial)) for name in "ab" for trial in TRIALS])
    assert (found.headline.value, found.headline.n, found.headline.of) == (100, 2, "people")
    assert (found.headline.low, found.headline.high) == (None, None)  # all alike: no certainty
    assert (found.subject, found.valid, found.rules["mode"]) == (PEOPLE, True, "form")
    assert "2 people score 100.00 on EQ-Bench v2 with 12 of 12 dialogues" in found.sentence
    assert "12 of 12 dialogues" in found.sentence


@pytest.mark.parametrize("rules", ["leaderboard", "published-code"])
def test_one_person_with_all_items_scores_as_a_model_that_says_the_same(rules):
    options = EQ.options("open", {"rules": rules})
    draw = random.Random(4)
    said = {trial.id: guess(trial, draw, 4.0) for trial in TRIALS}
    written = []
    for trial in TRIALS:
        text = "\n".join(f"{name}: {value}" for name, value in said[trial.id].items())
        written.append(Scored(trial, 0, (Answer("r", trial.id, "model:m", 0, 1, text, "ok", said[trial.id]),)))
    model, person = EQ.score("model:m", written, options), score([page(t, "p", said[t.id]) for t in TRIALS], options)
    assert person.headline.value == pytest.approx(model.headline.value)
    assert person.headline.low is None
    assert person.baselines == model.baselines
    assert {one.item: one.score for one in person.items} == pytest.approx({one.item: one.score for one in model.items})
    other = "under the rules"
    (theirs,), (ours,) = ([e for e in r.estimates if e.name.startswith(other)] for r in (model, person))
    assert ours.value == pytest.approx(theirs.value)
    assert "One person scores" in person.sentence
    assert "too few for an interval" in person.sentence


def test_the_mean_is_over_people_and_dialogues_can_count_once():
    same = dict.fromkeys(exact(TRIALS[0]), 5)
    scored = [page(TRIALS[0], "a", exact(TRIALS[0])), page(TRIALS[1], "a", exact(TRIALS[1]))]
    scored += [page(TRIALS[0], name, same) for name in "bcd"]
    found = score(scored)
    five = 10 * EQ.item(scored[-1], OPTIONS).score
    assert found.headline.value == pytest.approx((100 + 3 * five) / 4)
    once = next(e for e in found.estimates if e.name == "mean over dialogues")
    assert once.value == pytest.approx(((100 + 3 * five) / 4 + 100) / 2)
    assert (once.n, once.of) == (2, "dialogues")


def test_everything_is_counted_and_said():
    zeros = dict.fromkeys(exact(TRIALS[0]), 0)
    scored = [page(TRIALS[0], "a", zeros), page(TRIALS[1], "a", exact(TRIALS[1])), page(TRIALS[2], "a", None)]
    scored += [page(TRIALS[1], "b", exact(TRIALS[1])), page(TRIALS[3], "b", exact(TRIALS[3]))]
    found = score(scored)
    assert found.counts == {
        "planned": 5, "ok": 3, "unparseable": 1, "refused": 0, "error": 0, "unanswered": 1, "people": 2,
    }  # fmt: skip
    said = " ".join(found.caveats)
    for words in ("one author's judgement", "2 people are few", "each answered 1 to 2 of 4", "four zeros"):
        assert words in said
    assert "1 planned page is not answered" in said
    assert "2 dialogues have no scored answer" in said
    assert not found.valid  # 3 of 4 answers, below the published share
    assert "not valid" in found.sentence
    assert [one.status for one in found.items].count(None) == 2


def test_nobody_yet():
    found = score([page(trial, "a", None) for trial in TRIALS])
    assert (found.headline.value, found.headline.n, found.valid) == (None, 0, False)
    assert "no score" in found.sentence
    assert found.tables == ()
    assert score([]).headline.value is None


def test_norms_name_where_people_and_the_reference_part():
    trial = TRIALS[0]
    name, value = next(iter(exact(trial).items()))
    off = 10 if value < 5 else 0
    scored = [page(one, who, exact(one)) for one in TRIALS[1:] for who in "abc"]
    scored += [page(trial, who, {**exact(trial), name: off}) for who in "abc"]
    table = next(t for t in score(scored).tables if t.title.startswith("Human norms"))
    item, emotion, people, mean, sd, reference, gap = table.rows[0]
    assert (item, emotion, people, mean, sd, reference) == (trial.items[0], name, 3, off, 0, value)
    assert gap.value == off - value
    assert len(table.rows) == 4 * len(TRIALS)
    shown = next(one for one in score(scored).items if one.item == trial.items[0])
    assert shown.values[name] == off
    assert f"{name}: {off} ×3" in shown.text


def test_spread_reliability_and_agreement():
    found = score(crowd(people=30, batch=12))
    spread = next(t for t in found.tables if t.title.startswith("How people's own"))
    ((people, mean, sd, *quantiles),) = spread.rows
    assert (people, mean) == (30, pytest.approx(found.headline.value))
    assert quantiles == sorted(quantiles)
    assert sd > 0
    by_name = {estimate.name: estimate for estimate in found.estimates}
    alpha = by_name["agreement of people on the same dialogue (ordinal alpha)"]
    assert alpha.low < alpha.value < alpha.high
    assert 0.5 < alpha.value < 1
    assert by_name["correlation of people's mean ratings with the reference"].value > 0.95
    # everybody guesses alike: no person is better than another, and the interval says so
    reliability = by_name["reliability of one person's score"]
    assert reliability.low < 0.2
    assert by_name["people taken together as one reader"].value > found.headline.value + 5


def test_agreement_is_alpha_by_its_definition():
    """1 − observed over expected disagreement, pair by pair, with Krippendorff's ordinal metric."""
    scored = crowd(people=7, batch=12, seed=2)
    units = {}
    for one in scored:
        for name, value in one.attempts[0].values.items():
            units.setdefault((one.trial.items[0], name), []).append(value)
    pooled = [value for ratings in units.values() for value in ratings]
    count = [pooled.count(level) for level in range(11)]

    def apart(a, b):
        low, high = sorted((a, b))
        return (sum(count[low : high + 1]) - (count[a] + count[b]) / 2) ** 2

    observed = sum(
        apart(a, b) / (len(own) - 1)
        for own in units.values()
        for i, a in enumerate(own)
        for j, b in enumerate(own)
        if i != j
    )
    expected = sum(count[a] * count[b] * apart(a, b) for a in range(11) for b in range(11)) / (len(pooled) - 1)
    alpha = next(e for e in score(scored).estimates if "ordinal alpha" in e.name)
    assert alpha.value == pytest.approx(1 - observed / expected)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_people_does_not_matter(draw):
    scored = crowd(people=9)
    mixed = list(scored)
    draw.shuffle(mixed)
    assert score(mixed) == score(scored)


def test_one_answer_by_itself_is_read_from_the_form():
    line = EQ.item(page(TRIALS[0], "a", exact(TRIALS[0])), OPTIONS)
    assert (line.status, line.score, line.values) == ("ok", 10, exact(TRIALS[0]))

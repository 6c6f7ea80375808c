"""Prompts become trials, replies become readings; nothing is scored before somebody has rated it."""

import pytest

from eqlab.benchmarks.empathy.benchmark import Empathy
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import UsageError
from eqlab.data.items import read_sources

BENCHMARK = Empathy()


def planned(selection=None, **given):
    options = BENCHMARK.options("open", given)
    files = read_sources(BENCHMARK.sources("open", options), None)
    return list(BENCHMARK.plan(files, options, selection or Selection())), options


def answered(trial, text, options, repeat=0, **more):
    reading = BENCHMARK.read(trial, text, options)
    return Scored(
        trial, repeat, (Answer("r", trial.id, "model:m", repeat, 1, text, reading.status, reading.values, **more),)
    )


def test_the_full_profile_asks_all_96_prompts_once_and_the_quick_one_four():
    trials, _ = planned()
    assert len({trial.id for trial, _ in trials}) == len(trials) == 96
    quick, _ = planned(Selection("quick"))
    assert len({trial.key["emotion"] for trial, _ in quick}) == len(quick) == 4
    assert len(planned(Selection("quick", limit=3, repeats=2))[0]) == 6


def test_the_instruction_has_the_three_parts_and_the_length_or_is_plain():
    (trial, _), *_ = planned(Selection(limit=1))[0]
    for word in ("Cognitive", "Affective", "Compassionate", "28 words", "97"):
        assert word in trial.prompt
    (plain, _), *_ = planned(Selection(limit=1), style="plain")[0]
    assert "Cognitive" not in plain.prompt
    assert "empathy" not in plain.prompt.lower()
    assert "28 words" in plain.prompt
    assert (trial.condition, plain.condition) == ("empathy", "plain")
    assert not trial.form.scales


def test_the_situation_is_shown_only_on_request():
    (trial, _), *_ = planned(Selection(limit=1))[0]
    assert trial.key["situation"] not in trial.prompt
    assert trial.key["utterance"] in trial.prompt
    (told, _), *_ = planned(Selection(limit=1), situation="yes")[0]
    assert told.key["situation"] in told.prompt
    assert told.key["situation"] in told.stimulus


def test_balanced_batches_spread_emotions_and_follow_the_seed():
    trials, _ = planned(Selection(seed=1), batches="balanced")
    batches = {}
    for trial, _ in trials:
        batches.setdefault(trial.key["batch"], []).append(trial.key["emotion"])
    assert all(len(set(emotions)) == len(emotions) <= 10 for emotions in batches.values())
    other, _ = planned(Selection(seed=2), batches="balanced")
    assert [t.items for t, _ in trials] != [t.items for t, _ in other]
    assert {t.items for t, _ in trials} == {t.items for t, _ in other}


def test_published_prompts_are_the_2000(published):
    options = BENCHMARK.options("published", {})
    files = read_sources(BENCHMARK.sources("published", options), published)
    trials = [trial for trial, _ in BENCHMARK.plan(files, options, Selection())]
    assert len({trial.items for trial in trials}) == 2000
    assert [trial.key["batch"] for trial in trials[::10]] == list(range(200))


@pytest.mark.parametrize("given", [{"style": "warm"}, {"situation": "maybe"}, {"batches": "x"}, {"tone": "y"}])
def test_unknown_options_are_refused(given):
    with pytest.raises(UsageError):
        BENCHMARK.options("open", given)


def test_a_reply_is_taken_as_it_comes_and_described():
    trials, options = planned(Selection(limit=1))
    trial = trials[0][0]
    reading = BENCHMARK.read(trial, "  That sounds hard. I'm here.  ", options)
    assert reading.status == "ok"
    assert reading.values == {"words": 5, "tokens": 8, "refusal": False, "greeting": False, "ai": False}


@pytest.mark.parametrize("text", ["", "   \n ", "\t"])
def test_only_an_empty_reply_is_asked_for_again(text):
    trials, options = planned(Selection(limit=1))
    assert BENCHMARK.read(trials[0][0], text, options).status == "unparseable"
    assert BENCHMARK.asking(trials[0][0], options).tries == 3


def test_a_refusal_is_a_reply_that_is_counted_as_a_refusal():
    trials, options = planned(Selection(limit=2))
    refusal = "I'm unable to provide the help that you need."
    scored = [answered(trials[0][0], refusal, options), answered(trials[1][0], "How lovely!", options)]
    assert scored[0].attempts[0].status == "ok"  # accepted: it is not asked again, and can be rated
    result = BENCHMARK.score("model:m", scored, options)
    assert result.counts["refused"] == 1
    assert result.counts["ok"] == 1
    assert result.items[0].text == refusal
    assert {one.name: one.value for one in result.estimates}["refusals"] == 50.0


def test_a_reply_is_words_even_where_answers_are_structured():
    trials, options = planned(Selection(limit=1, structured=True))
    trial = trials[0][0]
    assert trial.mode == "text"
    assert BENCHMARK.read(trial, "  \n", options).status == "unparseable"


def test_without_raters_there_is_no_score():
    trials, options = planned(Selection(limit=4))
    scored = [answered(trial, "I hear you. " * (n + 1), options) for n, (trial, _) in enumerate(trials[:3])]
    result = BENCHMARK.score("model:m", [*scored, Scored(trials[3][0], 0, ())], options)
    assert result.headline.value is None
    assert "eqlab judge" in result.headline.note
    assert "comes from raters" in result.sentence
    words = result.estimates[0]
    assert (words.value, words.n) == (6.0, 3)
    assert (words.low, words.high) == (None, None)  # three values are too few for an interval
    assert result.counts["unanswered"] == 1
    assert [item.score for item in result.items] == [None] * 4
    assert {table.title for table in result.tables} == {"Replies by valence", "Replies by emotion"}


def test_no_reply_at_all_is_said_so():
    trials, options = planned(Selection(limit=1))
    result = BENCHMARK.score("model:m", [Scored(trials[0][0], 0, ())], options)
    assert "nothing to rate" in result.sentence
    assert result.estimates[0].value is None

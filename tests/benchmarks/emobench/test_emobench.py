"""EmoBench: items, orders, marks, chance, intervals over scenarios, languages in pairs, liking for a place."""

import random
from collections import Counter
from itertools import product

import pytest

from eqlab.benchmarks.emobench.benchmark import EmoBench
from eqlab.benchmarks.emobench.items import parse_open
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.data.items import read_sources

EB = EmoBench()
OPEN = EB.options("open", {})


def files(options=OPEN, data=None):
    return read_sources(EB.sources(options["item_set"], options), data)


def planned(options=OPEN, data=None, **selection):
    return list(EB.plan(files(options, data), options, Selection(**selection)))


def answered(pairs, answer, options=OPEN, subject="model:m"):
    """`answer` gives the values of a trial, or a text to be read."""
    scored = []
    for trial, repeat in pairs:
        said = answer(trial)
        text = said if isinstance(said, str) else "\n".join(f"{key}: {'ABCDEFG'[v - 1]}" for key, v in said.items())
        reading = EB.read(trial, text, options)
        one = Answer("r", trial.id, subject, repeat, 1, text, reading.status, reading.values, reading.note)
        scored.append(Scored(trial, repeat, (one,)))
    return scored


def right(trial):
    return trial.key["correct"]


def value(result, name):
    (found,) = [one for one in result.estimates if one.name == name]
    return found


def test_every_open_scenario_is_asked_in_two_orders():
    pairs = planned()
    assert Counter(repeat for _, repeat in pairs) == {0: 80, 1: 80}
    assert len({trial.id for trial, _ in pairs}) == 160
    assert Counter(trial.condition for trial, _ in pairs) == {"understanding": 80, "application": 80}
    assert len(planned(profile="quick")) == 16
    assert len(planned(limit=5, repeats=3)) == 15
    assert len(planned(EB.options("open", {"task": "application"}))) == 80


def test_over_as_many_orders_as_choices_each_stands_everywhere_once():
    pairs = planned(EB.options("open", {"task": "application"}), repeats=4, seed=3)
    places = {}
    for trial, _ in pairs:
        for place, words in trial.form.scales[0].anchors:
            places.setdefault((trial.items, words), []).append(place)
    assert all(sorted(own) == [1, 2, 3, 4] for own in places.values())


def test_the_prompt_holds_everything_and_no_key():
    trial, _ = planned()[0]
    for _, words in (pair for scale in trial.form.scales for pair in scale.anchors):
        assert words in trial.prompt
    assert trial.stimulus in trial.prompt
    assert "reason" not in trial.key
    structured, _ = planned(structured=True)[0]
    assert structured.mode == "json"
    assert "JSON" in structured.prompt
    thinking, _ = planned(EB.options("open", {"reasoning": "yes"}))[0]
    assert "few sentences" in thinking.prompt
    assert EB.asking(thinking, EB.options("open", {"reasoning": "yes"})).max_tokens > EB.asking(trial, OPEN).max_tokens


def test_all_right_and_all_wrong():
    pairs = planned()
    best = EB.score("model:m", answered(pairs, right), OPEN)
    assert (best.headline.value, best.headline.n) == (100.0, 80)
    assert best.headline.low < 100.0, "certainty is never claimed"
    worst = EB.score("model:m", answered(pairs, lambda t: {k: v % 4 + 1 for k, v in right(t).items()}), OPEN)
    assert worst.headline.value == 0.0
    assert worst.headline.high > 0.0
    assert best.valid
    assert best.noun == "scenarios"


def test_understanding_needs_both():
    pairs = planned(EB.options("open", {"task": "understanding"}))
    only_emotion = EB.score(
        "model:m", answered(pairs, lambda t: {**right(t), "cause": right(t)["cause"] % 4 + 1}), OPEN
    )
    assert only_emotion.headline.value == 0.0
    assert value(only_emotion, "emotion right").value == 100.0
    assert value(only_emotion, "cause right").value == 0.0


def test_chance_is_what_guesses_get():
    """Printed beside every accuracy, and true: by all answers there are, and by a guesser."""
    pairs = planned(repeats=12)
    result = EB.score("model:m", answered(pairs, right), OPEN)
    (guess, longest) = result.baselines
    expected = (100 / 24 + 100 / 4) / 2  # six emotions times four causes; four choices
    assert guess.value == pytest.approx(expected)
    assert 0 <= longest.value <= 60
    assert value(result, "emotion right").note == "by chance 16.7"
    trial = next(trial for trial, _ in pairs if trial.condition == "understanding")
    hits = [combination == tuple(right(trial).values()) for combination in product(range(1, 7), range(1, 5))]
    assert sum(hits) / len(hits) == pytest.approx(1 / 24)
    draw = random.Random(1)
    guesses = answered(pairs, lambda t: {scale.key: draw.randint(1, scale.high) for scale in t.form.scales})
    found = EB.score("model:m", guesses, OPEN)
    assert found.headline.low < expected < found.headline.high
    bias = value(found, "first choice taken too often, points")
    assert bias.low < 0 < bias.high


def test_scenarios_are_the_unit_not_questions():
    """Asked four times as often, the same answers make no narrower interval."""
    known = {trial.items[0] for trial, _ in planned()[:40]}

    def half(trial):
        return right(trial) if trial.items[0] in known else {k: v % 4 + 1 for k, v in right(trial).items()}

    few = EB.score("model:m", answered(planned(repeats=1), half), OPEN)
    many = EB.score("model:m", answered(planned(repeats=4), half), OPEN)
    assert (many.headline.n, many.headline.low, many.headline.high) == (
        few.headline.n,
        pytest.approx(few.headline.low),
        pytest.approx(few.headline.high),
    )


def test_a_liking_for_the_first_place_is_measured():
    pairs = planned(repeats=4)
    lazy = EB.score("model:m", answered(pairs, lambda t: dict.fromkeys(t.form.keys, 1)), OPEN)
    bias = value(lazy, "first choice taken too often, points")
    assert bias.low > 60
    assert value(lazy, "same choice in every order").value == 0.0
    knows = EB.score("model:m", answered(pairs, right), OPEN)
    assert value(knows, "first choice taken too often, points").value == 0.0
    assert value(knows, "same choice in every order").value == 100.0
    (table,) = [table for table in lazy.tables if table.title == "Where the choice stands"]
    assert [row[1].value for row in table.rows if row[0].startswith("4 choices")] == [100.0, 0.0, 0.0, 0.0]
    one = EB.score("model:m", answered(planned(repeats=1), right), OPEN)
    assert any("one order" in caveat for caveat in one.caveats)


def test_peoples_liking_for_a_place_is_over_people():
    """Half of ten like the first place and half the last one, which tells little of others: an interval over scenarios
    was narrow."""
    pairs = planned(repeats=1)
    first, last = (lambda t: dict.fromkeys(t.form.keys, 1)), (lambda t: {s.key: s.high for s in t.form.scales})
    people = [
        one
        for number in range(10)
        for one in answered(pairs, first if number % 2 else last, subject=f"person:{number}")
    ]
    found = value(EB.score("people", people, OPEN), "first choice taken too often, points")
    assert (found.n, found.of) == (10, "people")
    assert found.high - found.low > 60


def test_an_order_is_one_subjects():
    """Of people, each asked once, a score said that nobody keeps to a choice in every order: others had chosen."""
    pairs = planned(repeats=1)
    people = [one for number in range(6) for one in answered(pairs, right, subject=f"person:{number}")]
    told = [one.name for one in EB.score("people", people, OPEN).estimates]
    assert "same choice in every order" not in told
    again = EB.score("model:m", answered(planned(repeats=4), right), OPEN)
    found, items = value(again, "same choice in every order"), len({trial.items for trial, _ in pairs})
    assert (found.value, found.low) == (100.0, pytest.approx(100 * items / (items + 1.96**2), abs=0.1))


def test_refusals_are_counted_and_can_be_wrong_answers():
    pairs = planned()
    refused = {trial.items[0] for trial, _ in pairs[:8]}

    def some(trial):
        return "I'm sorry, I can't help with that." if trial.items[0] in refused else right(trial)

    result = EB.score("model:m", answered(pairs, some), OPEN)
    assert result.counts["refused"] == 16
    assert (result.headline.value, result.headline.n) == (100.0, 72)
    strict = value(result, "right answers, if no answer is a wrong one")
    assert (strict.value, strict.n) == (pytest.approx(90.0), 80)
    assert any("16 refused" in caveat for caveat in result.caveats)
    most = EB.score("model:m", answered(pairs, lambda _: "I'm sorry, I can't help with that."), OPEN)
    assert not most.valid
    assert most.headline.value is None


def test_people_are_their_own_unit():
    pairs = planned(EB.options("open", {"task": "application"}), repeats=1)
    scored = [
        one
        for number in range(6)
        for one in answered(pairs[:10], right if number % 2 else (lambda t: {"choice": 1}), subject=f"person:{number}")
    ]
    result = EB.score("people", scored, OPEN)
    assert result.headline.n == 6
    assert result.sentence.startswith("People get")


def test_published_scenarios_in_two_languages(published):
    options = EB.options("published", {"language": "both"})
    pairs = planned(options, published, repeats=1)
    assert len(pairs) == 800
    assert Counter(trial.key["language"] for trial, _ in pairs) == {"en": 400, "zh": 400}
    by_item = {}
    for trial, _ in pairs:
        by_item.setdefault(trial.items[0], []).append(trial.key["correct"])
    assert len(by_item) == 400
    draw = random.Random(5)

    def weaker_in_chinese(trial):
        if trial.key["language"] == "en" or draw.random() < 0.7:
            return right(trial)
        return {key: place % 4 + 1 for key, place in right(trial).items()}

    result = EB.score("model:m", answered(pairs, weaker_in_chinese, options), options)
    gap = value(result, "English − Chinese, paired")
    assert gap.n == 400
    assert gap.low < 30 < gap.high
    assert len({item.item for item in result.items}) == 800
    only = EB.options("published", {"language": "zh", "task": "understanding"})
    assert len(planned(only, published, repeats=1)) == 200
    assert "感受" in planned(only, published, repeats=1)[0][0].prompt


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(UsageError, match="English"):
        EB.options("open", {"language": "zh"})
    entry = '[[item]]\nid = "x"\ntask = "application"\ncategory = "c"\nquestion_type = "Action"\nsubject = "S"\n'
    entry += 'scenario = "T"\nchoices = ["a", "b"]\nlabel = "c"\n'
    with pytest.raises(DataError, match=r"mine\.toml:9: item\[1\]\.label \(x\): is not one of its choices"):
        parse_open(entry.encode(), "mine.toml")
    with pytest.raises(DataError, match=r"item\[1\]\.task \(x\): 'both' is not one of the values"):
        parse_open(entry.replace("application", "both").encode(), "mine.toml")
    with pytest.raises(DataError, match="'x' is there twice"):
        parse_open((entry.replace('"c"\n', '"a"\n') * 2).encode(), "mine.toml")
    with pytest.raises(DataError, match="question_type"):
        parse_open(entry.replace("question_type", "other").replace('"c"\n', '"a"\n').encode(), "mine.toml")

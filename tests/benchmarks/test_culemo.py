"""CuLEmo on made-up questions: what is asked in which setting, and that every label counts the same."""

import json
import random
from collections import Counter

import pytest

from eqlab.benchmarks.culemo import ENGLISH, LABELS, OWN, WITHOUT, CuLEmo, read_language, source
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError
from eqlab.core.runs import PEOPLE

GERMAN = dict(zip(LABELS, ("wut", "furcht", "traurigkeit", "freude", "schuld", "neutral"), strict=True))
AMERICAN = ["anger", "fear", "sadness", "joy", "guilt", "neutral"] * 4
ABROAD = ["neutral"] * 14 + ["anger", "fear", "sadness", "joy", "guilt"] * 2
B = CuLEmo()


def table(*rows):
    return ("\n".join("\t".join(row) for row in rows) + "\n").encode()


def files():
    english = [(f"How about no. {n}?", label, "x") for n, label in enumerate(AMERICAN)]
    german = [
        (f"How about no. {n}?", f"Wie wäre Nr. {n}?", label, GERMAN[label], "x", "x")
        for n, label in reversed(list(enumerate(ABROAD)))
    ]
    heads = ("text_eng", "text_deu", "emotion_eng", "emotion_deu", "sentiment_eng", "sentiment_deu")
    return {
        source("eng"): table(("text_eng", "emotion_eng", "sentiment_eng"), *english),
        source("deu"): table(heads, *german),
    }


def planned(language="deu", setting="country", **selection):
    options = B.options("published", {"language": language, "setting": setting})
    return options, list(B.plan(files(), options, Selection(**selection)))


def answered(trials, label_of, subject="model:m"):
    """Each trial answered with the label that a rule says; None is an answer that could not be read."""
    scored = []
    for trial, repeat in trials:
        label = label_of(trial)
        words = dict(trial.form.scales[0].anchors)
        wanted = label if trial.condition == ENGLISH or trial.key["language"] == "eng" else GERMAN.get(label)
        values = {"answer": next(n for n, word in words.items() if word == wanted)} if label else {}
        status = "ok" if label else "unparseable"
        scored.append(Scored(trial, repeat, (Answer("r", trial.id, subject, repeat, 1, "", status, values),)))
    return scored


def result(trials, label_of, options, subject="model:m"):
    return B.score(subject, answered(trials, label_of, subject), options)


def test_questions_are_joined_by_their_english_wording_whatever_the_order():
    german = read_language(files(), "deu")
    assert [item.id for item in german.items] == [f"q{n:03d}" for n in range(24, 0, -1)]
    assert [item.american for item in reversed(german.items)] == AMERICAN
    assert german.words == GERMAN


def test_settings_say_country_and_language():
    _, trials = planned(setting="all")
    by = {trial.condition: trial for trial, _ in trials if trial.key["question"] == "q003"}
    assert set(by) == {OWN, ENGLISH, WITHOUT}
    assert by[OWN].prompt.startswith("Sie leben in Deutschland.\n\nWie wäre Nr. 2?")
    assert by[ENGLISH].prompt.startswith("You live in Germany.\n\nHow about no. 2?")
    assert "Deutschland" not in by[WITHOUT].prompt
    assert by[WITHOUT].prompt.endswith("Antworten Sie mit dem Buchstaben.")
    assert by[ENGLISH].prompt.endswith("Answer with the letter.")


def test_the_order_of_labels_is_drawn_and_the_same_in_every_language():
    _, both = planned(setting="all", repeats=6)
    orders = {
        (trial.key["question"], trial.order_seed): trial.key["correct"]["answer"]
        for trial, _ in both
        if trial.condition == OWN
    }
    english = {
        (trial.key["question"], trial.order_seed): trial.key["correct"]["answer"]
        for trial, _ in both
        if trial.condition == ENGLISH
    }
    assert orders == english
    assert len({(trial.items, repeat) for trial, repeat in both}) == len(both), "one answer would hide the other"
    places = Counter(place for (question, _), place in orders.items() if question == "q001")
    assert places == dict.fromkeys(range(1, 7), 1)


@pytest.mark.parametrize("label", LABELS)
def test_a_constant_answer_earns_a_sixth_however_frequent_its_label(label):
    options, trials = planned()
    found = result(trials, lambda trial: label, options)
    assert found.headline.value == pytest.approx(100 / 6)
    plain = next(one for one in found.estimates if one.name == "accuracy")
    assert plain.value == pytest.approx(100 * ABROAD.count(label) / 24)
    assert plain.note.startswith("always neutral 58.3, the American answer ")


def test_the_points_of_items_have_the_headline_as_their_mean():
    options, trials = planned(repeats=2)
    draw = random.Random(3)
    found = result(trials, lambda trial: draw.choice([trial.key["gold"], "neutral", "joy"]), options)
    points = [item.points for item in found.items]
    assert sum(points) / len(points) == pytest.approx(found.headline.value)
    assert found.headline.low < found.headline.value < found.headline.high
    assert max(points) <= found.item_range[1] + 1e-9


def test_the_american_answer_stands_beside_the_score_and_not_in_english():
    options, trials = planned()
    found = result(trials, lambda trial: trial.key["american"], options)
    floor = {one.name: one.value for one in found.baselines}
    assert found.headline.value == pytest.approx(floor["the American answer"])
    assert floor["always the same label"] == pytest.approx(100 / 6)
    options, trials = planned("eng")
    assert [one.name for one in B.baselines([[trial for trial, _ in trials]])] == ["always the same label"]


def test_effects_are_paired_over_questions():
    options, trials = planned(setting="all")
    found = result(trials, lambda trial: trial.key["gold"] if trial.condition == OWN else "neutral", options)
    effects = {one.name: one for one in found.estimates if one.name.endswith("paired")}
    assert set(effects) == {"country named − not named, paired", "own language − English, paired"}
    for one in effects.values():
        assert one.value == pytest.approx(100 * 10 / 24)
        assert one.n == 24
        assert one.low < one.value < one.high


def test_what_cannot_be_read_is_left_out_and_counted():
    options, trials = planned()
    found = result(trials, lambda trial: None if trial.key["gold"] == "guilt" else trial.key["gold"], options)
    assert found.headline.value == pytest.approx(100)
    assert found.counts["unparseable"] == 2
    assert any("left out" in caveat for caveat in found.caveats)
    nothing = result(trials, lambda trial: None, options)
    assert nothing.headline.value is None
    assert not nothing.valid


def test_people_have_their_own_unit_and_name():
    options, trials = planned(limit=6)
    scored = [one for n in range(8) for one in answered(trials, lambda trial: trial.key["gold"], f"person:{n}")]
    found = B.score(PEOPLE, scored, options)
    assert (found.headline.name, found.headline.value, found.headline.n) == ("accuracy", 100.0, 8)
    assert found.norms.measure == "accuracy"


def test_beside_people_stands_what_no_skill_gets_in_their_measure():
    """Five who pressed "neutral" throughout had 86.0 %, and beside it stood: always the same label 16.7."""
    options, trials = planned("deu")
    scored = [one for n in range(5) for one in answered(trials, lambda trial: "neutral", f"person:{n}")]
    found = B.score(PEOPLE, scored, options)
    constant, american = found.baselines
    assert (constant.name, constant.value) == ("always neutral", pytest.approx(found.headline.value))
    abroad = [trial.key for trial, _ in trials if trial.key["american"]]
    assert (american.name, american.value) == (
        "the American answer",
        pytest.approx(100 * sum(key["american"] == key["gold"] for key in abroad) / len(abroad)),
    )


@pytest.mark.parametrize("right", [True, False])
def test_all_right_or_all_wrong_is_no_certainty(right):
    options, trials = planned()
    wrong = dict(zip(LABELS, (*LABELS[1:], LABELS[0]), strict=True))
    found = result(trials, lambda trial: trial.key["gold"] if right else wrong[trial.key["gold"]], options)
    assert found.headline.value == 100.0 * right
    assert found.headline.high - found.headline.low > 10


def test_where_a_person_stands_is_told_in_the_measure_of_the_headline():
    options, trials = planned(limit=10)
    guesses = [lambda trial: trial.key["gold"], lambda trial: "neutral", lambda trial: "joy"]
    scored = [one for n, guess in enumerate(guesses) for one in answered(trials, guess, f"person:{n}")]
    found = B.score(PEOPLE, scored, options)
    (table,) = [one for one in found.tables if one.title == "Where each person stands"]
    assert table.columns[1].title == "accuracy"
    each = [row[1] for row in table.rows]
    assert sum(one.value for one in each) / 3 == pytest.approx(found.headline.value)
    assert all(one.low < one.high for one in each)
    own = B.score("person:1", answered(trials, guesses[1], "person:1"), options)
    assert own.headline.name == "accuracy"


def test_a_part_keeps_languages_and_settings_together():
    _, trials = planned(setting="all", limit=4)
    assert len(trials) == 12
    assert set(Counter(trial.key["question"] for trial, _ in trials).values()) == {3}


def test_a_study_begins_with_published_items():
    template = B.study().form().template
    assert 'items = "published"' in template
    assert 'items = "open"' not in template


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "not a table"), (b"text_eng\temotion_eng\nQ?\tboredom\n", "not one of the six")]
)
def test_a_broken_file_is_named(content, said):
    options = B.options("published", {})
    with pytest.raises(DataError, match=said):
        list(B.plan({source("eng"): content}, options, Selection()))


def test_the_published_files_are_asked_in_six_languages(published):
    options = B.options("published", {"language": "all"})
    content = {one.path: (published / one.path).read_bytes() for one in B.sources("published", options)}
    trials = [trial for trial, _ in B.plan(content, options, Selection())]
    assert Counter(trial.key["language"] for trial in trials) == dict.fromkeys(
        ("eng", "amh", "ara", "deu", "hin", "spn"), 400
    )
    assert len({trial.id for trial in trials}) == 2400
    floor = {one.name: one.value for one in B.baselines([[t for t in trials if t.key["language"] == "spn"]])}
    assert floor["the American answer"] == pytest.approx(48.5, abs=0.05)
    json.dumps([dict(trial.key) for trial in trials])

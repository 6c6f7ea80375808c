"""The open scenarios: structure, balance, what the choices alone give away, and nothing taken from published sets."""

import itertools
import json
import math
import re
import tomllib
from collections import Counter
from importlib.resources import files
from statistics import mean

import pytest

OPEN = files("eqlab.data").joinpath("open")
DATA = tomllib.loads(OPEN.joinpath("emobench.toml").read_text("utf-8"))
ITEMS = DATA["item"]
EU = [item for item in ITEMS if item["task"] == "understanding"]
EA = [item for item in ITEMS if item["task"] == "application"]
EMOTIONS = [(item["emotion_choices"], item["emotion_label"]) for item in EU]
CAUSES = [(item["cause_choices"], item["cause_label"]) for item in EU]
REPLIES = [(item["choices"], item["label"]) for item in EA]
QUESTIONS = pytest.mark.parametrize("questions", [EMOTIONS, CAUSES, REPLIES], ids=["emotions", "causes", "replies"])

KINDS = {
    "complex_emotions": {"emotion_transition", "mixture_of_emotions", "unexpected_outcome"},
    "emotional_cues": {"vocal_cues", "visual_cues"},
    "personal_beliefs_and_experiences": {"cultural_value", "persona", "sentimental_value"},
    "perspective_taking": {"false_belief", "faux_pas", "strange_story"},
}
COMMON = {"id", "task", "category", "subject", "scenario", "reason"}


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def runs(text, length=8):
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


def texts(item):
    yield from (item["scenario"], item["reason"])
    yield from item.get("cause_choices", []) + item.get("choices", [])


def test_eighty_of_them_with_their_provenance():
    expected = [f"{task}-{number:02}" for task in ("eu", "ea") for number in range(1, 41)]
    assert [item["id"] for item in ITEMS] == expected
    assert all(item["id"].startswith("eu") == (item["task"] == "understanding") for item in ITEMS)
    assert DATA["provenance"] == "author key, not a human norm"
    assert DATA["author"] == tomllib.loads(OPEN.joinpath("eqbench.toml").read_text("utf-8"))["author"]


def test_keys_and_labels():
    for item in EU:
        keys = {"kind", "emotion_choices", "emotion_label", "cause_choices", "cause_label"}
        assert item.keys() - {"quick"} == COMMON | keys, item["id"]
        assert item["kind"] in KINDS[item["category"]], item["id"]
    for item in EA:
        assert item.keys() - {"quick"} == COMMON | {"question_type", "choices", "label"}, item["id"]
    for questions, count in ((EMOTIONS, 6), (CAUSES, 4), (REPLIES, 4)):
        for choices, label in questions:
            assert len(choices) == len(set(choices)) == count
            assert label in choices
    for item in ITEMS:
        assert item["subject"] in item["scenario"], item["id"]
        assert 20 <= len(words(item["scenario"])) <= 75, item["id"]


def test_categories_are_balanced():
    assert Counter(item["category"] for item in EU) == dict.fromkeys(KINDS, 10)
    assert {item["kind"] for item in EU} == set().union(*KINDS.values())
    cells = Counter((item["category"], item["question_type"]) for item in EA)
    places = ("Personal-Self", "Personal-Others", "Social-Self", "Social-Others")
    assert cells == {(place, kind): 5 for place in places for kind in ("Response", "Action")}


def test_eight_are_quick():
    quick = [item for item in ITEMS if item.get("quick", False)]
    assert all(item["quick"] is True for item in quick)
    assert Counter(item["task"] for item in quick) == {"understanding": 5, "application": 3}
    assert {item["category"] for item in quick if item["task"] == "understanding"} == set(KINDS)


def test_what_is_said_is_in_quotes_and_what_is_done_is_not():
    for item in EA:
        said = [choice.startswith("'") and choice.endswith("'") for choice in item["choices"]]
        assert set(said) == {item["question_type"] == "Response"}, item["id"]


def test_variety():
    assert len({item["subject"] for item in ITEMS}) == 80
    labels = Counter(label for _, label in EMOTIONS)
    assert max(labels.values()) <= 2
    distractors = Counter(choice for choices, label in EMOTIONS for choice in choices if choice != label)
    # A word that is only ever right, or only ever one of two, would give itself away.
    assert {label for label in labels if " & " not in label} <= distractors.keys()
    assert max(distractors.values()) <= 12
    for choices, _ in EMOTIONS:
        assert len({" & " in choice for choice in choices}) == 1


@QUESTIONS
def test_right_choices_stand_everywhere(questions):
    size = len(questions[0][0])
    places = Counter(choices.index(label) for choices, label in questions)
    assert set(places) == set(range(size))
    assert max(places.values()) - min(places.values()) <= 1
    ordered = [choices.index(label) for choices, label in questions]
    assert all(ordered[i : i + 3] != [place] * 3 for place in range(size) for i in range(len(ordered)))


def test_the_two_answers_of_an_item_do_not_stand_together():
    pairs = Counter((e.index(el), c.index(cl)) for (e, el), (c, cl) in zip(EMOTIONS, CAUSES, strict=True))
    assert max(pairs.values()) <= 5


@QUESTIONS
def test_length_gives_nothing_away(questions):
    right = mean(len(label) for _, label in questions)
    wrong = mean(len(choice) for choices, label in questions for choice in choices if choice != label)
    assert abs(right / wrong - 1) < 0.1
    for extreme in (min, max):
        hits = 0.0
        for choices, label in questions:
            length = extreme(map(len, choices))
            tied = [choice for choice in choices if len(choice) == length]
            hits += (label in tied) / len(tied)
        chance = len(questions) / len(questions[0][0])
        assert hits < 1.5 * chance, extreme.__name__


def features(text):
    found = re.findall(r"[^\W_]+|[!?,.:;]", text.lower())
    return {*found, *itertools.pairwise(found)}


def naive_hits(questions):
    """How many a naive Bayes classifier finds that has read the choices of all other items and no scenario."""
    hits = 0.0
    for held, (choices, label) in enumerate(questions):
        right, wrong, n_right, n_wrong = Counter(), Counter(), 0, 0
        for other, (candidates, answer) in enumerate(questions):
            if other == held:
                continue
            for choice in candidates:
                (right if choice == answer else wrong).update(features(choice))
            n_right, n_wrong = n_right + 1, n_wrong + len(candidates) - 1
        scores = {
            choice: sum(
                math.log((right[f] + 1) / (n_right + 2)) - math.log((wrong[f] + 1) / (n_wrong + 2))
                for f in features(choice)
                if f in right or f in wrong
            )
            for choice in choices
        }
        best = [choice for choice in choices if scores[choice] == max(scores.values())]
        hits += (label in best) / len(best)
    return hits / len(questions)


@QUESTIONS
def test_words_of_the_choices_alone_find_little_of_the_key(questions):
    """Chance is 1/6 or 1/4. Some of it cannot go: asking is wiser than telling. The limit keeps it from growing."""
    assert naive_hits(questions) <= 0.45


def test_naive_hits_sees_a_give_away():
    told = [([f"b{i}", f"a{i} yes", f"c{i}", f"d{i}"], f"a{i} yes") for i in range(20)]
    assert naive_hits(told) == 1.0


def test_plain_style():
    for item in ITEMS:
        whole = " ".join(texts(item))
        assert not re.search(r"[\u2012-\u2015\u2018\u2019\u201c\u201d\u2026]|--|\.\.\.|  ", whole), item["id"]
        assert not any(choice.endswith(".") for choice in item.get("cause_choices", [])), item["id"]
        if item.get("question_type") == "Action":
            assert not any(choice.endswith(".") for choice in item["choices"]), item["id"]


def test_no_two_items_of_the_package_share_a_run_of_eight_words():
    seen = {}
    for item in ITEMS:
        for text in texts(item):
            for run in runs(text):
                assert seen.setdefault(run, item["id"]) == item["id"], run
    for path in OPEN.iterdir():
        if path.name != "emobench.toml" and path.name.endswith(".toml"):
            assert not seen.keys() & runs(path.read_text("utf-8")), path.name


def test_no_run_of_eight_words_is_published(published):
    theirs = set()
    for path in (published / "emobench" / "data").glob("*.jsonl"):
        for line in path.read_text("utf-8").split("\n"):
            if line:
                row = json.loads(line)
                for value in row.values():
                    for text in value if isinstance(value, list) else [value]:
                        theirs |= runs(text)
    assert len(theirs) > 5_000
    for path in (published / "eqbench" / "data").glob("*.json"):
        theirs |= runs(path.read_text("utf-8").replace("\\n", " "))
    for item in ITEMS:
        for text in texts(item):
            assert not runs(text) & theirs, item["id"]

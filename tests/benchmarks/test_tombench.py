"""ToMBench's emotion part on made-up stories: reading of the files, drawn orders, and what answers earn that read
nothing."""

import json
from collections import Counter

import pytest

from eqlab.benchmarks.tombench import FILES, ToMBench, by_length, by_wording, read_items, source
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError

B = ToMBench()


def line(number, story, options, answer, ability="Emotion: Hidden emotions", chinese=None):
    letters = "ABCD"[: len(options)]
    entry = {"能力\nABILITY": ability, "序号\nINDEX": number, "故事": f"故事{story}", "问题": "他觉得怎么样？"}
    told = chinese or [f"{letter}.{text}字" for letter, text in zip(letters, options, strict=True)]
    entry |= {
        f"选项{letter}": told[place] if place < len(told) else float("nan") for place, letter in enumerate("ABCD")
    }
    entry |= {"STORY": f"Story {story}.", "QUESTION": "What does he feel?"}
    entry |= {f"OPTION-{x}": options[n] if n < len(options) else float("nan") for n, x in enumerate("ABCD")}
    return json.dumps(entry | {"答案\nANSWER": answer}, ensure_ascii=False)


def files(lines):
    content = {source(file): b"" for file in FILES}
    content[source("Hidden Emotions")] = ("\n".join(lines) + "\n").encode()
    return content


LINES = [
    *(line(n, n // 2, ["glad", "sad", "angry at everybody", "calm"], "ABCD"[n % 4]) for n in range(12)),
    line(12, 12, ["yes", "no"], "B", "Emotion: Mixed emotions"),
    line(13, 13, ["a", "b", "c", "d"], "A", "Belief: Sequence false beliefs"),
]


def planned(language="en", **selection):
    options = B.options("published", {"language": language})
    return options, list(B.plan(files(LINES), options, Selection(**selection)))


def scored(trials, place_of):
    return [
        Scored(trial, repeat, (Answer("r", trial.id, "model:m", repeat, 1, "", "ok", {"answer": place_of(trial)}),))
        for trial, repeat in trials
    ]


def right(trial):
    return trial.key["correct"]["answer"]


def test_only_emotion_items_are_asked_and_missing_options_are_none():
    _, trials = planned()
    names = {trial.items[0] for trial, _ in trials}
    assert "he-013" not in names
    assert len(names) == 13
    (two,) = [trial for trial, repeat in trials if trial.items == ("he-012",) and repeat == 0]
    assert two.form.scales[0].high == 2


@pytest.mark.parametrize("written", ["A. word", "A.word", "A．word", "A：word", "A、word", " A .word"])
def test_letters_before_options_go_whatever_follows_them(written):
    made = line(0, 0, ["one", "two"], "A", chinese=[written, "B. other"])
    (item,) = read_items(files([made]), "zh")
    assert item.options == ("word", "other")


def test_the_order_is_drawn_and_the_key_follows_by_place():
    """Two options of the same words are two places."""
    twins = [line(0, 0, ["Angry", "Sad", "Angry", "Glad"], "C")]
    options = B.options("published", {})
    trials = [trial for trial, _ in B.plan(files(twins), options, Selection(repeats=4))]
    assert Counter(map(right, trials)) == dict.fromkeys(range(1, 5), 1)
    assert all(dict(trial.form.scales[0].anchors)[right(trial)] == "Angry" for trial in trials)


def test_both_languages_have_one_order_and_a_paired_difference():
    options, trials = planned("both")
    places = {}
    for trial, repeat in trials:
        places.setdefault((trial.key["item"], repeat), set()).add(right(trial))
    assert set(map(len, places.values())) == {1}
    found = B.score(
        "model:m",
        scored(trials, lambda t: right(t) if t.key["language"] == "en" else right(t) % t.form.scales[0].high + 1),
        options,
    )
    gap = next(one for one in found.estimates if one.name == "English − Chinese, paired")
    assert (gap.value, gap.n) == (100.0, 13)


def test_a_part_keeps_languages_together():
    _, trials = planned("both", limit=4, repeats=1)
    assert len(trials) == 8
    assert set(Counter(trial.key["item"] for trial, _ in trials).values()) == {2}


def test_accuracy_stands_beside_chance_place_length_and_wording():
    options, trials = planned()
    found = B.score("model:m", scored(trials, right), options)
    assert found.headline.value == 100.0
    assert found.headline.n == 13
    assert found.headline.low < 100
    floor = {one.name: one.value for one in found.baselines}
    assert floor["a guess"] == pytest.approx(100 * (12 / 4 + 1 / 2) / 13)
    assert floor["always the longest option"] == pytest.approx(100 * 3 / 13)
    ability = next(table for table in found.tables if table.title == "By ability")
    assert ability.column("ability") == ("Hidden emotions", "Mixed emotions")
    mean = next(one for one in found.estimates if one.name == "mean over abilities")
    assert (mean.value, mean.n) == (100.0, 2)


def test_who_likes_a_place_is_found_out():
    options, trials = planned(repeats=4)
    found = B.score("model:m", scored(trials, lambda trial: 1), options)
    first = next(one for one in found.estimates if one.name.startswith("first choice"))
    assert first.value == pytest.approx(100 - 100 * sum(right(t) == 1 for t, _ in trials) / len(trials))
    assert first.low > 0


def test_shares_without_reading_split_ties():
    items = read_items(files([line(n, n, ["aa", "bb", "c", "dd"], "A") for n in range(4)]), "en")
    assert [by_length(item, longest=True) for item in items] == [1 / 3] * 4
    assert [by_length(item, longest=False) for item in items] == [0.0] * 4
    assert by_wording(items) == [1.0] * 4


def test_wordings_of_the_same_story_tell_nothing():
    items = read_items(files([line(n, 0, ["aa", "bb", "c", "dd"], "A") for n in range(4)]), "en")
    assert by_wording(items) == [0.25] * 4


@pytest.mark.parametrize(("text", "said"), [("{}", "he-000 is not a question"), (line(0, 0, ["a"], "A"), "not one of")])
def test_a_broken_line_is_named(text, said):
    with pytest.raises(DataError, match=said):
        read_items(files([text]), "en")


def test_the_published_files_hold_420_emotion_items_in_both_languages(published):
    options = B.options("published", {"language": "both"})
    content = {one.path: (published / one.path).read_bytes() for one in B.sources("published", options)}
    trials = [trial for trial, _ in B.plan(content, options, Selection(repeats=1))]
    assert Counter(trial.key["language"] for trial in trials) == {"en": 420, "zh": 420}
    english = {one.name: one.value for one in B.baselines([[t for t in trials if t.key["language"] == "en"]])}
    assert english["a guess"] == pytest.approx(26.19, abs=0.01)
    assert english["always the longest option"] == pytest.approx(32.2, abs=0.05)
    assert english["the option right most often elsewhere"] == pytest.approx(35.24, abs=0.01)

"""Open prompts and batches."""

from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.common.selection import balanced_batches
from eqlab.benchmarks.empathy.items import EMOTIONS, Prompt, from_published, parse_open
from eqlab.core.errors import DataError, UsageError

OPEN = files("eqlab.data").joinpath("open", "empathy.toml").read_bytes()
ONE = b"""[[item]]
id = "a"
emotion = "proud"
valence = "positive"
plutchik = "optimism"
situation = "s"
utterance = "u"
reply = "r"
"""


def test_three_open_prompts_for_each_emotion():
    items = parse_open(OPEN)
    assert len(items) == 96
    assert Counter(item.emotion for item in items) == dict.fromkeys(EMOTIONS, 3)
    assert all(item.situation and item.utterance and item.reply for item in items)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ONE.replace(b'reply = "r"\n', b""), r"empathy\.toml:1: item\[1\]\.reply \(a\): is missing"),
        (ONE.replace(b"proud", b"hungry"), r"emotion \(a\): 'hungry\' is not one of the 32 emotions"),
        (ONE.replace(b"positive", b"negative"), r"valence \(a\): does not belong to proud"),
        (ONE + ONE, r"id \(a\): 'a' is there twice"),
        (b"title = 1", "item: is missing"),
        (b"not toml", "empathy.toml:1: this is not TOML"),
    ],
)
def test_broken_prompts_are_named(content, message):
    with pytest.raises(DataError, match=message):
        parse_open(content)


def test_published_prompts_have_the_same_shape():
    prompt = Prompt("x", "proud", "positive", "optimism", " s ", "u ", " r", 0, 0)
    (item,) = from_published([prompt])
    assert (item.situation, item.utterance, item.reply) == ("s", "u", "r")


@given(st.integers(0, 2000), st.integers(1, 12), st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_batches_hold_every_item_once_and_spread_emotions(seed, size, counts):
    emotions = [f"e{index}" for index, count in enumerate(counts) for _ in range(count)]
    items = list(range(len(emotions)))
    found = balanced_batches(items, emotions, size, seed)
    assert sorted(item for batch in found for item in batch) == items
    assert max(map(len, found)) <= size
    assert max(map(len, found)) - min(map(len, found)) <= 1
    for name in set(emotions):
        per_batch = [sum(emotions[item] == name for item in batch) for batch in found]
        assert max(per_batch) - min(per_batch) <= 1
    assert found == balanced_batches(items, emotions, size, seed)


def test_a_batch_needs_an_item():
    with pytest.raises(UsageError):
        balanced_batches([1], ["a"], 0)


def test_fourteen_positive_and_eighteen_negative():
    assert list(EMOTIONS) == sorted(EMOTIONS)
    assert Counter(emotion.valence for emotion in EMOTIONS.values()) == {"positive": 14, "negative": 18}
    assert all(emotion.name == name for name, emotion in EMOTIONS.items())

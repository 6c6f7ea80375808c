"""The 32 labels."""

from collections import Counter

from eqlab.benchmarks.empathy.emotions import EMOTIONS


def test_fourteen_positive_and_eighteen_negative():
    assert list(EMOTIONS) == sorted(EMOTIONS)
    assert Counter(emotion.valence for emotion in EMOTIONS.values()) == {"positive": 14, "negative": 18}
    assert all(emotion.name == name for name, emotion in EMOTIONS.items())

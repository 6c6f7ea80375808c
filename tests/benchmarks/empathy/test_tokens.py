"""Tokens by the Treebank's conventions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.empathy.tokens import count, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know.", ["I", "do", "n't", "know", "."]),
        ("It cost $3.50, really!", ["It", "cost", "$", "3.50", ",", "really", "!"]),
        ("At 10:30 a.m. he left. Why?", ["At", "10:30", "a.m", ".", "he", "left", ".", "Why", "?"]),
        ("Well... I'm gonna go", ["Well", "...", "I", "'m", "gon", "na", "go"]),
        ("We cannot (really) win", ["We", "can", "not", "(", "really", ")", "win"]),
        ('He said "no" -- twice', ["He", "said", '"', "no", '"', "--", "twice"]),
        ("the dogs' bowls and John's", ["the", "dogs", "'", "bowls", "and", "John", "'s"]),
        ("I won_comma_ at last", ["I", "won_comma_", "at", "last"]),
        ("She left.)", ["She", "left", ".", ")"]),
        ("visit example.com today", ["visit", "example.com", "today"]),
        ("  ", []),
        ("", []),
    ],
)
def test_worked_examples(text, expected):
    assert tokens(text) == expected


@given(st.text(max_size=80))
def test_no_character_is_lost(text):
    assert "".join(tokens(text)) == "".join(text.split())
    assert count(text) == len(tokens(text))

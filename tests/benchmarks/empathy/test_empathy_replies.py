"""A reply by its text alone: its tokens, and what it does besides answering."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.empathy.replies import (
    count_tokens,
    declines,
    greets,
    manners,
    phrase_ai,
    phrase_refusal,
    says_it_is_ai,
    tokens,
)


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
    assert count_tokens(text) == len(tokens(text))


@pytest.mark.parametrize(
    "reply",
    [
        "I'm really sorry that you're feeling this way, but I'm unable to provide the help that you need.",
        "I’m unable to assist with that.",
        "I cannot assist with that request.",
        "I can't continue with this conversation.",
        "I must decline.",
    ],
)
def test_refusals(reply):
    assert declines(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "It's hard to see someone in distress, especially when you're unable to help.",
        "I'm really sorry that I can't help you move that day. Is there another day?",
        "I can't imagine how hard that was.",
        "You were unable to assist her, and that hurts.",
        "",
    ],
)
def test_not_refusals(reply):
    assert not declines(reply)


def test_the_audits_phrase_counts_more():
    assert phrase_refusal("when you're unable to help")
    assert not phrase_refusal("you're unable to rest")


def test_saying_that_one_is_an_ai():
    assert says_it_is_ai("As an artificial intelligence, I don't receive mail.")
    assert says_it_is_ai("I'm just an AI, but I understand.")
    assert says_it_is_ai("No. As a language model I have no dog.")
    assert not says_it_is_ai("AI is a scary subject, I agree.")
    assert phrase_ai("AI is a scary subject, I agree.")
    assert not phrase_ai("As an artificial intelligence, I don't.")
    assert not says_it_is_ai("Was it as an aide that you worked there?")


def test_greetings_and_length():
    assert greets("Hello! How can I assist you today?")
    assert not greets("How can I ever thank you?")
    found = manners("Hello! How may I help you?")
    assert (found.refusal, found.greeting, found.says_it_is_ai, found.words) == (False, True, False, 6)

"""What a reply does besides answering."""

import pytest

from eqlab.benchmarks.empathy.manners import declines, greets, manners, phrase_ai, phrase_refusal, says_it_is_ai


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

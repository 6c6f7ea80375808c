"""Replies to multiple choice: letters, options in words, JSON; and what must not be taken for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.choices import choice, lettered, read_choices, shuffled
from eqlab.core.forms import Form
from eqlab.core.trials import Trial

FEELINGS = ("Pride", "Gratitude", "Mild anger", "Anger")
REASONS = ("He was late", "She was early", "It rained", "Nobody came")
ONE = Trial("x", ("1",), "plain", "", Form((choice("choice", "Which?", FEELINGS),)), "")
TWO = Trial(
    "x", ("1",), "plain", "", Form((choice("emotion", "Which?", FEELINGS), choice("cause", "Why?", REASONS))), ""
)
ZH = Trial("x", ("1",), "plain", "", Form((choice("choice", "?", ("高兴", "不高兴", "生气", "害怕")),)), "")


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "b",
        "B.",
        "(B)",
        "**B**",
        "Answer: B",
        "The answer is B.",
        "The correct choice is (B) Gratitude",
        "I would choose option B because a person who is helped is grateful.",
        "B) Gratitude",
        "Gratitude",
        "She feels gratitude.",
        '{"choice": "B"}',
        '```json\n{"choice": 2}\n```',
        '{"choice": "Gratitude"}',
        "First I thought of A) Pride, but no.\nAnswer: B",
        'Thinking … {"choice": "A"} or rather\n{"choice": "B"}',
    ],
)
def test_one_question(text):
    reading = read_choices(text, ONE)
    assert (reading.status, dict(reading.values)) == ("ok", {"choice": 2}), reading.note


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A or B",
        "Answer: A\nAnswer: B",
        "The answer is a matter of taste.",
        "E",
        "Answer: F",
        '{"choice": 5}',
        '{"choice": true}',
        "Pride and gratitude",
        lettered(ONE.form.scales[0]),
        "A\nB",
        "(A)\n(D)",
        "A) Pride\nB) Gratitude",
        "A\nB\nPride",  # two letters are no answer, whatever words follow
        "Answer: A or rather answer: C. Gratitude.",
        "A) Pride\nC) that, too\nPride",
        '{"choice": "A or B"}',
        '{"choice": "A", "choice": "B"}',
        f"{lettered(ONE.form.scales[0])}\nAll of them.",
    ],
)
def test_what_names_no_single_choice(text):
    assert read_choices(text, ONE).status == "unparseable"


def test_an_option_inside_another():
    assert read_choices("mild anger", ONE).values == {"choice": 3}
    assert read_choices("anger", ONE).values == {"choice": 4}
    assert read_choices("不高兴", ZH).values == {"choice": 2}
    assert read_choices("答案：C", ZH).values == {"choice": 3}
    assert read_choices("应选 B。", ZH).values == {"choice": 2}


@pytest.mark.parametrize(
    "text",
    [
        "emotion: B\ncause: C",
        "Emotion: B) Gratitude\nCause: C) It rained",
        "1. B\n2. C",
        "Question 1: B\nQuestion 2: C",
        "Gratitude\nIt rained",
        '{"emotion": "B", "cause": "C"}',
        "**Emotion:** Gratitude\n**Cause:** It rained",
        "问题 1：B\n问题 2：C",
        "For the emotion I first thought of A, for the cause of D.\nemotion: B\ncause: C",
    ],
)
def test_two_questions(text):
    reading = read_choices(text, TWO)
    assert (reading.status, dict(reading.values)) == ("ok", {"emotion": 2, "cause": 3}), reading.note


def test_half_an_answer_is_none_and_says_which_half():
    reading = read_choices("emotion: B\ncause: I cannot say", TWO)
    assert reading.status == "unparseable"
    assert "cause" in reading.note
    assert read_choices("I'm sorry, I can't answer that.", TWO).status == "refused"


@given(st.text(max_size=300))
def test_nothing_breaks_it(text):
    for trial in (ONE, TWO, ZH):
        reading = read_choices(text, trial)
        if reading.status == "ok":
            assert all(scale.holds(reading.values[scale.key]) for scale in trial.form.scales)


@given(st.permutations(FEELINGS), st.sampled_from(FEELINGS))
def test_the_same_words_in_every_order(order, word):
    trial = Trial("x", ("1",), "plain", "", Form((choice("choice", "?", order),)), "")
    place = order.index(word) + 1
    for said in (f"Answer: {'ABCD'[place - 1]}", word, f"{'ABCD'[place - 1]}) {word}"):
        assert read_choices(said, trial).values == {"choice": place}


def test_orders_are_drawn_and_the_same_again():
    assert shuffled(FEELINGS, "1") == shuffled(FEELINGS, "1")
    assert len({shuffled(FEELINGS, str(seed)) for seed in range(60)}) > 15


def test_a_list_of_all_letters_is_passed_over_for_what_is_said_in_words():
    text = "A) too weak\nB) does not fit\nC) too weak again\nD) yes\nSo it is anger."
    assert read_choices(text, ONE).values == {"choice": 4}

"""A speaker's turn as models write it, and what is not taken for one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.dialogue.trials import read_listener, read_speaker, spoken

TURN = "Feeling: It helped.\nEmotion: 47\nLeaves: no\nSays: She was fourteen."


@pytest.mark.parametrize(
    ("text", "emotion", "leaves", "says"),
    [
        (TURN, 47, 0, "She was fourteen."),
        ("**Feeling:** a\n**Emotion:** 47/100\n**Leaves:** No.\n**Says:** \u201cHello.\u201d", 47, 0, "Hello."),
        ("feeling: a\nemotion: 100\nleaves: satisfied\nsays:", 100, 1, ""),
        ("Feeling: a\n\nEmotion: 0\n\nLeaves: hurt\n\nSays: I go.\nEmotion: none.", 0, 2, "I go.\nEmotion: none."),
        ("Feeling：好\nEmotion：55\nLeaves：no\nSays：谢谢", 55, 0, "谢谢"),
        ('{"feeling": "a", "emotion": 12, "leaves": 0, "says": "x"}', 12, 0, "x"),
        ('```json\n{"feeling": "a", "emotion": 12, "leaves": 2, "says": null}\n```', 12, 2, ""),
    ],
)  # fmt: skip
def test_a_turn_is_read(text, emotion, leaves, says):
    reading = read_speaker(text)
    assert reading.status == "ok", reading.note
    assert (reading.values["emotion"], reading.values["leaves"], reading.values["says"]) == (emotion, leaves, says)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "She was fourteen.",
        TURN.replace("47", "+5"),
        TURN.replace("47", "-3"),
        TURN.replace("47", "101"),
        TURN.replace("47", "47.5"),
        TURN.replace("47", "1000"),
        TURN.replace("47", "good"),
        TURN.replace("Leaves: no", "Leaves: perhaps"),
        TURN.replace("Leaves: no\n", ""),
        TURN.replace("Emotion: 47", "Emotion: 47\nEmotion: 60"),
        TURN.replace("She was fourteen.", ""),
        TURN.replace("47", "140"),
        TURN + "\n\nFeeling: And then it got better.\nEmotion: 60\nLeaves: no\nSays: Yes.",
        TURN + "\nListener: I am so sorry.\nShe would have been fifteen.",
        TURN.replace("She was fourteen.", "**Assistant:** How can I help you today?"),
        '{"feeling": "a", "emotion": 40, "leaves": 0, "says": "Hm.\\nThe other one: Tell me more."}',
        '{"feeling": "a", "emotion": 130, "leaves": 0, "says": "x"}',
        '{"feeling": "a", "emotion": 30, "leaves": 0, "says": ""}',
    ],
)
def test_what_is_no_turn(text):
    assert read_speaker(text).status == "unparseable"


def test_a_refusal_to_play_is_told_apart():
    assert read_speaker("I'm sorry, I can't pretend to be a person.").status == "refused"


def test_a_listener_says_anything_but_nothing():
    assert read_listener("I can't help with that.").status == "ok"
    assert read_listener(" \n").status == "unparseable"


line = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40).map(str.strip)


@given(line.filter(bool), st.integers(0, 100), st.integers(0, 2), line.filter(bool), st.booleans())
def test_what_a_speaker_is_shown_of_itself_can_be_read_again(feeling, emotion, leaves, says, structured):
    values = {"feeling": " ".join(feeling.split()), "emotion": emotion, "leaves": leaves, "says": says}
    shown = spoken(values, structured=structured)
    reading = read_speaker(shown)
    assert reading.status == "ok", (shown, reading.note)
    assert (reading.values["emotion"], reading.values["leaves"]) == (emotion, leaves)
    if structured:
        assert json.loads(shown) == reading.values


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text):
    assert read_speaker(text).status in ("ok", "unparseable", "refused")
    assert read_speaker("Feeling: " + text).status in ("ok", "unparseable", "refused")

"""How long a text is, whatever it is written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.forms import Writing, problem
from eqlab.core.words import count_words
from eqlab.study.results.redo_script import _words


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Das tut mir sehr leid – wirklich.", 7, 7),  # as ever: by blanks
        ("我很难过听到这个消息。你愿意多说一点吗？", 8, 11),
        ("それは大変でしたね。何があったのか話してください。", 9, 14),
        ("ฉันเสียใจด้วยนะ เกิดอะไรขึ้น", 6, 9),
        ("I said 你好 to her.", 5, 5),
        ("", 0, 0),
        ("，。！", 1, 1),
    ],
)
def test_words_are_counted_where_nothing_stands_between_them(text, least, most):
    assert least <= count_words(text) <= most


def test_who_writes_chinese_can_write_enough():
    """A reply of ten words by blanks is impossible where there are none: nobody could go on."""
    asked = Writing("reply", "", least_words=10)
    assert problem(asked, "我很难过听到这个消息，你愿意多说一点吗？我会陪着你。") == ""
    assert problem(asked, "我很难过。") == "short"
    assert problem(asked, "I am sorry.") == "short"


@given(st.text())
def test_an_exports_script_counts_alike(text):
    assert _words(text) == count_words(text)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.models.chat import split_reasoning


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("Calm: 3", "Calm: 3", ""),
        ("<think>Calm: 9?</think>\nCalm: 3", "Calm: 3", "Calm: 9?"),
        ("<THINKING>a</THINKING><think>b</think> c", "c", "a\nb"),
        ("Calm: 9 hmm\n</think>\n\nCalm: 3", "Calm: 3", "Calm: 9 hmm"),
        ("<think>cut off by the limit Calm: 9", "", "cut off by the limit Calm: 9"),
        ("a < b and <b>bold</b>", "a < b and <b>bold</b>", ""),
        (
            "<|channel|>analysis<|message|>Calm: 9?<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Calm: 3<|return|>",
            "Calm: 3",
            "Calm: 9?",
        ),
    ],
)
def test_examples(text, answer, thought):
    assert split_reasoning(text) == (answer, thought)


@given(st.text(alphabet="ab :3\n"), st.text(alphabet="ab :3\n"))
def test_what_was_thought_is_never_in_the_answer(thought, answer):
    said, kept = split_reasoning(f"<think>SECRET{thought}</think>{answer}")
    assert "SECRET" not in said
    assert said == answer.strip()
    assert kept == f"SECRET{thought}".strip()


@given(st.text())
def test_no_text_crashes(text):
    split_reasoning(text)

"""Files from outside: every bad row is named with its line and its reason, and no rater's id comes through."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.empathy.items import EmpathyItem
from eqlab.benchmarks.rating.imported import Prompts, read_ratings, read_replies
from eqlab.core.errors import DataError

PROMPTS = Prompts(
    [
        EmpathyItem("sad-1", "sad", "negative", "sadness", "A story.", "I miss her.", ""),
        EmpathyItem("joy-1", "joyful", "positive", "joy", "Another.", "It is a girl!", ""),
    ]
)


def replies(text, name="gpt.csv"):
    return read_replies(text.encode(), name, PROMPTS, "gpt")


def ratings(text, name="r.csv"):
    return read_ratings(text.encode(), name, PROMPTS, lambda rater: f"hash-of-{len(rater)}")


def test_replies_find_their_prompt_by_id_or_by_words():
    rows, bad = replies('prompt,reply\nsad-1,"So sorry, truly."\n')
    assert not bad
    assert (rows[0].arm, rows[0].emotion, rows[0].utterance) == ("gpt", "sad", "I miss her.")
    rows, bad = replies("utterance,reply,arm\n  i MISS her. ,So sorry.,grandma\nNew words,Hm.,grandma\n")
    assert not bad
    assert [(row.arm, row.prompt) for row in rows] == [("grandma", "sad-1"), ("grandma", "new words")]
    rows, _ = replies(json.dumps({"prompt": "joy-1", "reply": "Hurrah!"}) + "\n\n", "gpt.jsonl")
    assert rows[0].valence == "positive"


def test_every_bad_reply_row_is_named():
    text = (
        'prompt,reply,emotion\nsad-1,,\nsad-1,"two\nlines",\nsad-1,again,\nnowhere,hm,\n,hm,\nx,hm,rage\njoy-1,a,b,c\n\n'
        "joy-1,fine,\n"
    )
    rows, bad = replies(text)
    assert [row.reply for row in rows] == ["two\nlines", "fine"]
    assert [(one.line, one.reason.split(";")[0]) for one in bad] == [
        (2, "the reply is empty"),
        (5, "a second reply of 'gpt' to prompt 'sad-1'"),
        (6, "prompt 'nowhere' is not known"),
        (7, "neither 'prompt' nor 'utterance' is filled in"),
        (8, "prompt 'x' is not known"),
        (9, "4 cells instead of 3"),
    ]


def test_an_emotion_of_ones_own_keeps_its_row_and_has_no_valence():
    rows, bad = ratings(
        "rater,arm,prompt,rating,emotion,utterance\na,m,own-1,3,Homesick,I miss the sea.\na,m,own-2,1,sad,It is over.\n"
    )
    assert not bad
    assert [(one.reply.emotion, one.reply.valence) for one in rows] == [("homesick", ""), ("sad", "negative")]
    made, bad = replies("prompt,utterance,reply,emotion\nown-1,I miss the sea.,Oh.,homesick\n")
    assert (made[0].emotion, bad) == ("homesick", [])


def test_ratings_as_numbers_or_words():
    rows, bad = ratings("rater,arm,prompt,rating\na,m,sad-1,3\nbb,m,sad-1,Okay\nccc,m,joy-1,BAD\ndddd,m,joy-1,2.0\n")
    assert not bad
    assert [one.value for one in rows] == [3, 2, 1, 2]
    assert rows[0].rater == "hash-of-1"
    assert rows[0].reply.emotion == "sad"


def test_every_bad_rating_row_is_named_and_no_id_with_it():
    text = (
        "rater,arm,prompt,rating\nsecret,m,sad-1,4\nsecret,m,sad-1,0\n,m,sad-1,1\nsecret,,sad-1,1\nsecret,m,,1\n"
        "secret,m,sad-1,\nsecret,m,sad-1,3\nsecret,m,sad-1,2\n"
    )
    rows, bad = ratings(text)
    assert len(rows) == 1
    assert [one.line for one in bad] == [2, 3, 4, 5, 6, 7, 9]
    assert "add 1" in bad[1].reason
    assert "in line 8" in bad[-1].reason
    assert "secret" not in repr(rows) + repr(bad)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "r.csv", "no rows"),
        (b"rater,arm,prompt,rating\n", "r.csv", "no rows"),
        (b"who,arm,prompt,rating\nx,y,z,1\n", "r.csv", "no column rater"),
        (b"rater,rater,prompt,rating\nx,y,z,1\n", "r.csv", "same name"),
        (b"\xff\xfe\x00r", "r.csv", "UTF-8"),
        (b'rater,arm,prompt,rating\n"a"b,c,d,1\n', "r.csv", "line 2"),
        (b'rater,arm,prompt,rating\n"a,c,d,1\n', "r.csv", "not CSV"),
    ],
)
def test_files_that_are_no_tables(content, name, words):
    with pytest.raises(DataError, match=words):
        read_ratings(content, name, PROMPTS, str)


def test_json_lines_that_are_none():
    text = '{"rater": "a", "arm": "m", "prompt": "sad-1", "rating": 3}\nnot json\n[1]\n{"rater": {"x": 1}}\n'
    rows, bad = ratings(text, "r.jsonl")
    assert len(rows) == 1
    assert [one.line for one in bad] == [2, 3, 4]


def test_a_byte_order_mark_and_dos_lines_do_no_harm():
    rows, bad = read_ratings("\ufeffrater,arm,prompt,rating\r\na,m,sad-1,3\r\n".encode(), "r.csv", PROMPTS, str)
    assert len(rows) == 1
    assert not bad


@given(st.text(max_size=300), st.sampled_from(["r.csv", "r.jsonl"]))
def test_any_text_is_read_or_refused(text, name):
    with contextlib.suppress(DataError):
        read_ratings(f"rater,arm,prompt,rating\n{text}".encode("utf-8", "replace"), name, PROMPTS, str)


@pytest.mark.parametrize("use", ["", None, "no"])
def test_replies_that_nobody_has_let_through_are_refused_in_json_lines_too(use):
    row = {"reply": "That is hard.", "utterance": "My dog died.", "use": use}
    rows, bad = replies(json.dumps(row), "table.jsonl")
    assert (rows, [row.reason for row in bad]) == ([], ["no 'yes' in the column 'use'"])

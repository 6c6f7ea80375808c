"""Replies read into any form: "name: number" lines, JSON, points dealt out, refusals."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.common.questions import read_form
from eqlab.benchmarks.common.reading import read_json, read_numbers
from eqlab.core.forms import Form, Scale, check_values, json_schema, points_left, problems, random_points
from eqlab.core.trials import Trial, from_json, to_json

WORDS = ("joy", "mild fear", "fear", "anger")
SCALES = tuple(Scale(word, word, 0, 10) for word in WORDS)
FREE, DEALT = Form(SCALES), Form(SCALES, total=10)


@pytest.mark.parametrize(
    "text",
    [
        "joy: 3\nmild fear: 0\nfear: 6\nanger: 1",
        "**Joy**: 3/10\n**Mild fear**: 0/10\n**Fear**: 6/10\n**Anger**: 1/10",
        'Sure: {"joy": 3, "mild fear": 0, "fear": 6, "anger": 1}',
        "anger = 1, fear = 6, mild fear = 0, joy = 3.0",
        "At first joy: 9.\n\njoy: 3, mild fear: 0, fear – 6, anger: 1",
    ],
)
def test_numbers_by_name(text):
    for form in (FREE, DEALT):
        reading = read_numbers(text, form)
        assert (reading.status, dict(reading.values)) == (
            "ok",
            {"joy": 3, "mild fear": 0, "fear": 6, "anger": 1},
        ), reading.note


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("joy: 3\nfear: 6\nanger: 1", "unparseable"),
        ("joy: 3\nmild fear: 0\nfear: 60\nanger: 1", "unparseable"),
        ("joy:-3\nmild fear: 0\nfear: 6\nanger: 1", "unparseable"),
        ("joyful: 3\nmild fear: 0\nfear: 6\nanger: 1", "unparseable"),
        ("killjoy: 3\nmild fear: 0\nfear: 6\nanger: 1", "unparseable"),
        ("I'm sorry, I cannot rate feelings.", "refused"),
        ("A long look at the scene. " * 20 + "I'm sorry, I cannot say more.", "unparseable"),
        ("joy: 3, but I'm sorry, I can't go on.", "unparseable"),
    ],
)
def test_what_is_no_answer(text, status):
    assert read_numbers(text, FREE).status == status


def test_another_sum_is_scaled_and_told():
    reading = read_numbers("joy: 30\nmild fear: 0\nfear: 60\nanger: 10", DEALT)
    assert (reading.status, reading.note) == ("ok", "100 points, scaled to the total")
    assert reading.values == {"joy": 3.0, "mild fear": 0.0, "fear": 6.0, "anger": 1.0}
    again = read_json('{"joy": 1, "mild fear": 1, "fear": 1, "anger": 1}', DEALT)
    assert set(again.values.values()) == {2.5}
    for text in ("joy: 0\nmild fear: 0\nfear: 0\nanger: 0", "joy: -2\nmild fear: 6\nfear: 6\nanger: 0"):
        assert read_numbers(text, DEALT).status == "unparseable"
    assert read_json('{"joy": 5, "mild fear": 5}', DEALT).status == "unparseable"
    assert read_json('{"joy": true, "mild fear": 5, "fear": 4, "anger": 0}', DEALT).status == "unparseable"


def test_the_total_is_known_to_schema_check_and_page():
    assert json_schema(DEALT)["description"] == "The values add up to 10."
    assert "description" not in json_schema(FREE)
    whole, short = {"joy": 4, "mild fear": 3, "fear": 2, "anger": 1}, {"joy": 4, "mild fear": 3, "fear": 2, "anger": 0}
    assert check_values(DEALT, whole) == ""
    assert check_values(DEALT, short) == "the values add up to 9, not to 10"
    assert check_values(FREE, short) == ""
    assert (problems(DEALT, whole), problems(DEALT, short), problems(FREE, short)) == ({}, {"": "total"}, {})
    assert problems(DEALT, {"joy": 4}) == dict.fromkeys(WORDS[1:], "missing")
    assert (points_left(DEALT, {"joy": 4}), points_left(DEALT, short), points_left(FREE, short)) == (6, 1, 0)


def test_a_trial_keeps_its_total_and_others_their_id():
    dealt, free = (Trial("x", ("1",), "plain", "s", form, "p") for form in (DEALT, FREE))
    assert from_json(to_json(dealt)).form.total == 10
    assert dealt.id != free.id
    assert "total" not in to_json(free)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 6))
def test_points_by_chance_add_up(seed, total, count):
    form = Form(tuple(Scale(f"s{place}", "?", 0, total) for place in range(count)), total=total)
    given_out = random_points(form, random.Random(seed))
    assert sum(given_out.values()) == total
    assert not problems(form, given_out)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text):
    for form in (FREE, DEALT):
        for mode in ("text", "json"):
            reading = read_form(text, Trial("x", ("1",), "plain", "", form, "", mode=mode))
            assert reading.status in ("ok", "unparseable", "refused")
            if reading.status == "ok":
                assert check_values(form, reading.values) == ""

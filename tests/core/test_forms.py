"""Forms: what fills in each kind of field, what a page posts as text, and trials that keep their ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.forms import Form, Number, Scale, Several, Writing, check_values, json_schema, problems, settled
from eqlab.core.trials import Trial, from_json, to_json

RATING = Scale("rating", "How?", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))
TONGUES = Several("tongues", "Which?", ("English", "German"), alone="Prefer not to say")
AGE = Number("age", "How old?", 18, 110, declined="Prefer not to say")
REMARK = Writing("remark", "What else?", optional=True)
REPLY = Writing("reply", "Your reply", least_words=3, most=40)
EVERY = Form(fields=(RATING, TONGUES, AGE, REMARK, REPLY))
GOOD = {"rating": 2, "tongues": [1, 2], "age": 30, "remark": None, "reply": "one two three"}


def test_a_form_of_scales_is_what_it_was():
    form = Form((RATING,))
    assert form.fields == form.scales == (RATING,)
    assert Form(fields=(RATING,)) == form
    assert EVERY.scales == (RATING,)
    assert EVERY.keys == ("rating", "tongues", "age", "remark", "reply")
    trial = Trial("rating", ("p",), "absolute", "s", form, "q")
    assert json.loads(to_json(trial))["form"] == [
        ["rating", "How?", 1, 3, [[1, "Bad"], [2, "Okay"], [3, "Good"]], False]
    ]


def test_trials_with_every_field_come_back_the_same():
    trial = Trial("question", ("before",), "before", "s", EVERY, "")
    back = from_json(to_json(trial))
    assert back == trial
    assert back.id == trial.id


@pytest.mark.parametrize(
    ("low", "high", "typed", "kept"),
    [
        (0, 1_000_000, "30,000", None),  # an English thirty thousand, or a German thirty: it was kept as 30.0
        (0, 1_000_000, "30.000", None),
        (0, 1_000_000, "1,200", None),
        (0, 1_000_000, "30000", 30_000),
        (0, 1_000_000, "1,2", 1.2),
        (0, 1_000_000, "27,50", 27.5),
        (0, 1_000_000, "0,500", 0.5),
        (0, 2_000_000, "1,200,000", 1_200_000),
        (0, 2_000_000, "1.200.000", 1_200_000),
        (0, 2_000_000, "1.200,000", None),
        (1_000, 99_000, "30,000", 30_000),  # thirty is no answer
        (0, 10, "1.234", 1.234),  # a thousand is none
        (0, 10, "1,234", 1.234),
        (0, 10, "30,000", None),
        (-5_000, 5_000, "-1.500", None),
        (-5, 5, "-1.500", -1.5),
        (0, 1_000, "1,250", None),  # meant as more than is allowed: it was kept as 1.25
        (0, 24, "1,000", None),
        (0, 1_000, "３０", 30),
        (0, 1_000, "٣٠", 30),
        (0, 1_000, "۲٫۵", 2.5),
        (1_000, 99_000, "٣٠٬٠٠٠", 30_000),
        (0, 10, "½", None),
    ],
)
def test_a_mark_of_thousands_is_never_taken_for_one_of_decimals(low, high, typed, kept):
    form = Form(fields=(Number("income", "How much?", low, high),))
    found = settled(form, {"income": typed})
    assert (problems(form, found) == {}) == (kept is not None)
    if kept is not None:
        assert found == {"income": kept}


def test_what_is_far_too_long_for_a_number_is_not_read_at_all():
    """Sixty thousand combining marks took seconds to put in order, in everybody's time."""
    typed = "1" + "\u0301\u0316" * 1_000
    form = Form(fields=(Number("income", "How much?", 0, 1_000),))
    assert settled(form, {"income": typed}) == {"income": typed}
    assert problems(form, {"income": typed}) == {"income": "off"}


def test_a_range_is_written_in_digits():
    assert Number("income", "How much?", 0, 1_000_000).shown == ("0", "1000000")
    assert Number("share", "How much?", 0.5, 2).shown == ("0.5", "2")


def test_what_fills_in_a_form():
    assert problems(EVERY, GOOD) == {}
    assert check_values(EVERY, GOOD) == ""
    assert problems(EVERY, {**GOOD, "age": None}) == {}  # declined
    assert problems(EVERY, {**GOOD, "x": 1}) == {"": "unknown"}
    assert problems(EVERY, {}) == {"rating": "missing", "tongues": "missing", "age": "missing", "reply": "missing"}
    assert "no value for rating, tongues, age, reply" in check_values(EVERY, {})


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("rating", 4, "off"),
        ("rating", True, "off"),
        ("rating", "2", "off"),
        ("rating", float("nan"), "off"),
        ("tongues", [], "off"),
        ("tongues", [4], "off"),
        ("tongues", [1, 1], "off"),
        ("tongues", [1, 3], "both"),
        ("tongues", 1, "off"),
        ("tongues", [True], "off"),
        ("age", 17, "off"),
        ("age", float("inf"), "off"),
        ("age", "old", "off"),
        ("remark", 3, "off"),
        ("reply", "too few", "short"),
        ("reply", "a b c " * 10, "long"),
    ],
)
def test_what_does_not_is_refused_by_field(key, value, why):
    assert problems(EVERY, {**GOOD, key: value}) == {key: why}
    assert key in check_values(EVERY, {**GOOD, key: value})


def test_a_posted_page_becomes_values():
    posted = {"rating": "2", "tongues": ["2", "1"], "age": " 30,5 ", "remark": "  ", "reply": "007\r\nis here now"}
    assert settled(EVERY, posted) == {
        "rating": 2, "tongues": [1, 2], "age": 30.5, "remark": None, "reply": "007\nis here now",
    }  # fmt: skip
    assert settled(EVERY, {"tongues": "3", "reply": "12"}) == {
        "tongues": [3], "reply": "12", "remark": None,
    }  # fmt: skip
    assert settled(EVERY, {"age": "", "reply": " "}) == {"remark": None}  # blank is not declined
    assert settled(EVERY, {"age": None}) == {"age": None, "remark": None}
    assert settled(Form((RATING,)), {"rating": "x"}) == {"rating": "x"}
    assert settled(Form((RATING,)), {"rating": ""}) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*EVERY.keys, "x"]), VALUES, max_size=6))
def test_nothing_that_is_posted_breaks_a_form_and_what_passes_is_plain(posted):
    values = settled(EVERY, posted)
    if not problems(EVERY, values):
        assert check_values(EVERY, values) == ""
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        assert settled(EVERY, values) == values


def test_every_field_has_a_schema():
    schema = json_schema(EVERY)
    assert schema["required"] == list(EVERY.keys)
    assert schema["properties"]["tongues"]["items"]["enum"] == [1, 2, 3]
    assert schema["properties"]["age"] == {"type": "number", "minimum": 18, "maximum": 110}
    assert json_schema(Form((RATING,)))["properties"] == {"rating": {"type": "integer", "enum": [1, 2, 3]}}

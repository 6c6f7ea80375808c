"""One scoring function for all instruments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.errors import DataError, UsageError
from eqlab.instruments.catalogue import (
    AGQ,
    BFNE,
    DASS_21,
    GASP,
    INSTRUMENTS,
    MJS,
    PANAS,
    TEQ,
    check,
    instrument,
    score,
    score_columns,
    score_range,
)

ALL = sorted(INSTRUMENTS)


@pytest.mark.parametrize("key", ALL)
def test_a_key_is_consistent(key):
    one = INSTRUMENTS[key]
    assert len(set(one.item_keys)) == one.n_items
    assert set(one.reverse) <= set(one.numbers)
    for part in one.subscales:
        assert len(set(part.items)) == len(part.items)
        assert set(part.items) <= set(one.numbers)
    if one.subscales:  # subscales never share an item, and together they are the whole instrument
        assert sorted(n for part in one.subscales for n in part.items) == list(one.numbers)
    assert one.source
    assert one.licence


def test_reversed_items_count_low_plus_high_minus_answer():
    values = [1] * 29
    assert score(AGQ, values)["Overall"] == 27 + 2 * 7
    assert score(AGQ, values, keyed=False)["Overall"] == 29
    assert score(BFNE, [5] * 12)["Overall"] == 8 * 5 + 4 * 1
    assert score(TEQ, [0] * 16)["Overall"] == 8 * 4


def test_dass_is_doubled_unless_raw():
    assert score(DASS_21, [1] * 21) == {
        "Overall": 42, "Anxiety score": 14, "Depression score": 14, "Stress score": 14,
    }  # fmt: skip
    assert score(DASS_21, [1] * 21, keyed=False)["Overall"] == 21


@pytest.mark.parametrize("one", [PANAS, MJS, GASP])
def test_no_overall_where_the_instrument_has_none(one):
    assert "Overall" not in score(one, [one.low] * one.n_items)
    assert one.scores[0].name != "Overall"


@pytest.mark.parametrize("one", [MJS, GASP])
def test_a_total_that_the_instrument_does_not_define_is_named_as_such(one):
    whole, *parts = one.scores_and_total("all items")
    assert (whole.name, whole.items) == ("all items", tuple(one.numbers))
    assert tuple(parts) == one.subscales


def test_an_instrument_with_an_overall_score_gets_no_second_one():
    assert AGQ.scores_and_total("all items") == AGQ.scores


def test_the_two_scales_of_panas_are_never_added():
    assert [part.name for part in PANAS.scores_and_total("all items")] == ["Positive Affect", "Negative Affect"]
    assert score(PANAS, [5 if number in PANAS.subscales[0].items else 1 for number in PANAS.numbers]) == {
        "Positive Affect": 50,
        "Negative Affect": 10,
    }


def test_a_missing_answer_leaves_only_its_own_scores_undefined():
    values = [3.0] * 20
    values[0] = None
    assert score(PANAS, values) == {"Positive Affect": None, "Negative Affect": 30}
    agq = [3.0] * 29
    agq[0] = None
    found = score(AGQ, agq)
    assert found["Overall"] is None
    assert found["Physical Aggression Scale"] is None
    assert found["Hostility Scale"] == 24


def test_wrong_answers_are_errors_not_scores():
    with pytest.raises(DataError, match="20 items"):
        score(PANAS, [1] * 19)
    with pytest.raises(DataError, match="item 3"):
        score(PANAS, [1, 1, 6, *[1] * 17])
    with pytest.raises(UsageError, match="PANAS"):
        instrument("PANASX")
    assert instrument("dass-21") is DASS_21


def by_hand(one, part, values, keyed):
    answers = [values[number - 1] for number in part.items]
    if None in answers:
        return None
    if not keyed:
        return sum(answers)
    pairs = zip(part.items, answers, strict=True)
    return one.factor * sum(one.low + one.high - value if n in one.reverse else value for n, value in pairs)


@given(st.sampled_from(ALL), st.data())
def test_arrays_give_the_same_scores_and_stay_in_range(key, data):
    one = INSTRUMENTS[key]
    answer = st.one_of(st.none(), st.integers(one.low, one.high))
    values = data.draw(st.lists(answer, min_size=one.n_items, max_size=one.n_items))
    column = np.array([[np.nan if value is None else float(value)] for value in values])
    for keyed in (True, False):
        found = score(one, values, keyed=keyed)
        assert found == {part.name: by_hand(one, part, values, keyed) for part in one.scores}
        for part in one.scores:
            fast = score_columns(one, column, part, keyed=keyed)[0]
            low, high = score_range(one, part, keyed=keyed)
            if found[part.name] is None:
                assert np.isnan(fast)
            else:
                assert fast == found[part.name]
                assert low <= fast <= high


@given(st.sampled_from(ALL), st.data())
def test_turning_every_answer_around_turns_the_score_around(key, data):
    one = INSTRUMENTS[key]
    values = data.draw(st.lists(st.integers(one.low, one.high), min_size=one.n_items, max_size=one.n_items))
    turned = [one.flip - value for value in values]
    for part in one.scores:
        low, high = score_range(one, part)
        assert score(one, turned)[part.name] == low + high - score(one, values)[part.name]


def test_an_answer_out_of_range_is_named_among_many():
    answers = np.full((3, PANAS.n_items), 3.0)
    answers[0, 2] = np.nan
    check(PANAS, answers)
    answers[1, 4] = 6
    with pytest.raises(DataError, match=r"^PANAS item 5: 6 is not an answer from 1 to 5\.$"):
        check(PANAS, answers)

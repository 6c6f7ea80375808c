"""How carefully a person took part, from pages alone."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from eqlab.core.forms import Form, Scale
from eqlab.study.results.participants import (
    Given,
    Page,
    _impossible_sum,
    _pages,
    _rows_of_scales,
    straight_lining,
    timed,
    too_fast,
)


def page(values, kind="trial", seconds=10.0):
    return Page(0, kind, "t", dict(enumerate(values)), seconds, 0.0, 1, None)


@pytest.mark.parametrize(
    ("pages", "straight"),
    [
        ([page([3, 3, 3, 3, 3])], True),
        ([page([3, 3, 3, 3])], False),  # four values are too few to tell
        ([page([3, 3, 3]), page([3, 3])], True),
        ([page([3, 3, 3]), page([3, 2])], False),
        ([page([3])] * 10, False),  # one scale a page says nothing
        ([page([1] * 10, kind="instrument"), page([3, 2])], True),
        ([page([1] * 9, kind="instrument"), page([3, 2])], False),
        ([page([1] * 10, kind="attention"), page([3, 2])], False),
    ],
)
def test_one_value_throughout_is_straight_lining(pages, straight):
    assert straight_lining(pages) is straight


@pytest.mark.parametrize(
    ("pages", "could"),
    [
        ([page([3])] * 10, False),
        ([page([3])] * 10 + [page([1, 2] * 5, kind="instrument")], True),
        ([page([3, 2]), page([1, 2])], False),
        ([page([3, 2]), page([1, 2]), page([1])], True),
        ([replace(page([4, 3, 2, 1]), uneven=True)] * 10, False),  # ten points over four words
    ],
)
def test_a_line_can_be_seen_only_where_there_are_several_scales(pages, could):
    """A study of one scale a page said that 0.0 % of 24 people had answered in a line."""
    assert bool(list(_rows_of_scales(pages))) is could


def test_pages_below_the_least_time_are_too_fast():
    pages = [page([1], seconds=one) for one in (1.9, 2.0, 2.1, None)]
    assert (too_fast(pages, 2.0), timed(pages)) == (1, 3)
    assert too_fast([page([1], kind="quiz", seconds=0.1)], 2.0) == 0


@pytest.mark.parametrize(("seen_at", "odd"), [(160.0, 1), (169.0, 0), (120.0, 0)])
def test_pages_together_take_no_longer_than_the_visit(seen_at, odd):
    """A change has no time of its own; and who is last seen before an answer was there while the clock was set back."""
    row = SimpleNamespace(person="somebody", consented_at=100.0, seen_at=seen_at)
    given = [SimpleNamespace(seconds=seconds, at=at) for seconds, at in ((40.0, 140.0), (30.0, 150.0), (None, 151.0))]
    assert _impossible_sum(given, row) == odd


def test_a_page_that_was_changed_has_the_time_of_its_first_answer_and_the_values_of_its_last():
    trial = SimpleNamespace(id="t", key={}, form=Form((Scale("a", "A", 1, 3),)))
    first, last = (
        Given(0, "trial", trial, attempt, {"a": attempt}, seconds, 0.0, 0.0)
        for attempt, seconds in ((1, 12.0), (2, None))
    )
    (found,) = _pages([first, last], [SimpleNamespace(kind="trial")])
    assert (found.seconds, found.values, found.attempts) == (12.0, {"a": 2}, 2)

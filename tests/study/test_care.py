"""How carefully a person took part, from pages alone."""

import pytest

from eqlab.study.results.participants import Page, straight_lining, timed, too_fast


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


def test_pages_below_the_least_time_are_too_fast():
    pages = [page([1], seconds=one) for one in (1.9, 2.0, 2.1, None)]
    assert (too_fast(pages, 2.0), timed(pages)) == (1, 3)
    assert too_fast([page([1], kind="quiz", seconds=0.1)], 2.0) == 0

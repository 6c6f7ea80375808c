"""The length-adjusted view: two tables and a switch that needs no script, or the reason why there is no such view."""

import re
from dataclasses import replace
from statistics import fmean

import pytest
from msgspec import structs
from test_page import Page, item, page, record, result

from eqlab.analysis.length import SAME_LENGTH
from eqlab.comparison.equal_length import NO_MEAN, NO_WORDS, RATED, length_view
from eqlab.core.results import Estimate, OfOthers
from eqlab.core.runs import PEOPLE


def talker(name: str, skill: float, words: int, slope: float = 2.0, **changes):
    """A subject whose points rise with each doubling of its words by the slope, on items of their own difficulty."""
    lengths = [words * (1 + (number * (1 + len(name))) % 4) for number in range(12)]
    points = [skill + number + slope * (length - 1).bit_length() for number, length in enumerate(lengths)]
    items = tuple(
        item(number, 1.0, points=points[number], text="word " * (1 << (lengths[number] - 1).bit_length()))
        for number in range(12)
    )
    mean = fmean(points)
    return replace(
        result(f"model:{name}", items=items),
        headline=Estimate("EQ-Bench", mean, 12, 1.0, mean - 2, mean + 2),
        **changes,
    )


def test_scores_are_moved_to_the_common_length():
    view = length_view({"short": talker("short", 50, 4), "chatty": talker("chatty", 49, 64)})
    assert view.why == ""
    assert view.slope is not None
    assert view.slope.value == pytest.approx(2.0)
    assert view.slope.n == 12
    short, chatty = view.lines
    assert (short.name, chatty.name) == ("short", "chatty")
    assert short.score.value < chatty.score.value
    assert short.estimate.value - chatty.estimate.value == pytest.approx(1.0)
    assert short.words < view.words < chatty.words


def test_what_has_no_such_view_says_why():
    one, other = talker("one", 50, 4), talker("other", 49, 64)
    shifted = replace(other, headline=structs.replace(other.headline, value=61.0))
    assert length_view({"a": one, "b": shifted}).why == NO_MEAN
    bare = replace(other, items=tuple(structs.replace(own, text="") for own in other.items))
    assert length_view({"a": one, "b": bare}).why == NO_WORDS
    assert length_view({"a": one, "b": one}).why == SAME_LENGTH
    assert length_view({"a": replace(one, others=OfOthers("Empathy", "replies called Good")), "b": other}).why == RATED


def test_the_report_has_the_switch_and_both_tables():
    html = page(record(talker("short", 50, 4), talker("chatty", 49, 64)))
    found = Page(html)
    radios = [values for tag, values in found.tags if tag == "input"]
    assert [values["type"] for values in radios] == ["radio", "radio"]
    assert len({values["name"] for values in radios}) == 1
    assert "checked" in radios[0]
    assert "checked" not in radios[1]
    assert "A reply twice as long goes with 2.00 points" in found.visible
    rows = re.findall(r'<tr><td>([^<]+)</td><th scope="row"><bdi>(\w+)</bdi>', html)
    assert [name for _, name in rows] == ["short", "chatty"]


def test_one_subject_and_people_have_no_switch():
    alone = talker("short", 50, 4)
    assert "<input" not in page(record(alone))
    people = replace(talker("people", 49, 64), subject=PEOPLE)
    assert "<input" not in page(record(alone), record(people, seed=1))


def test_the_reason_stands_in_the_report():
    words = Page(page(record(result("model:a"), result("model:b")))).visible
    assert f"At equal length: undefined, because {NO_MEAN}." in words

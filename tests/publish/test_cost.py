"""Score against cost: money where every price is known, tokens otherwise, nobody drawn whose cost is unknown."""

from xml.etree import ElementTree

import pytest

from eqlab.core.results import Estimate
from eqlab.core.usage import Usage
from eqlab.publish.plot import Spent, cost_chart


def spent(name, score, *, cost=None, tokens=None, currency="USD"):
    usage = None if cost is None and tokens is None else Usage(100, tokens, 0, 0, cost, currency, 1.0)
    return Spent(name, Estimate("score", score, 60, 2.0, score - 4, score + 4), usage)


def drawn(*some):
    chart = cost_chart("EQ-Bench v2", "EQ-Bench v2", some, 1280)
    root = ElementTree.fromstring(chart)
    inside = "{http://www.w3.org/2000/svg}"
    words = [text.text for text in root.iter(f"{inside}text")]
    dots = {
        name: (float(dot.get("cx")), float(dot.get("cy")))
        for name, dot in zip([one.name for one in some if one.usage], root.iter(f"{inside}circle"), strict=True)
    }
    return words, dots, chart


def test_dearer_is_to_the_right_and_better_is_higher():
    words, dots, chart = drawn(spent("small", 40, cost=0.01), spent("large", 80, cost=1.0), spent("odd", 60, cost=5.0))
    assert "USD for 1,000 answers" in words
    assert dots["small"][0] < dots["large"][0] < dots["odd"][0]
    assert dots["large"][1] < dots["odd"][1] < dots["small"][1]  # y grows downwards
    path = chart.partition('class="edge" d="')[2].partition('"')[0]
    assert path.count("H") == 1, "from small to large; the odd one costs more and scores less"
    assert "small 40.00 at 0.1;" in chart, "one cent for 100 answers is 0.1 for 1,000"


def test_one_unknown_price_makes_it_tokens():
    words, dots, _ = drawn(spent("a", 40, cost=0.01, tokens=30_000), spent("b", 50, tokens=60_000))
    assert "tokens for one answer, prompt included" in words
    assert dots["a"][0] < dots["b"][0]
    words, _, _ = drawn(spent("a", 40, cost=1.0, tokens=9_000), spent("b", 50, cost=1.0, tokens=9_000, currency="EUR"))
    assert "tokens for one answer, prompt included" in words, "two currencies are no axis"


def test_who_cannot_be_placed_is_named():
    words, dots, _ = drawn(spent("a", 40, tokens=30_000), spent("local", 50))
    assert set(dots) == {"a"}
    assert any("their cost is unknown: local" in word for word in words)


@pytest.mark.parametrize("some", [(), (spent("a", 40),), (Spent("a", Estimate("s", None, 0), None),)])
def test_nothing_to_draw_is_none(some):
    assert cost_chart("t", "m", some, 1280) is None


def test_who_costs_at_least_so_much_is_named():
    least = Spent("talker", Estimate("score", 70, 60, 2.0, 66, 74), Usage(100, 9_000, 0, 0, 0.5, "USD", 1.0, 40))
    words, _, chart = drawn(spent("a", 40, cost=0.01, tokens=9_000), least)
    assert any("At least, for some of it is unknown: talker." in word for word in words)
    assert "talker 70.00 at ≥ 5." in chart


def test_one_point_has_an_axis():
    words, dots, _ = drawn(spent("a", 40, tokens=30_000))
    assert len(dots) == 1
    assert any(word == "300" for word in words)

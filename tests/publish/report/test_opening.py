"""The first screen: what was found, and the picture of it; a real comparison before what the embedded model says."""

import re
from dataclasses import replace

import pytest

from eqlab.core.results import Estimate, OfOthers
from eqlab.publish.report.opening import LANDSCAPE, landscape
from tests.publish.report.test_page import page, record, result


def test_every_subject_of_a_table_stands_on_one_axis_before_the_tables():
    html = page(record(result("model:a", value=40.0), result("model:b", value=60.0)))
    first, _, rest = html.partition('<h2 id="scores">')
    names = re.findall(r'<text class="f-name"[^>]*>([^<]*)</text>', first.partition('class="forest narrow"')[0])
    assert names == ["b", "a"]  # highest first
    assert "(sha256" not in first
    assert "(sha256" in rest


def test_the_landscape_has_the_published_scores():
    found = landscape()
    (forest,) = found.forests
    assert len(forest.lines) == len(LANDSCAPE)
    assert forest.lines[0].estimate.value == pytest.approx(85.73, abs=0.005)
    values = [line.estimate.value for line in forest.lines]
    assert values == sorted(values, reverse=True)
    assert "always 3" in dict(forest.baselines)


def test_only_the_embedded_model_has_the_landscape_before_it():
    assert "published models" in page(record(result("model:embedded")))
    assert "published models" not in page(record(result("model:a")))


def test_what_holds_for_every_result_is_said_once():
    html = page(
        record(result("model:a", caveats=("All of them.", "Only a.")), result("model:b", caveats=("All of them.",)))
    )
    assert html.count("All of them.") == 1
    assert html.count("Only a.") == 2  # in the table and in its section


def test_caveats_of_the_only_result_are_on_the_first_screen_and_nowhere_else():
    html = page(record(result("model:a", caveats=("Mind this.",))))
    assert html.count("Mind this.") == 1
    assert html.index("Mind this.") < html.index('id="scores"')


@pytest.mark.parametrize(("rated", "said"), [(("a", "b"), True), (("a",), False)])
def test_replies_that_a_judge_has_rated_are_not_called_unrated(rated, said):
    """Unless the judge has seen only some of them."""
    nothing = Estimate("P(Good)", None, 0, note="nobody has rated these replies")
    own = [replace(result(f"model:{name}"), headline=nothing, title="Empathy") for name in "ab"]
    shares = tuple((name, Estimate(name, 50.0, 9, 1.0, 40.0, 60.0)) for name in rated)
    judged = replace(
        result("judge:j"),
        benchmark="rating",
        title="Empathy, rated by a judge",
        ranked=False,
        others=OfOthers("Empathy", "replies called Good", shares),
    )
    html = page(record(*own), record(judged, seed=1))
    assert ("These replies have been rated: see Empathy, rated by a judge." in html) is said
    assert "nobody has rated" not in html.partition('<h2 id="scores">')[0]

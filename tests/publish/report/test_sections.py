"""What stands across results: profiles, heat maps, disagreement, and item pages whose links all lead somewhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from test_page import Page, item, page, record, result

from eqlab.benchmarks.eqbench.items import parse_open, parse_published
from eqlab.benchmarks.eqbench.result import OTHER, deviations, group_of
from eqlab.comparison import disagreement
from eqlab.core.results import ByEmotion, Estimate, OfOthers
from eqlab.publish import sections as item_pages
from eqlab.publish.groups import group
from eqlab.publish.report.page import item_files, render
from eqlab.tables import svg

ANGER, JOY = Estimate("anger", 2.0, 9, 0.5, 1.0, 3.0), Estimate("joy", 4.0, 7, 0.5, 3.0, 5.0)


def with_topics(count=250):
    items = tuple(item(i, float(i % 10), topics=("anger",) if i % 2 else ("anger", "joy")) for i in range(count))
    return result(items=items, emotions=ByEmotion("deviation", (ANGER, JOY), (structs.replace(ANGER, name="joy"),)))


def files(*records):
    return dict(item_files(records, back="../r.html", generated_at=0.0, version="1"))


def test_item_pages_hold_a_hundred_each_and_every_link_leads_somewhere():
    one = record(with_topics())
    made = {name: content.decode() for name, content in files(one).items()}
    assert [made[f"subject-1-items-{n}.html"].count("<article") for n in (1, 2, 3)] == [100, 100, 50]
    made["../r.html"] = render([one], generated_at=0.0, version="1", items="r-items")
    for name, html in made.items():
        Page(html)
        for href in re.findall(r'href="([^"]+)"', html):
            path, _, anchor = href.partition("#")
            target = made[path.removeprefix("r-items/") or name]
            assert not anchor or f'id="{anchor}"' in target
    assert made["../r.html"].count('href="r-items/subject-1-emotion-') == 2


def test_a_list_by_emotion_has_its_items_lowest_first_and_stops_at_a_hundred():
    made = files(record(with_topics()))
    joy = [name for name in made if name.startswith("subject-1-emotion-2")]
    assert len(joy) == 2
    rows = re.findall(r'<td class="num">(\d\.00)</td>', made["subject-1-emotion-2-1.html"].decode())
    assert len(rows) == 100
    assert rows == sorted(rows)


def test_hostile_text_stays_text_on_item_pages():
    bad = item(0, 1.0, title="<script>x</script>", text="</pre><img src=x>", topics=("<b>",))
    for content in files(record(result(items=(bad,)))).values():
        html = content.decode()
        Page(html)
        assert "<script>x" not in html
        assert "<img" not in html
        assert "<b>, " not in html


@given(st.integers(0, 1000))
def test_every_item_is_on_exactly_one_page(count):
    pages = item_pages.pages("p", count)
    assert [n for page in pages for n in range(page.first, page.last + 1)] == list(range(1, count + 1))
    assert all(page.last - page.first < item_pages.ITEMS_A_PAGE for page in pages)


def test_the_report_without_item_pages_links_to_none():
    html = page(record(with_topics(120)))
    assert 'href="/' not in html
    assert all(href.startswith("#") for href in re.findall(r'href="([^"]+)"', html))
    assert "--items</code>" in html


def test_heat_map_has_numbers_intervals_n_and_people():
    words = Page(page(record(with_topics(3)))).visible
    assert "1.00 to 3.00 · n = 9" in words
    assert "people, published" in words
    assert "not asked" in words


def test_tints_grow_with_the_value_and_change_hue_at_zero():
    values = [Estimate(str(v), v, 3) for v in (-4.0, -1.0, 0.0, 2.0, 8.0)]
    tint = svg.tints(values)
    assert [tint(one) for one in values] == ["below-4", "below-1", "heat-1", "heat-2", "heat-6"]
    assert tint(None) == tint(Estimate("x", None, 0)) == ""
    assert svg.tints(values[3:])(values[3]) == "heat-1"
    assert svg.heat_map("m", [svg.HeatColumn("a", (ANGER,))], "") is None


def test_a_profile_has_every_benchmark_on_its_own_axis_and_people_beneath():
    pair = (
        Estimate("change", -20.0, 9, 1.0, -22.0, -18.0),
        Estimate("change", -5.5, 700, 0.3, -6.1, -4.8, of="people"),
    )
    second = result(benchmark="emotionbench", title="EmotionBench", score_range=(-50.0, 100.0), beside_people=(pair,))
    html = page(record(result(), second))
    profile = re.search(r'<table class="profiled.*?</table>', html, re.DOTALL).group()
    assert profile.count("<tr") == 1 + 4
    assert "700 people" in profile
    assert '<tr role="row" class="people">' in profile
    branches = {row[0]: row[2:] for row in item_pages.measured_branches(group([record(result(), second)])).rows}
    assert branches["perceive"] == branches["use"] == ("–", "none")
    assert branches["understand"][0] == "EQ-Bench"
    assert "The four branches of emotional intelligence" in Page(html).visible
    assert "EQ profile" not in Page(page(record(result()))).visible


def test_a_rated_subject_has_its_share_of_good_in_its_profile():
    others = OfOthers("Empathy", "replies called Good", (("human", ANGER), ("a/one", JOY)), "human")
    judged = result("judge:j", benchmark="rating", title="Empathy, rated", ranked=False, others=others)
    html = page(record(result()), record(judged, seed=2))
    profile = re.search(r'<table class="profiled.*?</table>', html, re.DOTALL).group()
    assert "Empathy, rated by a judge, j" in profile
    assert "written by people" in profile


def test_length_stands_beside_the_score():
    html = page(
        record(result(items=(item(0, 1.0, text="one two three"), item(1, 1.0, text="one two three four five"))))
    )
    assert re.search(r'data-label="words a reply" data-value="4(\.0+)?">4', html)


def test_disagreement_lists_the_widest_first_and_only_shared_items():
    table = disagreement.disagreement({"a": {"x": 1.0, "y": 5.0, "z": 2.0}, "b": {"x": 9.0, "y": 4.0}})
    assert table.rows == (("x", 1.0, 9.0, 8.0), ("y", 5.0, 4.0, 1.0))
    assert disagreement.disagreement({"a": {"x": 1.0}}) is None
    assert disagreement.disagreement({"a": {"x": 1.0}, "b": {"y": 1.0}}) is None


def test_furthest_from_people_takes_the_scale_with_the_largest_gap():
    own = item(1, 1.0, values={"PA": -20.0, "NA": 3.0}, reference={"PA": -5.0, "NA": 11.0})
    table = disagreement.against_reference(result(items=(own,)), "people")
    assert table.rows == (("Dialogue 1 (i1)", "PA", -20.0, -5.0, -15.0),)
    assert disagreement.against_reference(result(items=()), "people") is None


def test_deviations_average_words_within_a_question_first():
    first = item(
        1, 1.0, values={"Angry": 3, "Annoyed": 5, "Proud": 1}, reference={"Angry": 5, "Annoyed": 5, "Proud": 1}
    )
    second = item(2, 1.0, values={"Angry": 9}, reference={"Angry": 5})
    found = {one.name: (one.value, one.n) for one in deviations([first, second]).estimates}
    assert found == {"anger": (2.5, 2), "pride and resolve": (0.0, 1)}
    assert deviations([]) is None


def test_every_open_word_has_a_group():
    from importlib.resources import files as shipped

    content = (shipped("eqlab") / "data" / "open" / "eqbench.toml").read_bytes()
    words = {word for question in parse_open(content, "eqbench.toml") for word in question.emotions}
    assert {word for word in words if group_of(word) == OTHER} == set()


def test_every_published_word_has_a_group(published):
    path = "eqbench/data/eq_bench_v2_questions_171.json"
    questions = parse_published((published / path).read_bytes(), path, "v2", "en")
    assert {word for question in questions for word in question.emotions if group_of(word) == OTHER} == set()


@pytest.mark.parametrize("count", [1, 2])
def test_disagreement_needs_two_subjects(count):
    subjects = [
        result(f"model:{n}", items=(item(1, float(n), points=10.0 * n), item(2, 3.0, points=30.0)))
        for n in range(count)
    ]
    (one,) = group([record(*subjects)])
    assert ("Where they disagree most" in page(record(*subjects))) == (count == 2)
    assert len(one.rows) == count

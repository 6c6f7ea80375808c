"""What Python's verbs return prints its verdict and can be drawn."""

import re
from xml.etree import ElementTree

import pytest
from filled_studies import filled, opened, template_text
from reading import reader

import eqlab


@pytest.fixture
def asked(server, tmp_path):
    server.reply = reader
    request = eqlab.Request(models=("timid", "wild"), base_url=server.url, benchmarks="eqbench", limit=20, items="open")
    with eqlab.open_store(str(tmp_path / "s.db")) as store:
        yield store, eqlab.run(eqlab.prepare(request), store)


def test_an_outcome_says_what_came_of_it(asked):
    store, outcome = asked
    said = str(outcome)
    assert said.startswith(f"Run {outcome.run}\n")
    assert "timid" in said
    assert "20 shared questions" in said
    assert f"run {outcome.run}: " in repr(outcome)
    assert "<p>" in outcome._repr_html_()
    found = eqlab.results(store, outcome.run)
    assert str(found) in said
    assert list(found) == list(outcome.results)


def test_what_is_compared_can_be_printed_and_drawn(asked):
    store, outcome = asked
    found = eqlab.compare_runs(outcome, store=store)
    (comparison,) = found
    assert str(found) == str(comparison) == str(outcome).partition("\n")[2]
    for picture in (comparison.plot(), found.plot(size="slide"), eqlab.results(store, "last").plot(), outcome.plot()):
        root = ElementTree.fromstring(picture._repr_svg_())
        words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"timid", "wild", "EQ Lab open dialogues"} <= words
        assert not any("EQ-Bench v2" in (word or "") for word in words)
    assert eqlab.to_frame(comparison).height == 1


def test_other_items_are_another_table_and_another_picture(asked):
    store, outcome = asked
    found = eqlab.compare_runs(outcome, "published:gpt-4-0314", store=store)
    titles = ["EQ Lab open dialogues", "EQ-Bench v2"]
    assert [comparison.title for comparison in found] == titles
    assert [line.partition(":")[0] for line in str(found).splitlines()] == titles
    open_items, published = re.split('class="f-title"[^>]*>EQ-Bench v2<', found.plot().svg)
    assert "timid" in open_items.partition('class="f-title"')[2]
    assert "timid" not in re.sub("<desc>.*?</desc>", "", published)
    assert "gpt-4-0314" in published


def test_a_run_that_stopped_says_so(server, tmp_path):
    from aiohttp import web

    server.reply = lambda body, number: web.Response(status=401, text="no")
    request = eqlab.Request(models="m", base_url=server.url, benchmarks="eqbench", limit=2, items="open")
    with eqlab.open_store(str(tmp_path / "s.db")) as store:
        outcome = eqlab.run(eqlab.prepare(request), store)
    assert "model:m stopped: " in str(outcome)


def test_published_models_are_compared_and_drawn_without_a_store():
    found = eqlab.compare_runs("published:gpt-4-0314", "published:gpt-4-0613")
    assert "cannot be told apart" in str(found)
    assert found.plot().svg.count('r="5"') == 2


def test_a_picture_says_that_its_people_are_everybody(tmp_path, store):
    """Of a study it draws whom the plan leaves out as well: beside the study's own analysis stood another number."""
    filled(opened(tmp_path / "study.toml", template_text("eqbench", store), store), store, 6)
    picture = eqlab.results(store, "last").plot()
    assert "(people: everybody who answered)" in picture.svg
    assert any("(people: everybody who answered)" in line for line in picture.text(100))

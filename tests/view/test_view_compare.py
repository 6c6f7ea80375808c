"""Compare: the product's own verdict, items in both's own words, filters that never pass for a result."""

import re
import shlex

import pytest

pytest.importorskip("starlette")

from view_case import View, fill, prepared, words

from eqlab.comparison.compare import compare as compare_entries
from eqlab.comparison.entries import entries, narrowed
from eqlab.comparison.sources import read_sources
from eqlab.comparison.tables import sentence
from eqlab.view.compare import BY_OUTCOME, EXPLORATORY, Filters, marked


def gaps_on(page):
    return [float(one) for one in re.findall(r'class="gap">([+-]\d+\.\d\d) points', page)]


def test_the_verdict_is_the_one_of_eqlab_compare(skilled_view, skilled_store):
    path, run = skilled_store
    (found,) = compare_entries(entries(read_sources([run], str(path)))[0])
    assert sentence(found) in words(skilled_view.get("/compare", s=run))


def test_two_of_a_run(skilled_view, skilled_store):
    _, run = skilled_store
    page = skilled_view.get("/compare", s=[f"{run}:model:lab/terse", f"{run}:model:lab/careful"], b="eqbench")
    said = words(page)
    assert "lab/careful is better than lab/terse by" in said
    assert "lab/hasty" not in said.partition("Take it with you")[0]
    assert "lab/careful − lab/terse" in said  # the better one first
    gaps = gaps_on(page)
    assert gaps == sorted(gaps, key=abs, reverse=True)
    assert len(gaps) == 10
    assert "page 1 of 2" in said
    assert "12 items, largest difference first" in said
    assert "<mark>" in page


@pytest.mark.parametrize("subjects", [("",), (":model:lab/terse", ":model:lab/careful")])
def test_the_command_shown_prints_the_same(skilled_view, skilled_store, eqlab, subjects):
    _, run = skilled_store
    page = skilled_view.get("/compare", s=[f"{run}{subject}" for subject in subjects], b="eqbench")
    (command,) = re.findall(r"<code>(eqlab compare [^<]+)</code>", page)
    done = eqlab(*shlex.split(command)[1:])
    assert done.code == 0
    assert done.out.splitlines()[0] in words(page)


def test_as_markdown(skilled_view, skilled_store):
    page = skilled_view.get("/compare", s=skilled_store[1])
    (text,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, flags=re.DOTALL)
    assert text.startswith("### EQ Lab open dialogues")
    assert "| lab/careful |" in text or "lab/careful" in text


def test_a_filtered_verdict_says_that_it_is_exploratory(skilled_view, skilled_store):
    _, run = skilled_store
    topics = sorted(
        {topic for line in skilled_view.site.shelf.snapshot.runs[0].results[0].items for topic in line.topics}
    )
    assert topics
    picks = [f"{run}:model:lab/careful", f"{run}:model:lab/terse"]
    whole = words(skilled_view.get("/compare", s=picks))
    few = words(skilled_view.get("/compare", s=picks, topic=topics[0]))
    assert EXPLORATORY not in whole
    assert EXPLORATORY in few
    assert whole.split("Ranks")[0] == few.split("Ranks")[0]  # the verdict on all items stays what it is


@pytest.mark.parametrize(
    "chosen", [{"delta": "30"}, {"status": "ok"}, {"length": "1"}], ids=lambda one: next(iter(one))
)
def test_a_verdict_on_items_chosen_by_how_they_came_out_says_so(skilled_view, skilled_store, chosen):
    picks = [f"{skilled_store[1]}:model:lab/{name}" for name in ("careful", "terse")]
    whole, few = (words(skilled_view.get("/compare", s=picks, **more)) for more in ({}, chosen))
    assert BY_OUTCOME in few
    assert BY_OUTCOME not in whole
    assert "lab/careful is better than lab/terse by" in few.split(BY_OUTCOME)[1]
    assert whole.split("Ranks")[0] == few.split("Ranks")[0]  # the verdict on all items stays what it is


def test_the_list_is_as_short_as_the_filter_says(skilled_view, skilled_store):
    picks = [f"{skilled_store[1]}:model:lab/{name}" for name in ("careful", "terse")]
    gaps = gaps_on(skilled_view.get("/compare", s=picks, delta="30"))
    assert gaps
    assert all(abs(one) >= 30 for one in gaps)
    for nothing in ({"delta": "5000"}, {"length": "5000"}):
        said = words(skilled_view.get("/compare", s=picks, **nothing))
        assert "0 items" in said
        assert "Too little is left to compare." in said


def test_narrowed_to_all_items_is_the_same_and_to_none_is_nothing(skilled_store):
    path, run = skilled_store
    for source in read_sources([run], str(path)):
        items = {item.item for item in source.result.items}
        same = narrowed(source, items)
        assert same.result.headline.value == pytest.approx(source.result.headline.value)
        assert same.result.headline.n == len(items)
        assert narrowed(source, set()) is None
        half = narrowed(source, set(sorted(items)[:6]))
        assert half.result.headline.n == 6
        assert half.result.baselines == ()


def test_with_a_published_result(skilled_view):
    said = words(skilled_view.get("/compare", s=["published:gpt-4-0613", "published:gpt-3.5-turbo-0613"]))
    assert "gpt-4-0613 is better than gpt-3.5-turbo-0613" in said
    assert "Item by item" in said


@pytest.mark.parametrize(
    ("given", "said"), [("nope", "names no run and no model"), ("published:nobody-has-this", "No published result")]
)
def test_what_nobody_knows_is_said(skilled_view, given, said):
    assert said in words(skilled_view.get("/compare", code=400, s=given))


def test_two_have_their_wins_with_the_verdict_whatever_is_filtered(skilled_view, skilled_store):
    """Counted here from the points of both, not by the page's own sum."""
    path, run = skilled_store
    own, _ = entries(read_sources([run], str(path)))
    means = {entry.name: entry.means for entry in own}
    one, other = means["lab/careful"], means["lab/terse"]
    wins, losses = sum(one[item] > other[item] for item in one), sum(one[item] < other[item] for item in one)
    said = f"lab/careful does better on {wins} of 12 questions, lab/terse on {losses}"
    two = [f"{run}:model:lab/terse", f"{run}:model:lab/careful"]
    for filters in ({}, {"q": "lakshmi"}, {"delta": "40"}):
        lead = re.search(r'<p class="lead"[^>]*>(.*?)</p>', skilled_view.get("/compare", s=two, **filters), re.DOTALL)
        assert said in words(lead[1])
    assert said not in words(skilled_view.get("/compare", s=run)).partition("Ranks")[0]  # of three nobody is chosen


def test_beside_two_answers_stands_the_reference_and_what_is_further_from_it_is_marked(skilled_view, skilled_store):
    run = skilled_store[1]
    page = skilled_view.get("/compare", s=[f"{run}:model:lab/terse", f"{run}:model:lab/careful"])
    tables = re.findall(r'<table class="values">.*?</table>', page, re.DOTALL)
    assert len(tables) == 10
    marks = 0
    for table in tables:
        assert re.findall(r"<th scope=\"col\"[^>]*>([^<]+)", table) == [
            "lab/careful",
            "lab/terse",
            "Reference",
        ]
        for row in re.findall(r"<tr><th scope=\"row\".*?</tr>", table):
            cells = re.findall(r'<td class="num">(.*?)</td>', row)
            values = [int(words(cell)) for cell in cells]
            far = [abs(value - values[2]) for value in values[:2]]
            marks += sum(far)
            assert ["<mark>" in cell for cell in cells] == [0 < far[0] >= far[1], 0 < far[1] >= far[0], False]
    assert marks


def test_without_a_choice_it_opens_on_the_best_two(skilled_view):
    reply = skilled_view.client.get("/compare")
    assert [name for name in ("careful", "hasty", "terse") if name in str(reply.url)] == ["careful", "hasty"]
    assert "lab/careful is better than lab/hasty by" in words(reply.text)
    (run,) = {held.id for held in skilled_view.site.shelf.look().runs}
    assert f'<a href="{skilled_view.root}/compare?s={run}">lab/careful, lab/hasty, lab/terse</a>' in reply.text


def test_with_nobody_to_compare_it_asks_for_a_choice(tmp_path):
    fill(tmp_path / "s.db", prepared(("lab/careful",), limit=5))
    assert "Who is better, and where?" in words(View(tmp_path / "s.db").get("/compare"))


@pytest.mark.parametrize("given", [("{run}:lab/terse", "last:lab/careful"), ("lab/terse", "lab/careful")])
def test_a_model_is_named_as_on_the_command_line(skilled_view, skilled_store, given):
    said = words(skilled_view.get("/compare", s=[one.format(run=skilled_store[1]) for one in given]))
    assert "lab/careful is better than lab/terse by" in said
    assert "lab/hasty" not in said.partition("Take it with you")[0]


def test_words_that_differ_are_marked_and_all_are_escaped():
    one, other = marked("a <b> same", "a <i> same")
    assert one == "a &lt;<mark>b</mark>&gt; same"
    assert other == "a &lt;<mark>i</mark>&gt; same"
    assert marked("", "x & y") == ("", "x &amp; y")
    long = "word " * 5000
    assert "<mark>" not in marked(long, long[::-1])[0]  # too long to be told apart word by word


def test_what_a_filter_takes():
    from eqlab.core.results import ItemScore

    line = ItemScore("i1", "t", 0, "ok", 1.0, title="How Ngozi feels", topics=("anger",))
    assert Filters(topic="anger", words="ngozi").takes(line)
    assert not Filters(topic="joy").takes(line)
    assert not Filters(words="ngozi marek").takes(line)
    assert Filters(status="refused").by_outcome
    assert not Filters(topic="anger").by_outcome

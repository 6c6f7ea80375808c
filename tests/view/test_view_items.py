"""Item: everybody's answers with repeats in one cell, the prompt as sent, raw replies; next and previous."""

import re

import pytest

pytest.importorskip("starlette")

from view_case import View, fill, prepared, words


@pytest.fixture
def items(skilled_view):
    return list(dict.fromkeys(line.item for line in skilled_view.site.shelf.snapshot.runs[0].results[0].items))


def test_everybody_and_what_lies_behind(skilled_view, skilled_store, items):
    said = words(skilled_view.get("/item", run=skilled_store[1], b="eqbench", item=items[1]))
    for part in (
        "reference",
        "lab/careful",
        "lab/hasty",
        "lab/terse",
        "The prompt as sent",
        "300 tokens in, 40 out",
        "0.40 s",
    ):
        assert part in said
    assert "item 2 of 12" in said
    assert re.search(r"lab/terse [-\d.]+ \d+, \d+ \d+, \d+", said)  # two repeats in one cell
    assert "People: no person has answered this question in this store. The reference is what the benchmark" in said
    assert "eqlab study init eqbench prepares a study that asks people the same." in said


def test_an_item_has_the_same_points_in_the_list_and_on_its_own_page(skilled_view, skilled_store):
    page = skilled_view.get("/result", run=skilled_store[1], subject="model:lab/terse", b="eqbench")
    href, score = re.search(r'href="(/item\?[^"]+)".*?<td>ok</td><td class="num">([-\d.]+)</td>', page).groups()
    assert f"{score} points" in words(skilled_view.client.get(href.replace("&amp;", "&")).text)


def test_the_value_furthest_from_the_reference_is_marked(skilled_view, skilled_store, items):
    table = skilled_view.get("/item", run=skilled_store[1], b="eqbench", item=items[0]).partition("<tbody>")[2]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row)[1:] for row in table.partition("</tbody>")[0].split("</tr>")[:-1]]
    reference, *models = rows
    assert len(models) == 3
    seen = 0
    for place, right in enumerate(reference):
        cells = [row[place] for row in models]
        off = [sum(abs(int(value) - int(right)) for value in words(cell).split(", ")) for cell in cells]
        assert ["<mark>" in cell for cell in cells] == [0 < far == max(off) for far in off]
        seen += max(off)
    assert seen


def test_next_and_previous(skilled_view, skilled_store, items):
    first = skilled_view.get("/item", run=skilled_store[1], b="eqbench", item=items[0])
    assert 'rel="prev"' not in first
    (after,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = skilled_view.client.get(after.replace("&amp;", "&")).text
    assert "item 2 of 12" in words(second)
    assert 'rel="prev"' in second
    assert 'rel="next"' not in skilled_view.get("/item", run=skilled_store[1], b="eqbench", item=items[-1])


def test_thinking_is_shown_apart(tmp_path):
    run = fill(tmp_path / "s.db", prepared(("lab/careful",), limit=5), reasoning="I wonder about Ngozi.")
    view = View(tmp_path / "s.db")
    item = view.site.shelf.snapshot.runs[0].results[0].items[0].item
    page = view.get("/item", run=run, b="eqbench", item=item)
    assert "Thinking, 21 characters, never parsed" in words(page)


def test_others_runs_on_the_same_items_stand_beside(tmp_path):
    runs = [fill(tmp_path / "s.db", prepared((name,), limit=6)) for name in ("lab/careful", "lab/terse")]
    view = View(tmp_path / "s.db")
    item = view.site.shelf.snapshot.runs[0].results[0].items[0].item
    said = words(view.get("/item", run=runs[0], b="eqbench", item=item))
    assert "lab/careful" in said
    assert "lab/terse" in said


def test_how_an_item_goes_with_the_rest(tmp_path):
    models = tuple(f"lab/m{number}" for number in range(6))
    run = fill(tmp_path / "s.db", prepared(models, limit=8))
    view = View(tmp_path / "s.db")
    item = view.site.shelf.snapshot.runs[0].results[0].items[0].item
    assert "n = 6 subjects" in words(view.get("/item", run=run, b="eqbench", item=item))


def test_from_a_result_the_next_item_is_the_next_lowest_and_there_is_a_way_back(skilled_view, skilled_store):
    _, run = skilled_store
    page = skilled_view.get("/result", run=run, subject="model:lab/terse", b="eqbench")
    first, second = re.findall(r'href="(/item\?[^"]+)"', page)[:2]
    item = skilled_view.client.get(first.replace("&amp;", "&")).text.replace(skilled_view.root, "")
    assert "1 of 12, worst of lab/terse first" in words(item)
    (after,) = re.findall(r'rel="next" href="([^"]+)"', item)
    title = re.search(r"<h2[^>]*>([^<]+)</h2>", skilled_view.client.get(second.replace("&amp;", "&")).text)[1]
    assert f">{title}</h2>" in skilled_view.client.get(after.replace("&amp;", "&")).text
    (back,) = re.findall(r'href="(/result\?[^"]+)"', item)
    assert "subject=model%3Alab%2Fterse" in back

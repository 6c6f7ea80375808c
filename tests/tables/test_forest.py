"""The forest plot: everybody on one axis, baselines as labelled lines, no text that is more than text."""

import re
from xml.etree import ElementTree

import pytest

from eqlab.core.results import Estimate
from eqlab.tables.forest import Forest, ForestLine, fitted, inline, standalone

LINES = (
    ForestLine("first", Estimate("score", 80.0, 20, 1.0, 70.0, 90.0), (1, 2), anchor="subject-1"),
    ForestLine("second", Estimate("score", 60.0, 20, 1.0, 50.0, 70.0), (1, 2)),
    ForestLine("off", Estimate("score", -30.0, 20, 1.0, -50.0, -10.0), (3, 3)),
    ForestLine("nothing", Estimate("score", None, 0)),
)
FOREST = Forest("EQ-Bench", "points", LINES, (0.0, 100.0), (("always 3", 38.9), ("random", 38.91), ("far", 120.0)))


def xs(markup: str, kind: str) -> list[float]:
    return [float(x) for x in re.findall(rf'<circle class="{kind}" cx="([\d.]+)%"', markup)]


def test_points_stand_where_their_values_are():
    wide = standalone(FOREST)
    assert xs(wide, "dot") == pytest.approx([2 + 0.8 * 96, 2 + 0.6 * 96])
    assert wide.count('<path class="dot"') == 1  # off the axis: at the edge, as a triangle
    assert "no score" in wide
    assert "80.00 (70.00 to 90.00), rank 1 to 2" in wide


def test_baselines_of_one_value_share_a_line_and_those_off_the_axis_have_none():
    wide = standalone(FOREST)
    assert wide.count('class="base"') == 1
    assert "always 3, random 38.9" in wide
    assert ">far" not in wide


@pytest.mark.parametrize(
    ("name", "value", "side"), [("4-5 by place", 57.1, "start"), ("4-5-2-3 by place", 95.0, "end")]
)
def test_a_label_crosses_no_line_before_its_own_where_there_is_room(name, value, side):
    drawn = standalone(Forest("EQ-Bench", "points", LINES, (0.0, 100.0), (("always 3", 38.9), (name, value))))
    (anchor,) = re.findall(rf'text-anchor="(\w+)">{name}', drawn)
    assert anchor == side


def test_a_file_of_its_own_is_well_formed_and_loads_nothing():
    evil = ForestLine('<script>"&\u202e', Estimate("score", 5.0, 9, 1.0, 4.0, 6.0, '<b>"'))
    made = standalone(Forest("<i>", "<u>&", (evil,), (0.0, 10.0), (("<base>", 3.0),), own="<own>"))
    root = ElementTree.fromstring(made)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "\u202e" not in made
    assert {one.tag.rpartition("}")[2] for one in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "line", "circle", "path", "g",
    }  # fmt: skip
    assert "url(" not in made
    assert "href" not in made


def test_on_a_page_names_lead_to_their_section_wide_and_narrow():
    made = str(inline(FOREST))
    assert made.count('<svg class="forest') == 2
    assert made.count('<a href="#subject-1">') == 2


def test_a_canvas_gives_the_longest_name_its_room():
    name = "TheBloke/Mistral-7B-Instruct-v0.2-GGUF"
    made = fitted(Forest("t", "m", (ForestLine(name, LINES[0].estimate),), (0.0, 100.0)), (1280, 720))
    wide = int(re.search(r'viewBox="0 0 (\d+)', made)[1])
    assert 0.3 * (wide - 32) > 6.9 * len(name)  # where the plot begins, and the name at 13 pixels, as chromium draws it


def test_a_line_is_kept_free_for_the_reader():
    assert "your model" in standalone(Forest("t", "m", LINES, (0.0, 100.0), own="eqlab run X"))
    assert "your model" not in standalone(FOREST)

"""Every renderer shows the same words: as many heads as cells, every defined cell, "undefined" alike."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.core import text
from eqlab.core.results import Column, Estimate, ItemScore, Table, stacked, whiskers
from eqlab.core.text import visible
from eqlab.tables import svg
from eqlab.tables.cells import cell_text, markdown_table, safe
from eqlab.tables.data import records, table_csv, table_json
from eqlab.tables.html import html_table
from eqlab.tables.terminal import table_lines

WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12)
FINITE = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def estimates(draw):
    value = draw(st.none() | FINITE)
    if value is None:
        return Estimate("e", None, draw(st.integers(0, 99)))
    reach = draw(st.floats(0, 100))
    return Estimate(
        "e", value, draw(st.integers(1, 999)), 1.0, value - reach, value + reach, digits=draw(st.integers(0, 3))
    )


CELLS = {
    "text": WORDS,
    "count": st.integers(0, 10**7),
    "number": FINITE,
    "p": st.floats(0, 1),
    "share": st.floats(0, 1),
    "estimate": estimates(),
    "rank": st.tuples(st.integers(1, 9), st.integers(10, 99)),
    "money": st.floats(0, 1e4),
    "seconds": st.floats(0, 1e4),
    "flag": st.booleans(),
}


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=6))
    columns = [
        Column(f"k{place}", f"{draw(WORDS)}{place}", kind, draw(st.integers(0, 3)), "USD" if kind == "money" else "")
        for place, kind in enumerate(kinds)
    ]
    rows = draw(st.lists(st.tuples(*(st.none() | CELLS[kind] for kind in kinds)), min_size=1, max_size=4))
    return Table(draw(WORDS), columns, rows, note=draw(st.just("") | WORDS))


def words_of(table):
    return [[cell_text(column, cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self._open = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._open = True

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


def html_cells(page):
    parser = Cells()
    parser.feed(str(page))
    return parser.rows


@given(tables())
def test_html_has_a_head_for_every_cell_and_the_same_words(table):
    heads, *rows = html_cells(html_table(table))
    assert heads == [visible(title) for title in table.titles]
    assert rows == [[visible(word) for word in row] for row in words_of(table)]


@given(tables())
def test_markdown_has_a_head_for_every_cell_and_the_same_words(table):
    lines = markdown_table(table).split("\n")
    heads, marks, *rows = [line.strip("|").split("|") for line in lines[: 2 + len(table.rows)]]
    assert len(heads) == len(marks) == len(table.columns)
    assert [[cell.strip() for cell in row] for row in rows] == [[safe(word) for word in row] for row in words_of(table)]


@given(tables(), st.sampled_from([40, 80, 200, 2000]))
def test_the_terminal_shows_every_cell(table, width):
    printed = "\n".join(line.text for line in table_lines(table, width))
    for row in words_of(table):
        for word in (part for cell in row for part in visible(cell).split()):
            assert word in printed


@given(tables())
def test_files_hold_the_values_under_the_columns_keys(table):
    data = table_json(table)
    assert len(data["columns"]) == len(data["keys"]) == len(data["kinds"])
    assert all(len(row) == len(data["columns"]) for row in data["rows"])
    heads, *rows = csv.reader(io.StringIO(table_csv(table).decode()))
    assert len(rows) == len(table.rows)
    for record, row, cells in zip(records(table), rows, table.rows, strict=True):
        assert list(record) == heads
        assert len(row) == len(heads)
        for column, cell in zip(table.columns, cells, strict=True):
            if cell is None or column.kind == "rank":
                continue
            assert record[column.key] == (cell.value if isinstance(cell, Estimate) else cell)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("p", 0.0012, "0.0012"),
        ("p", 0.00001, "< 0.0001"),
        ("p", 0.0, "< 0.0001"),
        ("p", None, "undefined"),
        ("number", 0.0012, "0.0012"),
        ("number", 0.0, "0.00"),
        ("number", -0.001, "-0.001"),
        ("number", 1234.5, "1234.50"),
        ("number", None, "undefined"),
        ("number", float("nan"), "undefined"),
        ("count", 3, "3"),
        ("count", 12345, "12,345"),
        ("share", 0.5, "50.00 %"),
        ("share", 0.00001, "< 0.01 %"),
        ("share", 0.99999, "> 99.99 %"),
        ("share", 1.0, "100.00 %"),
        ("rank", (2, 5), "2–5"),
        ("rank", (3, 3), "3"),
        ("rank", None, "none"),
        ("flag", True, "yes"),
        ("flag", False, "no"),
        ("money", None, "unknown"),
        ("money", 0.00002, "< 0.0001 USD"),
        ("seconds", 0.001, "< 0.01"),
        ("text", None, ""),
        ("estimate", Estimate("e", 57.312, 58, 3.0, 51.2, 63.4), "57.31 (51.20 … 63.40, n = 58)"),
        ("estimate", Estimate("e", 57.312, 3), "57.31 (too few, n = 3)"),
        ("estimate", Estimate("e", None, 3), "undefined (n = 3)"),
        ("estimate", "no answers", "no answers"),
    ],
)
def test_the_text_of_a_cell(kind, value, words):
    assert cell_text(Column("k", "k", kind, unit="USD" if kind == "money" else ""), value) == words


def test_a_column_given_by_its_title_is_what_its_cells_are():
    some = Estimate("e", 1.0, 9)
    table = Table(
        "A title, 50 %",
        ("name", "n", "x", "e", "ok", "mixed"),
        [("a", 1, 1, some, True, 1), ("b", None, 0.5, None, False, "x")],
    )
    assert [column.kind for column in table.columns] == ["text", "count", "number", "estimate", "flag", "text"]
    assert table.key == "a_title_50_percent"


def test_a_small_p_looks_alike_wherever_its_column_is_called_p():
    table = Table("T", ("a", "p", "p (Holm)", "people"), [("x", 0.0012, 0.00002, 0.5)])
    assert [column.kind for column in table.columns] == ["text", "p", "p", "number"]
    for printed in (markdown_table(table), str(html_table(table)), table_lines(table, 80)[1].text):
        assert "0.0012" in printed
    assert words_of(table) == [["x", "0.0012", "< 0.0001", "0.50"]]


def test_a_row_that_does_not_fit_its_heads_is_refused():
    with pytest.raises(ValueError, match="table 'T', row 2: 1 cells under 2 titles"):
        Table("T", ("a", "b"), [(1, 2), (1,)])


ARMS = Table(
    "Arms",
    ("arm", "Bad", "Good", "P"),
    (("a", 3, 7, Estimate("p", 70.0, 10, None, 40.0, 90.0)), ("b", 0, 0, Estimate("p", None, 0)), ("c", 1, 1, None)),
    draw=(whiskers("P"), stacked("Bad", "Good")),
)


def test_counts_and_estimates_are_drawn_beside_the_first_column():
    page = str(html_table(ARMS))
    assert "from 0 to 90" in page
    assert "Bad 3, Good 7" in page
    assert 'width="30.000%"' in page
    assert page.count('class="dots"') == 2
    assert "nothing" in page


def test_zero_is_on_the_axis_where_intervals_are_near_it():
    near = [Estimate("d", 0.2, 5, None, 0.1, 0.3)]
    far = [Estimate("d", 90.0, 5, None, 88.0, 92.0)]
    assert svg.table_range(near)[0] == 0.0
    assert svg.table_range(far)[0] == 88.0


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors():
    axis = svg.Axis(1, 100, 0, 200, "px", log=True)
    assert [axis.at(value) for value in (1, 10, 100)] == [0, 100, 200]
    assert axis.ticks() == [1, 2, 5, 10, 20, 50, 100]


def test_cells_that_are_marked_or_labelled_stay_text():
    table = Table("t", (Column("a", "a"), Column("b", '<b title="x">')), (("one", "<i>"), ("two", "")))
    page = str(html_table(table, marked={(0, 1)}, labelled=True))
    assert "<mark>&lt;i&gt;</mark>" in page
    assert page.count("data-label=") == 1  # a cell without words has nothing to label
    assert 'data-label="&lt;b title=&#34;x&#34;&gt;"' in page
    assert "data-label" not in str(html_table(table))
    assert "<mark>" not in str(html_table(table))


def furthest(values, reference):
    return text.furthest(ItemScore("i", "t", 1, "ok", 1.0, values=values, reference=reference))


def test_the_value_furthest_from_its_reference():
    assert furthest({"joy": 3, "fear": 8}, {"joy": 1, "fear": 3}) == {"fear"}
    assert furthest({"joy": 3, "fear": 1}, {"joy": 1, "fear": 3}) == {"joy", "fear"}
    assert furthest({"joy": 3}, {"joy": 3.0}) == set()
    assert furthest({"what": "b", "why": "c"}, {"what": "b", "why": "a"}) == {"why"}
    assert furthest({"answer": "b"}, {"answer": "c"}) == {"answer"}
    assert furthest({"joy": 3}, {"joy": 2}) == set()  # the only number: its score says how far
    assert furthest({"joy": 3, "fear": 1, "other": 9}, {"joy": 2, "fear": 1, "shame": 5}) == {"joy"}  # named by both
    assert furthest({}, {"joy": 2}) == set()

from eqlab.core.results import Estimate, Table
from eqlab.publish import figures
from eqlab.publish.report.drawn import drawn_cell, drawn_range, levels_of

TABLE = Table(
    "Arms",
    ("arm", "Bad", "Good", "P"),
    (("a", 3, 7, Estimate("p", 70.0, 10, None, 40.0, 90.0)), ("b", 0, 0, Estimate("p", None, 0)), ("c", 1, 1, None)),
    whiskers="P",
    stacked=("Bad", "Good"),
)


def test_only_estimates_with_a_value_make_the_axis():
    assert drawn_range(TABLE) == (0.0, 90.0)
    assert drawn_cell(TABLE, TABLE.rows[0]).value == 70.0
    assert drawn_cell(TABLE, TABLE.rows[2]) is None
    assert drawn_range(Table("t", ("a",), (("x",),))) is None


def test_zero_is_on_the_axis_where_intervals_are_near_it():
    near = [Estimate("d", 0.2, 5, None, 0.1, 0.3)]
    far = [Estimate("d", 90.0, 5, None, 88.0, 92.0)]
    assert figures.table_range(near)[0] == 0.0
    assert figures.table_range(far)[0] == 88.0


def test_a_stacked_bar_says_its_counts_in_words():
    bar = figures.stacked_bar("a", levels_of(TABLE, TABLE.rows[0]))
    assert "Bad 3, Good 7" in bar
    assert 'width="30.000%"' in bar
    assert "nothing" in figures.stacked_bar("b", levels_of(TABLE, TABLE.rows[1]))

"""Tables on a narrow terminal: columns share the room, no word of any is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.cli.output import print_rows
from eqlab.tables.terminal import shares

COLUMNS = ("item", "n", "difficulty (mean)", "discrimination", "with the rest", "… upper half", "information")
ROWS = [
    ["135", "52", "68.85", "15.08", "0.65 (0.46 … 0.78, n = 52)", "-0.56", "1.02"],
    ["95", "54", "78.06", "17.23", "0.76 (0.62 … 0.86, n = 54)", "-0.48", "last-cell"],
]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 140])
def test_no_word_is_lost(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_rows("", COLUMNS, ROWS)
    shown = capsys.readouterr().out
    assert all(len(line) <= width for line in shown.splitlines())
    words = shown.split()
    for cell in (*COLUMNS[1:], *(cell for row in ROWS for cell in row)):  # as facts, the first column has no head
        for word in cell.split():
            assert word in words


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 60)), min_size=1, max_size=10), st.integers(0, 200))
def test_the_room_is_shared_and_never_exceeded(columns, more):
    words = [word for word, _ in columns]
    whole = [word + lack for word, lack in columns]
    room = sum(words) + more
    found = shares(whole, words, room)
    assert all(word <= width <= most for word, width, most in zip(words, found, whole, strict=True))
    assert sum(found) <= room
    assert found == whole or room - sum(found) < len(found)


NAMES = ("my-organisation/some-very-long-model-name-7B-instruct-v2", "steady")
RANKED = [[f"{place}–4", "yes", name, "51.94 (33.85 … 70.03, n = 20)", "0"] for place, name in enumerate(NAMES, 1)]


@pytest.mark.parametrize("width", [56, 60, 80, 100])
def test_no_name_and_no_interval_is_broken(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_rows("", ("rank", "may be first", "who", "score", "lost"), RANKED)
    shown = capsys.readouterr().out
    assert all(len(line) <= width for line in shown.splitlines())
    assert NAMES[0] in shown
    assert shown.count("33.85 … 70.03") == 2
    assert shown.count("51.94 (33.85 … 70.03, n = 20)") == 2


def test_a_long_name_stands_above_its_numbers(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    print_rows("", ("rank", "may be first", "who", "score", "lost"), RANKED)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "who"
    assert lines[2] == NAMES[0]
    assert lines[3].split() == ["1–4", "yes", "51.94", "(33.85", "…", "70.03,", "n", "=", "20)", "0"]


def test_a_column_with_nothing_in_it_is_left_out(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    print_rows("", ("who", "p", "n"), [["a", "", "3"], ["b", "", "4"]])
    assert capsys.readouterr().out == "who  n\na    3\nb    4\n"


def test_no_interval_ends_at_minus_nothing():
    from eqlab.cli.output import interval
    from eqlab.core.results import Estimate

    assert interval(Estimate("x", 0.0, 22, 0.0, -1e-16, 0.04, digits=1)) == "0.0 … 0.0"

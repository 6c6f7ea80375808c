"""A reproduction as CSV and as Markdown."""

import csv
import io

from eqlab.core.results import Column, Estimate, Table
from eqlab.reproduce.claims import as_csv, as_markdown


def test_csv_has_every_key_and_runs_no_formula():
    rows = [{"a": 1.5, "b": None, "c": "=1+1"}, {"a": -2, "d": [1, 2], "c": 'x,"\r\n', "e": True}]
    first, *lines = csv.reader(io.StringIO(as_csv(rows).decode(), newline=""))
    assert first == ["a", "b", "c", "d", "e"]
    assert lines == [["1.5", "", "'=1+1", "", ""], ["-2", "", 'x,"\r\n', "1, 2", "yes"]]


def test_csv_of_nothing():
    assert as_csv([]) == b"\r\n"


def test_markdown_is_a_table_whatever_the_cells_hold():
    table = Table(
        "T|itle",
        ("name", "n", Column("p", "p", "p"), "score"),
        (
            ("a|b\n<script>`x`", 3, 0.00001, Estimate("", 1.0, 3, 0.5, 0.0, 2.0)),
            ("*c*", None, 0.5, Estimate("", None, 0)),
        ),
        note="A [note].",
    )
    text = as_markdown("Study", ["First.", "Second_ one."], [table])
    lines = text.splitlines()
    assert lines[:4] == ["# Study", "", "- First.", "- Second&#95; one."]
    body = lines[lines.index("## T&#124;itle") :]
    assert body[2:4] == ["| name | n | p | score |", "| :-- | --: | --: | :-- |"]
    assert body[4] == "| a&#124;b &#60;script&#62;&#96;x&#96; | 3 | &#60; 0.0001 | 1.00 (0.00 … 2.00, n = 3) |"
    assert body[5] == "| &#42;c&#42; | undefined | 0.5000 | undefined (n = 0) |"
    assert body[-1] == "A &#91;note&#93;."

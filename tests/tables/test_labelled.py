"""Files of SPSS and Stata: what another library reads in them is what was put in, with every description as a label."""

import sys
from datetime import UTC, datetime

import pytest

from eqlab.core.errors import UsageError
from eqlab.tables.labelled import Variable, labelled_file, variables_csv, variables_frame

VARIABLES = (
    Variable("by", "text", "who spoke", values=("person", "model")),
    Variable("PANAS positive affect", "number", "a score", "points"),
    Variable("PANAS positive affect, at the end", "number", "é" * 300),
    Variable("PANAS positive affect, at the other end", "integer", "a count"),
    Variable("2nd", "yes/no", "whether it is so"),
    Variable("at", "time", "when it came"),
    Variable("text", "text", "what was said"),
)
NAMES = [
    "by_",
    "PANAS_positive_affect",
    "PANAS_positive_affect_at_the_end",
    "PANAS_positive_affect_at_the_oth",
    "v_2nd",
    "at",
    "text",
]
ROWS = [
    ("model", 1.5, None, 1, True, datetime(2026, 11, 17, 9, 30, 1, 250_000, UTC), "é😀\n\tend " * 4000),
    ("robot", None, 0.1, None, False, None, "a\0b"),
    (None, -2.0, 3.0, 2**40, None, datetime(1969, 12, 31, 23, 0, 0, 0, UTC), None),
]


@pytest.fixture
def read(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")

    def reading(ending, frame):
        path, said = tmp_path / f"x.{ending}", []
        path.write_bytes(labelled_file(frame, VARIABLES, ending, said.append))
        return *getattr(pyreadstat, f"read_{ending}")(path, output_format="polars"), said

    return reading


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_what_is_read_back_is_what_was_written(read, ending):
    names = [variable.name for variable in VARIABLES]
    frame = variables_frame(VARIABLES, [dict(zip(names, row, strict=True)) for row in ROWS])
    back, told, said = read(ending, frame)
    assert back.columns == NAMES
    assert back["by_"].to_list() == [2, 3, None]
    assert told.variable_value_labels == {
        "by_": {1: "person", 2: "model", 3: "robot"},  # no word of the set, and not lost
        "v_2nd": {0: "no", 1: "yes"},
    }
    assert back[NAMES[1]].to_list() == [1.5, None, -2.0]
    assert back[NAMES[2]].to_list() == [None, 0.1, 3.0]
    assert back[NAMES[3]].to_list() == [1, None, 2**40]
    assert back["v_2nd"].to_list() == [1, 0, None]
    times = [None if row[5] is None else row[5].replace(tzinfo=None) for row in ROWS]
    for found, put in zip(back["at"].to_list(), times, strict=True):
        assert found == put or abs((found - put).total_seconds()) < 0.001
    long, with_nul, missing = back["text"].to_list()
    assert (with_nul, missing) == ("a\ufffdb", "")
    if ending == "sav":
        assert said == ["! 1 text cut: SPSS holds 32,767 bytes. Parquet, CSV and Stata have them whole."]
        assert long.endswith("…")
        assert ROWS[0][6].startswith(long[:-1])
        assert 32_760 < len(long.encode()) <= 32_767
    else:
        assert (long, said) == (ROWS[0][6], [])
    labels = told.column_names_to_labels
    assert labels["PANAS_positive_affect"] == "a score [points]"
    assert labels["text"] == "what was said"
    assert labels[NAMES[2]].startswith("ééééé")
    assert labels[NAMES[2]].endswith("…")


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_table_without_rows_has_its_columns(read, ending):
    back, told, _ = read(ending, variables_frame(VARIABLES, []))
    assert (back.height, told.column_names) == (0, NAMES)


def test_the_codebook_of_a_table_has_a_line_for_every_column():
    assert variables_csv(VARIABLES[:2]).decode().splitlines() == [
        "name,type,unit,values,meaning",
        "by,text,,person; model,who spoke",
        "PANAS positive affect,number,points,,a score",
    ]


def test_without_the_extra_the_way_to_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(UsageError, match="need an extra") as told:
        labelled_file(variables_frame(VARIABLES, []), VARIABLES, "sav", print)
    assert "eqlab[spss]" in told.value.hint

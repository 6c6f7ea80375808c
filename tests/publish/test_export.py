"""A table of answers is written in parts: memory does not grow with the run. Every column of it is described."""

import csv

import polars as pl
import pytest
from server import answer_to

import eqlab as api
from eqlab.publish import export


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_no_more_than_a_part_is_in_memory(server, store, tmp_path, monkeypatch, ending):
    """When a part is written, the rows after it have not been read yet."""
    server.reply = lambda body, n: answer_to(body["messages"][-1]["content"])
    request = api.Request(("m",), ("eqbench",), profile="full", limit=25, base_url=server.url)
    stored = store.find_run(api.run(api.prepare(request), store).run)
    read, ahead = 0, []
    rows, safe_csv, ndjson = export._rows, export.safe_csv, pl.DataFrame.write_ndjson

    def counted(*arguments):
        nonlocal read
        for row in rows(*arguments):
            read += 1
            yield row

    def written(frame, write, *arguments, **named):
        if frame.height:
            ahead.append((frame.height, read))
        return write(frame, *arguments, **named)

    monkeypatch.setattr(export, "_rows", counted)
    monkeypatch.setattr(export, "safe_csv", lambda frame, **named: written(frame, safe_csv, **named))
    monkeypatch.setattr(pl.DataFrame, "write_ndjson", lambda frame: written(frame, ndjson))
    monkeypatch.setattr(export, "_PART", 10)
    path = tmp_path / f"x.{ending}"
    assert export.write_answers(store, stored, path) == 25
    assert ahead == [(10, 10), (10, 20), (5, 25)]
    found = pl.read_csv(path) if ending == "csv" else pl.read_ndjson(path)
    assert found.height == 25
    assert found.columns == [variable.name for variable in export.VARIABLES]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_codebook_beside_the_file_describes_every_column(skilled_store, eqlab, tmp_path, ending):
    store, run = skilled_store
    path = tmp_path / f"answers.{ending}"
    assert eqlab("runs", "export", run, "-o", path, "--store", store).code == 0
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[ending]
    frame = read(path, infer_schema_length=None) if ending != "parquet" else read(path)
    with (tmp_path / "answers.codebook.csv").open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    assert [line["name"] for line in told] == frame.columns
    assert all(line["type"] and line["meaning"] for line in told)
    for line in told:  # what a codebook says may stand in a column is all that stands in it
        if line["values"]:
            assert set(frame[line["name"]].drop_nulls().to_list()) <= set(line["values"].split("; ")), line["name"]
    assert {line["name"]: line["unit"] for line in told}["latency"] == "seconds"


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_file_of_spss_or_stata_holds_the_same_rows(skilled_store, eqlab, tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat")
    store, run = skilled_store
    for one in ("parquet", ending):
        assert eqlab("runs", "export", run, "-o", tmp_path / f"answers.{one}", "--store", store).code == 0
    frame = pl.read_parquet(tmp_path / "answers.parquet")
    path = tmp_path / f"answers.{ending}"
    back, told = getattr(pyreadstat, f"read_{ending}")(path, apply_value_formats=True, output_format="polars")
    assert back.columns == frame.columns
    assert told.column_labels[0] == "id of the run"
    assert told.variable_value_labels["status"][1] == "ok"
    for column in frame.columns:
        put = frame[column].fill_null("") if frame[column].dtype == pl.String else frame[column]
        assert list(back[column]) == put.to_list(), column

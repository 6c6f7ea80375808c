"""A table of answers is written in parts: memory does not grow with the run."""

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
    assert found.columns == list(export._SCHEMA)

"""`eqlab research reproduce`: what is printed where."""

import csv
import json

import pytest
from sage_files import put


@pytest.fixture
def folder(tmp_path):
    for simulator in ("one", "two"):
        for shift, model in enumerate(("claude", "=llama")):
            finals = {f"p{n}": 30 + 7 * n - 20 * shift + 5 * (simulator == "two") * (n % 3) for n in range(8)}
            put(tmp_path / "data", simulator, model, finals)
    return tmp_path / "data"


def test_json_and_rows(eqlab, folder, tmp_path):
    done = eqlab("reproduce", "sage", "--data", folder, "--json", "--csv", "rows.csv")
    body = json.loads(done.out)
    assert set(body) == {"rows", "summary"}
    assert {"simulator", "model", "n", "score", "sd", "success", "failure"} <= set(body["rows"][0])
    assert "rows.csv" in done.err
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == [row["score"] for row in body["rows"]]
    assert {row["model"] for row in rows} == {"claude", "'=llama"}


def test_the_summary_comes_before_the_tables(eqlab, folder):
    lines = eqlab("reproduce", "sage", "--data", folder).out.splitlines()
    assert "printed values" in lines[0]
    assert lines.index("") > 3
    assert any(line.startswith("SAGE: final emotion") for line in lines[lines.index("") :])


def test_markdown(eqlab, folder):
    text = eqlab("reproduce", "sage", "--data", folder, "--markdown").out
    assert text.startswith("# SAGE, recomputed\n\n- ")
    assert "| one | claude | " in text


@pytest.mark.parametrize("flags", [["--json"], ["--markdown"], []])
def test_a_broken_line_stops_it_and_is_named(eqlab, folder, flags):
    file = min(folder.rglob("claude_result.jsonl"))
    file.write_text(file.read_text() + "{")
    done = eqlab("reproduce", "sage", "--data", folder, *flags)
    assert (done.code, done.out) == (1, "")
    assert "one_based_simulator/claude_result.jsonl, line 9" in done.err

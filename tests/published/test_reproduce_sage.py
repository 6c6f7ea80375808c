"""SAGE on the published talks and personas."""

import csv
import json

import pytest
from presentation import presented

from eqlab.benchmarks.dialogue.published import PERSONAS, parse_personas, parse_talks
from eqlab.data import published as files
from eqlab.data.published import find
from eqlab.reproduce.sage import findings, reproduce, tables


@pytest.fixture(scope="module")
def report(published):
    return reproduce(published)


def test_golden(report, golden):
    rows = {(row["simulator"], row["model"]): row for row in report["rows"]}
    with (golden / "sage.csv").open(newline="") as file:
        expected = list(csv.DictReader(file))
    assert len(expected) == 12
    for row in expected:
        ours = rows[row["simulator"], row["model"]]
        assert (ours["n"], ours["success"], ours["failure"]) == tuple(int(row[k]) for k in ("n", "success", "failure"))
        assert ours["score"] == pytest.approx(float(row["score"]), abs=5e-5)
        assert ours["sd"] == pytest.approx(float(row["sd"]), abs=5e-5)
        for name in ("score", "success", "failure"):
            printed = row[f"printed_{name}"]
            assert ours[f"printed_{name}"] == (float(printed) if printed else None)
        assert ours["agrees"] is (True if row["printed_score"] else None)


def test_every_printed_value_comes_out(report):
    summary = report["summary"]
    assert summary["agree"] == summary["printed_values"] >= 24
    assert all(row["note"] == "" or "taken for" in row["note"] for row in report["rows"])


def test_what_print_does_not_say(report):
    assert all(3.0 < row["se"] < 4.0 for row in report["rows"])
    effect = next(one for one in report["summary"]["simulator_effects"] if one["second"] == "gpt-4o-2024-0806")
    gaps = {one["model"]: one["difference"] for one in effect["models"]}
    assert gaps["deepseek-v3-1227"] == pytest.approx(65.6 - 37.55)
    assert gaps["claude3.7"] == pytest.approx(70.34 - 54.8)
    assert gaps["llama3.3-70b"] == pytest.approx(49.43 - 33.25)
    assert gaps["gpt-4o-0806"] == pytest.approx(52.13 - 31.75)
    neighbours = [pair for pair in report["summary"]["differences"] if pair["neighbours"]]
    assert sum(pair["separated"] for pair in neighbours) < len(neighbours) / 2
    shares = report["summary"]["variance"]["shares"]
    assert shares["simulator"] > shares["model"] / 2
    assert sum(shares.values()) == pytest.approx(100)


def test_the_report_is_json_with_sentences_and_tables(report):
    json.dumps(report, allow_nan=False)
    assert findings(report)[0].startswith(f"{report['summary']['agree']} of ")
    for table in tables(report):
        assert table.rows
        assert len(set(table.titles)) == len(table.columns)
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_personas_are_those_of_the_talks(published):
    personas = parse_personas(files.read(PERSONAS, published), PERSONAS)
    assert len(personas) == 100
    assert all(one.who and one.scene and one.need and one.trait for one in personas)
    ids = {one.id for one in personas}
    needs = {one.need for one in personas}
    assert 1 < len(needs) < 100
    for path in find("sage/SAGE/dataset/*/*.jsonl", published):
        talks = parse_talks(path.read_bytes(), path.name)
        assert {talk.persona for talk in talks} <= ids
        assert all(talk.turns[0].seat == "speaker" and talk.course[0] == 40 for talk in talks)
        assert all(4 <= (talk.replies or 0) <= 10 for talk in talks)


def test_the_summary_comes_first_and_json_holds_no_python(report, capsys):
    assert "printed values" in presented("sage", report, capsys)[0]

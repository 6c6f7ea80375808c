"""What no skill earns beside the published tables."""

import json

import pytest

from eqlab.reproduce.no_skill import STUDY, picture, reproduce


@pytest.fixture(scope="module")
def report(published):
    return reproduce(published)


def test_the_strongest_answers_and_whom_they_beat(report):
    rows = {(row["benchmark"], row["table"], row["answer"]): row for row in report["rows"]}
    place = rows["SECEU", "Table 1", "4, 3, 2, 1 by place"]
    assert (place["beats"], place["models"], round(place["value"], 3)) == (15, 15, 1.609)
    assert rows["SECEU", "Table 1", "2.5 to each"]["beats"] == 13
    german = rows["CuLEmo", "deu", "always neutral"]
    assert german["beats"] == german["models"] > 0
    assert german["value"] == pytest.approx(86.75)
    assert rows["EQ-Bench", "v2, result files", "always 3"]["value"] == pytest.approx(38.9, abs=0.05)
    assert rows["EQ-Bench", "v2, result files", "4, 5, 2, 3 by place"]["value"] == pytest.approx(43.4, abs=0.05)
    constant = rows["Kumar", "epitome", "each scale's commonest"]
    assert (constant["models"], constant["value"]) == (4, pytest.approx(100 * (0.6 + 0.76 + 0.62) / 3))
    assert rows["EmoBench", "application", "always C"]["models"] == 0
    moved = {row["answer"]: row for row in report["rows"] if row["benchmark"] == "EmotionBench"}
    assert [(row["beats"], row["models"]) for row in moved.values()] == [(7, 7), (5, 7)]
    assert moved["never moved"]["value"] == pytest.approx(7.78, abs=0.005)
    (sage,) = [row for row in report["rows"] if row["benchmark"] == "SAGE"]
    assert (sage["value"], sage["beats"], sage["models"]) == (40.0, 7, 12)
    rater = rows["Empathy", "ratings", "always Good, as a rater"]
    assert (rater["n"], rater["value"]) == (6000, pytest.approx(59.15))
    for row in report["rows"]:
        assert row["beats_at_least"] <= row["beats"] <= row["beats_at_most"] <= row["models"]


def test_sentences_table_and_picture(report):
    json.dumps(report, allow_nan=False)
    assert any("always neutral" in sentence for sentence in STUDY.findings(report))
    (table,) = STUDY.tables(report)
    assert len(table.rows) == len(report["rows"])
    drawn = picture(report)
    assert drawn.startswith("<svg")
    assert "SECEU Table 1: 4, 3, 2, 1 by place" in drawn


def test_without_data_it_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_DATA", str(tmp_path))
    report = reproduce(tmp_path)
    assert [one.split(":")[0] for one in report["summary"]["missing"]][:1] == ["seceu"]
    assert {row["benchmark"] for row in report["rows"]} == {"EmotionBench", "SAGE"}  # what is printed ships
    assert any("Not at hand: seceu" in sentence for sentence in STUDY.findings(report))

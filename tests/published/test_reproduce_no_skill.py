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
    assert all(row["benchmark"] == "EQ-Bench" for row in report["rows"])  # its figures ship
    assert any("Not at hand: seceu" in sentence for sentence in STUDY.findings(report))

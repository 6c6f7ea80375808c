"""SECEU from its published files: every golden value, and the traps of the files."""

import csv
import json

import pytest

from eqlab.benchmarks.seceu import STORIES, read_stories
from eqlab.data.published import read
from eqlab.reproduce.seceu import findings, reproduce


@pytest.fixture(scope="module")
def report(published):
    return reproduce(published)


def test_golden(report, golden):
    ours = {(row["kind"], row["name"], row["quantity"]): row for row in report["rows"]}
    assert len(ours) == len(report["rows"])
    with (golden / "seceu.csv").open(newline="") as file:
        expected = list(csv.DictReader(file))
    assert len(expected) == 367
    for row in expected:
        own = ours[row["kind"], row["name"], row["quantity"]]
        assert own["rule"] == row["rule"]
        assert _same(row["printed"], own["printed"]), row
        assert _same(row["recomputed"], own["recomputed"]), (row, own)


def _same(golden, own):
    """To the digits that the golden file has."""
    if not golden or own is None or isinstance(own, str):
        return (own or "") == golden
    return abs(float(golden) - own) <= 0.5 * 10.0 ** -len(golden.partition(".")[2]) + 1e-9


def test_every_printed_model_is_there(report):
    models = {row["name"] for row in report["rows"] if row["kind"] == "table 1"}
    assert len(models) == 15
    assert {"Curie", "text-davinci-002", "Vicuna", "Oasst", "Claude"} < models
    assert not models & {"LLaMA", "Fastchat", "RWKV-v4"}  # failed, in print
    eqs = [row for row in report["rows"] if row["quantity"] == "EQ" and row["kind"] == "table 1"]
    assert [row["name"] for row in eqs if abs(row["printed"] - row["recomputed"]) > 0.5] == ["GPT-4"]
    assert all(row["verdict"] == "match" and row["low"] < row["recomputed"] < row["high"] for row in eqs)


def test_what_it_says_first(report):
    json.dumps(report, allow_nan=False)
    said = " ".join(findings(report))
    assert "EQ 121.6 and beats 15 of 15 models" in said
    assert "earns 124.7" in said
    assert "7, 3, 0, 0 earns EQ 79.9" in said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_stories_in_both_languages(published, language):
    path = STORIES[language]
    stories = read_stories(read(path, published), path)
    assert len(stories) == 40
    assert all(len(set(words)) == 4 for _, words in stories)
    assert all(not {"\t", "(", ";"} & set("".join(words)) for _, words in stories)
    assert all(text and text == text.strip() and "\t" not in text for text, _ in stories)
    assert all(not any(word in text[-12:] for word in words) for text, words in stories)

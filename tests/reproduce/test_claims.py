"""A study as a table of claims: verdicts, rows, summary, and what is shown of it."""

import json
from pathlib import Path

import pytest

from eqlab.core.results import Estimate
from eqlab.reproduce.claims import (
    UNEXPLAINED,
    Claim,
    as_markdown,
    compare,
    study_of_claims,
    summary,
    table_of,
    to_digits,
)


def verdict(printed, recomputed, tolerance=0.0, **verdicts):
    (one,) = compare([Claim({}, printed, lambda data: data, tolerance, **verdicts)], recomputed)
    return one.verdict


@pytest.mark.parametrize(
    ("printed", "recomputed", "digits", "agrees"),
    [
        (33.3, 33.25, 1, True),
        (33.3, 33.35, 1, True),
        (33.3, 33.249, 1, False),
        (87, 87.49, 0, True),
        (87, 87.51, 0, False),
        (-0.04, -0.0351, 2, True),
        (-0.04, 0.04, 2, False),
    ],
)
def test_a_number_agrees_to_its_printed_digits(printed, recomputed, digits, agrees):
    assert verdict(printed, recomputed, to_digits(digits)) == ("match" if agrees else "differs")


def test_counts_and_words_must_be_the_same():
    assert verdict(35, 35) == "match"
    assert verdict(35, 36) == "differs"
    assert verdict("down", "down") == "match"
    assert verdict("down", "up", 9.0) == "differs"
    assert verdict("3", 3) == "differs"


def test_what_is_printed_in_words_is_borne_out_or_not():
    assert verdict("p < .001", 0.0004, lambda p: p < 0.001) == "match"
    assert verdict("p < .001", 0.004, lambda p: p < 0.001) == "differs"
    assert verdict("about 5", 6.1, lambda ratio: round(ratio) == 5, if_not="close") == "close"
    assert verdict(31, 31, if_borne_out="reconstructed") == "reconstructed"


def test_what_cannot_be_compared_is_no_difference():
    assert verdict(None, 3) == "not printed"
    assert verdict(3, None) == "not recomputable"
    assert verdict(3, Estimate("", None, 0)) == "not recomputable"
    (closed,) = compare([Claim({}, 3, None)], 3)
    assert (closed.verdict, closed.agrees, closed.why) == ("not recomputable", False, "")


def test_zero_is_a_value():
    assert verdict(0, 0) == "match"
    assert verdict(0.4, 0.0) == "differs"


def test_a_row_has_key_columns_then_both_values_rule_and_interval():
    claim = Claim({"model": "a", "quantity": "r"}, 0.97, lambda data: data, to_digits(2), "Pearson", "other models")
    (one,) = compare([claim], Estimate("r", 0.9484, 32, 0.02, 0.8913, 0.9781))
    assert one.row() == {
        "model": "a",
        "quantity": "r",
        "printed": 0.97,
        "recomputed": 0.9484,
        "rule": "Pearson",
        "low": 0.8913,
        "high": 0.9781,
        "n": 32,
        "verdict": "differs",
        "why": "other models",
    }
    assert list(one.row())[:2] == ["model", "quantity"]


def test_a_difference_without_a_reason_says_so_and_a_match_needs_none():
    claims = [Claim({}, printed, lambda data: data) for printed in (1, 2, None)]
    same, other, silent = compare(claims, 1)
    assert (same.why, other.why, silent.why) == ("", UNEXPLAINED, "")
    assert summary([same, other, silent]) == {
        "rows": 3,
        "compared": 2,
        "agree": 1,
        "verdicts": {"match": 1, "differs": 1, "not printed": 1},
        "differences": {UNEXPLAINED: 1},
    }


SCORES = {"a": 2.56, "b": 1.89, "c": 2.78}


def eq(name):
    return lambda scores: 100 + 15 * (2.79 - scores[name]) / 0.822


def claims(scores):
    rule = "100 + 15 (2.79 − score) / 0.822"
    for name, printed in (("a", 104), ("b", 117), ("c", 100)):
        key = {"kind": "table 1", "name": name}
        yield Claim({**key, "quantity": "EQ"}, printed, eq(name), to_digits(0), rule, "the printed score is rounded")
        yield Claim({**key, "quantity": "r"}, 0.41, None, rule="no raw answers released")


@pytest.fixture
def study():
    return study_of_claims("Made up, recomputed", lambda folder: SCORES, claims)


def test_a_study_is_its_claims(study):
    report = study.reproduce(None)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert set(report) == {"rows", "summary"}
    assert [row["verdict"] for row in report["rows"]][::2] == ["match", "differs", "match"]
    assert report["summary"]["agree"] == 2
    assert report["summary"]["compared"] == 3
    assert study.rows_of(report) == report["rows"]
    assert study.findings(report) == [
        "2 of 3 printed numbers that can be recomputed come out.",
        "3 more cannot be recomputed from what is public.",
        "The most frequent reason for a difference, 1 times: the printed score is rounded.",
    ]


def test_its_tables_show_every_row_and_what_differs(study):
    report = study.reproduce(None)
    every, differing = study.tables(report)
    assert (len(every.rows), len(differing.rows)) == (6, 1)
    assert differing.rows[0][-1] == "the printed score is rounded"
    text = as_markdown(study.title, study.findings(report), [every, differing])
    assert "| table 1 | b | EQ | 117" in text


def test_a_study_in_which_nothing_differs_has_one_table():
    one = study_of_claims("T", lambda folder: 1, lambda data: [Claim({"q": "x"}, 1, lambda data: data)])
    assert [table.title for table in one.tables(one.reproduce(Path()))] == ["T"]


def test_a_p_value_is_known_by_its_key_and_what_a_row_lacks_is_blank():
    table = table_of("T", "p_holm: p (Holm) | n | low", [{"p_holm": 0.0, "n": 3}, {"n": 4, "p_holm": None}])
    assert [(column.title, column.kind) for column in table.columns][:2] == [("p (Holm)", "p"), ("n", "count")]
    assert table.rows == ((0.0, 3, ""), (None, 4, ""))

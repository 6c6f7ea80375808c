"""EQ-Bench on the published questions and results."""

import csv
import json
import re
import shutil

import pytest
from presentation import presented

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.score import PRESETS, baselines
from eqlab.core.benchmark import Selection
from eqlab.core.errors import DataError
from eqlab.data.items import read_sources
from eqlab.reproduce.eqbench import reproduce, tables

EQ = EqBench()


def questions(published, **given):
    options = EQ.options("published", given)
    return options, EQ.questions(read_sources(EQ.sources("published", options), published), options)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_question_is_about_who_feels_not_about_whose_words_it_names(published, language):
    """Two speakers with names of one length stand in the line that asks: no set's order may choose between them."""
    _, found = questions(published, language=language)
    assert next(one for one in found if one.id == "47").character == "Cecilia"


@pytest.mark.parametrize(
    ("given", "count"), [({"version": "v1"}, 60), ({}, 171), ({"language": "de"}, 171)], ids=["v1", "v2", "de"]
)
def test_every_published_question_becomes_a_trial(published, given, count):
    for revision in ("no", "yes"):
        options, found = questions(published, revision=revision, **given)
        files = read_sources(EQ.sources("published", options), published)
        trials = [trial for trial, _ in EQ.plan(files, options, Selection())]
        assert len(trials) == len({trial.id for trial in trials}) == count
        for question, trial in zip(found, trials, strict=True):
            assert re.search(rf"\b{re.escape(question.character)}(?!['’]?s\b)", question.asks)
            assert all(f"\n{name}" in trial.prompt for name in question.emotions)
            if revision == "yes":
                assert trial.prompt == question.prompt
            else:
                end = "Ihre Antwort:" if given.get("language") else "Your answer:"
                assert trial.prompt.rstrip().endswith(end)
                for mark in (
                    "Critique",
                    "critique",
                    "First pass",
                    "Revised",
                    "Kritik",
                    "Erste Bewertung",
                    "berarbeitete",
                ):
                    assert mark not in trial.prompt.split("]\n", 1)[1]


def test_v1_and_v2_use_their_own_references(published):
    _, first = questions(published, version="v1")
    _, second = questions(published)
    assert all(sum(question.reference.values()) == 10 for question in first)
    shared = {question.prompt: question for question in second}
    pairs = [(question, shared[question.prompt]) for question in first if question.prompt in shared]
    assert len(pairs) == 55
    assert sum(one.reference != other.reference for one, other in pairs) >= 54


def test_baselines_of_the_published_set(published):
    _, found = questions(published)
    named = {b.name: b.value for b in baselines([q.reference for q in found], "v2", PRESETS["published-code"])}
    assert named["always 0"] == pytest.approx(2.4, abs=0.05)
    assert named["always 3"] == pytest.approx(38.9, abs=0.05)
    assert named["4-5-2-3 by place"] == pytest.approx(43.4, abs=0.05)  # the strongest that reads nothing
    assert named["always 5"] == pytest.approx(26.9, abs=0.1)
    assert named["always 10"] == pytest.approx(-78.6, abs=0.1)
    assert named["random"] == pytest.approx(1.36, abs=0.5)


@pytest.fixture(scope="module")
def report(published):
    return reproduce(published)


def test_golden(report, golden):
    rows = {row["file"]: row for row in report["rows"]}
    with (golden / "eqbench.csv").open() as file:
        expected = list(csv.DictReader(file))
    assert len(expected) == 54
    for want in expected:
        got = rows[want["file"]]
        assert got["model"] == want["model"]
        assert round(got["score"], 2) == pytest.approx(float(want["score_recorded"]))
        for name, column in (
            ("score", "score_names_lt5"),
            ("score_strict", "score_strict_le5"),
            ("se", "se"),
            ("first_pass", "first_pass"),
            ("missing_as_zero", "score_missing_as_zero"),
        ):
            assert got[name] == pytest.approx(float(want[column]), abs=6e-5), (want["file"], name)
        for name, column in (
            ("n_parseable", "n_names"),
            ("n_strict", "n_strict"),
            ("n_first_pass", "first_pass_n"),
            ("n_revised", "revised_n"),
        ):
            assert got[name] == int(want[column]), (want["file"], name)
        assert got["used"] == want["used"]


def test_every_mismatch_under_the_strict_rules_is_explained(report):
    for row in report["rows"]:
        if round(row["score_strict"], 2) != round(row["score"], 2):
            assert row["explanation"], row["file"]
    tulu = next(row for row in report["rows"] if "tulu" in row["file"])
    assert tulu["n_strict"] == 127
    assert not tulu["valid_strict"]
    assert "failed" in tulu["explanation"]
    assert tables(report)[0].rows


def test_a_file_of_the_same_format_that_we_do_not_know(published, tmp_path):
    (tmp_path / "eqbench" / "results" / "mine").mkdir(parents=True)
    shutil.copytree(published / "eqbench" / "data", tmp_path / "eqbench" / "data")
    source = next((published / "eqbench" / "results" / "eq-bench").glob("gpt-4-0613*"))
    result = json.loads(source.read_bytes())
    for number in ("1", "2"):
        del result["raw_results"]["1"]["raw_inference"][number]
    path = tmp_path / "eqbench" / "results" / "mine" / "other.json"
    path.write_text(json.dumps(result))
    (row,) = reproduce(tmp_path)["rows"]
    assert row["n_parseable"] == 169
    assert row["agrees"] is False
    assert row["explanation"]
    path.write_text("{}")
    with pytest.raises(DataError, match=r"other\.json"):
        reproduce(tmp_path)


def test_a_corrupt_question_file_is_named(published):
    name = "eqbench/data/eq_bench_v2_questions_171.json"
    content = (published / name).read_bytes()
    options = EQ.options("published", {})
    for broken in (
        content[:-100],
        b"[]",
        content.replace(b'"emotion3_score"', b'"x"', 2),
        content.replace(b"[End dialogue]", b"", 1),
    ):
        with pytest.raises(DataError, match="eq_bench_v2_questions_171"):
            list(EQ.plan({name: broken}, options, Selection()))


def test_the_summary_comes_first_and_json_holds_no_python(report, capsys):
    assert "files agree to two decimals" in presented("eqbench", report, capsys)[0]

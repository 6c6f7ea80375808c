"""Kumar, CuLEmo, ToMBench and EQ-Bench's r with MMLU: every golden row comes out of what `--json` prints."""

import csv
import json
import shutil

import pytest

from eqlab.core.errors import DataError
from eqlab.data import published as published_files
from eqlab.reproduce import culemo, eqbench_mmlu, kumar, load, tombench

KEYS = {
    "kumar": ("framework", "scale", "who", "quantity"),
    "culemo": ("setting", "language", "who"),
    "tombench": ("by", "name", "language", "quantity"),
    "eqbench-mmlu": ("quantity",),
}
RANDOM_SETS = "share of random sets"


@pytest.fixture(scope="module")
def reports(published):
    return {name: json.loads(json.dumps(load(name).reproduce(published), allow_nan=False)) for name in KEYS}


def lines(golden, name):
    path = golden / f"{name.replace('-', '_')}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def tolerance(text):
    """Half a unit of the last digit that is printed."""
    return 0.51 * 10.0 ** -len(text.partition(".")[2])


@pytest.mark.parametrize("name", KEYS)
def test_every_golden_row_is_there_under_the_same_words(reports, golden, name):
    there = {tuple(row[key] for key in KEYS[name]) for row in reports[name]["rows"]}
    assert len(there) == len(reports[name]["rows"])
    assert [row for row in lines(golden, name) if tuple(row[key] for key in KEYS[name]) not in there] == []


@pytest.mark.parametrize("name", KEYS)
def test_every_golden_value_comes_out(reports, golden, name):
    rows = {tuple(row[key] for key in KEYS[name]): row for row in reports[name]["rows"]}
    wrong = []
    for line in lines(golden, name):
        row = rows[tuple(line[key] for key in KEYS[name])]
        for column, text in line.items():
            if column in (*KEYS[name], "rule", "low", "high"):
                continue
            if not text or row[column] is None:
                same = not text and row[column] is None
            elif RANDOM_SETS in line.get("quantity", ""):
                same = abs(row[column] - float(text)) < 0.01
            else:
                same = abs(row[column] - float(text)) <= tolerance(text)
            if not same:
                wrong.append((line, column, row[column]))
    assert wrong == []


def test_the_intervals_of_r_come_out_within_what_another_generator_may_move_them(reports, golden):
    rows = {row["quantity"]: row for row in reports["eqbench-mmlu"]["rows"]}
    for line in lines(golden, "eqbench-mmlu"):
        near = 0.03 if "famil" in line["quantity"] or (line["n"] and int(line["n"]) < 20) else 0.01
        for end in ("low", "high"):
            found = rows[line["quantity"]][end]
            assert (found is None) == (not line[end]), line
            assert found is None or found == pytest.approx(float(line[end]), abs=near), line


@pytest.mark.parametrize("name", KEYS)
def test_rows_have_rule_and_interval_and_all_is_shown(reports, name):
    report = reports[name]
    assert all({"rule", "low", "high", "n"} <= row.keys() for row in report["rows"])
    inside = [row for row in report["rows"] if row["low"] is not None]
    assert inside
    assert all(row["low"] <= row["high"] for row in inside)
    study = load(name)
    assert all(sentence.endswith(".") for sentence in study.findings(report))
    assert all(table.rows for table in study.tables(report))


def test_kumar_says_what_print_leaves_out(reports):
    found = reports["kumar"]["summary"]
    assert found["compared"] == found["agree"] == 384
    assert (found["kappas_published"], found["kappas_moved_by_distances"]) == (72, 16)
    assert found["largest_move"] == pytest.approx(0.056, abs=0.0005)
    middle = {row["who"]: row["kappa"] for row in found["medians"] if row["framework"] == "all"}
    expected = {"experts, gemini": 0.61, "experts, gpt": 0.54, "experts, claude": 0.40, "experts, crowd": 0.36}
    assert {who: round(middle[who], 2) for who in expected} == expected
    assert round(middle["pairs of experts"], 2) == 0.53
    told = " ".join(kumar.findings(reports["kumar"]))
    assert "Gemini 2.5 Pro alone" in told
    assert "perceived_empathy" in told


def test_kumar_computes_a_fourth_framework_if_its_files_are_there(published, tmp_path):
    """The framework that is held back has nine scales from 1 to 7 and ids in a column `id`."""
    source = published / "kumar/annotations/lend_an_ear"
    target = tmp_path / "kumar/annotations/perceived_empathy"
    target.mkdir(parents=True)
    for path in source.glob("*_ratings.csv"):
        text = (
            path.read_text(encoding="utf-8").replace("conversation_id", "id", 1).replace("self_oriented", "warmth", 1)
        )
        (target / path.name).write_text(text, encoding="utf-8")
    report = kumar.reproduce(tmp_path)
    assert {row["framework"] for row in report["rows"]} == {"perceived_empathy"}
    assert len({row["scale"] for row in report["rows"]}) == 6
    assert {row["rule"] for row in report["rows"] if row["quantity"] == "mean"} == {"scale 1 to 7"}
    assert all(row["printed"] is None and row["verdict"] == "not printed" for row in report["rows"])
    assert set(report["summary"]["missing_frameworks"]) == {"empatheticdialogues", "epitome", "lend_an_ear"}


def test_no_id_of_kumar_is_in_the_report(reports, published):
    text = (published / "kumar/annotations/lend_an_ear/expert1_ratings.csv").read_text(encoding="utf-8")
    talk = text.splitlines()[1].split(",")[0]
    assert talk not in json.dumps(reports["kumar"])


def test_kumar_without_files_says_how_to_get_them(tmp_path):
    with pytest.raises(DataError, match="eqlab data fetch kumar"):
        kumar.reproduce(tmp_path)


def test_culemo_counts_what_the_protocol_counts(reports):
    found = {row["language"]: row for row in reports["culemo"]["summary"]["languages"]}
    assert [found[name]["below_always_neutral"] for name in ("ara", "deu")] == [9, 9]
    assert sum(row["not_above_american_answer"] for row in found.values()) == 19
    assert sum(row["files_with_country"] for row in found.values()) == 30
    assert all(row["low"] <= row["balanced_accuracy"] <= row["high"] for row in reports["culemo"]["summary"]["effects"])


def test_culemo_reads_files_of_models_that_nobody_knew(published, tmp_path):
    """The answers of a fourth model are read by the same rules."""
    shutil.copytree(published / "culemo/data", tmp_path / "culemo/data")
    path = tmp_path / "culemo/gpt4_outputs/deu_gpt-4.json"
    path.parent.mkdir()
    entries = json.loads((published / "culemo/gemini1.5_flash/deu_gemini1.5_flash.json").read_text(encoding="utf-8"))
    said = [{**entry, "model": "gpt-4", "pred_emotion": f"'{entry['emotion']}'."} for entry in entries]
    path.write_text(json.dumps(said), encoding="utf-8")
    report = culemo.reproduce(tmp_path)
    (row,) = [row for row in report["rows"] if row["who"] == "gpt-4"]
    assert (row["setting"], row["language"], row["n"]) == (culemo.OWN, "deu", 400)
    assert (row["accuracy_exact"], row["accuracy_normalised"], row["accuracy_lenient"]) == (0.0, 1.0, 1.0)
    assert row["unreadable_exact"] == 400


def test_tombench_compares_the_best_answer_without_reading_with_print(reports):
    rows = {row["language"]: row for row in reports["tombench"]["summary"]["strongest_without_reading"]}
    assert rows["en"]["answer"] == "option right most often elsewhere"
    assert rows["en"]["share"] == pytest.approx(0.3524, abs=0.0001)
    assert rows["en"]["low"] < rows["en"]["share"] < rows["en"]["high"]
    assert rows["en"]["printed_models"] == 20
    assert "None of the 84 printed scores" in tombench.findings(reports["tombench"])[0]


def test_the_shipped_figures_are_the_compiled_ones(published):
    """The package carries a copy: a changed one is noticed."""
    from importlib.resources import files

    for name in ("external_scores.csv", "eqbench_v1_scores.csv"):
        assert files("eqlab.data").joinpath(name).read_bytes() == (published / "external" / name).read_bytes()


def test_the_claim_is_neither_recovered_nor_refuted(reports):
    found = reports["eqbench-mmlu"]["summary"]
    assert (found["recovered"], found["refuted"]) == (False, False)
    assert {name: round(r, 2) for name, r in found["r"].items()} == {
        "v1, MMLU as reported": 0.95,
        "v1, as reported, MMLU 60 or more": 0.71,
        "v2, MMLU as reported": 0.86,
        "v2, as reported, MMLU 60 or more": 0.68,
    }
    assert "neither recovered nor refuted" in eqbench_mmlu.findings(reports["eqbench-mmlu"])[0]


def test_the_manifest_knows_the_files(published):
    states = {one.source: set[str]() for one in published_files.manifest()}
    for one in published_files.manifest():
        if one.source in ("kumar", "culemo", "tombench", "every_eval_ever"):
            states[one.source].add(published_files.state(one, published))
    assert all("ok" in states[name] and "changed" not in states[name] for name in ("kumar", "culemo", "tombench"))

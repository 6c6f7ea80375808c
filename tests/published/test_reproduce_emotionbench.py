"""Every golden row of EmotionBench, recomputed; and files that are not as complete as the released ones."""

import csv
import io
import json
import shutil
import time

import pytest
from presentation import presented

from eqlab.core.errors import DataError
from eqlab.reproduce.emotionbench import reproduce, tables

PANAS = "emotionbench/results/PANAS Test"
SCALES = "emotionbench/results/Challenging Bench"


@pytest.fixture(scope="module")
def report(published):
    return reproduce(published)


def place(row):
    names = ("source", "questionnaire", "subscale", "keying", "level", "emotion", "factor")
    return tuple(row[name] for name in names)


def golden_place(row):
    subscale, keying = row["subscale"], None
    if subscale.endswith("raw sum (as printed in the paper)"):
        subscale, keying = "Overall", "raw"
    elif subscale.endswith(", keyed as in questionnaires.json"):
        subscale, keying = subscale.removesuffix(", keyed as in questionnaires.json"), "keyed"
    subscale = "Overall" if subscale == "total" else subscale
    return (row["source"], row["questionnaire"], subscale, keying, row["level"], row["emotion"], row["factor"])


def same(ours, golden):
    """To the six digits of the golden file; empty there is None here."""
    if golden == "":
        return ours is None
    return ours is not None and abs(ours - float(golden)) <= 6e-6 * abs(float(golden))


def test_every_golden_row_agrees(report, golden):
    rows = {place(row): row for row in report["rows"]}
    assert len(rows) == len(report["rows"])
    with (golden / "emotionbench.csv").open(encoding="utf-8", newline="") as file:
        wanted = list(csv.DictReader(file))
    assert len(wanted) == 803
    for theirs in wanted:
        ours = rows[golden_place(theirs)]
        assert ours["n"] == int(theirs["n"]), theirs
        for name in ("mean", "sd", "default_mean", "diff", "p"):
            assert same(ours[name], theirs[name]), (name, theirs)
        assert ours["direction"] == {"-": "none", "": None}.get(theirs["direction"], theirs["direction"])
        if theirs["value_match"] == "":
            assert ours["agrees"] is None
        else:
            agrees = theirs["value_match"] == "1" and theirs["direction_match"] != "0"
            assert ours["agrees"] is agrees, theirs


def test_printed_values_are_those_of_the_paper(report, golden):
    with (golden / "emotionbench_printed.csv").open(encoding="utf-8", newline="") as file:
        printed = {golden_place(row): row for row in csv.DictReader(file)}
    rows = [row for row in report["rows"] if row["agrees"] is not None]
    assert len(rows) == 604
    for row in rows:
        theirs = printed[place(row)]
        if row["level"] == "default":
            assert row["printed"] == theirs["published_diff"]
        else:
            assert row["printed"] == float(theirs["published_diff"])
            assert row["printed_direction"] == {"-": "none"}.get(
                theirs["published_direction"], theirs["published_direction"]
            )


def test_every_difference_is_explained(report):
    differing = [row for row in report["rows"] if row["agrees"] is False]
    assert len(differing) == 53
    assert all(row["note"] and "no explanation known" not in row["note"] for row in differing)


def test_the_displaced_rows_are_displaced(report):
    """The explanation holds: print shows the emotion's average in row 1 and factor 1 in row 2."""
    rows = [row for row in report["rows"] if row["source"] == "human"]
    for subscale in ("Positive Affect", "Negative Affect"):
        for emotion in ("Anger", "Anxiety", "Depression", "Frustration", "Jealousy", "Guilt", "Fear", "Embarrassment"):
            own = [row for row in rows if row["subscale"] == subscale and row["emotion"] == emotion]
            first, second, average = own[0], own[1], own[-1]
            assert first["printed"] == average["printed"]
            assert abs(second["printed"] - first["diff"]) <= 0.0501


def test_views_give_the_numbers_of_the_protocol(report):
    wanted = {  # r P, r N, MAE P, MAE N; significant cells: published rule, Holm, situation as unit
        "davinci-003": (0.41, 0.55, 16.0, 3.3, 70, 70, 55),
        "gpt-3.5-turbo": (0.45, 0.62, 10.1, 10.4, 61, 51, 30),
        "gpt-4": (0.53, 0.81, 22.2, 11.5, 72, 72, 65),
        "llama2-7b": (0.31, 0.58, 2.3, 7.2, 63, 47, 32),
        "llama2-13b": (0.52, 0.59, 3.0, 4.8, 67, 60, 27),
    }
    views = report["summary"]["views"]
    assert {model["source"] for model in views["models"]} == set(wanted)
    for model in views["models"]:
        parts = list(model["subscales"].values())
        rules = ("as_published", "holm", "situation_as_unit")
        found = [
            *(round(part["correlation"], 2) for part in parts),
            *(round(part["mae"], 1) for part in parts),
            *(model[f"significant_{rule}"] for rule in rules),
        ]
        assert tuple(found) == wanted[model["source"]]
        assert all(0.13 < part["icc"] < 0.87 and 2.1 < part["design_effect"] < 8.8 for part in parts)
    reliability = list(views["people_reliability"].values())
    assert reliability == pytest.approx([0.70, 0.83], abs=0.02)


def test_the_report_is_json_and_has_tables(report):
    text = json.dumps(report, allow_nan=False)
    assert json.loads(text)["summary"]["people"] == 1266
    found = tables(report)
    assert len(found) == 6 + 8 + 2
    assert sum(len(table.rows) for table in found[:-2]) == len(report["rows"])
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)
    assert len(found[-2].rows) == 53


def test_it_takes_less_than_ten_seconds(published):
    start = time.process_time()
    reproduce(published)
    assert time.process_time() - start < 10


def folder_with(tmp_path, published, *names):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(published / name, tmp_path / name)
    return tmp_path


def test_any_part_of_the_files_will_do(tmp_path, published, report):
    only = reproduce(folder_with(tmp_path, published, f"{SCALES}/gpt-3.5-turbo-MJS-testing.csv"))
    wanted = [row for row in report["rows"] if row["questionnaire"] == "MJS"]
    assert only["rows"] == wanted
    assert only["summary"]["views"]["models"] == []
    assert "no overall score" in only["rows"][0]["note"]
    people = reproduce(folder_with(tmp_path / "b", published, f"{PANAS}/crowd.xlsx"))
    assert people["rows"] == [row for row in report["rows"] if row["source"] == "human"]
    model = reproduce(folder_with(tmp_path / "c", published, f"{PANAS}/gpt-4-PANAS-testing.csv"))
    assert model["summary"]["views"]["people_reliability"] is None
    assert tables(model)


def test_nothing_there_names_the_way_out(tmp_path):
    with pytest.raises(DataError, match="eqlab data fetch emotionbench"):
        reproduce(tmp_path)


def rewritten(content, change, newline="\r\n"):
    table = list(csv.reader(io.StringIO(content.decode(), newline="")))
    change(table)
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=newline).writerows(table)
    return out.getvalue().encode()


def test_refused_administrations_are_left_out_and_counted(tmp_path, published, report):
    """As in the released file of LLaMA-3.1: columns of blanks, and plain line ends; under another model's name."""
    name = f"{PANAS}/gpt-4-PANAS-testing.csv"

    def refuse(table):
        for column, label in enumerate(table[0]):
            if label.startswith(
                ("Guilt-0_scenario-1_", "Guilt-0_scenario-3_", "Guilt-0_scenario-4_", "Guilt-1_scenario-4_")
            ):
                for row in table[2:]:
                    row[column] = ""

    folder = folder_with(tmp_path, published, f"{PANAS}/crowd.xlsx")
    content = rewritten((published / name).read_bytes(), refuse, "\n")
    (folder / PANAS / "another-model-PANAS-testing.csv").write_bytes(content)
    found = reproduce(folder)
    rows = {place(row): row for row in found["rows"]}
    theirs = {place(row): row for row in report["rows"] if row["source"] == "gpt-4"}
    assert found["summary"]["files"][0]["without_answer"] == 40
    for key, row in theirs.items():
        ours = rows[("another-model", *key[1:])]
        assert ours["printed"] is None
        assert ours["agrees"] is None
        lost = {"Betrayal and Deception": 30, "Relationship and Interpersonal": 10}.get(row["factor"], 0)
        lost = 40 if row["level"] == "overall" or (row["level"], row["emotion"]) == ("emotion", "Guilt") else lost
        assert ours["n"] == row["n"] - lost
        assert (f"{lost} of {row['n']} administrations have no answer" in ours["note"]) == (lost > 0)
        if not lost:
            assert (ours["mean"], ours["p"]) == (row["mean"], row["p"])


def test_a_model_that_never_answered_is_no_crash(tmp_path, published):
    def blank(table):
        for row in table[2:]:
            row[2:] = [""] * len(row[2:])

    folder = tmp_path / PANAS
    folder.mkdir(parents=True)
    content = rewritten((published / PANAS / "gpt-4-PANAS-testing.csv").read_bytes(), blank)
    (folder / "mute-PANAS-testing.csv").write_bytes(content)
    found = reproduce(tmp_path)
    assert all(row["n"] == 0 and row["mean"] is None for row in found["rows"])
    json.dumps(found, allow_nan=False)
    assert tables(found)


def test_missing_columns_are_reported_with_n(report):
    row = next(
        row
        for row in report["rows"]
        if row["source"] == "llama2-7b" and row["factor"] == "Romantic (Opposite Gender)" and row["agrees"] is not None
    )
    assert row["n"] == 43
    assert "7 of 50 administrations are not in the file" in row["note"]


def test_a_shuffled_file_is_mapped_back(tmp_path, published, report):
    """Rows in another order with their order column give the same scores."""

    def shuffle(table):
        table[2:] = table[2:][::-1]

    folder = tmp_path / PANAS
    folder.mkdir(parents=True)
    content = rewritten((published / PANAS / "gpt-4-PANAS-testing.csv").read_bytes(), shuffle)
    (folder / "gpt-4-PANAS-testing.csv").write_bytes(content)
    wanted = [row for row in report["rows"] if row["source"] == "gpt-4"]
    assert reproduce(tmp_path)["rows"] == wanted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.pop(), "21 rows"),
        (lambda table: table[3].pop(), "different lengths"),
        (lambda table: table[0].__setitem__(1, "x"), "no column 'order-0'"),
        (lambda table: table[2].__setitem__(1, "2"), "every item number once"),
        (lambda table: table[0].__setitem__(slice(2, None), ["x"] * (len(table[0]) - 2)), "no default"),
    ],
)
def test_a_broken_file_is_named(tmp_path, published, change, message):
    folder = tmp_path / PANAS
    folder.mkdir(parents=True)
    content = rewritten((published / PANAS / "gpt-4-PANAS-testing.csv").read_bytes(), change)
    (folder / "gpt-4-PANAS-testing.csv").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        reproduce(tmp_path)
    assert "gpt-4-PANAS-testing.csv" in str(caught.value)


def test_the_summary_comes_first_and_json_holds_no_python(report, capsys):
    assert "printed cells agree" in presented("emotionbench", report, capsys)[0]

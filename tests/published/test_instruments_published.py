"""Keys against the published questionnaire file, and the TEQ against all published totals."""

import ast
import csv
import hashlib
import json

from eqlab.instruments.catalogue import INSTRUMENTS, TEQ, score
from eqlab.instruments.wording import QUESTIONNAIRES, read_instrument_file, read_questionnaires, scales

NAMES = {"Bahavioral Jealousy": "Behavioral Jealousy"}


def test_our_keys_are_the_published_keys(published):
    content = (published / QUESTIONNAIRES).read_bytes()
    entries = json.loads(content)
    assert len(entries) == 9
    for entry in entries:
        one = INSTRUMENTS[entry["name"]]
        assert (one.n_items, one.flip, list(one.reverse)) == (len(entry["questions"]), entry["scale"], entry["reverse"])
        assert {"SUM": 1, "SUM*2": 2}[entry["compute_mode"]] == one.factor
        theirs = {NAMES.get(c["cat_name"], c["cat_name"]): tuple(c["cat_questions"]) for c in entry["categories"]}
        assert theirs == {part.name: part.items for part in one.scores}
        found = scales(one, read_questionnaires(content, one))
        assert len(found) == one.n_items
        assert all(scale.text and scale.anchors for scale in found)


def test_the_teq_key_reproduces_all_published_totals(published):
    people = {}
    with (published / "empathy/data/dataset_and_ratings.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for who in ("human", "chatgpt", "chatgpt_empathy"):
                if row[f"empathy_arr_{who}"]:
                    name = hashlib.sha256(row[f"annotator_{who}"].encode()).hexdigest()
                    answers = [value + 2 for value in ast.literal_eval(row[f"empathy_arr_{who}"])]
                    people[name] = (score(TEQ, answers)["Overall"], float(row[f"empathy_propensity_{who}"]))
    assert len(people) == 600
    assert all(ours == theirs for ours, theirs in people.values())


def test_the_teq_file_can_be_used(published):
    wording = read_instrument_file((published / "instruments/teq.toml").read_bytes(), TEQ, "teq.toml")
    assert len(scales(TEQ, wording)) == 16

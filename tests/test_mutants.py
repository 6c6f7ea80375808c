"""The list of mutants (bench/mutants.toml) fits the tree: each text stands once, each test is there."""

import re
import tomllib
from collections import Counter

import pytest
from conftest import ROOT

MUTANTS = tomllib.loads((ROOT / "bench" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]


@pytest.mark.parametrize("file", sorted({one["file"] for one in MUTANTS}))
def test_what_a_mutant_changes_stands_once_in_its_file(file):
    whole = (ROOT / file).read_text(encoding="utf-8")
    lost = [one["promise"] for one in MUTANTS if one["file"] == file and whole.count(one["text"]) != 1]
    assert not lost, f"{file} has changed: give these mutants their new text"


def test_the_tests_that_must_notice_are_there():
    lost = []
    for one in MUTANTS:
        file, _, name = one["test"].partition("::")
        path = ROOT / file
        defined = path.is_file() and re.search(rf"^(?:async )?def {name.partition('[')[0]}\(", path.read_text(), re.M)
        lost += [] if defined else [one["test"]]
    assert not lost


def test_no_two_mutants_are_the_same_change():
    changes = Counter((one["file"], one["text"], one["instead"]) for one in MUTANTS)
    assert [change for change, count in changes.items() if count > 1] == []

"""Studies that began with 0.1 keep their pages: the hash of everything they ask, written down before 0.2 was begun."""

from dataclasses import replace

import pytest

from eqlab.store.study.studies import check_begun, create_study
from eqlab.study.build_design import design_of, open_study
from eqlab.study.file import read_study
from eqlab.study.texts import load as load_texts

COMMON = """
title = "A study of 0.1"
language = "{language}"
seed = 7
[consent]
version = "2"
text = "What it is about."
contact = "lab@example.org"
keep_until = "2030-01-01"
[tutorial]
text = "Read first."
[[tutorial.question]]
text = "What do you do?"
options = ["Read", "Run"]
answer = 1
[checks]
attention = 2
[places]
people_per_batch = 2
[debrief]
text = "Thank you."
"""
KINDS = {
    "rating": ("limit = 12", '[arms]\nours = "author"\nagain = "author"'),
    "evoked": ('limit = 6\narms_by = "emotion"\ninstruments = ["PANAS"]', ""),
    "eqbench": ("limit = 12", '[options]\nrules = "published-code"'),
}
HASHES = {
    ("rating", "en"): "983f3d16124fe96627e78e05d04e6034afd5d47f83c5b27592c317fb48cd0188",
    ("rating", "de"): "b281839164f6b37006231509ea733d14ea49a9e98cdf2d6d35e06a43bfc20747",
    ("evoked", "en"): "262ba260da96e659405804a050cb87b0c55fca0c2eb7c3951969626f4230c73f",
    ("evoked", "de"): "592da0743043a41efcba49dcfb9c26e61d2163fa22c420bf0b5e2b2bc0c611c4",
    ("eqbench", "en"): "c4b50fffcdef793245f71cb088652bf5d94eaea3e397256e962c51bd418c0ece",
    ("eqbench", "de"): "c9a9b70d7b5df58e362c554b9621f3f8ea488da4c5393d7b57ab499a16d171e9",
}


def text_of(kind, language):
    top, tables = KINDS[kind]
    common = COMMON.format(language=language)
    return f'id = "{kind}-{language}"\nkind = "{kind}"\n{top}\n{common}\n{tables}\n'


@pytest.mark.parametrize(("kind", "language"), list(HASHES))
def test_a_study_of_0_1_has_the_pages_it_began_with(kind, language, tmp_path, store):
    """Also where 0.2 would put words of the study's language into the trials."""
    older = design_of(read_study(text_of(kind, language), words="en"), store)
    assert older.sha256 == HASHES[kind, language]
    path = tmp_path / "study.toml"
    path.write_text(text_of(kind, language))
    new = open_study(path, store)[1]
    assert (new.sha256 == older.sha256) is (language == "en")
    create_study(store, older, "", "0.1.0", {})
    assert open_study(path, store)[1].sha256 == older.sha256
    check_begun(store, open_study(path, store)[1])


@pytest.mark.parametrize(
    ("language", "pages"),
    [
        ("en", "6f4b934f3d2dcd93fc23246bd27919062d8214e97aab20d87b32ebb02d80cc0b"),
        ("de", "d491f70359c20b9ed364c3500eec7097bb5ed50ab70de04b97a97c1821527c0b"),
    ],
)
def test_a_study_of_0_2_keeps_checks_that_had_the_choices_of_an_item(language, pages, tmp_path, store):
    path = tmp_path / "study.toml"
    path.write_text(f'id = "choices"\nkind = "emobench"\nlimit = 12\n{COMMON.format(language=language)}')
    new = open_study(path, store)[1]
    assert new.sha256 != pages
    study = replace(new.study, id=f"emobench-{language}")
    older = design_of(replace(study, checks=replace(study.checks, question="", choices=())), store)
    assert older.sha256 == pages
    path.write_text(path.read_text().replace('"choices"', f'"emobench-{language}"'))
    create_study(store, older, "", "0.2.0", {})
    assert open_study(path, store)[1].sha256 == pages


@pytest.mark.parametrize(("language", "then"), [("en", "choose “apple” here"), ("de", "wählen Sie hier bitte „Apfel“")])
def test_a_reply_study_that_has_begun_keeps_the_checks_that_said_to_choose(language, then, tmp_path, store):
    path = tmp_path / "study.toml"
    path.write_text(f'id = "write"\nkind = "reply"\nlimit = 12\n{COMMON.format(language=language)}')
    new = open_study(path, store)[1]
    told = load_texts(language).words["instruction"]
    older = design_of(replace(new.study, checks=replace(new.study.checks, instruction=told)), store)
    assert then in older.attention[0].stimulus
    create_study(store, older, "", "0.3.0", {})
    assert open_study(path, store)[1].sha256 == older.sha256 != new.sha256
    path.write_text(path.read_text().replace("attention = 2", 'attention = 2\ninstruction = "Write {answer}."'))
    assert open_study(path, store)[1].sha256 not in (older.sha256, new.sha256)

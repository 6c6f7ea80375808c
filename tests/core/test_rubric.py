"""Rubrics as files: ours say what they always said, and a user's are checked whole, with line and key."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.core.errors import DataError, UsageError
from eqlab.core.rubric import from_json, parse_rubric, to_json
from eqlab.data.items import find_rubric, rubric_names, shipped

OWN = """\
name = "kind"
title = "Kindness"
instruction = "Rate the kindness."
choose = "Choose the kinder."

[[scale]]
key = "kind"
text = "Is it kind?"
low = 0
high = 4
ends = ["no", "yes"]

[[scale]]
key = "cold"
text = "Is it cold?"
labels = ["not at all", "a little", "somewhat", "quite", "very"]
reverse = true
"""


def test_ours():
    kumar = [f"kumar-{name}" for name in ("empatheticdialogues", "epitome", "lend_an_ear")]
    assert rubric_names() == ["dialogue", "empathy", *kumar, "published"]
    assert [scale.key for scale in shipped("empathy").scales] == ["cognitive", "affective", "motivational"]
    assert len(shipped("dialogue").scales) == 6
    assert shipped("dialogue").of == "talk"
    assert shipped("published").one_word
    assert not shipped("empathy").one_word
    assert all(shipped(name).choose for name in rubric_names())


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "kind.toml"
    path.write_text(OWN)
    rubric = find_rubric(str(path))
    assert (rubric.name, rubric.language, rubric.of) == ("kind", "en", "reply")
    assert [(one.low, one.high, one.reverse) for one in rubric.scales] == [(0, 4, False), (1, 5, True)]
    assert from_json(to_json(rubric), rubric.name, rubric.title) == rubric


def test_the_hash_is_of_what_raters_are_told():
    rubric = parse_rubric(OWN.encode(), "a.toml")
    for same in (OWN.replace("Kindness", "Being kind"), "# a remark\n" + OWN, OWN.replace('name = "kind"', 'name="k"')):
        assert parse_rubric(same.encode(), "b.toml").sha256 == rubric.sha256
    for other in ("Rate the kindness, please.", "Rate  the kindness."):
        assert parse_rubric(OWN.replace("Rate the kindness.", other).encode(), "c.toml").sha256 != rubric.sha256
    for told in (
        OWN.replace("very", "utterly"),
        OWN.replace("high = 4", "high = 5"),
        OWN.replace("reverse = true", ""),
        OWN.replace("kinder", "nicer"),
        'language = "de"\n' + OWN,
        OWN + '\n[words]\nscales = "Bewerte:"\n',
    ):
        assert parse_rubric(told.encode(), "d.toml").sha256 != rubric.sha256
    assert replace(rubric, words={}).sha256 == rubric.sha256


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("high = 4", "high = 99"), "rubric.toml:10: scale[1].high: 99 is out of range"),
        (('ends = ["no", "yes"]', ""), "rubric.toml:6: scale[1].ends: are missing"),
        (('key = "cold"', 'key = "kind"'), "rubric.toml:14: scale[2].key: 'kind' is there twice"),
        (('key = "cold"', 'key = "Cold!"'), "rubric.toml:14: scale[2].key: names a column"),
        (('instruction = "Rate the kindness."\n', ""), "instruction: is missing"),
        (("choose =", "chose ="), "rubric.toml:4: chose: is not known here (did you mean choose?)"),
        (('title = "Kindness"', "title = 3"), "rubric.toml:2: title: is a whole number, not text"),
        (('name = "kind"', 'name = "kind"\nof = "essay"'), "rubric.toml:2: of: 'essay' is not one of the values"),
        (('"quite", ', ""), "scale[2].labels: are 4 for the values 1 to 5"),
        (
            ("reverse = true", 'reverse = true\n[words]\nfeels = "Es fühlt"'),
            "feels: does not say where the emotion goes",
        ),
        (("reverse = true", 'reverse = true\n[words]\nfeel = "x"'), "words.feel: is not known here"),
        (('name = "kind"', "name = "), "rubric.toml:1: this is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(change, said):
    with pytest.raises(DataError) as caught:
        parse_rubric(OWN.replace(*change, 1).encode(), "rubric.toml")
    assert said in str(caught.value)


def test_all_problems_at_once():
    bad = OWN.replace("high = 4", "high = 99").replace('title = "Kindness"', "title = 3").replace("choose", "chose")
    with pytest.raises(DataError, match="has 3 problems"):
        parse_rubric(bad.encode(), "r.toml")


def test_without_scales():
    with pytest.raises(DataError, match=r"scale: is missing \(begin each scale with a line \[\[scale\]\]\)"):
        parse_rubric(OWN.split("[[scale]]")[0].encode(), "r.toml")


def test_an_unknown_name():
    with pytest.raises(UsageError, match="no rubric 'empathi'") as caught:
        find_rubric("empathi")
    assert "published" in caught.value.hint


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_no_file_breaks_the_reader(content):
    with pytest.raises(DataError):
        parse_rubric(content, "x.toml")


def test_json_is_plain():
    assert json.loads(to_json(shipped("dialogue")))["of"] == "talk"

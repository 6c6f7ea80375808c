"""Study files: every problem at once, each with its line and key and the way out; nothing makes the reader crash."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.core.errors import DataError
from eqlab.study.file import read_study
from eqlab.study.init import fill, instruments_part
from eqlab.study.kinds import find_kind, kind_names

KINDS = kind_names()
CODES = {"complete": "AAAA", "declined": "BBBB", "failed": "CCCC", "full": "DDDD"}


def template(kind="rating", arms=(("author", "author"), ("other", "last")), panel="none"):
    return fill(
        find_kind(kind).form().template.replace("CHANGE ME", "…" if kind == "talk" else "CHANGE ME"),
        study_id="pilot-1",
        arms=dict(arms),
        instruments=instruments_part(""),
        panel=panel,
        codes=CODES,
        minutes=10,
        reward=1.5,
    )


def complaints(text):
    with pytest.raises(DataError) as caught:
        read_study(text, "s.toml")
    return caught.value.message.split("\n")


def line_of(text, start):
    return next(number for number, line in enumerate(text.split("\n"), start=1) if line.startswith(start))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("panel", ["none", "prolific"])
def test_the_templates_are_valid_and_filled_in(kind, panel):
    text = template(kind, panel=panel)
    assert not re.search("@[a-z]+@", text)
    study = read_study(text)
    assert (study.id, study.kind, study.pay.reward) == ("pilot-1", kind, 1.5)
    assert study.pay.fee == (0.0 if panel == "none" else 0.333)
    if kind in ("culemo", "tombench", "seceu"):  # a benchmark's own questions, without a tutorial
        assert len(study.tutorial.questions) == 0
    else:
        assert len(study.tutorial.questions) in (2, 3)
        assert study.checks.attention == 2
    assert study.panel.code("full") == ("" if panel == "none" else "DDDD")
    assert study.panel.person == ("" if panel == "none" else "PROLIFIC_PID")
    assert study.instruments == (("TEQ",) if "@instruments@" in find_kind(kind).form().template else ())
    if kind == "rating":
        assert study.arms == (("author", "author"), ("other", "last"))
        assert study.analysis.reference == "author"


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_template_is_explained(kind):
    """A comment stands directly above each table and each key before the first table."""
    text = find_kind(kind).form().template
    for match in re.finditer(r"^\[(?!\[)([a-z.]+)\]$", text, re.MULTILINE):
        before = text[: match.start()].rstrip("\n").rsplit("\n", 1)[-1]
        assert before.startswith("#"), match.group()


def test_all_problems_are_told_at_once_with_line_and_key():
    text = (
        template()
        .replace('id = "pilot-1"', 'id = "Pilot 1"')
        .replace("seed = 1", 'seed = "one"')
        .replace("batch_size = 10", "batch_sise = 10")
        .replace("alpha = 0.05", "alpha = 5")
        .replace('reference = "author"', 'reference = "nobody"')
        .replace("answer = 3", "answer = 4")
    )
    first, *found = complaints(text)
    assert first == "s.toml has 6 problems:"
    for start, key, part in (
        ("id = ", "id", "lower-case letters"),
        ("seed = ", "seed", "is text, not a whole number (write one from 0"),
        ("batch_sise", "places.batch_sise", "did you mean batch_size?"),
        ("alpha", "analysis.alpha", "5 is out of range (write a number from 0.0001 to 0.5)"),
        ("reference", "analysis.reference", "'nobody' is not one of the arms (there are: author, other)"),
        ("answer = 4", "tutorial.question[3].answer", "4 is out of range (write a whole number from 1 to 3)"),
    ):
        where = f"s.toml:{line_of(text, start)}: {key}: "
        (own,) = [line for line in found if line.startswith(where)]
        assert part in own


@pytest.mark.parametrize(
    ("old", "new", "key", "part"),
    [
        ('kind = "rating"', 'kind = "ratings"', "kind", "did you mean rating?"),
        ('kind = "rating"', "", "kind", "is missing"),
        ('title = "How do', 'titel = "How do', "titel", "did you mean title?"),
        ('language = "en"', 'language = "tlh"', "language", "not one of the values"),
        ("seed = 1", "seed = true", "seed", "is true or false, not a whole number"),
        ("seed = 1", "seed = -1", "seed", "out of range"),
        ("seed = 1", f"seed = {10**400}", "seed", "this number is out of range"),
        ("# limit = 40", "limit = 0", "limit", "from 1 to"),
        ('instruments = ["TEQ"]', 'instruments = ["TEQ", "IQ"]', "instruments[2]", "'IQ' is not an instrument"),
        ('instruments = ["TEQ"]', 'instruments = "TEQ"', "instruments", "is text, not a list"),
        ('instruments = ["TEQ"]', 'instruments = ["TEQ", "TEQ"]', "instruments[2]", "twice"),
        ('# not_after = ["pilot"]', 'not_after = ["pilot-1"]', "not_after[1]", "this study itself"),
        ('# not_after = ["pilot"]', 'not_after = ["../x"]', "not_after[1]", "not a study's id"),
        ('# not_after = ["pilot"]', 'items = "open"', "items", "not for rating"),
        ('# not_after = ["pilot"]', 'arms_by = "emotion"', "arms_by", "is not for rating studies"),
        ('"other" = "last"', '" author " = "last"', 'arms."author"', "twice but for blanks"),
        ('"other" = "last"', '"other" = 3', "arms.other", "is a whole number, not text"),
        ('"author" = "author"\n"other" = "last"', "", "arms", "is missing"),
        ('version = "1"', 'version = ""', "consent.version", "is empty"),
        ("contact = ", "contract = ", "consent.contact", "is missing"),
        ("tries = 2", "tries = 0", "tutorial.tries", "from 1 to 10"),
        ("answer = 2", "", "tutorial.question[1].answer", "number of the right option"),
        ('options = ["What you', 'options = ["A"]\nx = ["What you', "tutorial.question[2].options", "two or more"),
        ("attention = 2", "attention = 2.5", "checks.attention", "is a number, not a whole number"),
        ("“{answer}”", "the second", "checks.instruction", "write {answer}"),
        ("least_seconds = 2", "least_seconds = nan", "checks.least_seconds", "nan is out of range"),
        ("lease_minutes = 60", "lease_minutes = 0", "places.lease_minutes", "from 1 to"),
        ("fee = 0.0", 'fee = "33 %"', "pay.fee", "is text, not a number"),
        ('name = "none"', 'name = "cloud"', "panel.person", "panel 'cloud' is not known"),
        ('name = "none"', 'name = "prolific"', "panel.codes", "lacks the code"),
        ('name = "none"', 'person = "a b"\nname = "none"', "panel.person", "name of a parameter"),
        ('name = "none"', 'name = "none"\ncomplete_url = "https://x.y/"', "panel.complete_url", "{code}"),
        ('exclude = ["failed_attention"]', 'exclude = ["slow"]', "analysis.exclude[1]", "'slow' is not a reason"),
        ("[debrief]", "[debriefing]", "debrief.text", "is missing"),
        ("[debrief]", "[debriefing]", "debriefing", "did you mean debrief?"),
        ("[checks]", "[[checks]]", "checks", "is a list, not a table (write a line [checks])"),
        ("Thank you.", "Thank\\u0000 you.", "debrief.text", "control character"),
    ],
)
def test_each_problem_names_its_key_and_the_way_out(old, new, key, part):
    text = template()
    assert old in text
    found = complaints(text.replace(old, new, 1))
    own = [line for line in found if re.match(rf"s\.toml:\d+: {re.escape(key)}: ", line)]
    assert own, found
    assert any(part in line for line in own), own


@pytest.mark.parametrize(
    ("kind", "old", "new", "key", "part"),
    [
        ("evoked", 'arms_by = "emotion"', 'arms_by = "mood"', "arms_by", "not one of the values"),
        ("evoked", "[options]", "[arms]\na = 'last'\n[options]", "arms", "takes them from the items"),
        ("evoked", 'controls = "yes"', 'controls = "some"', "options.controls", "Choose auto or yes or no"),
        ("evoked", 'controls = "yes"', "colour = 3", "options.colour", "no option 'colour'"),
        ("evoked", 'controls = "yes"', "emotion = 2.5", "options.emotion", "not a value that an option"),
        ("evoked", 'instrument = "PANAS"', 'instrument = "BDI"\npeople = true', "options", "PANAS only"),
        ("evoked", "people_per_batch = 3", "batch_size = 3", "places.batch_size", "the kind says what a person gets"),
        ("eqbench", "# [options]", "[options]\nrevision = true", "options.revision", "asked once"),
        ("eqbench", "# [options]", "[options]\nlanguage = 'de'", "options.language", "are English and scored as v2"),
    ],
)
def test_what_the_other_kinds_do_not_have(kind, old, new, key, part):
    text = template(kind)
    assert old in text
    (own,) = [line for line in complaints(text.replace(old, new, 1)) if f": {key}: " in line]
    assert part in own


def test_broken_toml_names_its_line():
    text = template().replace('kind = "rating"', 'kind = "rating', 1)
    (said,) = complaints(text)
    assert said.startswith(f"s.toml:{line_of(text, 'kind = ')}: this is not TOML")
    assert complaints("a = [1,")[0].startswith("s.toml:1: this is not TOML")
    assert "cannot be read" in complaints("x = " + "[" * 5000 + "]" * 5000)[0]
    assert "cannot be read" in complaints(f"x = {'9' * 5000}")[0]


def test_a_date_and_line_ends_of_windows_are_fine():
    text = template().replace('keep_until = "five years after the study has ended"', "keep_until = 2031-01-31")
    assert read_study(text.replace("\n", "\r\n")).consent.keep_until == "2031-01-31"


def only_data_errors(text):
    try:
        read_study(text)
    except DataError as error:
        for line in error.message.split("\n"):
            assert re.match(r"study\.toml(:\d+: .| has \d+ problem)", line), line


@given(st.text(max_size=80))
def test_no_text_crashes_the_reader(text):
    only_data_errors(text)


ANY = st.sampled_from(
    (
        *('""', '"x"', "0", "-1", "1e999", "nan", "true", "[]", "{}", "[1]", '[""]', "[[1]]", "[{}]", "{a = 1}"),
        *("2027-01-01", "07:00:00", '"\\u0001"', '"{answer}"', "99999999999999999999", '["TEQ"]', "{text = []}"),
    )
)
NAMES = st.sampled_from(
    (
        *("id", "kind", "title", "language", "seed", "items", "limit", "arms", "options", "instruments", "not_after"),
        *("consent", "tutorial", "checks", "places", "pay", "panel", "analysis", "debrief", "arms_by", "arms.a"),
        *("tutorial.question", "tutorial.text", "panel.codes", "panel.codes.full", "analysis.exclude"),
        *('arms.""', 'arms."\\u0000"', 'options."a b"', "consent.text", "checks.instruction", "panel.complete_url"),
        *("options.emotion", "instruments_text"),
    )
)


@settings(max_examples=40)
@given(st.lists(st.tuples(NAMES, ANY), max_size=8), st.sampled_from([*KINDS, "x"]))
def test_no_value_crashes_the_reader(pairs, kind):
    only_data_errors("\n".join([f'kind = "{kind}"', *(f"{name} = {value}" for name, value in pairs)]))


@settings(max_examples=25)
@given(st.sampled_from(KINDS), st.data())
def test_no_damage_crashes_the_reader(kind, data):
    lines = template(kind).split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        damage = data.draw(st.sampled_from(["drop", "double", "blank", "value"]))
        if damage == "value":
            lines[at] = f"{lines[at].partition('=')[0]}= {data.draw(ANY)}"
        else:
            lines[at : at + 1] = {"drop": [], "double": [lines[at]] * 2, "blank": [""]}[damage]
    only_data_errors("\n".join(lines))

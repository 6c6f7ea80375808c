"""The open personas: structure, variety, and nothing taken from published sets; and what the reader refuses."""

import csv
import json
import re
import tomllib
from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.dialogue.personas import FIXED_LINES, KINDS, from_key, from_persona, parse_open
from eqlab.benchmarks.dialogue.trials import Speaker, first_trial, speaker_system
from eqlab.core.errors import DataError

OPEN = files("eqlab.data").joinpath("open")
RAW = OPEN.joinpath("dialogue.toml").read_bytes()
DATA = tomllib.loads(RAW.decode())
PERSONAS = parse_open(RAW)
QUICK = [persona for persona in PERSONAS if persona.quick]
TOPICS = {"family", "work", "friendship", "love", "health", "money", "loss", "school", "neighbours", "care", "home"}
TOPICS |= {"leisure"}


def texts(persona):
    """All that was written for a persona, piece by piece."""
    background = (persona.title, persona.who, persona.happened, persona.need, persona.talks)
    return (*background, *persona.helps, *persona.hurts, persona.leaves_satisfied, persona.leaves_hurt, *persona.fixed)


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def runs(text, length=8):
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


def test_sixty_of_them_with_their_provenance():
    assert len(PERSONAS) == len({persona.id for persona in PERSONAS}) == 60
    assert DATA["licence"] == "MIT"
    assert DATA["author"] == tomllib.loads(OPEN.joinpath("empathy.toml").read_text("utf-8"))["author"]
    assert "no person has played or rated" in DATA["provenance"]
    assert {persona.language for persona in PERSONAS} == {"en"}


def test_the_reader_changes_nothing():
    for persona, entry in zip(PERSONAS, DATA["item"], strict=True):
        for key, value in entry.items():
            assert getattr(persona, key) == (tuple(value) if isinstance(value, list) else value), (persona.id, key)


def test_kinds_and_topics_are_balanced():
    kinds = Counter(persona.kind for persona in PERSONAS)
    assert set(kinds) == set(KINDS)
    assert kinds["joy"] >= 15
    assert kinds["conflict"] >= 12
    assert kinds["trouble"] <= 30
    topics = Counter(persona.topic for persona in PERSONAS)
    assert set(topics) == TOPICS
    assert max(topics.values()) <= 12
    for kind in KINDS:
        assert len({persona.topic for persona in PERSONAS if persona.kind == kind}) >= 7, kind


def test_all_ages_in_every_kind():
    ages = [persona.age for persona in PERSONAS]
    assert (min(ages), max(ages)) == (15, 85)
    decades = Counter(age // 10 for age in ages)
    assert min(decades[decade] for decade in range(1, 8)) >= 6
    assert decades[8] >= 2
    for kind in KINDS:
        own = [persona.age for persona in PERSONAS if persona.kind == kind]
        assert min(own) < 20, kind
        assert max(own) >= 75, kind
        assert 35 <= sum(own) / len(own) <= 55, kind


def test_nobody_is_twice_there():
    names = [persona.name for persona in PERSONAS]
    others = {item["character"] for item in tomllib.loads(OPEN.joinpath("eqbench.toml").read_text("utf-8"))["item"]}
    assert len(set(names)) == 60
    assert not set(names) & others
    assert len({persona.title for persona in PERSONAS}) == 60


def test_feelings_at_the_start_suit_the_kind_and_leave_room():
    for persona in PERSONAS:
        lowest, highest = (55, 70) if persona.kind == "joy" else (20, 45)
        assert lowest <= persona.emotion <= highest, persona.id


def test_lengths():
    for persona in PERSONAS:
        if persona.quick:
            continue
        assert 15 <= len(words(persona.who)) <= 60, persona.id
        assert 30 <= len(words(persona.happened)) <= 95, persona.id
        assert 8 <= len(words(persona.need)) <= 45, persona.id
        assert 15 <= len(words(persona.opening)) <= 50, persona.id
        assert all(6 <= len(words(line)) <= 50 for line in persona.lines), persona.id
        assert len(persona.helps) == len(persona.hurts) == 3, persona.id


def test_four_are_short_and_simple():
    assert Counter(persona.kind for persona in QUICK) == {"trouble": 2, "joy": 1, "conflict": 1}
    for persona in QUICK:
        assert len(words(" ".join(texts(persona)))) <= 180, persona.id
        for text in texts(persona):
            for sentence in re.split(r"(?<=[.!?])\s+", text):
                assert len(words(sentence)) <= 20, (persona.id, sentence)
    assert len(words(" ".join(text for persona in PERSONAS for text in texts(persona)))) / 60 > 200


def test_the_hidden_need_is_not_said_at_once():
    for persona in PERSONAS:
        said = runs(f"{persona.title} {persona.opening}", 4)
        assert not said & runs(persona.need, 4), persona.id


def test_who_is_told_apart_from_who_tells():
    """Background in the third person, which anybody may read; lines in the speaker's own voice."""
    for persona in PERSONAS:
        assert words(persona.who)[: len(words(persona.name))] == words(persona.name), persona.id
        spoken = set(words(" ".join(persona.fixed)))
        assert spoken & {"i", "my", "me", "we", "our"}, persona.id


def test_plain_style():
    for persona in PERSONAS:
        whole = " ".join(texts(persona))
        assert not re.search(r"[\u2012-\u2015\u2026]|--|\.\.\.", whole), persona.id
        assert not re.search(r"[\u2018\u2019\u201c\u201d]|  ", whole), persona.id
        assert whole.count("!") <= 6, persona.id
        assert not {"tapestry", "testament", "delve", "bittersweet", "rollercoaster"} & set(words(whole)), persona.id


def test_no_sentence_comes_twice():
    sentences = Counter(
        " ".join(words(sentence))
        for persona in PERSONAS
        for text in texts(persona)
        for sentence in re.split(r"(?<=[.!?])['\"]?\s+", text)
        if len(words(sentence)) >= 4
    )
    assert {sentence for sentence, count in sentences.items() if count > 1} == set()


def test_no_two_begin_alike():
    beginnings = Counter(tuple(words(persona.opening)[:3]) for persona in PERSONAS)
    assert max(beginnings.values()) <= 2


def test_no_two_items_of_the_package_share_a_run_of_eight_words():
    seen = {}
    for persona in PERSONAS:
        for text in texts(persona):
            for run in runs(text):
                assert seen.setdefault(run, persona.id) == persona.id, run
    for name in ("eqbench.toml", "empathy.toml", "emotionbench.toml"):
        assert not seen.keys() & runs(OPEN.joinpath(name).read_text("utf-8")), name


def published_words(folder):
    """The words of every published text there is here, file by file. SAGE is Chinese: its names and few English
    words are all that could agree."""
    with (folder / "empathy/data/dataset_and_ratings.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from (row[key] for key in row if key.startswith(("situation", "speaker_uttr", "response_")))
    for path in [*(folder / "eqbench/data").glob("*.json"), folder / "emotionbench/situations.json"]:
        yield json.dumps(json.loads(path.read_bytes()), ensure_ascii=False).replace("\\n", " ")
    for path in [*folder.glob("sage/SAGE/profile/*.jsonl"), *folder.glob("emobench/data/*.jsonl")]:
        yield path.read_text("utf-8").replace("\\n", " ")


def test_no_run_of_eight_words_is_published(published):
    theirs = set()
    for text in published_words(published):
        theirs |= runs(text)
    assert len(theirs) > 100_000
    for persona in PERSONAS:
        for text in texts(persona):
            assert not runs(text) & theirs, persona.id


ONE = b"""
language = "de"
[[item]]
id = "a-1"
title = "t"
kind = "joy"
topic = "p"
name = "n"
age = 30
who = " w "
happened = "h"
need = "d"
talks = "s"
helps = ["x"]
hurts = ["y", "z"]
leaves_satisfied = "ls"
leaves_hurt = "lh"
emotion = 100
opening = "o"
lines = ["1", "2", "3"]
"""


def test_one_persona():
    (persona,) = parse_open(ONE, "own.toml")
    assert persona.fixed == ("o", "1", "2", "3")
    assert (persona.who, persona.hurts, persona.quick, persona.language) == ("w", ("y", "z"), False, "de")
    assert len(persona.fixed) == 1 + FIXED_LINES


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'need = "d"\n', b"", r"own.toml:3: item\[1\].need \(a-1\): is missing"),
        (b'id = "a-1"\n', b"", r"own.toml:3: item\[1\].id: is missing"),
        (b'"a-1"', b'"A 1"', r"own.toml:4: item\[1\].id \(A 1\): is not an id"),
        (b'"a-1"', b"7", r"item\[1\].id: is a whole number, not text"),
        (b'"joy"', b'"joi"', r"own.toml:6: item\[1\].kind \(a-1\): 'joi' is not one of the values \(did you mean joy"),
        (b'"joy"', b"[]", r"kind \(a-1\): is a list"),
        (b'kind = "joy"\n', b"", r"kind \(a-1\): is missing"),
        (b"age = 30", b"age = 0", r"own.toml:9: item\[1\].age \(a-1\): 0 is out of range .* from 1 to 120"),
        (b"age = 30", b"age = true", r"age \(a-1\): is true or false"),
        (b"age = 30", b'age = "30"', r"age \(a-1\): is text"),
        (b"age = 30\n", b"", r"age \(a-1\): is missing"),
        (b"emotion = 100", b"emotion = 101", r"emotion \(a-1\): 101 is out of range .* from 0 to 100"),
        (b"emotion = 100", b"emotion = 40.0", r"emotion \(a-1\): is a number, not a whole number"),
        (b"emotion = 100\n", b"", r"emotion \(a-1\): is missing"),
        (b'opening = "o"', b'opening = " "', r"opening \(a-1\): is empty"),
        (b'["x"]', b'"x"', r"helps \(a-1\): is text, not a list"),
        (b'["x"]', b"[]", r"helps \(a-1\): is missing or empty"),
        (b'"z"]', b'""]', r"hurts\[2\] \(a-1\): is empty"),
        (b'"z"]', b'"y"]', r"hurts\[2\] \(a-1\): 'y' is there twice"),
        (b', "3"]', b"]", r"lines \(a-1\): holds 2 lines \(write 3\)"),
        (b'lines = ["1", "2", "3"]', b"lines = []", r"lines \(a-1\): is missing or empty"),
        (
            b"[[item]]\n",
            b'[[item]]\nquick = "yes"\n',
            r"own.toml:4: item\[1\].quick \(a-1\): is neither true nor false",
        ),
        (b"[[item]]\n", b"[[item]]\nmood = 3\n", r"mood \(a-1\): is not known here"),
        (b"[[item]]\n", b"[[item]]\nlanguage = 'en'\n", r"language \(a-1\): is not known here"),
        (b'language = "de"', b"language = 1", "own.toml:2: language: is a whole number, not text"),
        (b'language = "de"', b'langauge = "de"', "own.toml:2: langauge: is not known here .did you mean language"),
        (b"[[item]]", b"[item]", r"own.toml:3: item: is a table, not a list"),
        (b"[[item]]", b"[[thing]]", "own.toml:3: thing: is not known here"),
        (b"[[item]]", b"[[item", "own.toml:3: this is not TOML"),
        (b"age", b"\xff", "own.toml is not text in UTF-8"),
    ],
)
def test_what_is_wrong_is_named(old, new, message):
    assert old in ONE
    with pytest.raises(DataError, match=message) as caught:
        parse_open(ONE.replace(old, new, 1), "own.toml")
    assert caught.value.hint


def test_ids_are_unique_and_entries_are_tables():
    second = b"[[item]]" + ONE.partition(b"[[item]]")[2]
    with pytest.raises(DataError, match=r"own.toml:22: item\[2\].id \(a-1\): 'a-1' is there twice"):
        parse_open(ONE + second, "own.toml")
    with pytest.raises(DataError, match=r"own.toml:1: item\[1\]: is a whole number, not a table"):
        parse_open(b"item = [1]", "own.toml")
    with pytest.raises(DataError, match=r"own.toml has 2 problems"):
        parse_open(ONE.replace(b'id = "a-1"', b"") + second.replace(b'id = "a-1"', b""), "own.toml")
    for nobody in (b"", b"item = []"):
        with pytest.raises(DataError, match=r"own.toml:1: item: is missing"):
            parse_open(nobody, "own.toml")


def test_everything_wrong_is_said_at_once():
    broken = ONE.replace(b"age = 30", b"age = 300").replace(b'need = "d"\n', b"")
    with pytest.raises(DataError, match=r"own.toml has 2 problems") as caught:
        parse_open(broken, "own.toml")
    assert "age" in caught.value.message
    assert "need" in caught.value.message


def test_lines_may_end_as_on_windows():
    assert parse_open(ONE.replace(b"\n", b"\r\n"), "own.toml") == parse_open(ONE, "own.toml")
    with pytest.raises(DataError, match=r"own.toml:9: "):
        parse_open(ONE.replace(b"age = 30", b"age = 0").replace(b"\n", b"\r\n"), "own.toml")


@given(st.binary(max_size=60), st.integers(0, len(ONE)), st.integers(0, 40))
def test_a_broken_file_is_a_data_error_or_personas(noise, start, cut):
    broken = ONE[:start] + noise + ONE[start + cut :]
    try:
        said = [persona.id for persona in parse_open(broken, "own.toml")]
    except DataError as error:
        said = [error.message] if error.message.startswith("own.toml") else []
    assert said


SPEAKER = b"""
instruction = "Jemand spricht mit dir. Antworte auf Deutsch."
instruction_speaker = '''
Du bist {name}, {age}. {happened} Du brauchst: {need}. Gut tut: {helps}. Weh tut: {hurts}.
Antworte mit vier Zeilen, Feeling: Emotion: (anfangs {emotion}) Leaves: Says:
'''
"""


def test_instructions_of_ones_own_are_all_that_is_said():
    (persona,) = parse_open(SPEAKER + ONE, "own.toml")
    character = from_persona(persona)
    told = speaker_system(character, structured=False)
    assert told.startswith("Du bist n, 30. h Du brauchst: d. Gut tut: x. Weh tut: y; z.")
    assert "anfangs 100" in told
    assert "You play" not in told
    assert "JSON" in speaker_system(character, structured=True)
    trial = first_trial(character, Speaker("fixed"), 4)
    assert trial.system == "Jemand spricht mit dir. Antworte auf Deutsch."
    assert from_key(trial.key["character"]) == character


def test_without_one_the_trial_is_what_it_was():
    (persona,) = parse_open(ONE, "own.toml")
    assert not {"instruction", "told"} & set(first_trial(from_persona(persona), Speaker("fixed"), 4).key["character"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"{happened}", b"", r"own.toml:3: instruction_speaker: lacks \{sheet\}"),
        (b"Says:", b"", r"own.toml:3: instruction_speaker: does not say how to answer"),
        (b"{need}", b"{wish}", r"own.toml:3: instruction_speaker: \{wish\} is not known"),
        (
            b"auf Deutsch",
            b"auf {language}",
            r"own.toml:2: instruction: \{language\} is not known .there are: none here",
        ),
    ],
)
def test_what_is_wrong_with_an_instruction_is_named_once(old, new, message):
    two = SPEAKER.replace(old, new, 1) + ONE + ONE[ONE.index(b"[[item]]") :].replace(b"a-1", b"a-2")
    with pytest.raises(DataError, match=message) as caught:
        parse_open(two, "own.toml")
    assert "has 1 problem" in str(caught.value)

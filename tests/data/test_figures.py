"""The figures that ship with the package: complete, traceable, no sentence in them, and broken ones are named."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.errors import DataError
from eqlab.data.figures import FILE, FigureReply, parse, published_figures
from eqlab.data.published import manifest

sys.path.insert(0, str(ROOT / "bench"))
from published_figures import dump

CONTENT = files("eqlab.data").joinpath(FILE).read_bytes()
BODY = json.loads(CONTENT)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_what_is_in_it():
    found = published_figures()
    assert (len(found.models), len(found.questions)) == (54, 171)
    assert [question.id for question in found.questions] == [str(number) for number in range(1, 172)]
    assert all(len(question.emotions) == len(question.reference) == 4 for question in found.questions)
    assert all(0 <= level <= 10 for question in found.questions for level in question.reference)
    assert len({one.model for one in found.models}) == 54
    assert all([len(replies) for replies in one.iterations] == [171] for one in found.models)
    assert {one.date[:7] for one in found.models} <= {"2024-01", "2024-02"}
    assert len({one.family for one in found.models}) == 15


def test_every_file_is_one_that_is_pinned():
    found = published_figures()
    pinned = {one.name: one for one in manifest()}
    assert pinned[f"eqbench/{found.file}"].sha256 == found.sha256
    for one in found.models:
        known = pinned[f"eqbench/{one.file}"]
        assert (known.sha256, known.repository, known.commit) == (one.sha256, found.repository, found.commit)
    assert found.licence.startswith("MIT License\n\nCopyright (c) 2023")


def test_no_sentence_is_in_it():
    """Words and names only; the licence must be there in full, and one line says what the file is."""
    body = {name: value for name, value in BODY.items() if name not in ("licence", "about")}
    wordy = {text for text in strings(body) if re.search(r"\s", text)}
    assert wordy == set()
    assert max(map(len, strings(body))) < 120
    for question in BODY["questions"]["emotions"]:
        assert all(re.fullmatch(r"[A-Z][a-z]+", word) for word in question)


def test_it_is_small():
    assert len(CONTENT) < 300_000


def test_it_is_its_own_dump():
    assert dump(parse(CONTENT)) == CONTENT


SOME = published_figures()
NUMBERS = st.one_of(st.none(), st.lists(st.integers(0, 10**15), min_size=4, max_size=4).map(tuple))
REPLIES = st.builds(FigureReply, NUMBERS, NUMBERS, st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans())


@given(st.lists(st.lists(REPLIES, min_size=2, max_size=2).map(tuple), max_size=3).map(tuple))
def test_what_is_written_is_read_again(iterations):
    one = replace(SOME.models[0], iterations=iterations)
    some = replace(SOME, questions=SOME.questions[:2], models=(one,))
    assert parse(dump(some)) == some


def broken(change):
    body = json.loads(CONTENT)
    change(body)
    return json.dumps(body).encode()


def cut(body, name):
    body["models"][0]["iterations"][0][name].pop()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        CONTENT[:-100],
        b"[]",
        b"{}",
        broken(lambda body: body.update(format=2)),
        broken(lambda body: body["questions"]["references"].pop()),
        broken(lambda body: cut(body, "first")),
        broken(lambda body: cut(body, "words")),
        broken(lambda body: body["models"][0]["iterations"][0]["first"][0].pop()),
        broken(lambda body: body["models"][0].pop("sha256")),
    ],
)
def test_a_broken_file_is_named(content):
    with pytest.raises(DataError, match=FILE):
        parse(content)


def test_nothing_heavy_is_loaded():
    code = "import sys, eqlab.data.figures as f; f.published_figures(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr

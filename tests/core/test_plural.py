"""A count and its noun agree: every sentence maker says "1 person", "1 question", "1 answer"."""

import re

import pytest
from conftest import ROOT

from eqlab.benchmarks.common.outcome import count_caveats
from eqlab.core.plural import many, one_of

SOURCE = ROOT / "src" / "eqlab"
NOUN = "people|questions|answers|models|judges|replies|runs|raters|prompts|trials|personas|ratings|rows|files|talks"
BARE = re.compile(r"\{(?!many\()([^{}:]+)(?::,)?\} ((?:[a-z-]+ )?(?:" + NOUN + r"))\b")
NAMES = re.compile(
    r"[A-Z_]+|path|then|seed|scale\.(?:key|named)|stored\.id|entry\.origin|(?:self\._|pinned\.)name|estimate_text\(.*"
)
"""Constants above one, and what is no count at all."""
NEVER_ONE = {
    ("runs/kumar.py", "len(talks)"),
    ("runs/kumar.py", "talks"),
    ("runs/published_results.py", "len(match)"),
    ("store/reader.py", "len(found)"),
    ("study/talks.py", "terms.max_calls_person"),
}
"""Published talks; names and ids that fit several; a setting with its value."""


def bare_counts():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith("reproduce/"):  # of published files, whose counts are known
            continue
        for line in path.read_text("utf-8").splitlines():
            if 'f"' not in line or "== 1" in line or "> 1" in line:
                continue
            for count, noun in BARE.findall(line):
                if not NAMES.fullmatch(count) and (name, count) not in NEVER_ONE:
                    yield name, count, noun


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (1, ("question",), "1 question"),
        (0, ("question",), "0 questions"),
        (1204, ("reply", "replies"), "1,204 replies"),
        (1, ("person is", "people are"), "1 person is"),
        (2, ("person is", "people are"), "2 people are"),
    ],
)
def test_a_count_and_its_noun_agree(count, words, said):
    assert many(count, *words) == said


@pytest.mark.parametrize(("several", "one"), [("stories", "story"), ("questions", "question"), ("personas", "persona")])
def test_a_benchmarks_own_word_has_a_singular(several, one):
    assert one_of(several) == one
    counted = {"planned": 3, "ok": 2, "unparseable": 0, "refused": 0, "error": 0, "unanswered": 1}
    assert f"1 {one} is not answered yet; the score is preliminary." in count_caveats(counted, several)


def test_no_sentence_counts_with_a_bare_plural():
    """Whoever writes `{n} people` writes "1 people" some day."""
    assert list(bare_counts()) == []

"""The open situations: in form, each only once, and nothing of the published ones in them."""

import re
from importlib.resources import files

from eqlab.benchmarks.emotionbench.items import (
    OPEN,
    SITUATIONS,
    TESTED,
    parse_open,
    parse_published,
    read_results,
    situations_tested,
)
from eqlab.instruments.catalogue import PANAS

OURS = parse_open(files("eqlab.data").joinpath("open", OPEN).read_bytes())
RUN = 8


def runs(text):
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def test_second_person_one_to_three_sentences():
    assert len({situation.id for situation in OURS}) == len({situation.text for situation in OURS}) == len(OURS) == 156
    for situation in OURS:
        assert re.search(r"\byou(?:r|rs|rself)?\b", situation.text, re.IGNORECASE), situation.id
        assert 1 <= len(re.findall(r"[.!?…]['\"”’]?(?:\s|$)", situation.text)) <= 3, situation.id


def test_no_two_share_a_run_of_words():
    seen = {}
    for situation in OURS:
        for run in runs(situation.text):
            assert seen.setdefault(run, situation.id) == situation.id, (run, situation.id)


def test_no_run_of_eight_words_is_published(published):
    theirs = [*parse_published((published / SITUATIONS).read_bytes())]
    theirs += situations_tested(read_results((published / TESTED).read_bytes(), "m", PANAS, TESTED))
    known = set().union(*(runs(situation.text) for situation in theirs))
    assert not [situation.id for situation in OURS if runs(situation.text) & known]

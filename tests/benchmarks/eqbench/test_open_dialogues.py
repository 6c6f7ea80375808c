"""The open dialogues: structure, variety, and nothing taken from the published ones."""

import re
import tomllib
from collections import Counter
from importlib.resources import files

from eqlab.benchmarks.eqbench.items import parse_open
from eqlab.benchmarks.eqbench.score import PRESETS, baselines

RAW = files("eqlab.data").joinpath("open", "eqbench.toml").read_bytes()
DATA = tomllib.loads(RAW.decode())
ITEMS = DATA["item"]


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def runs_of_eight(text):
    found = words(text)
    return {tuple(found[i : i + 8]) for i in range(len(found) - 7)}


def test_sixty_of_them_with_their_provenance():
    assert [item["id"] for item in ITEMS] == [f"open-{n:03}" for n in range(1, 61)]
    assert DATA["provenance"] == "author reference, not a human norm"


def test_structure():
    for item in ITEMS:
        turns = item["dialogue"].strip().split("\n")
        assert 6 <= len(turns) <= 12, item["id"]
        speakers = {re.match(r"([^:\n]{1,40}): \S", turn).group(1) for turn in turns}
        assert item["character"] in speakers, item["id"]
        names = [emotion["name"] for emotion in item["emotions"]]
        assert len(set(names)) == 4, item["id"]
        assert all(re.fullmatch(r"[A-Z][a-z]+", name) for name in names), item["id"]
        references = [emotion["reference"] for emotion in item["emotions"]]
        assert all(isinstance(value, int) and 0 <= value <= 10 for value in references), item["id"]
        assert max(references) > 0, item["id"]
        assert all(emotion["reason"].strip() and "\n" not in emotion["reason"] for emotion in item["emotions"])


def test_variety():
    assert len({item["character"] for item in ITEMS}) == 60
    themes = Counter(item["theme"] for item in ITEMS)
    assert {"family", "work", "friendship", "care", "conflict", "loss", "joy"} <= set(themes)
    assert min(themes.values()) >= 5
    references = Counter(emotion["reference"] for item in ITEMS for emotion in item["emotions"])
    assert 0.15 < references[0] / 240 < 0.4
    assert set(range(10)) <= set(references)


def test_answers_without_reading_do_badly():
    questions = parse_open(RAW, "eqbench.toml")
    floor = baselines([question.reference for question in questions], "v2", PRESETS["leaderboard"])
    assert max(baseline.value for baseline in floor) < 45


def test_no_two_share_a_run_of_eight_words():
    seen = {}
    for item in ITEMS:
        for run in runs_of_eight(item["dialogue"]):
            assert seen.setdefault(run, item["id"]) == item["id"]


def test_no_run_of_eight_words_is_in_the_published_items(published):
    import json

    theirs = set()
    for path in (published / "eqbench" / "data").glob("*.json"):
        for entry in json.loads(path.read_bytes()).values():
            theirs |= runs_of_eight(entry["prompt"])
    assert len(theirs) > 10_000
    for item in ITEMS:
        assert not runs_of_eight(item["dialogue"]) & theirs, item["id"]

"""EmotionBench on the published situations, questionnaires and people."""

import json
import re

import numpy as np
import pytest

from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.items import (
    CROWD,
    SITUATIONS,
    TESTED,
    name_parts,
    parse_published,
    people_of,
    read_people,
    read_results,
    situations_tested,
)
from eqlab.benchmarks.emotionbench.views import norms
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError
from eqlab.data.items import read_sources
from eqlab.instruments.catalogue import INSTRUMENTS, PANAS

EB = EmotionBench()


def planned(published, selection, **given):
    options = EB.options("published", given)
    return options, list(EB.plan(read_sources(EB.sources("published", options), published), options, selection))


def test_the_study_design(published):
    _, found = planned(published, Selection(), controls="no")
    assert len(found) == 1800
    assert sum(trial.condition == "default" for trial, _ in found) == 50
    _, everything = planned(published, Selection(), controls="no", situations="all", repeats="1")
    assert len(everything) == 50 + 428
    _, with_controls = planned(published, Selection(), repeats="1")
    assert len(with_controls) == 50 + 175 + 48


def test_tested_texts_are_those_that_were_used(published):
    results = read_results((published / TESTED).read_bytes(), "m", PANAS, TESTED)
    used, known = situations_tested(results), parse_published((published / SITUATIONS).read_bytes())
    assert (len(used), len(known)) == (175, 428)
    assert len({situation.id for situation in used}) == 175

    def plain(text):
        return re.findall(r"[a-z0-9]+", text.casefold())

    texts = [plain(situation.text) for situation in known]
    verbatim = sum(plain(situation.text) in texts for situation in used)
    assert 150 < verbatim < 160  # 153 to 157, by how much of punctuation and spacing is ignored
    for path in sorted((published / TESTED).parent.glob("*.csv")):
        model, instrument = name_parts(path.name)
        other = read_results(path.read_bytes(), model, instrument, path.name)
        assert dict(zip(other.places, other.texts, strict=True)) == dict(
            zip(results.places, results.texts, strict=True)
        )


def test_the_published_prompt_is_loaded(published):
    _, found = planned(published, Selection("quick"))
    default, evoked = found[0][0], found[5][0]
    entry = next(
        e for e in json.loads((published / "emotionbench/questionnaires.json").read_bytes()) if e["name"] == "PANAS"
    )
    assert default.system == evoked.system == entry["inner_setting"]
    before, _, after = entry["prompt"].partition("SCENARIO")
    assert default.prompt.startswith(f"Prompt: {before} {after}\n1. ")
    assert evoked.prompt.startswith(f"Prompt: {before}")
    assert after in evoked.prompt
    _, own = planned(published, Selection("quick"), wording="own")
    assert before not in own[0][0].prompt


@pytest.mark.parametrize("key", sorted(set(INSTRUMENTS) - {"PANAS"}))
def test_every_instrument_runs(published, key):
    options, found = planned(published, Selection("quick", limit=2), instrument=key, defaults="3")
    scored = []
    for number, (trial, repeat) in enumerate(found):
        text = "\n".join(
            f"{i}. {(number + i) % (s.high - s.low + 1) + s.low}" for i, s in enumerate(trial.form.scales, 1)
        )
        reading = EB.read(trial, text, options)
        assert reading.status == "ok", reading.note
        scored.append(Scored(trial, repeat, (Answer("r", trial.id, "m", repeat, 0, text, "ok", reading.values),)))
    found = EB.score("m", scored, options)
    assert found.headline.value is not None
    assert found.headline.name == f"change in {key}"
    if not INSTRUMENTS[key].overall:
        assert "no overall score" in found.headline.note


def test_people(published):
    people = read_people((published / CROWD).read_bytes())
    assert len(people.where) == 1266
    assert len(people.places) == 175
    assert sorted(np.unique(np.bincount(people.where), return_counts=True)[1].tolist()) == [41, 134]
    found = norms(people)
    assert len(found.factors) == 72
    assert found.default["Positive Affect"].mean == pytest.approx(28.02, abs=0.01)
    assert found.default["Positive Affect"].sd == pytest.approx(8.88, abs=0.01)
    assert found.default["Negative Affect"].mean == pytest.approx(13.62, abs=0.01)


def test_a_run_beside_people(published):
    options, found = planned(published, Selection("quick", repeats=2))
    positive = {PANAS.item_keys[number - 1] for number in PANAS.subscales[0].items}
    scored = []
    for trial, repeat in found:
        bad = trial.condition == "evoked" and trial.key["emotion"] not in ("Neutral", "Positive")
        level = {True: 2 if bad else 3, False: 3 if bad else 1}
        text = "\n".join(f"{s.text}: {level[s.key in positive]}" for s in trial.form.scales)
        reading = EB.read(trial, text, options)
        scored.append(Scored(trial, repeat, (Answer("r", trial.id, "m", repeat, 0, text, "ok", reading.values),)))
    result = EB.score("m", scored, options)
    assert result.headline.value == pytest.approx(250 / 3)  # good and neutral are alike, both above bad
    assert "Its changes differ from people's by" in result.sentence
    assert result.tables[1].titles[4] == "people: Positive Affect"
    assert any("28.0 ± 8.9 (n = 1266)" in row for row in result.tables[2].rows)
    assert any(e.note == "people's own reliability is 0.83" for e in result.estimates)


def test_a_workbook_that_is_not_the_studys():
    with pytest.raises(DataError, match="workbook"):
        read_people(b"no workbook")
    with pytest.raises(DataError, match="Angry_F1S1"):
        people_of([["", "Info", "x"]])
    with pytest.raises(DataError, match="Joyful_F1S1"):
        people_of([["", "Info", "Joyful_F1S1"]])
    with pytest.raises(DataError, match="no row"):
        people_of([["", "Info", "Angry_F1S1"]])

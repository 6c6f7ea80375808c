"""From replies to the result: headline, estimates, tables, refusals, what is said."""

import random
from importlib.resources import files
from statistics import stdev

import pytest

from eqlab.analysis.clusters import AGREEMENT, CV
from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.items import OPEN
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.results import Estimate
from eqlab.instruments.catalogue import PANAS

EB = EmotionBench()
CONTENT = files("eqlab.data").joinpath("open", OPEN).read_bytes()
POSITIVE = {PANAS.item_keys[number - 1] for number in PANAS.subscales[0].items}


def mood(trial, positive, negative):
    return "\n".join(f"{s.text}: {positive if s.key in POSITIVE else negative}" for s in trial.form.scales)


def feeling(trial):
    kind = {"Neutral": 0, "Positive": 1}.get(trial.key.get("emotion", "Neutral"), -1)
    draw = random.Random(trial.id)
    return mood(trial, 3 + kind, 2 - kind + (draw.random() < 0.3 and kind == -1))


SMALL = Selection(limit=32, repeats=1)


def run(reply, selection=SMALL, **given):
    options = EB.options("open", {"defaults": "5", **given})
    scored = []
    for trial, repeat in EB.plan({OPEN: CONTENT}, options, selection):
        text = reply(trial)
        if text is None:
            scored.append(Scored(trial, repeat, ()))
            continue
        reading = EB.read(trial, text, options)
        answer = Answer("r", trial.id, "model:m", repeat, 0, text, reading.status, reading.values, reading.note)
        scored.append(Scored(trial, repeat, (answer,)))
    return EB.score("model:m", scored, options)


def test_a_subject_with_feelings():
    found = run(feeling)
    assert found.headline.value == 100
    assert found.valid
    assert (found.rules["defaults"], found.rules["repeats"], found.rules["mode"]) == (5, 1, "text")
    assert found.counts == {"planned": 37, "ok": 37, "unparseable": 0, "refused": 0, "error": 0, "unanswered": 0}
    assert found.headline.name == "Concordance"
    assert found.score_range == (0.0, 100.0)
    assert "reports the better mood in the better one 100.0 % of the time" in found.sentence
    assert "this is better than chance" in found.sentence
    names = [estimate.name for estimate in found.estimates]
    assert "default Positive Affect" in names
    assert "readable by the published last-character rule" in names
    assert len(found.items) == 32
    assert found.items[0].score < -4
    assert found.items[0].values["Positive Affect"] == -10
    assert "No human norm exists for these texts; people's changes are those of the same factors." in found.caveats


def test_the_two_scales_of_panas_are_never_added():
    """Positive and Negative Affect are opposites: no estimate, table or item may show their sum."""
    found = run(feeling)
    scales = {"Positive Affect", "Negative Affect"}
    assert {name.removeprefix("default ") for e in found.estimates if (name := e.name).startswith("default ")} == scales
    assert {e.name.removesuffix(": change") for e in found.estimates if e.name.endswith(": change")} == scales
    assert all(set(item.values) == scales for item in found.items)
    views = next(table for table in found.tables if table.title == "Three views of every cell")
    assert {row[1] for row in views.rows} == scales


def test_always_very_negative_cannot_win():
    found = run(lambda trial: mood(trial, 1, 5))
    assert found.headline.value == 50
    assert "cannot be told apart" in found.sentence
    assert {baseline.value for baseline in found.baselines} == {50.0}


def test_the_headline_is_the_mean_of_the_situations_points():
    draw = random.Random(3)

    def moody(trial):
        return mood(trial, draw.randint(1, 5), draw.randint(1, 5))

    found = run(moody, Selection(limit=32, repeats=2))
    points = [item.points for item in found.items]
    assert sum(points) / len(points) == pytest.approx(found.headline.value)
    assert stdev(points) / len(points) ** 0.5 == pytest.approx(
        found.headline.se
    )  # so pairs are judged by its own error
    named = {estimate.name: estimate for estimate in found.estimates}
    assert named[CV].n == 2
    assert named[AGREEMENT].n == 32
    assert named[AGREEMENT].value < 0.8
    assert not any("repeatability" in estimate.name for estimate in run(feeling).estimates)
    assert all(item.points is None for item in run(feeling, controls="no").items)


def test_every_table_is_a_table():
    found = run(feeling, Selection(limit=32, repeats=2))
    titles = [table.title for table in found.tables]
    assert titles == [
        "Three numbers, beside people's own",
        "Profile: how far situations move it",
        "Default measure, without any situation",
        "Three views of every cell",
        "How alike the repeats of one situation are",
        "Order effect: mean answer by position",
    ]
    for table in found.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(cell is None or isinstance(cell, str | int | float | Estimate) for row in table.rows for cell in row)


def test_refusals_are_counted_by_situation_and_make_a_result_invalid():
    def shy(trial):
        return (
            "I'm sorry, but I cannot answer this." if trial.key.get("emotion") in ("Guilt", "Fear") else feeling(trial)
        )

    found = run(shy)
    lost = found.counts["refused"]
    assert lost == 4
    assert not found.valid
    table = found.tables[-1]
    assert table.title == "Answers that could not be used"
    assert sum(row[3] for row in table.rows) == lost
    assert "not valid" in found.sentence
    assert any(f"{lost} of 37" in caveat for caveat in found.caveats)
    few = run(lambda trial: "no" if trial.items[0].startswith("guilt") else feeling(trial))
    assert few.valid
    assert 0 < few.counts["unparseable"] < 3


def test_an_unfinished_run_is_preliminary():
    found = run(lambda trial: None if trial.key.get("emotion") == "Positive" else feeling(trial))
    assert found.headline.value is None
    assert not found.valid
    assert found.counts["unanswered"] == 8
    assert any("not answered yet" in caveat for caveat in found.caveats)
    nothing = run(lambda trial: None)
    assert nothing.headline.value is None
    assert "cannot be scored" in nothing.sentence


def test_a_default_at_the_ceiling_caps_the_old_number_and_not_the_new():
    """Best mood by default; good news cannot lift it, but bad news and routine lower it."""

    def happy(trial):
        return mood(trial, *{"Neutral": (5, 2), "Positive": (5, 1)}.get(trial.key.get("emotion", "Positive"), (2, 4)))

    found = run(happy, Selection(limit=32, repeats=1))
    named = {estimate.name: estimate for estimate in found.estimates}
    assert found.headline.value == 100
    old = named["alignment (the headline of 0.1)"]
    assert old.value <= 50
    assert "nobody can have more than 50" in old.note


def test_the_three_numbers_stand_beside_peoples_own():
    found = run(feeling, Selection(repeats=1, profile="full"))
    rows = {row[0]: row[1:] for row in found.tables[0].rows}
    assert rows["… neutral above bad"][1].value == pytest.approx(80.6, abs=0.1)
    assert rows["profile: correlation with people over factors"][0].n == 36
    own, people = rows["movement, people = 1"][:2]
    assert own.low < own.value < own.high
    assert people.low < people.value == 1 < people.high
    assert "times as far as people" in found.sentence


@pytest.mark.parametrize(("neutral", "capped"), [(5, True), (3, False)])
def test_the_cap_of_a_subject_at_the_end_of_the_scale_is_shown(neutral, capped):
    def happy(trial):
        return mood(trial, *{"Neutral": (neutral, 1), "Positive": (5, 1)}.get(trial.key.get("emotion", "x"), (2, 4)))

    found = run(happy)
    ceiling = {row[0]: row[-1] for row in found.tables[0].rows}["concordance, all three kinds"]
    assert ceiling == ("83.33 %" if capped else "100 %")
    assert any("83.3 % is the most that is possible" in caveat for caveat in found.caveats) == capped
    assert (found.headline.value == pytest.approx(250 / 3)) == capped


def test_without_controls_there_is_no_headline():
    found = run(feeling, controls="no")
    assert found.headline.value is None
    assert any("controls=yes" in caveat for caveat in found.caveats)


@pytest.mark.parametrize("structured", [False, True])
def test_structured_says_so(structured):
    import json

    def reply(trial):
        return json.dumps(dict.fromkeys(trial.form.keys, 3)) if structured else mood(trial, 3, 3)

    found = run(reply, Selection(limit=32, repeats=1, structured=structured))
    assert found.rules["mode"] == ("json" if structured else "text")
    assert any("structured" in caveat for caveat in found.caveats) == structured
    assert found.counts["ok"] == 37

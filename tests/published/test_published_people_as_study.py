"""The 1,266 people of the published study as participants of a study of ours: the golden numbers come out."""

import csv
import io

import numpy as np
import pytest

from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.items import _AFTER, _BEFORE, _LABEL, _OTHER_NAMES, CROWD, _answers
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.runs import PEOPLE
from eqlab.data.items import read_sources
from eqlab.instruments.catalogue import PANAS

EB = EmotionBench()
ARROWS = {"up": "↑", "down": "↓", "-": "–"}


@pytest.fixture(scope="module")
def crowd(published):
    """Everybody's two forms, as the web page would have stored them, and the options of the study."""
    from python_calamine import CalamineWorkbook

    content = (published / CROWD).read_bytes()
    rows = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_name("Raw").to_python()
    columns = [(index, match) for index, label in enumerate(rows[0]) if (match := _LABEL.fullmatch(str(label)))]
    before, after = (_answers(rows, [index for index, _ in columns], mark, CROWD) for mark in (_BEFORE, _AFTER))
    options = EB.options("published", {"controls": "no", "defaults": "2", "repeats": "1"})
    plan = EB.plan(read_sources(EB.sources("published", options), published), options, Selection())
    trials = {trial.items[0]: trial for trial, _ in plan}
    scored = []
    for number, (_, match) in enumerate(columns):
        emotion = _OTHER_NAMES.get(match[1], match[1])
        evoked = trials[f"tested-{emotion}-{int(match[2]) - 1}-{int(match[3]) - 1}"]
        for trial, answers in ((trials["default"], before), (evoked, after)):
            values = {
                key: int(value)
                for key, value in zip(PANAS.item_keys, answers[:, number], strict=True)
                if not np.isnan(value)
            }
            answer = Answer("r", trial.id, f"person:{number:04d}", 0, 1, "", "ok", values)
            scored.append(Scored(trial, 0, (answer,)))
    return scored, options


@pytest.fixture(scope="module")
def found(crowd):
    return EB.score(PEOPLE, *crowd)


@pytest.fixture(scope="module")
def human(golden):
    with (golden / "emotionbench.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["source"] == "human"]


def named(row):
    if row["level"] == "factor":
        return f"{row['emotion']}: {row['factor']}"
    return "all negative situations" if row["level"] == "overall" else f"{row['emotion']}, all"


def test_every_golden_number_of_people_comes_out(found, human):
    profile, _, views = found.tables[1:4]
    by_row = {(name, scale): rest for name, scale, *rest in views.rows}
    changes = {
        (row[0], column.removeprefix("change in ")): cell
        for row in profile.rows
        for column, cell in zip(profile.titles, row, strict=True)
        if column.startswith("change in ")
    }
    checked = 0
    for row in human:
        if row["level"] == "default":
            continue
        place = (named(row), row["subscale"])
        n, arrow, p, p_holm, *_ = by_row[place]
        change = changes[place]
        assert (n, change.n) == (int(row["n"]), int(row["n"]))
        assert change.value == pytest.approx(float(row["diff"]), abs=1e-4)
        assert p == pytest.approx(float(row["p"]), rel=1e-4)
        assert arrow == f"{ARROWS[row['direction']]} {float(row['diff']):+.1f}"
        assert p_holm is None or p_holm >= p
        checked += 1
    assert checked == 2 * (36 + 8 + 1)


def test_default_mood_and_headline(found, human):
    defaults = {row["subscale"]: row for row in human if row["level"] == "default"}
    for scale, ours, theirs in found.tables[2].rows:
        assert (ours.n, ours.value) == (1266, pytest.approx(float(defaults[scale]["mean"]), abs=1e-3))
        assert theirs.endswith("(n = 1266)")
    overall = next(row for row in human if row["level"] == "overall" and row["subscale"] == "Negative Affect")
    assert (found.headline.name, found.headline.n, found.headline.of) == ("change in Negative Affect", 1266, "people")
    assert found.headline.value == pytest.approx(float(overall["diff"]), abs=1e-4)
    assert found.valid
    assert "1266 people" in found.sentence


def test_the_published_people_do_not_differ_from_themselves(found):
    gaps = [row[8] for row in found.tables[3].rows if row[8] is not None]
    assert len(gaps) == 72
    assert max(abs(gap.value) for gap in gaps) < 1e-9
    correlations = [e for e in found.estimates if "correlation with published people" in e.name]
    assert [round(e.value, 6) for e in correlations] == [1, 1]


def test_alike_says_how_much_a_situation_adds(found):
    alike = next(table for table in found.tables if table.title.startswith("How alike"))
    for _, people, situations, icc, effect in alike.rows:
        assert (people, situations) == (1266, len(found.items))
        assert abs(icc) < 0.3
        assert effect >= 1

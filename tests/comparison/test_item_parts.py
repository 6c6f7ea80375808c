"""What items report adds: people against models, designs for a precision, two sets on one scale; and where it stops."""

import json

import numpy as np
import pytest

from eqlab.comparison.item_designs import ITEM, REPEAT, WORDING, designs_table, equate_sets, item_designs
from eqlab.comparison.item_points import PLAIN, ItemPoint, asked_otherwise, between_people
from eqlab.comparison.item_report import item_report
from eqlab.core.errors import UsageError


def answers(seed, subjects=8, items=40, wordings=3, repeats=2, sd_item=10.0, sd_wording=4.0, sd_rest=12.0):
    draw = np.random.default_rng(seed)
    ease, way = draw.normal(0, sd_item, items), draw.normal(0, sd_wording, wordings)
    ability = draw.normal(60, 8, subjects)
    return [
        ItemPoint(f"m{s}", f"q{i}", PLAIN if w == 0 else f"way {w}", r,
                  float(ability[s] + ease[i] + way[w] + draw.normal(0, sd_rest)))
        for s in range(subjects) for i in range(items) for w in range(wordings) for r in range(repeats)
    ]  # fmt: skip


def test_designs_find_the_parts_and_a_design_that_reaches_the_width():
    found = [item_designs(answers(seed)) for seed in range(6)]
    assert np.mean([one.variance["item"] for one in found]) == pytest.approx(100, rel=0.2)
    assert np.mean([one.variance["residual"] for one in found]) == pytest.approx(144, rel=0.05)
    one = found[0]
    assert one.asked == {ITEM: 40, WORDING: 3, REPEAT: 2}
    assert one.difference.half_width <= 2.0
    rows = {row[0]: row for row in designs_table(one)[1].rows}
    assert rows["a difference ±2"][4] <= 2.0
    # wordings are random and few: their own variance cannot be averaged away by items
    wide = item_designs(answers(1, sd_wording=30.0))
    assert wide.score is None
    assert "a score ±2: none found" in {row[0] for row in designs_table(wide)[1].rows}


def test_the_width_is_reached_when_the_design_is_carried_out():
    """A difference of two subjects with as many items as the design says lies within ± 2 of the truth in 95 %."""
    design = item_designs(answers(2, wordings=1)).difference
    items, repeats = design.sizes[ITEM], design.sizes[REPEAT]
    draw = np.random.default_rng(0)
    gaps = draw.normal(0, np.sqrt(2 * 144 / (items * repeats)), 4000)
    assert np.mean(np.abs(gaps) <= 2.0) == pytest.approx(0.95, abs=0.03)


def test_who_scatters_more_needs_more_than_the_average_design():
    draw = np.random.default_rng(5)
    points = [ItemPoint(f"m{s}", f"q{i}", PLAIN, 0, 60 + draw.normal(0, 6 if s < 7 else 24)) for s in range(10)
              for i in range(60)]  # fmt: skip
    rows = {row[0]: row for row in designs_table(item_designs(points))[1].rows}
    assert rows["a score ±2"][-1] == "70 %"
    assert rows["… for nine of ten"][1] > 2 * rows["a score ±2"][1]
    assert rows["… for nine of ten"][-1] in ("90 %", "100 %")


def test_without_repeats_nothing_is_said_of_repeats():
    found = item_designs(answers(3, wordings=1, repeats=1))
    assert found.variance["residual"] == 0.0
    assert found.score.sizes[REPEAT] == 1
    assert "not known" in designs_table(found)[1].note


def test_one_subject_once_has_no_parts():
    assert item_designs(answers(4, subjects=1, wordings=1, repeats=1)) is None
    alone = item_designs(answers(4, subjects=1))
    assert alone.difference is None
    assert alone.subjects == 1


def people_and_models(seed, planted=0.0):
    draw = np.random.default_rng(seed)
    ease = draw.normal(60, 10, 30)
    models = {f"m{k}": {f"q{i}": float(ease[i] + a + draw.normal(0, 8)) for i in range(30)}
              for k, a in enumerate(draw.normal(0, 8, 20))}  # fmt: skip
    people = {}
    for k, a in enumerate(draw.normal(-10, 8, 90)):
        own = draw.permutation(30)[:10].tolist()
        people[f"person:{k}"] = {
            f"q{i}": float(ease[i] + a + draw.normal(0, 8) + planted * (i == 4)) for i in own
        }  # fmt: skip
    return models, people


def test_people_against_models():
    models, people = people_and_models(1, planted=25.0)
    items = [f"q{i}" for i in range(30)]
    table, scale = between_people(models, people, items)
    assert scale.title == "One scale for people and models?"
    assert scale.rows[0][2].startswith("items shift beyond chance (p = ")
    assert [row[2] for row in scale.rows[3:]] == ["one factor will do", "too few answered the same items to say"]
    assert table.rows[0][0] == "q4"
    assert table.rows[0][1].low < 25 < table.rows[0][1].high
    assert between_people(dict(list(models.items())[:4]), people, items) == ()
    (empty,) = between_people(models, {name: {"q0": 50.0} for name in [*list(people)[:3], "a", "b"]}, items)
    assert "1 item" in empty.note or empty.rows == ()


def test_the_same_items_asked_otherwise():
    """Four points less in JSON on every item is no shift of items; one that turns round is named."""
    models, _ = people_and_models(3)
    draw = np.random.default_rng(4)
    json_mode = {
        name: {item: points - 4 + 30 * (item == "q7") + draw.normal(0, 4) for item, points in own.items()}
        for name, own in models.items()
    }
    named, scale = asked_otherwise(models, json_mode)
    assert named.rows[0][0] == "q7"
    assert "items shift beyond chance" in scale.rows[0][2]
    assert [row[2] for row in scale.rows[3:]] == ["one factor will do"] * 2
    with pytest.raises(UsageError, match="0 models and 30 items are in both"):
        asked_otherwise(models, {f"x{name}": own for name, own in models.items()})


def test_people_alone_are_judges_of_items():
    models, people = people_and_models(2)
    found = item_report({}, {}, people=people)
    assert found.sentence.startswith("90 people, 30 items.")
    both = item_report(models, {}, people=people)
    assert both.sentence.startswith("20 models, 30 items.")
    assert any("people and models" in table.title for table in both.tables)
    few = item_report(dict(list(models.items())[:7]), {}, people={})
    assert "too few to look at" in few.sentence
    assert few.tables[1].rows == ()


def test_two_sets_on_one_scale_and_who_knows_the_second():
    draw = np.random.default_rng(5)
    ability = dict(zip([f"owner/m{k}" for k in range(15)], draw.normal(60, 10, 15).tolist(), strict=True))
    first = {name: {f"a{i}": a + draw.normal(0, 10) for i in range(60)} for name, a in ability.items()}
    second = {
        name.removeprefix("owner/"): {
            f"b{i}": a - 8 + 30 * (name == "owner/m3") + draw.normal(0, 10) for i in range(80)
        }
        for name, a in ability.items()
    }
    found = equate_sets(first, second, draws=300)
    assert "1 model scores more on the second set" in found.sentence
    assert found.tables[1].rows[0][0] == "owner/m3"
    assert "14 models that answered both, 1 suspected left out" in found.sentence
    assert found.found.shift_low < -8 < found.found.shift_high  # one who knows the items does not move the others
    assert found.found.slope_low < 1 < found.found.slope_high
    assert len(found.found.models) == 15
    with pytest.raises(UsageError, match="0 models answered both"):
        equate_sets(first, {"x": {"b1": 1.0}})


def test_equating_on_the_command_line(eqlab):
    done = eqlab("items", "report", "published", "--equate", "published", "--otherwise", "published", "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert body["equated"]["slope"] == pytest.approx(1.0)
    assert body["designs"]["asked"]["item"] == 171
    assert any("mistral-7b" in table["title"] for table in body["tables"])
    assert any(table["title"].startswith("One scale for the first way") for table in body["tables"])


def test_a_benchmark_that_is_not_there_is_said(eqlab):
    done = eqlab("items", "report", "published", "--benchmark", "emobench")
    assert done.code != 0
    assert "has item scores" in done.err

"""External scores from a file, matched with ours, in numbers, words and a drawing."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from eqlab.analysis.correlation import grouped_r
from eqlab.comparison.correlate import External, as_data, correlate, match, notes, read_scores, scatter, sentence, table
from eqlab.comparison.entries import EntrySource, entries
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import Estimate, ItemScore, Result


def ours(n=12, items=30, title="EQ-Bench v2"):
    """Models with abilities 40, 42, …, each seen through the same items."""
    random = np.random.default_rng(1)
    hard = random.normal(0, 10, items)
    sources = []
    for k in range(n):
        points = 40 + 2 * k + hard + random.normal(0, 5, items)
        scored = tuple(ItemScore(str(i), str(i), 0, "ok", None, points=float(p)) for i, p in enumerate(points))
        value, se = float(points.mean()), float(points.std(ddof=1)) / items**0.5
        headline = Estimate(title, value, items, se, value - 2 * se, value + 2 * se)
        sources.append(
            EntrySource(
                Result("eqbench", title, f"model:org/m{k}", {}, "", headline, (0, 100), items=scored), "run 1", "s"
            )
        )
    return entries(sources)[0]


def external(n=12, noise=1.0, errors=None):
    random = np.random.default_rng(2)
    scores = {f"m{k}": 60 + 3 * k + noise * random.normal() for k in range(n)}
    return External("knowledge", scores, dict.fromkeys(scores, errors) if errors else {})


def test_correlates_and_corrects():
    found = correlate(ours(), external(errors=2.0))
    assert found.association.n == 12
    assert found.association.pearson.value > 0.95
    assert found.ours.how == "alpha over 30 items"
    assert 0.9 < found.ours.value < 1
    assert found.theirs.value == pytest.approx(1 - 4 / np.var([p.theirs for p in found.points], ddof=1))
    expected = found.association.pearson.value / (found.ours.value * found.theirs.value) ** 0.5
    assert found.association.corrected.value == pytest.approx(expected)
    assert "correlate with r = 0.9" in sentence(found)
    assert "without measurement error" in sentence(found)
    assert table([found]).rows[0][1] == 12
    assert as_data(found)["points"][0]["model"] == "org/m0"


def test_a_given_reliability_wins_and_an_unknown_one_is_said():
    assert correlate(ours(), external(errors=2.0), reliability=0.5).theirs.value == 0.5
    unknown = correlate(ours(), external())
    assert unknown.theirs.value is None
    assert any("only one reliability" in note for note in notes([unknown]))


def test_who_is_not_matched_is_named():
    scores = {"m0": 1.0, "M1": 2.0, "org/m2": 3.0, "stranger": 4.0}
    found = correlate(ours(), External("x", scores, {}))
    assert found.unmatched == ("stranger",)
    assert (found.association.n, found.left) == (3, 9)
    assert any("stranger" in note for note in notes([found]))
    assert match(["a/x", "b/x"], ["x", "a/x"]) == ({"a/x": "a/x"}, ["x"])


def test_too_few_models_say_so():
    found = correlate(ours(), External("x", {"m0": 1.0, "m1": 2.0}, {}))
    assert "too few" in sentence(found)
    assert found.association.pearson.value is None


def test_two_benchmarks_at_once_are_refused():
    with pytest.raises(UsageError, match="2 benchmarks"):
        correlate([*ours(), *ours(title="EQ-Bench v1")], external())


def test_the_file(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("\ufeffmodel, mmlu,mmlu_se,arena\ngpt,86.4,0.3,\nother,70,0.4,1100\n", encoding="utf-8")
    mmlu, arena = read_scores(path)
    assert (mmlu.name, mmlu.scores, mmlu.errors) == ("mmlu", {"gpt": 86.4, "other": 70}, {"gpt": 0.3, "other": 0.4})
    assert (arena.scores, arena.errors) == ({"other": 1100}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "columns none"),
        ("name,mmlu\na,1\n", "columns name, mmlu"),
        ("model\na\n", "columns model"),
        ("model,mmlu\na,1\na,2\n", "line 3: the model 'a' a second time"),
        ("model,mmlu\n,1\n", "line 2: no model"),
        ("model,mmlu\na,high\n", "line 2: mmlu is 'high'"),
        ("model,mmlu\na,nan\n", "line 2: mmlu is 'nan'"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, words):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_scores(path)


def test_relatives_count_as_one_family(tmp_path):
    """Twelve models of three families in a file: the sentence says so, with the wider interval."""
    path = tmp_path / "s.csv"
    random = np.random.default_rng(3)
    rows = [f"m{k},{60 + 3 * k + random.normal(0, 6)},f{k % 3}" for k in range(12)]
    path.write_text("\n".join(["model,mmlu,family", *rows]))
    (scores,) = read_scores(path)
    found, alone = correlate(ours(), scores), correlate(ours(), External("mmlu", scores.scores, {}))
    assert alone.families is None
    assert (found.families.n, found.families.of) == (3, "families")
    assert found.families.value == pytest.approx(found.association.pearson.value)
    assert found.families.low < found.association.pearson.low
    assert f"95 % interval {found.families.low:.2f} to {found.families.high:.2f}, 12 models of 3 families" in sentence(
        found
    )
    path.write_text("\n".join(["model,mmlu,family", *(row[:-2] + "f0" for row in rows)]))
    assert "12 models of 1 family, too few for an interval" in sentence(correlate(ours(), read_scores(path)[0]))


def test_what_a_third_score_leaves():
    ability = np.random.default_rng(5).normal(0, 1, 60)
    draws = [np.random.default_rng(seed).normal(0, 1, 60) for seed in (6, 7, 8)]
    one, other, third = (ability + 0.5 * draw for draw in draws)
    found = grouped_r("r", one, other, range(60), third)
    slopes = [np.polyfit(third, side, 1) for side in (one, other)]
    left = [side - np.polyval(slope, third) for side, slope in zip((one, other), slopes, strict=True)]
    assert found.value == pytest.approx(np.corrcoef(*left)[0, 1])
    assert found.low < found.value < found.high
    assert grouped_r("r", one, other, range(60)).low > found.high
    assert grouped_r("r", one, one, range(60), one).value is None
    scores = {f"m{k}": 40 + 2 * k + 3 * draws[0][k] for k in range(12)}
    made = correlate(ours(), external(noise=8.0), given=External("mmlu", scores, {}))
    assert "With mmlu taken out of both" in sentence(made)
    assert table([made]).rows[0][4] is made.partial


def test_no_file(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_scores(tmp_path / "none.csv")


def test_the_drawing_is_a_picture_of_the_points():
    hostile = External("<b>&x", external().scores, {})
    found = [correlate(ours(), external(errors=2.0)), correlate(ours(), hostile)]
    root = ET.fromstring(scatter(found))
    space = "{http://www.w3.org/2000/svg}"
    circles = root.findall(f".//{space}circle")
    assert len(circles) == 24
    assert all(0 < float(c.get("cx")) < 720 and 0 < float(c.get("cy")) < 460 for c in circles)
    assert len(root.findall(f".//{space}line[@class='whisker']")) == 12 * 2 + 12
    assert any("<b>&x" in (text.text or "") for text in root.iter(f"{space}text"))
    right = max(circles[:12], key=lambda c: float(c.get("cx")))
    assert "m11" in right.find(f"{space}title").text


def test_nothing_to_draw_is_still_a_drawing():
    ET.fromstring(scatter([correlate(ours(), External("x", {"stranger": 1.0}, {}))]))


def test_scores_that_ship_need_no_file(eqlab, published):
    """The published results with MMLU as reported: the r, n and families of the recomputed study."""
    import json

    found = json.loads(eqlab("correlate", "--external", "mmlu", "--json", "--data", published).out)
    (one,) = found
    assert (one["name"], one["association"]["n"], one["shipped"]) == ("MMLU", 45, True)
    assert round(one["association"]["pearson"]["value"], 4) == 0.8624
    assert one["families"]["n"] == 13
    assert one["families"]["low"] == pytest.approx(0.6665, abs=0.001)
    assert one["unmatched"] == []
    least = [part["least"] for part in one["ranges"]]
    assert least == sorted(least)
    assert one["ranges"][-1]["pearson"]["n"] < 45
    assert one["ranges"][-1]["pearson"]["value"] < one["association"]["pearson"]["value"]


def test_the_range_is_drawn_too(eqlab, published, tmp_path):
    eqlab("correlate", "--external", "mmlu", "-o", "r.svg", "--data", published)
    drawn = (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert "r by range" in drawn
    assert "only models with MMLU of at least" in drawn


@pytest.mark.parametrize(("given", "said"), [((), "Name a file"), (("--external", "iq"), "No scores of 'iq'")])
def test_nothing_to_correlate_with_is_said(eqlab, given, said):
    done = eqlab("correlate", *given)
    assert done.code
    assert said in done.err

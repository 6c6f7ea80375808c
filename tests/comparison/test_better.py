"""A score of which less is better is ranked so, and every sentence says so."""

from dataclasses import replace

import pytest
from msgspec import structs

from eqlab.analysis.intervals import mean_estimate
from eqlab.comparison.compare import compare
from eqlab.comparison.entries import EntrySource, entries
from eqlab.comparison.gate import gate
from eqlab.comparison.sentences import conclusion
from eqlab.core.results import Baseline, ItemScore, Result


def result(subject, distances, **more):
    items = tuple(ItemScore(f"i{n}", f"t{n}", 0, "ok", d, points=d) for n, d in enumerate(distances))
    made = Result("d", "Distance", f"model:{subject}", {}, "", mean_estimate("distance", distances), (0.0, 10.0))
    return replace(made, items=items, better="lower", **more)


NEAR = [1.0, 1.2, 0.8, 1.1, 0.9, 1.3, 0.7, 1.0, 1.1, 0.95]
FAR = [value + 2.0 + 0.1 * (place % 3) for place, value in enumerate(NEAR)]
FARTHEST = [value + 4.0 + 0.1 * (place % 4) for place, value in enumerate(NEAR)]


def compared(*results):
    found, _ = entries([EntrySource(one, "run", "same") for one in results])
    (made,) = compare(found)
    return made


def test_the_smallest_distance_is_first():
    made = compared(result("far", FAR), result("near", NEAR), result("farthest", FARTHEST))
    assert [(one.contender.name, one.rank) for one in made.verdict.standings] == [
        ("near", (1, 1)), ("far", (2, 2)), ("farthest", (3, 3)),
    ]  # fmt: skip
    assert ("near", "far") in made.verdict.apart
    said = conclusion(made.verdict, "items")
    assert said.startswith("near is best")
    assert "less than far and farthest" in said


def test_two_and_from_intervals_alone():
    a, b = result("far", FAR), result("near", NEAR)
    (pair,) = compared(a, b).pairs
    assert pair.better.name == "near"
    assert pair.difference.value > 0
    assert pair.gain.value == -pair.difference.value
    bare = [replace(one, items=tuple(structs.replace(i, points=None) for i in one.items)) for one in (a, b)]
    (pair,) = compared(*bare).pairs
    assert pair.better.name == "near"


def test_a_gate_counts_a_larger_distance_as_a_loss():
    own, base = ([entries([EntrySource(one, "run", "same")])[0][0]] for one in (result("m", FAR), result("m", NEAR)))
    assert [check.outcome for check in gate(own, base, 0.5, ("a", "b")).checks] == ["worse"]
    assert [check.outcome for check in gate(base, own, 0.5, ("a", "b")).checks] == ["better"]


def test_the_strongest_answer_without_skill_is_the_nearest():
    floor = (Baseline("2.5 to each", 0.5), Baseline("random", 4.5))
    weak = compared(result("near", NEAR, baselines=floor), result("far", FAR, baselines=floor))
    assert "near and far are below '2.5 to each', a no-skill baseline (0.50)." in conclusion(weak.verdict)


def test_what_could_not_be_read_may_count_as_the_largest_distance():
    lost = result("m", NEAR)
    lost = replace(lost, items=(*lost.items, ItemScore("i10", "t10", 0, "unparseable", None)))
    (entry,), _ = entries([EntrySource(lost, "run", "same")], missing="zero")
    assert entry.means["i10"] == 10.0
    assert entry.score.value == pytest.approx((sum(NEAR) + 10) / 11)

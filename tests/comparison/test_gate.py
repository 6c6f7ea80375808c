"""The gate for CI: worse only when it is certain, never a pass where nothing could be compared."""

from xml.etree import ElementTree as xml

import numpy as np
import pytest
from test_comparing import draw, result

from eqlab.comparison.entries import EntrySource, entries
from eqlab.comparison.gate import as_data, gate, junit_xml, markdown_page, verdict_words
from eqlab.core.errors import UsageError


def own(*results, sets=None):
    sets = sets or ["set"] * len(results)
    found, _ = entries(
        [EntrySource(one, f"run {k}", where) for k, (one, where) in enumerate(zip(results, sets, strict=True))]
    )
    return found


def checked(candidate, baseline, margin=0.0):
    return gate(candidate, baseline, margin, ("new", "old"))


@pytest.mark.parametrize(
    ("gap", "margin", "outcome"),
    [(-10, 0.0, "worse"), (-10, 2.0, "worse"), (-10, 9.9, "not sure"), (-10, 40.0, "not sure"), (10, 0.0, "better")],
)
def test_a_clear_difference(gap, margin, outcome):
    found = checked(own(result("model:m", draw(2, gap=gap))), own(result("model:m", draw(1))), margin)
    (check,) = found.checks
    assert check.outcome == outcome
    assert bool(found.worse) == (outcome == "worse")
    assert (check.pair.a.name, check.pair.b.name) == ("m (candidate)", "m (baseline)")  # in the order given
    assert (check.pair.difference.value > 0) == (gap > 0)


def test_no_difference_says_what_cannot_be_ruled_out():
    found = checked(own(result("model:new", draw(3))), own(result("model:old", draw(4))))
    (check,) = found.checks
    assert check.outcome == "not sure"
    assert not found.worse
    wide = checked(own(result("model:new", draw(3))), own(result("model:old", draw(4))), 50.0)
    assert wide.checks[0].outcome == "no worse"
    assert "cannot be ruled out" in markdown_page(found)
    assert "cannot be ruled out" not in markdown_page(wide)


def test_what_cannot_be_compared_is_never_a_pass():
    baseline = own(result("model:m", draw(1)))
    few = own(result("model:m", draw(2)[:4]))
    assert checked(few, baseline).undecided
    broken = own(result("model:m", draw(2), valid=False))
    assert "could not be used" not in checked(broken, baseline).checks[0].sentence
    assert "not valid" in checked(broken, baseline).checks[0].sentence
    assert checked([], baseline).undecided
    with pytest.raises(UsageError, match="no score to compare with"):
        checked(baseline, [])


def test_several_models_are_matched_by_name():
    old = own(result("model:a", draw(1)), result("model:b", draw(2, gap=5)))
    new = own(result("model:b", draw(3, gap=-10)), result("model:a", draw(4)), result("model:c", draw(5)))
    found = checked(new, old)
    assert [(check.title, check.outcome) for check in found.checks] == [
        ("EQ-Bench v2, b", "worse"), ("EQ-Bench v2, a", "not sure"), ("EQ-Bench v2, c", "undecided"),
    ]  # fmt: skip
    one = checked(new, old[:1])
    assert [check.pair.b.name.split(" ")[0] for check in one.checks] == ["a", "a", "a"]


def test_files_for_other_tools_hold_hostile_names():
    evil = "x|`<script>@everyone\n\x1b[31m"
    found = checked(own(result(f"model:{evil}", draw(2, gap=-10))), own(result("model:m", draw(1))))
    root = xml.fromstring(junit_xml(found))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "1", "0")
    assert root.find(".//failure").get("type") == "worse"
    page = markdown_page(found)
    row = next(line for line in page.splitlines() if line.startswith("| EQ-Bench"))
    assert row.count("|") == 7
    assert "<script>" not in page
    assert "@everyone" not in page
    assert "\x1b" not in page
    assert as_data(found)["worse"] is True
    assert verdict_words(found) == "Worse: new against old."


def test_the_same_loss_on_every_item_is_a_loss():
    base = draw(1)
    found = checked(own(result("model:new", base - 3)), own(result("model:old", base)))
    assert found.worse
    assert not checked(own(result("model:new", base - 3)), own(result("model:old", base)), 3.5).worse


def test_unpaired_runs_are_compared_unpaired():
    found = checked(own(result("model:m", draw(2, gap=-60)), sets=["x"]), own(result("model:m", draw(1)), sets=["y"]))
    assert found.checks[0].pair.difference.method == "unpaired"
    assert found.worse
    assert np.isfinite(found.checks[0].pair.difference.low)

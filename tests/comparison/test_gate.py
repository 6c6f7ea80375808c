"""The gate for CI: worse when a loss is shown, no worse when none beyond the margin is left, else it cannot say."""

from dataclasses import replace
from xml.etree import ElementTree as xml

import numpy as np
import pytest
from later import Later
from msgspec import structs
from test_comparing import draw, result

from eqlab.analysis.comparison import paired
from eqlab.comparison.entries import EntrySource, entries, stable
from eqlab.comparison.gate import as_data, gate, junit_xml, markdown_page, verdict_words
from eqlab.core.errors import UsageError

beta = Later("scipy.stats", "beta")
binom = Later("scipy.stats", "binom")
binomtest = Later("scipy.stats", "binomtest")


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
    [
        (-10, 0.0, "worse"),
        (-10, None, "worse"),
        (-10, 9.9, "worse"),  # a loss is shown, and not that it lies within the margin
        (-10, 40.0, "no worse"),
        (10, 0.0, "better"),
    ],
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
    assert check.outcome == "cannot say"
    assert not found.worse
    assert (found.code("pass"), found.code("fail")) == (0, 5)
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
        ("EQ-Bench v2, b", "worse"), ("EQ-Bench v2, a", "cannot say"), ("EQ-Bench v2, c", "undecided"),
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
    assert verdict_words(found).startswith("FAIL: x|")
    assert "\n" not in verdict_words(found)


def test_the_headline_names_models_labels_and_the_size():
    good, bad = result("model:beta", draw(2, gap=14)), result("model:gamma", draw(1))
    own_label = [replace(one, label="3f2a") for one in own(good)]
    main = [replace(one, label="main") for one in own(bad)]
    assert verdict_words(checked(own_label, main)) == "PASS: beta (3f2a) is 14.0 points better than gamma (main)."
    assert verdict_words(checked(main, own_label)) == "FAIL: gamma (main) is 14.0 points worse than beta (3f2a)."
    same = verdict_words(checked(own(bad), own(bad)))
    assert same == "PASS: gamma (candidate) scores the same as gamma (baseline) on everything that was asked."
    again = [replace(one, label="9c1b") for one in main]
    assert "gamma (9c1b) scores the same as gamma (main)" in verdict_words(checked(again, main))
    two = [*own_label, *own(replace(good, benchmark="other", title="Other"))]
    both = [*main, *own(replace(bad, benchmark="other", title="Other"))]
    assert (
        verdict_words(checked(two, both))
        == "PASS: new is no worse than old, within 0 points; better on 2 of 2 comparisons."
    )


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


def right(count, wrong=(), n=60):
    """Right and wrong items, in points."""
    points = np.where(np.arange(n) < count, 100.0, 0.0)
    points[list(wrong)] = 0.0
    return points


def test_seven_of_seven_discordant_items_are_a_loss():
    """90 against 78 % right; McNemar's exact test has p = .016. 0.2 called it no worse."""
    found = checked(own(result("model:m", right(54, range(7)))), own(result("model:m", right(54))), None)
    (check,) = found.checks
    assert check.outcome == "worse"
    assert check.p == binomtest(7, 7).pvalue
    assert found.code("pass") == 3


def test_few_changes_are_no_worse_only_where_they_leave_no_room():
    base = right(54)
    (few,) = checked(own(result("model:m", right(54, range(2)))), own(result("model:m", base)), None).checks
    assert few.outcome == "cannot say"
    share = beta.ppf(0.975, 3, 58)  # Clopper & Pearson's upper bound of 2 of 60
    assert few.at_most == pytest.approx(100 * share)
    assert f"A loss of up to {100 * share:.1f} points cannot be ruled out, 2 is allowed" in few.doubt
    (wide,) = checked(own(result("model:m", right(54, range(2)))), own(result("model:m", base)), 15.0).checks
    assert wide.outcome == "no worse"
    (same,) = checked(own(result("model:m", base)), own(result("model:m", base)), None).checks
    assert same.outcome == "the same"
    assert same.at_most == pytest.approx(100 * beta.ppf(0.975, 1, 60))
    assert "On other questions a loss of up to 6.0 points cannot be ruled out." in same.doubt


def test_a_loss_that_is_shown_may_lie_within_the_margin():
    base = draw(1, n=400)
    noise = np.random.default_rng(3).normal(0, 1, base.shape)
    found = checked(own(result("model:m", base - 0.5 + noise)), own(result("model:m", base)), 2.0)
    assert found.outcome == "no worse"
    assert "A loss is shown, but it lies within the margin of 2 points." in found.checks[0].sentence


def test_several_benchmarks_are_corrected_together():
    """A p of .03 is a loss by itself, and none among three benchmarks."""
    gaps = np.random.default_rng(8).normal(0, 10, 40)
    gaps += -gaps.mean() - 2.25 * gaps.std(ddof=1) / 40**0.5
    kinds = [f"B{k}" for k in range(3)]
    base = {kind: draw(k + 1)[:, 0] for k, kind in enumerate(kinds)}
    old = [result("model:m", points, title=kind) for kind, points in base.items()]
    lower = result("model:m", base["B0"] + gaps, title="B0")
    alone = checked(own(lower), own(old[0]), None).checks[0]
    assert (alone.outcome, alone.p) == ("worse", pytest.approx(0.03, abs=0.002))
    three = checked(own(lower, *old[1:]), own(*old), None)
    assert [check.outcome for check in three.checks] == ["cannot say", "the same", "the same"]
    assert three.checks[0].p == pytest.approx(3 * alone.p)
    assert "Corrected over the benchmarks, p is 0.09" in three.checks[0].sentence


def test_the_miss_rate_is_that_of_the_deciding_test():
    random = np.random.default_rng(12)
    a, b = draw(3)[:, 0], draw(4)[:, 0]
    (check,) = checked(own(result("model:m", a)), own(result("model:m", b)), None).checks
    spread = float(np.std(a - b, ddof=1))
    shown = sum(paired(row, np.zeros(40)).p < 0.05 for row in random.normal(-5, spread, (2000, 40)))
    assert check.missed == pytest.approx(1 - shown / 2000, abs=0.04)
    assert f"a true loss of 5 points would be missed in {100 * check.missed:.0f} of 100" in check.doubt
    # no change seen: answers that are lost altogether, 90 of 100 points each
    (same,) = checked(own(result("model:m", right(54))), own(result("model:m", right(54))), None).checks
    assert same.missed == pytest.approx(binom.cdf(5, 60, 5 / 90))


def test_refused_answers_count_and_failed_ones_leave_it_open():
    base = draw(1)[:, 0]
    less = base.copy()
    less[:7] = np.nan
    (refused,) = checked(own(result("model:m", less)), own(result("model:m", base)), None).checks
    assert refused.outcome == "worse"
    assert "7 of the questions that the baseline answers" in refused.sentence
    lost = result("model:m", less)
    items = tuple(structs.replace(item, status="error") if item.points is None else item for item in lost.items)
    (failed,) = checked(own(replace(lost, items=items)), own(result("model:m", base)), None).checks
    assert failed.outcome == "cannot say"
    assert "7 questions got no answer: run the candidate again" in failed.doubt


def marked(table):
    """Right and wrong answers, items × repeats."""
    made = result("model:m", np.asarray(table, dtype=float))
    return replace(made, items=tuple(structs.replace(item, score=item.points) for item in made.items))


def test_an_item_is_stable_where_k_of_n_repeats_are_right():
    """The baseline is right in four of five everywhere; the candidate in three of five on ten of sixty: by the
    mean a loss of 3 points, by stable items one of 17."""
    base = np.full((60, 5), 100.0)
    base[:, 4] = 0.0
    worse = base.copy()
    worse[:10, 3] = 0.0
    (old,), (new,) = own(marked(base)), own(marked(worse))
    assert stable(old, 4, 5).score.value == 100.0
    assert stable(new, 4, 5).score.value == pytest.approx(100 * 50 / 60)
    assert stable(new, 3, 5).score.value == 100.0
    (check,) = checked([stable(new, 4, 5)], [stable(old, 4, 5)], None).checks
    assert check.outcome == "worse"
    assert check.pair.gain.value == pytest.approx(-100 * 10 / 60)
    assert checked([stable(new, 3, 5)], [stable(old, 3, 5)], None).outcome == "the same"


def test_an_unusable_answer_is_not_right_and_what_cannot_be_counted_is_refused():
    table = np.full((20, 3), 100.0)
    table[0, 0] = np.nan
    table[1] = 0.0
    (one,) = own(marked(table))
    assert stable(one, 3, 3).score.value == pytest.approx(100 * 18 / 20)
    with pytest.raises(UsageError, match="has 3 answers"):
        stable(one, 2, 4)
    (graded,) = own(marked(draw(1)))
    with pytest.raises(UsageError, match="graded scores"):
        stable(graded, 1, 1)

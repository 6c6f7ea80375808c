"""The conclusion must be true of the intervals, whatever they are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.comparison.conclusion import conclusion, ranks
from eqlab.core.results import Baseline, Estimate, Result


def scored(name, value, low=None, high=None, *, n=50, valid=True, mode="text", rules="v2", baselines=(), **extra):
    head = Estimate("score", value, n, low=low, high=high)
    rule = {"mode": mode, "name": rules, **extra}
    sentence = f"{name} alone."
    return Result(
        "eqbench", "EQ-Bench", f"model:{name}", rule, sentence, head, (0, 100), valid=valid, baselines=baselines
    )


A = scored("A", 80, 75, 85)
B = scored("B", 77, 72, 82)
C = scored("C", 60, 55, 65)


def test_one_result_speaks_for_itself():
    assert conclusion([A]) == "A alone."


def test_no_result():
    assert conclusion([]) == "There are no results yet."


def test_clear_winner():
    text = "A scores highest (80.00, 95 % CI 75.00 to 85.00, n = 50); its interval lies above that of C."
    assert conclusion([C, A]) == text


def test_tie_and_third():
    assert conclusion([C, B, A]) == (
        "A scores highest (80.00, 95 % CI 75.00 to 85.00, n = 50); its interval overlaps that of "
        "B (77.00, 95 % CI 72.00 to 82.00, n = 50), so the two cannot be separated here; both lie above C."
    )


def test_three_tied_says_nothing_about_the_others_among_themselves():
    wide = scored("W", 50, 20, 90)
    text = conclusion([wide, scored("X", 45, 44, 46), scored("Y", 30, 29, 31)])
    assert "its interval overlaps those of X and Y, so it cannot be separated from them here" in text
    assert "above" not in text


def test_below_the_first_but_not_below_the_tied():
    text = conclusion([A, scored("B", 70, 62, 78), scored("C", 60, 56, 66)])
    assert text.endswith("; C lies below A but cannot be separated from B.")


def test_touching_intervals_overlap():
    assert "cannot be separated" in conclusion([A, scored("B", 70, 65, 75)])


def test_equal_scores_share_the_first_place():
    text = conclusion([A, scored("B", 80, 70, 90), C])
    assert text.startswith("A (80.00, 95 % CI 75.00 to 85.00, n = 50) and B (80.00, ")
    assert "share the highest score and cannot be separated here; both lie above C." in text


def test_what_cannot_be_compared_is_named_and_not_ranked():
    text = conclusion([A, C, scored("U", None, n=0), scored("I", 99, 98, 100, valid=False), scored("S", 97, n=1)])
    assert text.startswith("A scores highest")
    assert "U has no defined score (n = 0)." in text
    assert "The result of I (99.00, 95 % CI 98.00 to 100.00, n = 50) is not valid and not compared." in text
    assert "S has a score (97.00, n = 1) but no interval, and is not compared." in text


def test_nothing_to_compare():
    assert conclusion([scored("U", None, n=0), scored("V", float("nan"), n=0)]) == (
        "No score can be compared. U has no defined score (n = 0). V has no defined score (n = 0)."
    )


def test_weak_subjects_are_held_against_the_best_baseline():
    floor = (Baseline("random", 10), Baseline("all fives", 62))
    text = conclusion([scored("A", 80, 75, 85, baselines=floor), scored("C", 60, 55, 65, baselines=floor)])
    assert text.endswith("Not clearly above the best baseline (all fives, 62.00): C.")


@pytest.mark.parametrize("other", [{"mode": "json"}, {"rules": "v1"}, {"item_set": "published"}])
def test_incomparable_results_are_never_ranked_against_each_other(other):
    text = conclusion([A, scored("Z", 10, 9, 11, **other)])
    assert "A alone." in text
    assert "Z alone." in text
    assert "highest" not in text


def test_one_subject_twice_is_told_apart():
    assert "A (no. 2)" in conclusion([A, scored("A", 79, 74, 84)])


def test_many_names_are_counted():
    text = conclusion([A, *(scored(f"m{i}", 10 + i, 9 + i, 11 + i) for i in range(20))])
    assert "m19, m18, m17, m16, m15 and 15 others" in text


def test_ranks_are_ranges():
    assert ranks([C, A, B, scored("U", None)]) == [(3, 3), (1, 2), (1, 2), None]


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=6).filter(
        lambda drawn: len({value for value, _, _ in drawn}) == len(drawn)
    )
)
def test_the_words_agree_with_the_intervals(drawn):
    results = [scored(f"s{i}x", v, v - below, v + above) for i, (v, below, above) in enumerate(drawn)]
    top = max(results, key=lambda result: result.headline.value)
    text = conclusion(results)
    assert text.startswith(f"{top.subject[6:]} scores highest")
    overlapping = {r.subject[6:] for r in results if r is not top and r.headline.high >= top.headline.low}
    tie = re.search(r"overlaps th\w+ of (.*?)(?:, so )", text)
    assert set(re.findall(r"s\dx", tie.group(1)) if tie else ()) == overlapping
    clear = re.search(r"above (?:th\w+ of )?((?:s\dx(?:, | and )?)+)", text)
    level = [r for r in results if r is top or r.subject[6:] in overlapping]
    beaten = {r.subject[6:] for r in results if all(other.headline.low > r.headline.high for other in level)}
    assert set(re.findall(r"s\dx", clear.group(1)) if clear else ()) == beaten
    assert all(result.subject[6:] in text for result in results)

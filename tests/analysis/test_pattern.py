"""Agreement of patterns: what it must be for known answers, and that its parts per item are honest."""

import math
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.analysis.pattern import agreement, linearised, shape, sums

RANDOM = np.random.default_rng(3)
NORMS = RANDOM.dirichlet(np.ones(4), 40) * 10
ANSWERS = np.clip(NORMS + RANDOM.normal(0, 1.5, NORMS.shape), 0, None)


def of(answers, norms):
    return [sums(own, norm) for own, norm in zip(answers, norms, strict=True)]


def test_the_norm_in_any_strength_is_one_and_its_opposite_minus_one():
    for strength in (0.2, 1, 3):
        assert shape(of(2.5 + strength * (NORMS - 2.5), NORMS)).value == pytest.approx(1)
    assert shape(of(5 - NORMS, NORMS)).value == pytest.approx(-1)


def test_flat_answers_are_nothing_and_no_answers_undefined():
    flat = shape(of(np.full((8, 4), 2.5), NORMS[:8]))
    assert (flat.value, flat.low, flat.high) == (0, 0, 0)
    assert shape([]).value is None
    assert linearised([], []) == []
    assert linearised(of(np.full((2, 4), 2.5), NORMS[:2]), "ab") == [0, 0]


def test_against_plain_correlation():
    own = (ANSWERS - ANSWERS.mean(axis=1, keepdims=True)).ravel()
    norm = (NORMS - NORMS.mean(axis=1, keepdims=True)).ravel()
    assert shape(of(ANSWERS, NORMS)).value == pytest.approx(np.corrcoef(own, norm)[0, 1])


def test_the_linear_parts_have_the_bootstraps_error():
    found, parts = shape(of(ANSWERS, NORMS)), linearised(of(ANSWERS, NORMS), [str(n) for n in range(40)])
    assert fmean(parts) == pytest.approx(found.value)
    error = stdev(parts) / math.sqrt(len(parts))
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(error, rel=0.15)


def test_few_items_have_no_interval():
    found = shape(of(ANSWERS[:4], NORMS[:4]))
    assert found.value is not None
    assert found.low is None


def test_repeats_of_an_item_differ_and_count_once():
    answers = of([*ANSWERS[:6], *(ANSWERS[:3] + 1.5 * NORMS[3:6])], [*NORMS[:6], *NORMS[:3]])
    items = [*"abcdef", *"abc"]
    parts = linearised(answers, items)
    by_item = {item: [part for part, other in zip(parts, items, strict=True) if other == item] for item in items}
    assert fmean(map(fmean, by_item.values())) == pytest.approx(
        sum(c for c, _, _ in answers) / math.sqrt(sum(a for _, a, _ in answers) * sum(b for _, _, b in answers))
    )
    assert by_item["a"][0] != pytest.approx(by_item["a"][1])


@given(st.lists(st.lists(st.integers(0, 10), min_size=4, max_size=4), min_size=1, max_size=6))
def test_never_beyond_one_and_its_parts_have_its_mean(answers):
    parts = of(np.array(answers, dtype=float), NORMS[: len(answers)])
    found = shape(parts)
    assert -1 - 1e-9 <= found.value <= 1 + 1e-9
    assert fmean(linearised(parts, "abcdef"[: len(parts)])) == pytest.approx(found.value, abs=1e-9)


def test_without_its_interval_it_is_the_same_number():
    for answers in (of(ANSWERS, NORMS), of(np.full((8, 4), 2.5), NORMS[:8])):
        assert agreement(answers) == shape(answers).value
    assert agreement([]) == 0

"""Differences that hold for other speakers too: they cover, and say nothing where nothing can be said."""

import numpy as np
import pytest

from eqlab.comparison.speakers import difference, moderated


def ends(values):
    return {(f"p{p}", f"s{s}"): float(values[p, s]) for p in range(values.shape[0]) for s in range(values.shape[1])}


@pytest.mark.parametrize("speakers", [2, 3, 6])
def test_the_interval_holds_for_speakers_nobody_asked(speakers):
    """Listeners that do not differ, but get on differently with speakers: over personas alone a difference is claimed
    far too often."""
    draw = np.random.default_rng(speakers)
    hits = naive = 0
    for _ in range(200):
        gap = draw.normal(0, 7, (1, speakers)) + draw.normal(0, 8, (20, 1)) + draw.normal(0, 15, (20, speakers))
        found = difference(ends(50 + gap), ends(np.full_like(gap, 50.0)))
        assert found.value == pytest.approx(gap.mean())
        assert found.n == 20
        hits += found.low <= 0 <= found.high
        means = gap.mean(axis=1)
        naive += abs(means.mean()) <= 2.09 * means.std(ddof=1) / 20**0.5
    assert hits / 200 >= 0.92
    assert naive / 200 < 0.9


def test_talks_that_only_one_listener_held_are_left_out():
    one, other = ends(np.arange(24.0).reshape(8, 3)), ends(np.zeros((8, 3)))
    del other["p0", "s0"]
    one |= {("p9", "s0"): 100.0}
    found = difference(one, other)
    rows = np.arange(24.0).reshape(8, 3)
    means = [rows[0, 1:].mean(), *rows[1:].mean(axis=1)]
    assert found.value == pytest.approx(np.mean(means))
    assert found.n == 8


def test_what_cannot_be_said_is_not():
    same = ends(np.full((8, 2), 100.0))
    found = difference(same, ends(np.zeros((8, 2))))
    assert (found.value, found.low, found.high) == (100.0, None, None)
    few = difference(ends(np.arange(8.0).reshape(4, 2)), ends(np.zeros((4, 2))))
    assert few.low is None
    assert few.note
    assert difference({}, same).value is None


def test_published_talks_make_two_speakers_usable():
    """Speakers who move a listener as far as is taken for granted: held as promised, and much narrower."""
    draw = np.random.default_rng(4)
    hits = 0
    narrower = []
    for _ in range(100):
        gap = draw.normal(0, 5 * 2**0.5, (1, 2)) + draw.normal(0, 8, (20, 1)) + draw.normal(0, 20, (20, 2))
        one, other = ends(50 + gap), ends(np.full_like(gap, 50.0))
        cautious, found = difference(one, other), moderated(one, other)
        assert found.value == pytest.approx(cautious.value)
        hits += found.low <= 0 <= found.high
        narrower.append((found.high - found.low) / (cautious.high - cautious.low))
    assert hits >= 93
    assert np.median(narrower) < 0.5
    assert moderated(ends(np.zeros((4, 2))), ends(np.zeros((4, 2)))).value is None
    many = ends(draw.normal(50, 20, (200, 40)))
    alone = dict.fromkeys(many, 50.0)
    gaps = [float(one.high - one.low) for one in (difference(many, alone), moderated(many, alone))]
    assert gaps[1] == pytest.approx(gaps[0], rel=0.5)  # many speakers tell for themselves

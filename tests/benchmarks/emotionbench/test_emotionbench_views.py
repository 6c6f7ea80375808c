"""The three views on small samples whose answer is known."""

import numpy as np
import pytest
from later import Later

from eqlab.benchmarks.emotionbench.measures import DEFAULT, MeasurePlace, Measures, People, groups
from eqlab.benchmarks.emotionbench.views import agreement, cells, norms, people_cells, repeats_alike, situation_changes

stats = Later("scipy.stats")

P, N = "Positive Affect", "Negative Affect"
PLACES = tuple(
    MeasurePlace(emotion, f, f"{emotion} {f}", f"{emotion}-{f}-{s}")
    for emotion in ("Anger", "Fear")
    for f in range(3)
    for s in range(4)
)
CONTROLS = (MeasurePlace("Neutral", 0, "Neutral control", "n1"), MeasurePlace("Positive", 0, "Positive control", "p1"))


def model(seed=0, places=PLACES, repeats=5):
    rng = np.random.default_rng(seed)
    where = np.concatenate([np.full(12, DEFAULT), np.repeat(np.arange(len(places)), repeats)])
    shift = np.array([-4.0 * place.factor_index for place in places])
    situation = rng.normal(0, 2, len(places))
    evoked = 30 + (shift + situation)[where[12:]] + rng.normal(0, 1, repeats * len(places))
    values = np.concatenate([rng.normal(30, 1, 12), evoked])
    return Measures("m", "PANAS", places, where, {P: values, N: 60 - values})


def crowd(seed=1, per_situation=8):
    rng = np.random.default_rng(seed)
    where = np.repeat(np.arange(len(PLACES)), per_situation)
    before = rng.normal(28, 8, len(where))
    shift = np.array([-4.0 * place.factor_index for place in PLACES])[where]
    after = before + shift + rng.normal(0, 3, len(where))
    return People(PLACES, where, {P: before, N: 60 - before}, {P: after, N: 60 - after})


def test_groups_are_the_rows_of_the_tables():
    found = [(g.level, g.emotion, g.factor_index, len(g.members)) for g in groups((*CONTROLS, *PLACES))]
    assert found[:4] == [
        ("factor", "Anger", 0, 4),
        ("factor", "Anger", 1, 4),
        ("factor", "Anger", 2, 4),
        ("emotion", "Anger", None, 12),
    ]
    assert found[-3:] == [
        ("overall", "Overall", None, 24),
        ("emotion", "Neutral", None, 1),
        ("emotion", "Positive", None, 1),
    ]


def test_as_published_pools_administrations():
    one = model()
    found = {(c.level, c.emotion, c.factor_index): c for c in cells(one, P)}
    cell = found["factor", "Anger", 2]
    rows = np.isin(one.where, [8, 9, 10, 11])
    assert cell.evoked.n == 20
    assert cell.comparison.difference == pytest.approx(one.scores[P][rows].mean() - one.default(P).mean())
    assert cell.direction == "down"
    assert found["overall", "Overall", None].evoked.n == 120


def test_lost_and_absent_administrations_are_counted():
    one = model()
    one.scores[P][12:15] = np.nan
    keep = np.ones(len(one.where), bool)
    keep[[20, 21]] = False
    less = Measures("m", "PANAS", one.places, one.where[keep], {P: one.scores[P][keep]})
    cell = next(cells(less, P))
    assert (cell.evoked.n, cell.n_missing, cell.n_absent) == (15, 3, 2)


def test_people_are_tested_in_pairs():
    people = crowd()
    cell = next(people_cells(people, P))
    rows = np.isin(people.where, [0, 1, 2, 3])
    theirs = stats.ttest_rel(people.after[P][rows], people.before[P][rows])
    assert cell.comparison.p == pytest.approx(theirs.pvalue)
    assert cell.default.n == cell.evoked.n == 32


def test_honest_takes_the_situation_as_the_unit():
    one = model()
    found = situation_changes(one, [P, N])
    first = found[0]
    means = [one.scores[P][one.where == s].mean() for s in range(4)]
    theirs = stats.ttest_ind(means, one.default(P), equal_var=False)
    assert first.change.n == 4
    assert first.p == pytest.approx(theirs.pvalue)
    interval = theirs.confidence_interval()
    assert (first.change.low, first.change.high) == pytest.approx((interval.low, interval.high))
    assert first.p_fixed_default == pytest.approx(stats.ttest_1samp(means, one.default(P).mean()).pvalue)
    factors = [c for c in found if c.level == "factor"]
    assert len(factors) == 12
    assert all(c.p_holm >= c.p for c in factors)
    assert all(c.p_holm is None for c in found if c.level != "factor")
    assert repeats_alike(one, P).design_effect > 3


def test_honest_takes_the_factor_as_the_unit_of_an_emotion():
    """Situations of a factor are alike: with as many in each, the emotion's test is that of the factors' means."""
    one = model()
    cell = next(c for c in situation_changes(one, [P]) if c.level == "emotion")
    places = [s for s, place in enumerate(one.places) if place.emotion == cell.emotion]
    of_factor = {}
    for s in places:
        of_factor.setdefault(one.places[s].factor_index, []).append(one.scores[P][one.where == s].mean())
    assert {len(own) for own in of_factor.values()} == {4}
    theirs = stats.ttest_ind([np.mean(own) for own in of_factor.values()], one.default(P), equal_var=False)
    interval = theirs.confidence_interval()
    assert len(of_factor) > 1
    assert (cell.change.low, cell.change.high) == pytest.approx((interval.low, interval.high))
    assert cell.n_situations == len(places)


def test_one_situation_has_a_change_but_no_interval():
    one = model(places=PLACES[:1])
    found = situation_changes(one, [P])[0]
    assert found.change.value is not None
    assert (found.change.low, found.p, found.p_holm) == (None, None, None)


def test_against_people_finds_a_subject_that_is_like_them():
    people = norms(crowd(per_situation=40))
    found = agreement(situation_changes(model(places=PLACES, repeats=20), [P]), people, P)
    assert len(found.gaps) == 6
    assert found.correlation.value > 0.8
    assert people.reliability[P] > 0.9
    for gap in found.gaps:
        assert gap.gap.low < gap.gap.value < gap.gap.high
        assert gap.gap.value == pytest.approx(gap.change.change.value - gap.norm.change)
    assert found.mean_gap.n == 6


def test_a_subject_that_nothing_moves_differs_from_people_and_has_no_correlation():
    still = model()
    still.scores[P][:] = 30.0
    found = agreement(situation_changes(still, [P]), norms(crowd()), P)
    assert found.correlation.value is None
    assert found.mean_gap.value == pytest.approx(4, abs=1)
    assert found.p_equivalent > 0.5
    assert found.gaps[0].gap.low is None  # nothing varies, so nothing can be said about its error

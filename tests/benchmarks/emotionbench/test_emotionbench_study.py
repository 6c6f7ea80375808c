"""The planned contrast of a study of moods: right where it is true, silent where it is not, never without a reason."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from eqlab.benchmarks.emotionbench.measures import MeasurePlace, People
from eqlab.benchmarks.emotionbench.people import Paired
from eqlab.benchmarks.emotionbench.study import ARM, hypothesis, hypothesis_table, hypothesis_words

PLACES = tuple(
    MeasurePlace(e, 0, "f", f"{e}-{i}") for e, n in (("Anger", 20), ("Neutral", 12), ("Positive", 12)) for i in range(n)
)
ARMS = {place.situation: place.emotion for place in PLACES}


def people(seed, effect, each=3):
    random = np.random.default_rng(seed)
    where = np.repeat(np.arange(len(PLACES)), each)
    own = random.normal(0, 1.5, len(PLACES))[where]
    rise = np.array([effect * (PLACES[w].kind == "negative") for w in where]) + own + random.normal(0, 3, len(where))
    zero = np.zeros(len(where))
    names = ("Positive Affect", "Negative Affect")
    found = People(PLACES, where, dict.fromkeys(names, zero), {names[0]: zero, names[1]: rise})
    return Paired(found, np.arange(len(where)), len(where), len(where), 0, 0)


def test_it_is_welchs_test_of_the_situations_means():
    one = people(1, 5)
    (found,), why = hypothesis(one, ARMS, "Neutral", 0.05)
    rise = one.people.change("Negative Affect")
    by_place = [(place.kind, rise[one.people.where == i].mean()) for i, place in enumerate(PLACES)]
    means = {kind: [mean for own, mean in by_place if own == kind] for kind in ("negative", "neutral")}
    oracle = ttest_ind(means["negative"], means["neutral"], equal_var=False)
    assert found.p == pytest.approx(oracle.pvalue)
    assert (found.estimate.low, found.estimate.high) == pytest.approx(tuple(oracle.confidence_interval()))
    assert (found.arm, found.reference, why) == (ARM, "Neutral", "")
    assert "rises more in negative situations than in Neutral" in hypothesis_words([found], "", 0.05)
    assert hypothesis_table([found], "", 0.05).rows[0][-1] == "yes"


def test_false_alarms_are_as_rare_as_said():
    """Situations differ by themselves: counting people as independent would find something far too often."""
    wrong = sum(hypothesis(people(seed, 0.0), ARMS, "Neutral", 0.05)[0][0].p < 0.05 for seed in range(400))
    assert wrong / 400 < 0.08


def test_without_situations_of_the_reference_nothing_is_tested():
    found, why = hypothesis(people(1, 5), ARMS, "Boredom", 0.05)
    assert found == ()
    assert "'Boredom'" in why
    assert "not tested" in hypothesis_words(found, why, 0.05)

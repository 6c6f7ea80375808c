"""The three numbers against people: the shipped figures are those of the published answers."""

import numpy as np
import pytest

from eqlab.analysis.moods import concordance, movement, profile
from eqlab.benchmarks.emotionbench.items import (
    CROWD,
    measures_of_file,
    name_parts,
    read_people,
    read_results,
)
from eqlab.benchmarks.emotionbench.measures import DEFAULT, MeasurePlace, Measures
from eqlab.benchmarks.emotionbench.moods import (
    ORDER,
    PEOPLE_MOODS,
    PUBLISHED_PEOPLE,
    mood_changes,
    people_with,
    three_numbers,
)


def mood(scores):
    return scores["Positive Affect"] - scores["Negative Affect"]


@pytest.fixture(scope="module")
def people(published):
    return read_people((published / CROWD).read_bytes())


def test_people_are_those_of_the_study(people):
    before, after = mood(people.before), mood(people.after)
    n = len(before)
    own = concordance(np.concatenate([before, after]), np.repeat([1, 0], n), np.tile(np.arange(n), 2))
    found = own.neutral_above_bad
    assert (ORDER.value, ORDER.low, ORDER.high) == pytest.approx((found.value, found.low, found.high), abs=1e-3)
    assert f"{found.value:.1f} % (95 % CI {found.low:.1f} to {found.high:.1f})" in PUBLISHED_PEOPLE.note
    assert PUBLISHED_PEOPLE.value is None
    for emotion, rows in PEOPLE_MOODS.items():
        for index, figures in enumerate(rows):
            inside = [(p.emotion, p.factor_index) == (emotion, index) for p in people.places]
            own = (after - before)[np.array(inside)[people.where]]
            assert figures == pytest.approx((len(own), own.mean(), own.std(ddof=1)), abs=1e-3)


def test_figures_serve_as_the_raw_answers_do(people, published):
    """Every published model: profile and movement from the figures are those from 1,266 people."""
    factors = [f"{people.places[w].emotion}-{people.places[w].factor_index}" for w in people.where]
    change = mood(people.after) - mood(people.before)
    files = [path for path in sorted((published / CROWD).parent.glob("*.csv")) if name_parts(path.name)]
    assert len(files) >= 5
    for path in files:
        name, instrument = name_parts(path.name)
        own = measures_of_file(read_results(path.read_bytes(), name, instrument, path.name))
        changes = mood_changes(own)
        found = three_numbers(own, changes)
        mine = [f"{own.places[place].emotion}-{own.places[place].factor_index}" for place in changes]
        raw = profile(list(changes.values()), mine, change, factors)
        assert found.profile.true.value == pytest.approx(raw.true.value, abs=1e-3)
        far, _ = movement(list(changes.values()), mine, change, factors)
        assert found.movement.value == pytest.approx(far.value, abs=1e-3)
        assert found.headline.value is None  # nobody was asked neutral or positive situations
        assert "neutral" in found.headline.note
        assert not found.points


def test_people_themselves_are_moved_as_far_as_people():
    values, factors = people_with(PEOPLE_MOODS)
    places = tuple(MeasurePlace(f.split("-")[0], int(f.split("-")[1]), f, f) for f in dict.fromkeys(factors))
    number = {place.situation: index for index, place in enumerate(places)}
    where = np.array([DEFAULT] * 2 + [number[factor] for factor in factors])
    scores = {"Positive Affect": np.array([0.0, 0.0, *values]), "Negative Affect": np.zeros(len(where))}
    own = Measures("people", "PANAS", places, where, scores)
    found = three_numbers(own, mood_changes(own))
    assert found.movement.value == pytest.approx(1)
    assert found.profile.seen.value == pytest.approx(1)
    assert found.profile.people == pytest.approx(0.80, abs=0.01)

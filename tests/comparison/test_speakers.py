"""Simulated speakers against people, on truth that is known: bias, changed places, and intervals that hold."""

import numpy as np
import pytest

from eqlab.comparison.speakers import Talk, compare_speakers, sentence, talks_in
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate, Result, Transcript

TRUTH = {"a": 48.0, "b": 42.0, "c": 37.0}


def world(seed, *, bias=12.0, personas=60, human=15, people=15, noise=4.0, flip=False):
    """Every listener with every persona simulated; a few with people, each of whom has a level of their own."""
    draw = np.random.default_rng(seed)
    persona = draw.normal(0, 6, personas)
    level = draw.normal(0, 3, people)
    talks = []
    for listener, mean in TRUTH.items():
        felt = mean + persona + draw.normal(0, 4, personas)
        seen = dict(TRUTH, b=37.0, c=42.0)[listener] - mean + felt if flip else felt
        for place in range(personas):
            score = seen[place] + bias + draw.normal(0, noise)
            talks.append(Talk(listener, f"p{place}", "sim", "sim", score))
        for place in range(human):
            who = place % people
            score = felt[place] + level[who] + draw.normal(0, noise)
            talks.append(Talk(listener, f"p{place}", "people", f"person:{who}", score))
    return talks


def test_bias_is_found_and_ranks_are_kept():
    (found,) = compare_speakers(world(1), "people")
    assert (found.speaker, found.reference, found.pairs) == ("sim", "people", 3)
    assert found.bias.low < 12 < found.bias.high
    assert found.bias.n == 15
    assert "change their order" in sentence(found)
    assert found.agreement.value > 0.5
    for row in found.listeners:
        assert row.bias.value == pytest.approx(row.simulated.value - row.reference.value)
        assert row.gain > 0.9


def test_listeners_that_change_places():
    (found,) = compare_speakers(world(3, flip=True, human=60, people=60, noise=2.0), "people")
    (flip,) = found.flips
    assert {flip.a, flip.b} == {"b", "c"}
    assert flip.certain
    assert flip.simulated * flip.reference < 0
    assert "1 of 3 pairs" in sentence(found)


@pytest.mark.parametrize("worlds", [100, pytest.param(400, marks=pytest.mark.claims)])
def test_joined_intervals_hold_and_are_narrower(worlds):
    """Of all worlds 93 % of intervals or more must hold the truth although the simulation is 12 points off; and they
    are narrower on average than people's alone, or nothing was gained."""
    hits = total = 0
    wide, narrow = [], []
    differences = 0
    for seed in range(worlds):
        (found,) = compare_speakers(world(seed), "people")
        for row in found.listeners:
            hits += row.joined.low <= TRUTH[row.name] <= row.joined.high
            total += 1
            wide.append(row.reference.high - row.reference.low)
            narrow.append(row.joined.high - row.joined.low)
        a, b, gap = found.differences[0]
        differences += gap.low <= TRUTH[a] - TRUTH[b] <= gap.high
    assert 0.93 <= hits / total <= 0.985
    assert 0.93 <= differences / worlds <= 0.99
    assert np.mean(narrow) < 0.9 * np.mean(wide)


@pytest.mark.parametrize("worlds", [50, pytest.param(200, marks=pytest.mark.claims)])
def test_people_with_several_talks_each_are_samples_too(worlds):
    """Five people with twelve talks each: over personas alone people's own interval is far too sure of itself."""
    hits = naive = total = 0
    for seed in range(worlds):
        talks = world(seed, human=60, people=5, noise=2.0)
        (found,) = compare_speakers(talks, "people")
        for row in found.listeners:
            total += 1
            hits += row.reference.low <= TRUTH[row.name] <= row.reference.high
            own = [talk.score for talk in talks if talk.listener == row.name and talk.speaker == "people"]
            naive += abs(np.mean(own) - TRUTH[row.name]) <= 2.0 * np.std(own, ddof=1) / len(own) ** 0.5
            assert row.reference.value == pytest.approx(np.mean(own))
    assert hits / total >= 0.9
    assert naive / total < hits / total - 0.1


def test_a_studys_talks_beside_a_runs():
    """As a talk study keeps them: one result of all people, whose talks name the model that listened."""

    def talk(item, partner, score, listener=""):
        return Transcript(item, "t", "x", 0, partner, "open", "", score, (), (), listener=listener)

    def result(subject, talks):
        head = Estimate("x", None, 0)
        return Result("dialogue", "Dialogue", subject, {}, "", head, (0.0, 100.0), transcripts=tuple(talks))

    draw = np.random.default_rng(2)
    felt = {(who, n): 50 + 5 * (who == "a") + draw.normal(0, 8) for who in "ab" for n in range(40)}
    runs = [
        result(f"model:{who}", (talk(f"p{n}", "sim", felt[who, n] + 15 + draw.normal(0, 3)) for n in range(40)))
        for who in "ab"
    ]
    people = result(
        "people",
        (
            talk(f"p{n}", f"person:{(n + k) % 9}", felt[who, n] + draw.normal(0, 3), listener=f"model:{who}")
            for k, who in enumerate("ab")
            for n in range(12)
        ),
    )
    (found,) = compare_speakers(talks_in([*runs, people]), "people")
    assert {row.name for row in found.listeners} == {"a", "b"}
    assert found.bias.low < 15 < found.bias.high
    assert found.bias.n == 12
    for row in found.listeners:
        truth = np.mean([felt[row.name, n] for n in range(40)])
        assert row.joined.low < truth < row.joined.high
        assert row.joined.n == 12
    assert len(found.differences) == 1


def test_too_few_talks_are_not_joined():
    (found,) = compare_speakers(world(1, human=4), "people")
    assert all(row.joined.value is None and row.joined.note for row in found.listeners)
    assert found.differences == ()


def test_what_cannot_be_compared_is_said():
    talks = world(1)
    with pytest.raises(UsageError, match="There are: people, sim"):
        compare_speakers(talks, "nobody")
    with pytest.raises(UsageError, match="All talks here"):
        compare_speakers([talk for talk in talks if talk.speaker == "sim"], "sim")
    apart = [talk for talk in talks if (talk.speaker == "sim") == (talk.listener == "a")]
    with pytest.raises(UsageError, match="share no persona"):
        compare_speakers(apart, "people")


def test_people_are_one_speaker_of_many():
    def talk(partner, score):
        return Transcript("p1", "t", "x", 0, partner, "open", "", score, (), ())

    held = (talk("person:1", 40.0), talk("person:2", 50.0), talk("m", None))
    result = Result("dialogue", "Dialogue", "model:a", {}, "", Estimate("x", None, 0), (0.0, 100.0), transcripts=held)
    assert talks_in([result]) == [
        Talk("a", "p1", "people", "person:1", 40.0),
        Talk("a", "p1", "people", "person:2", 50.0),
    ]

"""Talks of people: one person's talks are alike, and who ends a talk at once has told no feeling."""

from dataclasses import replace

import numpy as np
import pytest

from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.dialogue.people_result import _sentence, arm_table, level
from eqlab.benchmarks.dialogue.result import estimates, share_of_talks
from eqlab.benchmarks.dialogue.talked import Said, Talked


def talk(person, number, end, start=40, *, opened=True, replies=1):
    said = (Said("speaker", "a"), *[Said("listener", "b")] * replies, Said("speaker", "c", 60))
    return Talked("own", "own", "", "", person, number, f"t{number}", start, said, end, 0, "m", "a", person, opened)


def test_many_talks_of_few_people_tell_less_than_as_many_people():
    """Everybody's five talks end alike: ten people, and not fifty."""
    talks = [talk(f"person:{who}", number, "satisfied" if who % 2 else "hurt", 10 * who, replies=1 + who)
             for who in range(10) for number in range(5)]  # fmt: skip
    found = share_of_talks("success", talks)
    alone = proportion_estimate("success", 25, 50)
    assert (found.value, found.n) == (alone.value, 50)
    assert found.high - found.low > 1.8 * (alone.high - alone.low)
    row = arm_table(talks, ["a"]).rows[0]
    assert [(cell.value, cell.n) for cell in (row[3], row[-1])] == [(45.0, 10), (5.5, 10)]
    assert {one.name: one.n for one in estimates(talks, talks)}["replies per talk"] == 10


def of_a_persona(random, personas, people):
    """One talk a person; people with the same persona hear the same trouble."""
    persona = random.normal(0, 12, personas)
    ends = np.clip(50 + np.repeat(persona, people) + random.normal(0, 16, personas * people), 0, 100)
    said = [(Said("speaker", "c", round(end)),) for end in ends]
    talks = [talk(f"person:{n}", n, "satisfied") for n in range(len(ends))]
    return [replace(one, persona=f"p{n // people}", said=said[n]) for n, one in enumerate(talks)]


@pytest.mark.parametrize(("personas", "people"), [(20, 3), (4, 30)])
def test_one_talk_each_holds_for_other_personas_too(personas, people):
    """It held in 87 and in 46 of 100 studies: people who hear one persona counted as if each had heard another."""
    random = np.random.default_rng(personas)
    found = [level(of_a_persona(random, personas, people)) for _ in range(300)]
    assert {one.note for one in found} == {"over people and personas"}
    assert sum(one.low <= 50 <= one.high for one in found) / 300 > 0.92


def test_most_at_the_end_of_the_scale_tell_little_of_the_rest():
    """Nine at 100 and one at 90 gave 96.7 to 100: what a few others would say was left out with the personas."""
    ends = [(Said("speaker", "c", 100 if number else 90),) for number in range(10)]
    talks = [replace(talk(f"person:{number}", number, "satisfied"), persona=f"p{number % 5}", said=said)
             for number, said in enumerate(ends)]  # fmt: skip
    found = level(talks)
    assert found.low < 60
    assert (found.high, found.note) == (100, "over people and personas")


def test_who_ends_a_talk_at_once_has_told_no_feeling():
    """The persona's number, or 50, was put in for them."""
    talks = [talk("person:1", 0, "satisfied", 20), talk("person:2", 1, "satisfied", 40),
             talk("person:3", 2, "left", 90, opened=False)]  # fmt: skip
    opening = arm_table(talks, ["a"]).rows[0][3]
    assert (opening.value, opening.n) == (30.0, 2)


def test_the_sentence_has_both_feelings_over_people():
    """Who leaves after one talk counts as who has three: at the opening, too, not only at the end."""
    low, high = [talk("person:1", 0, "satisfied", 10)], [talk("person:2", n, "satisfied", 70) for n in range(1, 4)]
    felt = [*low, *high]
    said = _sentence(felt, felt, 2, True, level(felt))
    assert "60.0 of 100 at the end of a talk (40.0 at the opening)" in said

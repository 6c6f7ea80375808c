"""A ranking from pairs: the truth is recovered, the first place measured, a clean sweep has no infinite strength."""

import numpy as np
import pytest

from eqlab.benchmarks.rating.panel import pairwise_panel
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.strengths import fitted, strengths_tables
from eqlab.benchmarks.rating.trials import BETTER, RatingOptions
from eqlab.core.answers import Answer
from eqlab.core.forms import Form
from eqlab.core.trials import Trial

WORTH = {"a": 1.0, "b": 0.0, "c": -1.0}


def verdicts(judge, seed, prompts=80, place=0.6, worth=WORTH):
    draw = np.random.default_rng(seed)
    found = []
    for number in range(prompts):
        for one, other in (("a", "b"), ("b", "c"), ("a", "c")):
            for arms in ((one, other), (other, one)):
                eta = worth[arms[0]] - worth[arms[1]] + place
                odds = np.exp([eta / 2, -0.5, -eta / 2])
                value = 1 + int(draw.choice(3, p=odds / odds.sum()))
                trial = Trial("rating", (f"p{number}",), "pairwise", f"{arms} {number}", Form((BETTER,)), "",
                              key={"arms": list(arms), "prompt": f"p{number}"})  # fmt: skip
                answer = Answer("r", trial.id, f"judge:{judge}", 0, 0, "x", "ok", {"better": value}, model=judge)
                found.append(RatedReply(trial, 0, 1, answer))
    return found


def test_strengths_and_the_first_place_are_recovered():
    found, note = fitted({"j": verdicts("j", 1)})
    assert note == ""
    for one in found.estimates():
        assert one.low < WORTH[one.name] < one.high
    assert found.position.low < 0.6 < found.position.high
    ranking, place, *_ = strengths_tables({"j": verdicts("j", 1)})
    assert [row[0] for row in ranking.rows] == ["a", "b", "c"]
    assert [row[2:] for row in ranking.rows] == [("1", "yes"), ("2", "no"), ("3", "no")]
    assert place.rows[0][1].low > 1


def test_several_judges_are_one_ranking_that_counts_their_spread():
    alike = {name: verdicts(name, seed, 40) for seed, name in enumerate("xyz")}
    torn = {**alike, "z": verdicts("z", 9, 40, worth={"a": -1.0, "b": 0.0, "c": 1.0})}
    one, other = fitted(alike)[0].difference("a", "c"), fitted(torn)[0].difference("a", "c")
    assert one.high - one.low < other.high - other.low
    found = pairwise_panel(alike, RatingOptions())
    assert "a is preferred to c" in found.sentence
    assert [table.title for table in found.tables][-1] == "Who answered"


def test_who_wins_everything_has_a_finite_strength_and_it_is_said():
    rows = verdicts("j", 2, worth={"a": 60.0, "b": 0.0, "c": -1.0})
    found, note = fitted({"j": rows})
    assert np.isfinite(found.ability).all()
    assert "prior" in note
    assert found.names[int(np.argmax(found.ability))] == "a"


def test_nothing_to_rank():
    assert strengths_tables({"j": []}) == ()
    assert pairwise_panel({"j": verdicts("j", 1, 5)}, RatingOptions()) is None
    assert pytest.approx(0) == sum(fitted({"j": verdicts("j", 1)})[0].ability)


def test_a_pair_to_ask_next_stands_once_with_all_its_verdicts():
    close = {"a": 0.05, "b": 0.0, "c": -3.0}
    (plan,) = [table for table in strengths_tables({"j": verdicts("j", 3, 12, worth=close)}) if "next" in table.title]
    pairs = [frozenset(row[:2]) for row in plan.rows]
    assert len(pairs) == len(set(pairs))
    assert frozenset("ab") in pairs
    assert max(row[2] for row in plan.rows) > 20, "one pair is worth more than a batch here"

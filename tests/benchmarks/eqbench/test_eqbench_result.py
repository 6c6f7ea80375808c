import json

import numpy as np
import pytest

from eqlab.analysis.clusters import AGREEMENT, CV
from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.items import parse_open
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError, UsageError

EQ = EqBench()
TOML = b"""
[[item]]
id = "one"
character = "Ada"
dialogue = "Ada: So.\\nBo: So what?"
emotions = [
  { name = "Calm", reference = 1, reason = "r" }, { name = "Sad", reference = 0, reason = "r" },
  { name = "Proud", reference = 9, reason = "r" }, { name = "Angry", reference = 4, reason = "r" },
]
[[item]]
id = "two"
character = "Bo"
dialogue = "Ada: Now.\\nBo: Later."
emotions = [
  { name = "Keen", reference = 2, reason = "r" }, { name = "Bored", reference = 7, reason = "r" },
  { name = "Torn", reference = 3, reason = "r" }, { name = "Glad", reference = 0, reason = "r" },
]
"""


def planned(options=None, **selection):
    chosen = EQ.options("open", options or {})
    return chosen, list(EQ.plan({"eqbench.toml": TOML}, chosen, Selection(**selection)))


def answers(trial, repeat, *texts, options):
    found = []
    for number, text in enumerate(texts, start=1):
        reading = EQ.read(trial, text, options)
        found.append(
            Answer("r", trial.id, "model:m", repeat, number, text, reading.status, reading.values, reading.note)
        )
    return Scored(trial, repeat, tuple(found))


def perfect(trial):
    return "\n".join(f"{name}: {value:g}" for name, value in trial.key["reference"].items())


def test_a_perfect_reader_scores_100():
    options, plan = planned()
    result = EQ.score("model:m", [answers(t, r, perfect(t), options=options) for t, r in plan], options)
    assert result.headline.value == 100
    assert result.counts == {"planned": 2, "ok": 2, "unparseable": 0, "refused": 0, "error": 0, "unanswered": 0}
    assert "too few for an interval" in result.sentence


def test_every_trial_is_counted_whatever_became_of_it():
    options, plan = planned()
    (first, _), (second, _) = plan
    scored = [
        answers(first, 0, "I'm sorry, I can't do that.", "No.", "I cannot rate feelings.", options=options),
        Scored(second, 0, ()),
    ]
    result = EQ.score("model:m", scored, options)
    assert result.counts["refused"] == 1
    assert result.counts["unanswered"] == 1
    assert result.headline.value is None
    assert not result.valid
    assert "no score" in result.sentence


def test_a_later_attempt_saves_a_question():
    options, plan = planned()
    result = EQ.score("model:m", [answers(t, r, "hm", perfect(t), options=options) for t, r in plan], options)
    assert result.headline.value == 100
    assert {item.attempts for item in result.items} == {2}


def test_repeats_are_iterations_and_questions_the_units():
    options, plan = planned(repeats=3)
    assert len(plan) == 6
    scored = [answers(t, r, perfect(t) if r else perfect(t).replace(": 9", ": 4"), options=options) for t, r in plan]
    result = EQ.score("model:m", scored, options)
    low = 100 - 0.5 * 10 * 0.7477 * 5
    assert result.headline.value == pytest.approx((low + 100 + 100) / 3)
    assert result.headline.n == 2


def test_repeats_bring_a_repeatability_line():
    options, plan = planned(repeats=3)
    scored = [answers(t, r, perfect(t) if r else perfect(t).replace(": 9", ": 4"), options=options) for t, r in plan]
    result = EQ.score("model:m", scored, options)
    named = {estimate.name: estimate for estimate in result.estimates}
    each = [81.3075, 100, 100]
    assert named[CV].value == pytest.approx(100 * np.std(each, ddof=1) / np.mean(each))
    assert named[CV].n == 3
    assert named[AGREEMENT].n == 2
    once, plan = planned()
    single = EQ.score("model:m", [answers(t, r, perfect(t), options=once) for t, r in plan], once)
    assert not any("repeatability" in estimate.name for estimate in single.estimates)


@pytest.mark.parametrize("better", ["first", "revised"])
def test_the_headline_is_the_mean_of_the_items_points(better):
    """Of the pass that the score was made of, not the one that happens to be there."""
    options, plan = planned({"revision": "yes"})
    scored = []
    for trial, repeat in plan:
        worse = perfect(trial).replace(": 9", ": 3").replace(": 7", ": 2")
        first, revised = (perfect(trial), worse) if better == "first" else (worse, perfect(trial))
        text = f"First pass scores:\n{first}\nCritique: hm\nRevised scores:\n{revised}"
        scored.append(answers(trial, repeat, text, options=options))
    result = EQ.score("model:m", scored, options)
    assert result.headline.value == 100
    assert [item.points for item in result.items] == [100, 100]


def test_half_a_revision_is_kept_when_the_tries_are_used_up():
    options, plan = planned({"revision": "yes"})
    trial = plan[0][0]
    zeros = "Calm: 0\nSad: 0\nProud: 0\nAngry: 0"
    text = f"First pass scores:\n{zeros}\nCritique: hm\nRevised scores:\n{perfect(trial)}"
    assert EQ.read(trial, text, options).status == "unparseable"
    result = EQ.score("model:m", [answers(trial, 0, text, text, text, options=options)], options)
    assert result.counts["ok"] == 1
    assert result.headline.value == 100


def test_structured_answers():
    options, plan = planned(structured=True)
    trial = plan[0][0]
    assert trial.mode == "json"
    good = {"Calm": 1, "Sad": 0, "Proud": 9, "Angry": 4}
    assert EQ.read(trial, json.dumps(good), options).status == "ok"
    assert EQ.read(trial, f"```json\n{json.dumps(good)}\n```", options).status == "ok"
    for bad in (
        good | {"Calm": 11},
        good | {"Calm": True},
        {"Calm": 1},
        good | {"More": 1},
        dict.fromkeys(good, 0),
        [1],
    ):
        assert EQ.read(trial, json.dumps(bad), options).status == "unparseable"
    assert EQ.read(trial, perfect(trial), options).status == "unparseable"
    result = EQ.score("model:m", [answers(trial, 0, json.dumps(good), options=options)], options)
    assert result.rules["mode"] == "json"
    assert any("structured" in caveat for caveat in result.caveats)


def test_rules_travel_with_the_score():
    options, plan = planned({"rules": "published-code"})
    result = EQ.score("model:m", [answers(t, r, perfect(t), options=options) for t, r in plan], options)
    assert result.rules["name"] == "published-code"
    assert result.rules["parser"] == "strict"


def test_budgets_and_temperatures():
    options, plan = planned()
    asking = EQ.asking(plan[0][0], options)
    assert [asking.temperature_of(failed) for failed in range(asking.tries)] == [0.01, 0.16, 0.31]
    revision, plan = planned({"revision": "yes"})
    assert EQ.asking(plan[0][0], revision).max_tokens == 1000
    strict, plan = planned({"rules": "published-code"})
    assert EQ.asking(plan[0][0], strict).max_tokens == 60


def test_a_small_run_sees_every_part_of_the_set():
    from eqlab.benchmarks.common.selection import spread

    assert spread(range(60), 20) == list(range(0, 60, 3))
    assert spread(range(3), 20) == [0, 1, 2]


@pytest.mark.parametrize(
    ("items", "given"),
    [
        ("open", {"version": "v1"}),
        ("open", {"language": "de"}),
        ("published", {"version": "v1", "language": "de"}),
        ("open", {"version": "v3"}),
        ("open", {"colour": "red"}),
    ],
)
def test_options_that_make_no_sense(items, given):
    with pytest.raises(UsageError):
        EQ.options(items, given)


def test_structured_revision_is_refused():
    with pytest.raises(UsageError, match="critique"):
        planned({"revision": "yes"}, structured=True)


def test_a_broken_item_is_named():
    with pytest.raises(DataError, match=r"x\.toml:10: item\[2\]\.character \(two\): is missing"):
        parse_open(TOML.replace(b'character = "Bo"\n', b""), "x.toml")
    with pytest.raises(DataError, match=r"x\.toml:1: this is not TOML"):
        parse_open(b"[[item", "x.toml")

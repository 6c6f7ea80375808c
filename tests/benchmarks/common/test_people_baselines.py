"""What no skill gets of people's answers is a mean over people, as their score is: whoever follows a rule gets exactly
what the line beside the score says that the rule gets, however early some of them left."""

import random

import pytest
from filled_studies import opened, template_text

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.runs import PEOPLE


def longest(trial):
    return {scale.key: max(scale.anchors, key=lambda one: (len(one[1]), -one[0]))[0] for scale in trial.form.scales}


def by_place(trial):
    return dict(zip(trial.form.keys, (4, 3, 2, 1), strict=True))


def fives(trial):
    return dict.fromkeys(trial.form.keys, 5)


@pytest.mark.parametrize(
    ("kind", "rule", "line"),
    [
        ("emobench", longest, "always the longest choice"),
        ("seceu", by_place, "4, 3, 2, 1 by place"),
        ("eqbench", fives, "always 5"),
    ],
)
def test_people_who_follow_a_rule_get_what_the_line_says(kind, rule, line, tmp_path, store):
    design = opened(tmp_path / "study.toml", template_text(kind, store), store)
    (asked,) = design.run.benchmarks
    draw, scored = random.Random(3), []
    for number in range(30):
        trials = design.batches[number % len(design.batches)].trials
        for trial in trials[: draw.randint(1, 3) if number % 2 else None]:
            answer = Answer("r", trial.id, f"person:{number:02}", 0, 1, "", "ok", rule(trial))
            scored.append(Scored(trial, 0, (answer,)))
    result = load(asked.name).score(PEOPLE, scored, asked.options)
    floor = {one.name: one.value for one in result.baselines}
    assert floor[line] == pytest.approx(result.headline.value)
    assert result.headline.n == 30

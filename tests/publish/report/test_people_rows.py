"""People beside models in one report: a row with its own interval and number of people, in words that fit them."""

import json
import re
from dataclasses import replace

import pytest
from msgspec import structs

import eqlab as api
from eqlab.comparison.contender import contender
from eqlab.comparison.sentences import conclusion
from eqlab.comparison.verdict import rank
from eqlab.core.answers import Answer
from eqlab.core.results import Estimate, Result
from eqlab.core.runs import PEOPLE, BenchmarkConfig, ModelConfig, RunConfig
from eqlab.publish.groups import RunRecord, group
from eqlab.publish.report.page import render

OPTIONS = {"rules": "leaderboard", "item_set": "open"}


def made(subject, value, low, high, mode="text", **more):
    of = "people" if subject == PEOPLE else ""
    head = Estimate("EQ-Bench v2", value, 24, low=low, high=high, of=of)
    rules = {"mode": mode, "name": "leaderboard", "item_set": "open"}
    return Result("eqbench", "EQ-Bench v2", subject, rules, f"{subject} alone.", head, (0, 100), **more)


def record(*results, options=OPTIONS, sha="ab" * 32, limit=None, seed=0):
    models = tuple(
        ModelConfig(one.subject[6:], structured=one.rules["mode"] == "json") for one in results if one.subject != PEOPLE
    )
    asked = BenchmarkConfig("eqbench", 1, "open", sha, options)
    return RunRecord(RunConfig(models, (asked,), "full", limit, None, seed), 0.0, {}, results)


CROWD = made(PEOPLE, 70, 66, 74, "form")
STUDY = {**OPTIONS, "study": "s1", "purpose": "people"}


def test_people_join_the_table_of_the_same_questions_in_any_answer_mode():
    free, forced = made("model:a", 60, 55, 65), made("model:b", 50, 45, 55, "json")
    groups = group([record(free), record(forced), record(CROWD, options=STUDY)])
    assert [[row.name for row in one.rows] for one in groups] == [["people", "a"], ["people", "b"]]
    assert [row.anchor for one in groups for row in one.rows] == ["subject-1", "subject-2", "subject-1", "subject-3"]
    assert [row.again for one in groups for row in one.rows] == [False, False, True, False]
    assert groups[0].facts[1] == "free-text answers"
    page = render([record(free), record(forced), record(CROWD, options=STUDY)], generated_at=0.0, version="0")
    assert page.count('id="subject-1"') == 1
    assert page.count(">24 people</td>") == 2
    assert "a scores 60.00 (95 % CI 55.00 to 65.00, n = 24). People score 70.00 (95 % CI 66.00 to 74.00, " in page
    assert "n = 24 people): more than a." in page


@pytest.mark.parametrize(
    "other",
    [
        record(CROWD, options=STUDY, sha="cd" * 32),
        record(CROWD, options={**STUDY, "rules": "published-code"}),
        record(CROWD, options=STUDY, limit=5),
        record(replace(CROWD, headline=structs.replace(CROWD.headline, name="another number")), options=STUDY),
    ],
)
def test_other_questions_are_another_table(other):
    groups = group([record(made("model:a", 60, 55, 65)), other])
    assert [[row.name for row in one.rows] for one in groups] == [["a"], ["people"]]


def test_two_studies_of_the_same_questions_are_one_table():
    other = made(PEOPLE, 64, 60, 68, "form")
    groups = group([record(CROWD, options=STUDY), record(other, options={**STUDY, "study": "s2"}, seed=2)])
    (one,) = groups
    assert len(one.rows) == 2
    assert all(row.name.startswith("people (run ") for row in one.rows)


def said(*results):
    return conclusion(rank([contender(one.subject.removeprefix("model:"), one) for one in results]))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ((60, 55, 65), "n = 24 people): more than a."),
        ((68, 64, 72), "n = 24 people): not to be told apart from a."),
        ((80, 76, 84), "n = 24 people): less than a."),
        ((70, 66, 74), "n = 24 people): not to be told apart from a."),
    ],
)
def test_people_are_a_reference_without_a_rank(model, words):
    text = said(CROWD, made("model:a", *model))
    assert text.startswith("a scores ")
    assert text.endswith(words)
    (table,) = group([record(made("model:a", *model)), record(CROWD, options=STUDY)])
    assert {row.name: row.rank for row in table.rows} == {"a": (1, 1), "people": None}


def test_people_without_an_interval_or_a_score_are_left_out():
    one = replace(CROWD, headline=structs.replace(CROWD.headline, low=None, high=None, n=1))
    assert said(made("model:a", 60, 55, 65), one).endswith("people (70.00, n = 1) are not compared: no interval.")
    none = replace(CROWD, headline=structs.replace(CROWD.headline, value=None, low=None, high=None, n=0))
    assert said(made("model:a", 60, 55, 65), none).endswith("people are not compared: no score.")


def test_raters_are_not_ranked():
    """A judge's headline tells of the replies, not of the judge."""
    one, other = (replace(made(name, 60, 55, 65), ranked=False) for name in ("judge:a", PEOPLE))
    (table,) = group([record(one), record(other, options=STUDY)])
    assert not table.ranks
    assert [row.rank for row in table.rows] == [None, None]
    assert table.sentence == "judge:a alone.\npeople alone."


def take_part(store, prepared, answers, people=6):
    """A study of people over the trials of a prepared run, as the register plans and stores it."""
    (asked,) = prepared.config.benchmarks
    trials = [trial for _, _, trial, repeat in prepared.plan() if repeat == 0]
    options = {**asked.options, "study": "s", "purpose": "people"}
    config = RunConfig((), (replace(asked, options=options),), "full", prepared.config.limit, None, 0)
    given = [(f"person:{number}", *page) for number in range(people) for page in answers(number, trials)]
    store.begin_run(config, [(person, asked.name, trial, 0) for person, trial, _ in given], {})
    store.add_answers(
        [
            Answer(config.id, trial.id, person, 0, 1, json.dumps(values), "ok", values)
            for person, trial, values in given
            if values
        ]
    )
    return config.id


def test_eqbench_of_people_and_models_through_the_store(server, tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    request = api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=6)
    prepared = api.prepare(request)
    trials = {trial.prompt: trial for _, _, trial, _ in prepared.plan()}

    def reply(body, number):
        trial = trials[body["messages"][-1]["content"]]
        return "\n".join(f"{name}: 5" for name in trial.form.keys)

    server.reply = reply
    model_run = api.run(prepared, store, concurrency=4, timeout=60).run

    def answers(person, every):
        for number, trial in enumerate(every[:4] if person % 2 else every[2:]):
            reference = {name: int(value) for name, value in trial.key["reference"].items()}
            shift = (person + number) % 3
            left = shift == 2 and person == 0
            yield trial, None if left else {name: min(10, value + shift) for name, value in reference.items()}

    people_run = take_part(store, prepared, answers)
    stored = [store.find_run(run) for run in (model_run, people_run)]
    (people,) = api.results(store, stored[1])
    assert people.subject == PEOPLE
    assert people.headline.n == 6
    path = api.write_report(store, stored, tmp_path / "report.html")
    html = path.read_text(encoding="utf-8")
    assert ">6 people</td>" in html
    assert re.search(r"m scores .*? People score .*?: more than m\.", html)
    assert html.count('class="scores"') == 1
    assert "Took part, EQ Lab open dialogues" in html
    assert "Human norms" in html
    assert "attempts" not in html.split('id="subject-1"')[1].split("</section>")[0]
    store.close()


def test_emotionbench_of_people_through_the_store(tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    prepared = api.prepare(api.Request(models=("m",), benchmarks=("emotionbench",), limit=8, base_url="http://x/v1"))
    move = {"Neutral": 0, "Positive": 1}

    def answers(person, every):
        default = next(trial for trial in every if trial.condition == "default")
        evoked = [trial for trial in every if trial.condition == "evoked"][person % 8]
        kind = move.get(evoked.key["emotion"], -1)
        for trial, change in ((default, 0), (evoked, kind)):
            values = {scale.key: 3 for scale in trial.form.scales}
            if change:
                positive = {"interested", "excited", "strong", "proud", "alert", "active"}
                values = {key: 3 + (change if key in positive else 0) for key in values}
            yield trial, values

    run = take_part(store, prepared, answers, people=16)
    (found,) = api.results(store, store.find_run(run))
    assert (found.headline.name, found.headline.n) == ("Concordance", 16)
    html = api.write_report(store, [store.find_run(run)], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "16 people: given two situations, the better mood is reported in the better one " in html
    assert "Profile: how far situations move people" in html
    store.close()

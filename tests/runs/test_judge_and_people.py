"""A judge and people who rate the same replies: the same trials, one table, and the judge is calibrated on them."""

import json
from dataclasses import replace

import pytest

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.core.runs import PEOPLE, RunConfig
from eqlab.publish.groups import RunRecord, group
from eqlab.runs import judge as judging


def world(body, number=0):
    """Two models that reply, and a judge that finds the warm one's replies good."""
    prompt = body["messages"][-1]["content"]
    if "Your reply:" in prompt:
        return f"{'I feel with you' if body['model'] == 'warm' else 'Noted'} ({len(prompt)})."
    rating = "Good" if "I feel with you" in prompt else "Okay"
    return json.dumps({"rating": {"Good": 3, "Okay": 2}[rating]}) if "response_format" in body else rating


def judged(server, store, structured):
    server.reply = world
    request = api.Request(models=("warm", "cold"), benchmarks=("empathy",), base_url=server.url, limit=12)
    run = api.run(api.prepare(request), store, concurrency=4, timeout=60).run
    wanted = judging.JudgeRequest(judges=("gpt",), on=(run,), base_url=server.url, structured=structured)
    prepared = judging.prepare(wanted, store)
    return api.run(prepared, store, concurrency=4, timeout=60).run, judging.prepare(
        replace(wanted, structured=False), store
    )


def rated_by_people(store, prepared, people=10):
    """A rating study of the same replies, one arm to a person, as the register stores it."""
    (asked,) = prepared.config.benchmarks
    options = {**asked.options, "purpose": "people", "study": "warmth"}
    config = RunConfig((), (replace(asked, options=options),), "full", None, None, 1)
    trials = [trial for _, _, trial, _ in prepared.plan()]
    given = []
    for number in range(people):
        arm = ("warm", "cold")[number % 2]
        for index, trial in enumerate(trial for trial in trials if trial.key["arm"] == arm):
            value = 3 if (index + number) % 4 or (arm == "warm" and index % 2) else 2
            given.append((f"person:{number}", trial, {"rating": value}))
    store.begin_run(config, [(person, "rating", trial, 0) for person, trial, _ in given], {})
    store.add_answers(
        [Answer(config.id, trial.id, who, 0, 1, json.dumps(values), "ok", values) for who, trial, values in given]
    )
    return config.id


@pytest.mark.parametrize("structured", [False, True])
def test_judge_and_people_are_rows_of_one_table(server, store, tmp_path, structured):
    judge_run, prepared = judged(server, store, structured)
    people_run = rated_by_people(store, prepared)
    stored = [store.find_run(run) for run in (judge_run, people_run)]
    results = [api.results(store, one) for one in stored]
    (judge,), (people,) = results
    assert (judge.subject, people.subject) == ("judge:gpt", PEOPLE)
    assert judge.headline.name == people.headline.name
    assert not judge.ranked
    assert not people.ranked
    records = [RunRecord(one.config, 0.0, {}, tuple(found)) for one, found in zip(stored, results, strict=True)]
    (table,) = group(records)
    assert [row.name for row in table.rows] == ["judge:gpt", "people"]
    assert [row.rank for row in table.rows] == [None, None]
    assert table.sentence.startswith(judge.sentence)  # then warm and cold are compared, as everywhere
    assert people.sentence in table.sentence
    # the judge is calibrated on exactly these people's ratings, without being told where they are
    assert judge.rules["calibration_pairs"] == 120
    assert any(one.title.startswith("Calibration") for one in judge.tables)
    html = api.write_report(store, stored, tmp_path / "r.html").read_text(encoding="utf-8")
    assert html.count('class="scores"') == 1
    assert ">120 ratings by 10 people</td>" in html
    assert "scores highest" not in html
    assert 'data-label="Rank"' not in html


def test_the_people_who_rate_get_the_very_trials_of_the_judge(server, store):
    judge_run, prepared = judged(server, store, structured=False)
    people_run = rated_by_people(store, prepared)
    asked = {one.trial.id for one in store.scored(judge_run, "judge:gpt", "rating")}
    rated = {one.trial.id for one in store.scored(people_run, PEOPLE, "rating")}
    assert rated == asked

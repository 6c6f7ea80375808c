"""A model asked twice has two replies to a prompt: each is rated, pooled, disputed, compared and exported as one of its
own, and a prompt stays one unit."""

import json
from collections import Counter

import pytest
from judge_case import said_reply

import eqlab as api
from eqlab.benchmarks.rating.people import several_raters
from eqlab.benchmarks.rating.rated import given, rated
from eqlab.benchmarks.rating.trials import single, to_jsonl
from eqlab.comparison.entries import entries
from eqlab.comparison.sources import read_sources
from eqlab.core.answers import Answer
from eqlab.core.runs import PEOPLE
from eqlab.publish.every_eval_ever import Sender, write_records
from eqlab.runs import judge as judging
from eqlab.runs.import_ratings import ratings_run
from eqlab.runs.panel import drift_of, panel_of

PROMPTS = 8
RATES = {"openai/j1": ("Good", "Bad"), "openai/j2": ("Good", "Okay"), "openai/j3": ("hm", "Bad")}
"""What judges say of a dear reply and of another."""


@pytest.fixture
def run(server, store):
    """The dear one has a dear reply and another to every prompt, the plain one two others."""
    times = Counter()

    def answer(body, number):
        prompt = body["messages"][-1]["content"]
        if "Your reply:" not in prompt:
            dear, other = RATES[f"openai/{body['model']}"]
            return dear if "dearest" in said_reply(body) else other
        time = times[body["model"], prompt] = times[body["model"], prompt] + 1
        said = "I feel with you, dearest" if body["model"] == "dear" and time == 2 else "Noted"
        return f"{said} {body['model']} {time}."

    server.reply = answer
    request = api.Request(
        models=("openai/dear", "openai/plain"),
        benchmarks=("empathy",),
        base_url=server.url,
        limit=PROMPTS,
        repeats=2,
    )
    return api.run(api.prepare(request), store, concurrency=1, timeout=60).run


def judged(server, store, on, *judges, **request):
    wanted = judging.JudgeRequest(judges=judges, on=(on,), base_url=server.url, **request)
    return store.find_run(api.run(judging.prepare(wanted, store), store, concurrency=4, timeout=60).run)


def test_a_panel_pools_and_disputes_each_of_them(server, store, run, tmp_path):
    stored = judged(server, store, run, "openai/j1", "openai/j2")
    panel = panel_of(store, stored)
    tables = {table.title: table for table in panel.tables}
    assert panel.counts["planned"] == len(panel.items) == 2 * 2 * PROMPTS
    assert {estimate.name: (estimate.value, estimate.n) for estimate in panel.estimates[:2]} == {
        "openai/dear": (2.25, PROMPTS), "openai/plain": (1.5, PROMPTS),
    }  # fmt: skip
    said = {(row[2].split()[0], row[3]) for row in tables["Most disputed replies"].rows}
    assert said == {("Noted", "openai/j1 1, openai/j2 2")}
    write_records(store, stored, tmp_path, Sender())
    for path in tmp_path.rglob("*.jsonl"):
        lines = [json.loads(line)["sample_id"] for line in path.read_text("utf-8").splitlines()]
        assert len(lines) == len(set(lines)) == 2 * PROMPTS


def test_a_comparison_counts_both(server, store, run):
    """The last of the two had stood for both."""
    stored = judged(server, store, run, "openai/j1")
    found, _ = entries(read_sources([stored.id], str(store.shown)))
    assert {entry.name: set(entry.means.values()) for entry in found} == {"openai/dear": {50.0}, "openai/plain": {0.0}}


def test_another_judge_is_held_against_the_replies_that_both_could_rate(server, store, run):
    """What it could not read of the dear replies was told as a shift of 50 points."""
    before, after = (judged(server, store, run, judge) for judge in ("openai/j1", "openai/j3"))
    shifts = {estimate.name: estimate.value for estimate in drift_of(store, after, before).estimates}
    assert shifts == {"openai/dear": 0.0, "openai/plain": 0.0}


def test_other_replies_of_the_same_name_are_no_drift(server, store, run):
    stored = judged(server, store, run, "openai/j1")
    server.reply = lambda body, n, answer=server.reply: answer(body, n).replace("Noted", "Well")
    request = api.Request(
        models=("openai/dear", "openai/plain"), benchmarks=("empathy",), base_url=server.url, limit=PROMPTS, seed=0,
        settings={"temperature": 1.0},
    )  # fmt: skip
    again = api.run(api.prepare(request), store, concurrency=1, timeout=60).run
    assert drift_of(store, judged(server, store, again, "openai/j1"), stored) is None


def test_people_who_rated_both_have_rated_two(server, store, run):
    """As on the page Rate: who rated one of the two agrees or not with those who rated that one."""
    rows = judging.run_replies(store, store.find_run(run))
    config = ratings_run(to_jsonl(rows), "view")
    told = [(f"person:{rater}", single(row), 1 + 2 * ("dearest" in row.reply)) for rater in "abc" for row in rows]
    store.begin_run(config, [(who, "rating", trial, 0) for who, trial, _ in told], {})
    store.add_answers([Answer(config.id, trial.id, who, 0, 1, str(v), "ok", {"rating": v}) for who, trial, v in told])
    replies = rated(store.scored(config.id, PEOPLE, "rating"))
    ((_, alpha),) = several_raters(given(replies)).rows
    assert (alpha.value, alpha.n) == (1.0, 2 * 2 * PROMPTS)
    stored = judged(server, store, config.id, "openai/j1", calibration=True)
    (result,) = api.results(store, stored)
    assert result.counts["planned"] == 2 * 2 * PROMPTS
    assert result.rules["calibration_pairs"] == 3 * 2 * 2 * PROMPTS

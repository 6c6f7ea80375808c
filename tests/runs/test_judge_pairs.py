"""Pairs over loopback: the design, rounds that stop at a width and survive kill -9 with the same choice, anchored
rankings, people's choices beside a judge's."""

import csv
import json
import os
import re
import subprocess
import sys

import pytest
from killing import kill_after

import eqlab as api
from eqlab.benchmarks.rating.study import PairwiseStudy
from eqlab.benchmarks.rating.trials import BETTER
from eqlab.core.answers import Answer
from eqlab.core.errors import UsageError
from eqlab.core.runs import RunConfig
from eqlab.runs import judge as judging
from eqlab.runs.panel import panel_of

LEVELS = {"m0": 0, "m1": 2, "m2": 4, "m3": 9}


def reply_file(tmp_path, arms=("m0", "m1", "m2", "m3"), prompts=30, name="replies.csv"):
    path = tmp_path / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("arm", "prompt", "reply"))
        for arm in arms:
            writer.writerows(
                (arm, one.id, f"Level {LEVELS[arm]} to {one.id}.") for one in judging.open_prompts()[:prompts]
            )
    return str(path)


def choose(body, number=0):
    """Better replies win more often, by a die that hangs on prompt and order; the first place helps a little."""
    prompt = body["messages"][-1]["content"]
    first, second = (int(level) for level in re.findall(r"> Level (\d+) to", prompt))
    die = sum(map(ord, prompt[-200:])) * 7919 % 13
    lead = first - second + (die - 6) + 1
    return "First" if lead > 1 else "Second" if lead < -1 else "Tie"


def judge(server, store, on, judges=("j",), **request):
    server.reply = choose
    wanted = judging.JudgeRequest(judges=judges, on=tuple(on), base_url=server.url, pairwise=True, **request)
    prepared = judging.prepare(wanted, store)
    outcome = api.run(prepared, store, concurrency=4, timeout=60)
    return outcome.run, api.results(store, store.find_run(outcome.run))


def strengths(result):
    (table,) = (table for table in result.tables if table.title == "Strengths from pairs")
    return {row[0]: row[1] for row in table.rows}


@pytest.mark.parametrize(("pairs", "met"), [("all", 6), ("ring", 4), ("m0", 3)])
def test_which_arms_meet(server, store, tmp_path, pairs, met):
    _, (result,) = judge(server, store, [reply_file(tmp_path, prompts=6)], pairs=pairs)
    assert len(server.requests) == met * 6 * 2
    assert set(strengths(result)) == set(LEVELS)
    assert result.counts["ok"] == met * 12


def test_an_unknown_design(server, store, tmp_path):
    with pytest.raises(UsageError, match="--pairs 'mm' is not one of"):
        judge(server, store, [reply_file(tmp_path, prompts=6)], pairs="mm")


def test_rounds_until_the_ranks_are_narrow(server, store, tmp_path):
    on = [reply_file(tmp_path, prompts=60)]
    run, (result,) = judge(server, store, on, adaptive=True, width=1.5)
    asked = len(server.requests)
    assert 120 <= asked < 6 * 60 * 2
    note = next(caveat for caveat in result.caveats if caveat.startswith("Adaptive"))
    assert "(reached)" in note
    found = strengths(result)
    assert found["m3"].value > found["m2"].value > found["m0"].value
    again, _ = judge(server, store, on, adaptive=True, width=1.5)
    assert again == run
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"adaptive": True}, "When should an adaptive run stop"),
        ({"width": 1.5}, "--width is for an adaptive run"),
        ({"adaptive": True, "width": 0.5}, "cannot be 0.5 ranks wide"),
        ({"adaptive": True, "width": float("nan")}, "cannot be nan ranks wide"),
        ({"pairwise": False, "anchor": "x"}, "--anchor works with pairs only"),
    ],
)
def test_what_makes_no_sense_is_refused(store, tmp_path, more, words):
    request = judging.JudgeRequest(("j",), (reply_file(tmp_path),), **{"pairwise": True, **more})
    with pytest.raises(UsageError, match=words):
        judging.prepare(request, store)


def planned(store, run):
    return [one.trial.id for one in store.scored(run, "judge:j", "rating")]


IN_A_LATER_ROUND = (135,)
IN_EVERY_ROUND = (60, 60, 15)
"""In the first, at its end, in a later one."""


@pytest.mark.parametrize(
    "kills", [IN_A_LATER_ROUND, pytest.param(IN_EVERY_ROUND, marks=pytest.mark.claims)], ids=["once", "thrice"]
)
def test_killed_in_a_round_it_goes_on_with_the_same_choice(server, tmp_path, monkeypatch, kills):
    monkeypatch.chdir(tmp_path)
    server.reply = choose
    on = reply_file(tmp_path, prompts=60)
    command = [
        *(sys.executable, "-c", "from eqlab.cli.main import main; main()", "judge", "j", "--on", on, "--pairwise"),
        *("--adaptive", "--width", "1", "--base-url", server.url, "--max-concurrency", "4", "--store"),
    ]

    def start():
        return subprocess.Popen([*command, where], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=dict(os.environ))  # fmt: skip

    one = api.open_store(str(tmp_path / "whole.db"))
    judge(server, one, [on], adaptive=True, width=1)
    asked = len(server.requests)
    assert asked > 120 + 15, "a round after the first"
    server.requests.clear()
    where = str(tmp_path / "killed.db")
    for replies in kills:
        kill_after(replies, server, where, start)
    last = start()
    _, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    other = api.open_store(where)
    (run,) = other.run_ids()
    assert one.run_ids() == [run]
    assert sorted(planned(one, run)) == sorted(planned(other, run))
    assert api.results(one, one.find_run(run))[0].tables == api.results(other, other.find_run(run))[0].tables
    assert asked < len(server.requests) <= asked + 4 * len(kills)  # what was under way
    one.close()
    other.close()


# -- anchored ------------------------------------------------------------------------------------------------------


def test_an_arm_added_later_moves_nobody(server, store, tmp_path):
    old = reply_file(tmp_path, ("m0", "m1", "m2"), name="old.csv")
    run, (before,) = judge(server, store, [old])
    server.requests.clear()
    new = reply_file(tmp_path, ("m3",), name="new.csv")
    added, (after,) = judge(server, store, [new], anchor=run)
    assert added != run
    assert len(server.requests) == 3 * 30 * 2  # the old arms are not compared again
    was, now = strengths(before), strengths(after)
    for arm in ("m0", "m1", "m2"):
        assert (now[arm].value, now[arm].low, now[arm].high) == (was[arm].value, was[arm].low, was[arm].high)
    assert now["m3"].low > was["m2"].value
    ranks = [{row[0]: row[2] for row in table.rows} for result in (before, after) for table in result.tables
             if table.title == "Strengths from pairs"]  # fmt: skip
    assert ranks[1]["m3"] == "1"
    shift = {"1": "2", "2": "3", "3": "4", "1–2": "2–3", "2–3": "3–4", "1–3": "2–4"}
    assert {arm: ranks[1][arm] for arm in ranks[0]} == {arm: shift[rank] for arm, rank in ranks[0].items()}
    assert store.find_run(added).config.benchmarks[0].options["anchors"]["run"] == run
    third, (more,) = judge(server, store, [old, new], anchor=run)
    assert third == added  # replies of anchors are known already
    assert strengths(more) == now
    with pytest.raises(UsageError, match="have strengths in run"):
        judge(server, store, [old], anchor=run)
    with pytest.raises(UsageError, match="has no verdicts in run"):
        judge(server, store, [new], judges=("someone",), anchor=run)
    with pytest.raises(UsageError, match="has no verdicts in run"):
        judge(server, store, [new], anchor=run, settings={"temperature": 1.0})


def test_a_panel_is_anchored_as_a_panel(server, store, tmp_path):
    run, _ = judge(server, store, [reply_file(tmp_path, ("m0", "m1", "m2"), name="old.csv")], judges=("j", "k"))
    before = strengths(panel_of(store, store.find_run(run)))
    added, _ = judge(server, store, [reply_file(tmp_path, ("m3",), name="new.csv")], judges=("j", "k"), anchor=run)
    after = strengths(panel_of(store, store.find_run(added)))
    assert all(after[arm].value == before[arm].value for arm in before)
    assert set(after) == set(LEVELS)


def test_adaptive_and_anchored(server, store, tmp_path):
    run, _ = judge(server, store, [reply_file(tmp_path, ("m0", "m1", "m2"), prompts=40, name="old.csv")])
    server.requests.clear()
    new = reply_file(tmp_path, ("m3",), prompts=40, name="new.csv")
    _, (result,) = judge(server, store, [new], anchor=run, adaptive=True, width=1.5)
    assert 60 <= len(server.requests) <= 3 * 40 * 2
    assert strengths(result)["m3"].value > 0


# -- people --------------------------------------------------------------------------------------------------------


def people_choose(store, rows, people=10, prompts=None):
    """A finished pairwise study of the arms m0 and m3: people like the better reply, in whichever order they see it."""
    by = {(row.arm, row.prompt): row for row in rows}
    base = judging.Ratings().options("replies", {"purpose": "people", "pairwise": "yes"})
    config = RunConfig((), (judging.configured(judging.Ratings(), base, {"x": b"y"}),), "full", None, None, 1)
    given = []
    for person in range(people):
        for place, prompt in enumerate(prompts):
            first, second = ("m0", "m3") if (person + place) % 2 else ("m3", "m0")
            trial = PairwiseStudy()._trial(by[first, prompt], by[second, prompt], BETTER)
            better = 1 if first == "m3" else 3
            value = 2 if (person + place) % 5 == 0 else (4 - better if (3 * person + place) % 7 == 0 else better)
            given.append((f"person:{person}", trial, {"better": value}))
    store.begin_run(config, [(who, "rating", trial, 0) for who, trial, _ in given], {})
    store.add_answers(
        [Answer(config.id, trial.id, who, 0, 1, json.dumps(values), "ok", values) for who, trial, values in given]
    )
    return config.id


def test_peoples_choices_on_some_prompts_and_the_judges_on_all(server, store, tmp_path):
    on = reply_file(tmp_path, ("m0", "m3"), prompts=40)
    rows = judging.collect([on], store, None, lambda text: None)
    prompts = sorted({row.prompt for row in rows})
    _, (alone,) = judge(server, store, [on])
    assert not [table for table in alone.tables if "People and judge together" in table.title]
    study = people_choose(store, rows, prompts=prompts[:12])
    (result,) = api.results(store, store.find_run(judge(server, store, [on])[0]))
    (table,) = (table for table in result.tables if table.title == "People and judge together: preferences")
    ((arm, against, share, gap, people, judged, *_),) = table.rows
    assert (arm, against) == ("m3", "m0")
    (human,) = api.results(store, store.find_run(study))
    wins = [item for item in human.items if item.score is not None]
    points = [(3 - item.score) / 2 if item.title.startswith("Reply of m3") else (item.score - 1) / 2 for item in wins]
    assert people == pytest.approx(100 * sum(points) / len(points))
    assert share.n == 120
    assert judged == 28
    assert share.low < share.value < share.high <= 100
    assert gap.value == pytest.approx(2 * share.value - 100)

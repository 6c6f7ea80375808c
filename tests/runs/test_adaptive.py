"""Short and adaptive runs, from the command to the result, on the published questions and a server on loopback: what
is asked, what is refused, and that an adaptive run goes on after kill -9."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from published_references import answer

import eqlab as api
from eqlab.benchmarks.eqbench.short import FIRST, STEP, facts
from eqlab.core.errors import DataError, UsageError

COMMAND = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]


def go(server, store, published, **options):
    request = api.Request(
        benchmarks="eqbench",
        models=("m",),
        base_url=server.url,
        items="published",
        data=published,
        options=options,
        profile="quick",
    )
    outcome = api.run(api.prepare(request), store, concurrency=8, timeout=60)
    return api.results(store, store.find_run(outcome.run))[0]


def test_a_short_run_asks_the_form_and_estimates_the_full_score(server, store, published, references):
    server.reply = answer(references, 3)
    result = go(server, store, published, short="40")
    assert len(server.requests) == 40
    assert {item.item for item in result.items} == set(facts()["forms"]["40"])
    full = go(server, store, published)  # quick profile: ten questions, the plain score
    assert "estimated" not in full.headline.name
    assert result.headline.low < result.headline.value < result.headline.high
    assert "estimate from 40 of them (95 % interval" in result.sentence
    other, plain = result.estimates[:2]
    assert plain.name.startswith("plain score")
    assert "other questions" in other.name
    assert other.value == result.headline.value
    assert other.low < result.headline.low < result.headline.high < other.high  # a sample of questions tells less
    assert f"with other questions of this kind {other.low:.1f} to {other.high:.1f}" in result.sentence
    assert any("held out" in caveat for caveat in result.caveats)
    assert {b.name: b.value for b in result.baselines}["always 3"] == pytest.approx(38.9, abs=0.05)


def test_unreadable_answers_are_left_out_and_said(server, store, published, references):
    good = answer(references, 3)
    server.reply = lambda body, n: "I cannot say." if len(body["messages"][-1]["content"]) % 9 == 0 else good(body, n)
    result = go(server, store, published, short="40")
    lost = result.counts["unparseable"] + result.counts["refused"]
    assert 0 < lost < 7
    assert result.headline.n == 40 - lost
    assert any("could not be read and are left out" in caveat for caveat in result.caveats)


def test_nothing_readable_is_no_estimate(server, store, published):
    server.reply = lambda body, n: "no"
    result = go(server, store, published, short="20")
    assert result.headline.value is None
    assert "no estimate" in result.sentence


def test_an_adaptive_run_stops_and_says_what_it_saved(server, store, published, references):
    server.reply = answer(references, 3)
    result = go(server, store, published, width="14")
    asked = len(server.requests)
    assert FIRST <= asked < 171
    assert (asked - FIRST) % STEP == 0
    assert result.counts["planned"] == asked
    assert result.counts["unanswered"] == 0
    assert any(f"{asked} of 171 questions asked, {171 - asked} calls saved" in caveat for caveat in result.caveats)
    go(server, store, published, width="14")
    assert len(server.requests) == asked  # the same command asks nothing again
    narrower = go(server, store, published, width="9")
    assert narrower.counts["planned"] > asked


def test_unreadable_questions_do_not_stop_an_adaptive_run_early(server, store, published):
    server.reply = lambda body, n: "no"
    result = go(server, store, published, width="10")
    assert result.counts["planned"] == 171  # asked in vain, all of them
    assert result.headline.value is None


@pytest.mark.claims
def test_an_adaptive_run_goes_on_after_kill_9(server, store, tmp_path, published, references, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server.reply = answer(references, 3)
    whole = go(server, store, published, width="12")
    expected = [item.item for item in whole.items]
    server.delay = 0.05
    where = str(tmp_path / "killed.db")
    command = [*COMMAND, "run", "m", "--base-url", server.url, "--items", "published", "--data", str(published)]
    command += ["--adaptive", "--width", "12", "--store", where, "--max-concurrency", "4", "--json"]
    for kill in (5, 15):
        before = len(server.requests)
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.requests) < before + kill and worker.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert worker.poll() is None
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    (result,) = json.loads(out)["results"]
    assert [item["item"] for item in result["items"]] == expected
    assert result["headline"]["value"] == pytest.approx(whole.headline.value)
    assert result["counts"]["ok"] == len(expected)


@pytest.mark.parametrize(
    ("items", "options", "what"),
    [
        ("open", {"short": "40"}, "published questions only"),
        ("published", {"short": "41"}, "no short form of 41"),
        ("published", {"short": "40", "revision": "yes"}, "revision=no"),
        ("published", {"short": "40", "rules": "published-code"}, "rules=leaderboard"),
        ("published", {"short": "40", "version": "v1"}, "version=v2"),
        ("published", {"width": "10", "language": "de"}, "language=en"),
        ("published", {"width": "10", "short": "40"}, "either"),
    ],
)
def test_what_a_short_form_does_not_hold_for_is_refused(published, items, options, what):
    with pytest.raises(UsageError, match=re.escape(what)):
        api.prepare(
            api.Request(
                benchmarks="eqbench",
                profile="full",
                models=("m",),
                base_url="x",
                items=items,
                data=published,
                options=options,
            )
        )


@pytest.mark.parametrize(
    ("more", "what"),
    [({"limit": 5}, "as a whole"), ({"structured": True}, "free text"), ({"repeats": 2}, "asks every question once")],
)
def test_selections_that_make_another_form_are_refused(published, more, what):
    request = api.Request(
        models=("m",),
        base_url="x",
        items="published",
        data=published,
        options={"width": "10"},
        **({"benchmarks": ("eqbench",), "profile": "full"} | more),
    )
    with pytest.raises(UsageError, match=what):
        list(api.prepare(request).plan())


def test_another_question_file_is_refused(published, tmp_path):
    name = "eqbench/data/eq_bench_v2_questions_171.json"
    changed = json.loads((published / name).read_bytes())
    changed["7"]["reference_answer_fullscale"]["emotion1_score"] = "1"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(json.dumps(changed))
    request = api.Request(
        benchmarks="eqbench",
        profile="full",
        models=("m",),
        base_url="x",
        items="published",
        data=tmp_path,
        options={"short": "40"},
    )
    with pytest.raises(DataError, match="short forms were learned with"):
        list(api.prepare(request).plan())


def test_a_run_without_short_forms_keeps_its_id():
    assert (
        "short"
        not in api.prepare(api.Request(benchmarks="eqbench", profile="full", models=("m",)))
        .config.benchmarks[0]
        .options
    )

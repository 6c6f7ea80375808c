"""Results of a run, in one process and in several."""

import dataclasses
import re

import pytest
from conftest import completion
from msgspec import structs
from typer.testing import CliRunner

import eqlab as api
from eqlab.cli.main import app
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.errors import UsageError
from eqlab.runs import parallel
from eqlab.runs import score as scoring
from eqlab.runs.parallel import WorkerProcesses


def begin(store, benchmark):
    request = api.Request(("a", "b"), (benchmark,), limit=3, base_url="http://localhost:9/v1")
    prepared = api.prepare(request)
    store.begin_run(prepared.config, prepared.plan(), {})
    answers = []
    for number, (subject, _, trial, repeat) in enumerate(prepared.plan()):
        low = trial.form.scales[0].low if trial.form.scales else 0
        text = "\n".join(f"{scale.text}: {low + (number + i) % 4}" for i, scale in enumerate(trial.form.scales))
        asked = prepared.asked[benchmark]
        reading = asked.benchmark.read(trial, text, asked.options)
        own = (prepared.config.id, trial.id, subject, repeat, 1, text, reading.status, reading.values)
        answers.append(Answer(*own, at=float(number)))
    store.add_answers(answers)
    return store.read_run(prepared.config.id)


def test_several_processes_find_the_same_in_the_same_order(store, monkeypatch):
    runs = [begin(store, "emotionbench"), begin(store, "eqbench")]
    alone = parallel.results_of(store, runs)
    assert [one.subject for _, results in alone for one in results] == ["model:a", "model:b"] * 2
    assert all(one.counts["planned"] and one.headline.value is not None for _, results in alone for one in results)
    monkeypatch.setattr(parallel, "MANY", 0)
    assert parallel.results_of(store, runs, processes=2) == alone


@pytest.mark.parametrize("command", [["compare", "{}:a", "{}:b", "-b", "eqbench"], ["report", "{}:a"]])
def test_a_command_that_names_models_scores_no_others(store, monkeypatch, tmp_path, command):
    prepared = api.prepare(api.Request(("a", "b", "c"), ("eqbench", "emotionbench"), limit=3, base_url="http://x/v1"))
    store.begin_run(prepared.config, prepared.plan(), {})
    scored = []
    spied = parallel.result_of
    monkeypatch.setattr(
        parallel, "result_of", lambda known, job, *more: scored.append(job[1:]) or spied(known, job, *more)
    )
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, [*(word.format(prepared.config.id) for word in command), "--store", store.where])
    who = {subject for subject, _ in scored}
    assert who == ({"model:a", "model:b"} if command[0] == "compare" else {"model:a"})
    assert {asked.name for _, asked in scored} == ({"eqbench"} if "-b" in command else {"eqbench", "emotionbench"})


def test_a_failure_in_another_process_keeps_its_way_out(store, monkeypatch):
    stored = begin(store, "eqbench")
    unknown = dataclasses.replace(stored.config.benchmarks[0], name="nonesuch")
    broken = dataclasses.replace(stored, config=dataclasses.replace(stored.config, benchmarks=(unknown,)))
    runs = [broken, stored]  # another process begins with the first
    monkeypatch.setattr(parallel, "MANY", 0)
    with pytest.raises(UsageError, match="nonesuch") as alone:
        parallel.results_of(store, runs)
    with pytest.raises(UsageError, match="nonesuch") as raised:
        parallel.results_of(store, runs, processes=2)
    assert str(raised.value) == str(alone.value)


@pytest.mark.parametrize("role", ["model", "judge"])
def test_whose_answers_they_are_is_said_first(store, role):
    """One owner for models and judges alike: names are counted on the way to the benchmark, lost requests are not."""
    stored = begin(store, "eqbench")
    asked = stored.config.benchmarks[0]
    given = [
        Scored(one.trial, one.repeat, tuple(structs.replace(a, model=f"m-{i % 2}x") for a in one.attempts))
        for i, one in enumerate(store.scored(stored.id, "model:a", "eqbench"))
    ]
    lost = structs.replace(given[0].attempts[0], attempt=2, status="error", model="proxy")
    given[0] = Scored(given[0].trial, 0, (*given[0].attempts, lost))
    found = scoring.score(f"{role}:m", asked, given)
    assert found.answered_as == {"m-0x": 2, "m-1x": 1}
    assert found.caveats[0] == "m was replaced during the run: it answered as m-0x (2 replies), m-1x (1 reply)."
    assert "m was asked, but m-0x answered (2 replies)" in found.caveats[1]


def test_processes_of_a_command_serve_several_times(store, monkeypatch):
    runs = [begin(store, "emotionbench"), begin(store, "eqbench")]
    alone = parallel.results_of(store, runs)
    monkeypatch.setattr(parallel, "MANY", 0)
    with WorkerProcesses(2) as workers:
        assert not workers.started
        assert parallel.results_of(store, runs, workers=workers) == alone
        assert workers.started
        assert parallel.results_of(store, runs[:1], workers=workers) == alone[:1]
        assert workers.submit(abs, -3).result() == 3
    with pytest.raises(RuntimeError):
        workers.submit(abs, -3)


def test_what_a_benchmark_does_not_look_at_was_paid_for_too(store, monkeypatch):
    """Usage and names are of all answers, whichever of them the score needs."""
    stored = begin(store, "eqbench")
    asked, model = stored.config.benchmarks[0], stored.config.models[0]
    given = [
        Scored(
            one.trial,
            one.repeat,
            tuple(structs.replace(a, model="a", tokens_in=10, tokens_out=5) for a in one.attempts),
        )
        for one in store.scored(stored.id, "model:a", "eqbench")
    ]
    whole = scoring.score("model:a", asked, given, model=model)
    assert (whole.usage.answers, whole.usage.tokens_in, whole.usage.tokens_out) == (3, 30, 15)
    benchmark = scoring.load("eqbench")

    class Hasty(type(benchmark)):
        def score(self, subject, scored, options, context):
            return super().score(subject, [next(iter(scored))], options, context)

    monkeypatch.setattr(scoring, "load", lambda _: Hasty())
    hasty = scoring.score("model:a", asked, given, model=model)
    assert hasty.counts["planned"] == 1
    assert hasty.usage == whole.usage
    assert hasty.answered_as == {"a": 3}


@pytest.mark.parametrize("finish", ["length", "content_filter"])
@pytest.mark.parametrize("heals", [True, False])
def test_what_was_cut_off_is_no_score(server, store, finish, heals):
    """Scoring reads the replies anew: a last "10" that was cut to "1" must not be read there either."""
    asked = {}

    def reply(body, number):
        prompt = body["messages"][-1]["content"]
        asked[prompt] = asked.get(prompt, 0) + 1
        words = re.search(r"at the end\?\n((?:\w+\n){4})", prompt).group(1).split()
        whole = "\n".join(f"{word}: {value}" for word, value in zip(words, (2, 3, 4, 10), strict=True))
        return completion(whole) if heals and asked[prompt] > 1 else completion(whole[:-1], finish=finish)

    server.reply = reply
    request = api.Request(("m",), ("eqbench",), limit=3, base_url=server.url)
    (result,) = api.results(store, store.find_run(api.run(api.prepare(request), store).run))
    if heals and finish == "length":
        assert [tuple(item.values.values()) for item in result.items] == [(2, 3, 4, 10)] * 3
        assert result.counts["ok"] == 3
    else:
        assert [dict(item.values) for item in result.items] == [{}] * 3
        assert result.headline.value is None
        assert result.counts["unparseable" if finish == "length" else "refused"] == 3

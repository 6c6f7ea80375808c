"""The Inspect AI tasks with a mock model: asked as we ask, and the same replies give the same score."""

import json
import math
from importlib.util import find_spec

import fixed_replies as replies
import pytest
from later import Later
from typer.testing import CliRunner

import eqlab as api
from eqlab.cli.main import app
from eqlab.core.errors import UsageError

inspect_ai = Later("inspect_ai")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed"),
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))


def evaluate(task, reply, stop=None, **parameters):
    """(log, requests): the task run through the registry, as `inspect eval eqlab/<task>` does. `stop` says why a reply
    ends; unless it is whole, its last letter is missing."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    requests = []

    def output(messages, tools, tool_choice, config):
        requests.append((messages, config))
        text = reply(messages[-1].text, config.temperature)
        stopped = stop(config) if stop else "stop"
        said = ModelOutput.from_content("mock", text if stopped == "stop" else text[:-1], stop_reason=stopped)
        said.usage = ModelUsage(input_tokens=1, output_tokens=1)  # else Inspect loads a tokenizer from the network
        return said

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    (log,) = inspect_ai.eval(
        f"eqlab/{task}", model=model, task_args=parameters, display="none", log_samples=True, log_realtime=False
    )
    return log, requests


def figures(log):
    assert log.status == "success", log.error
    return {name: found.value for name, found in log.results.scores[0].metrics.items()}


def imported(*arguments):
    """What `eqlab import` says of a log, as JSON."""
    done = CliRunner().invoke(app, ["runs", "import", *map(str, arguments), "--store", "imported.db", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def ours(server, tmp_path, benchmark, reply, **request):
    server.reply = lambda body, n: reply(body["messages"][-1]["content"], body["temperature"])
    store = api.open_store(str(tmp_path / "ours.db"))
    wanted = api.Request(models=("m",), base_url=server.url, benchmarks=(benchmark,), **request)
    outcome = api.run(api.prepare(wanted), store)
    (result,) = api.results(store, store.find_run(outcome.run))
    store.close()
    return result


@pytest.mark.parametrize(
    ("task", "request_", "parameters"),
    [
        ("eqbench", {"limit": 40}, {"limit": 40}),
        ("eqbench", {"limit": 12, "repeats": 2, "seed": 5}, {"limit": 12, "repeats": 2, "seed": 5}),
        ("emotionbench", {"profile": "quick", "options": {"defaults": "4"}}, {"profile": "quick", "defaults": 4}),
    ],
)
def test_the_same_replies_give_the_same_score(server, tmp_path, task, request_, parameters):
    result = ours(server, tmp_path, task, replies.mixed, **request_)
    log, requests = evaluate(task, replies.mixed, **parameters)
    found = figures(log)
    assert result.headline.value is not None
    assert found["score"] == pytest.approx(result.headline.value, abs=1e-12)
    if result.headline.low is None:  # the other tool has no word for undefined but this
        assert math.isnan(found["score_low"])
    else:
        assert found["score_low"] == pytest.approx(result.headline.low, abs=1e-12)
    assert found["n"] == result.headline.n
    assert found["valid"] == result.valid
    assert found["readable"] == pytest.approx(100 * result.counts["ok"] / result.counts["planned"])
    assert found["refused"] == pytest.approx(100 * result.counts["refused"] / result.counts["planned"])
    read_in = imported("inspect", log.location)
    assert read_in["results"][0]["headline"]["value"] == result.headline.value
    assert read_in["results"][0]["headline"]["low"] == result.headline.low
    assert read_in["results"][0]["counts"] == dict(result.counts)
    assert imported("inspect", log.location)["new"] == 0
    # room is apart: our own client gives more of it to a model that it has seen thinking
    asked = sorted((m[-1].text, c.temperature, c.seed) for m, c in requests)
    assert asked == sorted((b["messages"][-1]["content"], b["temperature"], b["seed"]) for b in server.requests)


def test_the_published_questions_too(server, tmp_path, published):
    request = {"items": "published", "limit": 20, "data": published}
    words = {"Your answer:"}

    def reply(prompt, temperature):
        names = [line.split(":")[0] for line in prompt.splitlines() if line.endswith(": <score>")]
        assert words & set(prompt.splitlines())
        return "\n".join(f"{name}: {(len(prompt) + len(name) * 7) % 10 + 1}" for name in names)

    result = ours(server, tmp_path, "eqbench", reply, **request)
    log, _ = evaluate("eqbench", reply, items="published", limit=20, data=str(published))
    assert result.counts["ok"] == 20
    assert figures(log)["score"] == pytest.approx(result.headline.value, abs=1e-12)


def test_three_tries_each_afresh_and_warmer():
    log, requests = evaluate("eqbench", lambda prompt, temperature: "no numbers today", limit=1)
    assert [config.temperature for _, config in requests] == [0.01, 0.16, 0.31]
    assert {len(messages) for messages, _ in requests} == {1}
    found = figures(log)
    assert found["valid"] == 0
    assert found["readable"] == 0
    assert found["score"] != found["score"], "undefined, not 0"
    (sample,) = log.samples
    (scored,) = sample.scores.values()
    assert scored.value == 0
    assert scored.reason == "invalid_response_format"
    assert "no four scores" in scored.explanation


def test_a_cut_reply_is_asked_once_more_with_more_room_and_never_scored():
    log, requests = evaluate(
        "eqbench", tens, lambda config: "max_tokens" if config.max_tokens < 1000 else "stop", limit=1
    )
    assert [(config.max_tokens, config.temperature) for _, config in requests] == [(256, 0.01), (256 + 1024, 0.01)]
    assert log.samples[0].scores["read"].answer.endswith(": 10")
    log, requests = evaluate("eqbench", tens, lambda config: "max_tokens", limit=1)
    assert len(requests) == 2
    assert figures(log)["readable"] == 0
    assert figures(log)["score"] != figures(log)["score"]
    log, requests = evaluate("eqbench", tens, lambda config: "content_filter", limit=1)
    assert len(requests) == 1
    assert figures(log)["refused"] == 100


def tens(prompt, temperature):
    return "\n".join(f"{name}: 10" for name in replies.asked_for(prompt))


def test_settings_of_the_task_win_over_the_protocol():
    _, requests = evaluate("eqbench", replies.mixed, limit=3, temperature=0.5, max_tokens=4000)
    assert {(config.temperature, config.max_tokens) for _, config in requests} == {(0.5, 4000)}


def test_an_option_of_the_benchmark():
    def reply(prompt, temperature):
        names = replies.asked_for(prompt)
        one, two = ("\n".join(f"{name}: {value}" for name in names) for value in (2, 6))
        return f"First pass scores:\n{one}\nCritique: hm.\nRevised scores:\n{two}"

    log, requests = evaluate("eqbench", reply, limit=4, revision=True)
    assert figures(log)["n"] == 4
    assert {config.max_tokens for _, config in requests} == {1000}


def test_what_makes_no_sense_is_refused():
    from eqlab.core.errors import UsageError

    for parameters in ({"items": "mine"}, {"profile": "all"}, {"nothing": "x"}, {"limit": 0}):
        with pytest.raises(UsageError):
            evaluate("eqbench", replies.mixed, **parameters)


def test_epochs_are_refused_because_repeats_are_ours():
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def output(messages, *_):
        said = ModelOutput.from_content("mock", replies.filled_in(messages[-1].text))
        said.usage = ModelUsage(input_tokens=1, output_tokens=1)
        return said

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    (log,) = inspect_ai.eval("eqlab/eqbench", model=model, task_args={"limit": 1}, epochs=2, display="none")
    assert log.status == "error"
    assert "repeats=N" in log.error.message


def test_a_log_of_somebody_elses_task_is_read_in_by_its_prompts(tmp_path):
    """Their own task, their own metadata: only the prompts are ours; another is left out, and said."""
    log, _ = evaluate("eqbench", replies.mixed, limit=12)
    for sample in log.samples:
        sample.metadata, sample.store, sample.scores = {}, {}, {}
    log.eval.metadata = None
    log.samples[0].input = "How are you?"
    inspect_ai.log.write_eval_log(log, str(tmp_path / "theirs.json"))
    found = imported("inspect", tmp_path / "theirs.json", "-b", "eqbench", "--model", "house/m")
    assert (found["taken"], found["unknown"]) == (11, 1)
    (result,) = found["results"]
    assert result["subject"] == "model:house/m"
    assert result["counts"]["planned"] == 11
    done = CliRunner().invoke(
        app, ["runs", "import", "inspect", str(tmp_path / "theirs.json"), "--store", "imported.db"]
    )
    assert isinstance(done.exception, UsageError)
    assert "which benchmark" in str(done.exception)

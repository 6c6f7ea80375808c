"""The exported task, run by lm-evaluation-harness itself with a model of fixed replies: our score, none of the faults
of other ports."""

import json
import math

import fixed_replies as replies
import pytest
from typer.testing import CliRunner

import eqlab as api
from eqlab.cli.main import app
from eqlab.core.errors import DataError, UsageError
from eqlab.publish.tools.lm_eval_export import write_task
from eqlab.publish.tools.lm_eval_steps import METRICS, aggregate, documents, process_results
from eqlab.publish.tools.tasks import exported

MANY = {"limit": 16, "seed": 3, "options": {"defaults": "8", "repeats": "2"}}
GOOD = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    for name in ("HF_HOME", "HF_DATASETS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "hf"))
    for name in ("HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")


def score_all(folder, reply, **task):
    """Every metric of replies to all questions, by the steps alone; fast."""
    write_task(exported("eqbench", **task), folder)
    given = [process_results(one, [reply(one)])["score"] for one in documents(folder)]
    return {metric: aggregate(folder, metric, given) for metric in METRICS}


def perfect(document):
    reference = json.loads(document["trial"])["key"]["reference"]
    return "\n".join(f"{name}: {value}" for name, value in reference.items())


def run_harness(folder, name, reply, **more):
    """(metrics, requests) of `lm_eval --include_path FOLDER --tasks NAME`, with a model that obeys its settings."""
    from lm_eval.api.model import LM
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    requests = []

    class Fixed(LM):
        def generate_until(self, asked, disable_tqdm=False):
            requests.extend(one.args for one in asked)
            return [self._said(*one.args) for one in asked]

        def _said(self, prompt, settings):
            words = reply(prompt).split(" ")[: settings["max_gen_toks"]]
            text = " ".join(words)
            for stop in settings["until"]:
                text = text.split(stop)[0]
            return text

        def loglikelihood(self, asked):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = simple_evaluate(model=Fixed(), tasks=[name], task_manager=manager, bootstrap_iters=0, **more)
    (folder / "samples.jsonl").write_text(
        "".join(json.dumps(one, default=str) + "\n" for one in found["samples"][name])
    )
    return {key.split(",")[0]: value for key, value in found["results"][name].items()}, requests


def ours(server, tmp_path, benchmark, reply, **request):
    """Our own run. The harness does not ask again, so the replies must not depend on the try."""
    server.reply = lambda body, n: reply(body["messages"][-1]["content"])
    store = api.open_store(str(tmp_path / "ours.db"))
    wanted = api.Request(models=("m",), base_url=server.url, benchmarks=(benchmark,), **request)
    outcome = api.run(api.prepare(wanted), store)
    (result,) = api.results(store, store.find_run(outcome.run))
    store.close()
    return result


@GOOD
@pytest.mark.parametrize(("benchmark", "request_"), [("eqbench", {"limit": 40}), ("emotionbench", MANY)])
def test_the_harness_gives_our_score(server, tmp_path, benchmark, request_):
    folder = tmp_path / "task"
    result = ours(server, tmp_path, benchmark, replies.mixed, **request_)
    written = write_task(exported(benchmark, **request_), folder)
    found, requests = run_harness(folder, written.name, replies.mixed)
    assert found["score"] == pytest.approx(result.headline.value, abs=1e-12)
    if result.headline.low is None:  # the other tool has no word for undefined but this
        assert math.isnan(found["score_low"])
    else:
        assert found["score_low"] == pytest.approx(result.headline.low, abs=1e-12)
    assert found["n"] == result.headline.n
    assert found["valid"] == result.valid
    assert found["readable"] == pytest.approx(100 * result.counts["ok"] / result.counts["planned"])
    assert {prompt for prompt, _ in requests} == {b["messages"][-1]["content"] for b in server.requests}
    assert {settings["max_gen_toks"] for _, settings in requests} == {min(b["max_tokens"] for b in server.requests)}
    options = [part for name, value in request_.get("options", {}).items() for part in ("-o", f"{name}={value}")]
    command = ["runs", "import", "lm-eval", str(folder / "samples.jsonl"), "--model", "m", "--json", *options]
    done = CliRunner().invoke(app, [*command, "--store", str(tmp_path / "in.db")])
    assert done.exit_code == 0, done.output
    (read_in,) = json.loads(done.stdout)["results"]
    assert read_in["headline"]["value"] == pytest.approx(result.headline.value, abs=1e-12)
    assert read_in["counts"]["planned"] == result.counts["planned"]
    first = min(body["temperature"] for body in server.requests)
    assert {settings["temperature"] for _, settings in requests} == {first}


@GOOD
def test_a_preamble_a_blank_line_and_long_thoughts_are_not_cut(tmp_path):
    folder = tmp_path / "task"
    write_task(exported("eqbench", limit=3), folder)
    right = {one["prompt"]: perfect(one) for one in documents(folder)}
    found, requests = run_harness(folder, "eqlab_eqbench", lambda prompt: f"Here they are.\n\n{right[prompt]}")
    assert found["score"] == pytest.approx(100.0)
    assert all(settings["until"] == [] for _, settings in requests)
    thoughts = "so " * 2000
    found, _ = run_harness(
        folder,
        "eqlab_eqbench",
        lambda prompt: f"<think>{thoughts}</think>{right[prompt]}",
        gen_kwargs="max_gen_toks=4000",
    )
    assert found["score"] == pytest.approx(100.0)


def test_what_could_not_be_read_is_left_out_and_not_counted_as_zero(tmp_path):
    found = score_all(tmp_path, lambda one: "no idea" if one["position"] % 10 == 0 else perfect(one), limit=60)
    assert found["score"] == pytest.approx(100.0)
    assert (found["n"], found["readable"], found["valid"]) == (54, pytest.approx(90.0), 1.0)


@pytest.mark.parametrize(("lost", "valid"), [(10, 1.0), (11, 0.0)])
def test_a_run_in_which_too_little_could_be_read_is_marked(tmp_path, lost, valid):
    """The published rule: 83.33 % of 60 are 50."""
    found = score_all(tmp_path, lambda one: "?" if one["position"] < lost else perfect(one))
    assert found["valid"] == valid


def test_four_zeros_are_no_answer(tmp_path):
    found = score_all(tmp_path, lambda one: perfect(one).translate(str.maketrans("123456789", "000000000")), limit=4)
    assert found["readable"] == 0
    assert math.isnan(found["score"])


def test_markup_is_not_stripped_nor_case_folded(tmp_path):
    """The published reader takes neither, so neither do we: a port that does accepts what the original rejects."""
    found = score_all(tmp_path, lambda one: perfect(one).lower(), limit=4)
    assert found["readable"] == 0


def test_nobody_answered_is_undefined(tmp_path):
    assert math.isnan(score_all(tmp_path, lambda one: "", limit=2)["score"])


def test_order_does_not_matter(tmp_path):
    write_task(exported("eqbench", limit=6, repeats=2), tmp_path)
    given = [
        (one["position"], perfect(one) if one["position"] % 3 else replies.filled_in(one["prompt"]))
        for one in documents(tmp_path)
    ]
    assert aggregate(tmp_path, "score", given) == aggregate(tmp_path, "score", given[::-1])


def test_the_published_prompts_and_the_system_prompt(tmp_path, published):
    task = exported("emotionbench", items="published", profile="quick", data=published)
    written = write_task(task, tmp_path)
    assert written.published
    assert "description: system" in (tmp_path / "eqlab_emotionbench.yaml").read_text()
    assert all(one["system"] for one in documents(tmp_path))


def test_the_command(tmp_path):
    folder = tmp_path / "t"
    done = CliRunner().invoke(app, ["export-task", "lm-eval", "-o", str(folder), "--limit", "3", "--repeats", "2"])
    assert "6 questions" in done.output, done.output
    assert {path.name for path in folder.iterdir()} == {
        "eqlab_eqbench.yaml",
        "utils.py",
        "task.json",
        "documents.jsonl",
    }


def test_what_cannot_be_exported(tmp_path):
    with pytest.raises(UsageError, match="rated"):
        write_task(exported("empathy", limit=1), tmp_path)
    done = CliRunner().invoke(app, ["export-task", "helm", "-o", str(tmp_path)])
    assert isinstance(done.exception, UsageError)


def test_a_folder_of_another_protocol_is_refused(tmp_path):
    write_task(exported("eqbench", limit=1), tmp_path)
    path = tmp_path / "task.json"
    path.write_text(path.read_text().replace('"protocol": 1', '"protocol": 99'))
    with pytest.raises(DataError, match="protocol 99"):
        aggregate(tmp_path, "score", [(0, "x")])

"""The tools that `bench/peers.py` measures: how each is installed, started and continued after a kill.

The peers get the same prompts as plain files and do no more than ask and log: no code of ours runs inside them."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LM_EVAL, INSPECT = "lm-eval[api]==0.4.13", "inspect-ai==0.3.285"
ITEMS = 30
"""Situations asked; what is left of the number of requests is default runs, so that any number can be reached."""


@dataclass(frozen=True, slots=True)
class Job:
    """The same work for every tool."""

    url: str
    folder: Path
    requests: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    python: str
    version: str

    def command(self, job: Job, again: bool = False) -> list[str]:
        """Start the job, or go on with it where the tool can."""
        return _COMMANDS[self.name](self.python, job, again)


def emotionbench_size(requests: int) -> tuple[int, int, int]:
    """(situations, repeats, default runs) that make exactly this many requests."""
    items = min(ITEMS, requests - 2)
    repeats = max(1, (requests - 2) // items)
    return items, repeats, requests - items * repeats


def write_prompts(job: Job) -> None:
    """Prompts for all, and the peers' own task files."""
    from eqlab.publish.tools.tasks import exported

    items, repeats, defaults = emotionbench_size(job.requests)
    options = {"defaults": str(defaults), "repeats": str(repeats)}
    trials = [question.trial for question in exported("emotionbench", limit=items, options=options).questions]
    if len({trial.prompt for trial in trials}) != job.requests:
        raise SystemExit("the prompts are not all different: repeated requests could not be told apart")
    job.folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"input": trial.prompt, "id": number}) for number, trial in enumerate(trials)]
    (job.folder / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (job.folder / "bench.yaml").write_text(_LM_EVAL_TASK, encoding="utf-8")
    (job.folder / "utils.py").write_text(_LM_EVAL_CODE, encoding="utf-8")
    (job.folder / "inspect_bench.py").write_text(_INSPECT_TASK, encoding="utf-8")


def install(name: str, package: str, cache: Path, more: Sequence[str] = ()) -> Tool | str:
    """The tool in an environment of its own, made once; or why it is absent."""
    folder = cache / f"{name.replace(' ', '-').lower()}-{package.rpartition('==')[2]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", package, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        (folder / "complete").touch()
    return Tool(name, str(python), package.rpartition("==")[2])


def installed(cache: Path) -> dict[str, Tool | str]:
    """Every tool, or the reason for its absence, in the order of the table."""
    from importlib.metadata import version

    harness = install("lm-eval", LM_EVAL, cache)
    cached = harness if isinstance(harness, str) else Tool("lm-eval --use_cache", harness.python, harness.version)
    return {
        "eqlab": Tool("eqlab", sys.executable, version("eqlab")),
        "lm-eval": harness,
        "lm-eval --use_cache": cached,
        "Inspect AI": install("Inspect AI", INSPECT, cache, ("openai",)),
        "sequential loop": Tool("sequential loop", sys.executable, "as EQ-Bench 2"),
    }


def environment(folder: Path) -> dict[str, str]:
    """Nothing leaves the machine, and nothing is kept outside the folder."""
    offline = dict.fromkeys(("HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), "1")
    homes = {name: str(folder / "home") for name in ("HF_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "EQLAB_HOME")}
    keys = {"OPENAI_API_KEY": "none", "BENCH_API_KEY": "none"}
    return {**os.environ, **offline, **homes, **keys, "NO_PROXY": "127.0.0.1"}


def _eqlab(python: str, job: Job, again: bool) -> list[str]:
    items, repeats, defaults = emotionbench_size(job.requests)
    start = [python, "-c", "from eqlab.__main__ import run; run()", "run", "bench", "-b", "emotionbench"]
    size = ["--profile", "full", "--limit", str(items), "-o", f"defaults={defaults}", "-o", f"repeats={repeats}"]
    files = ["--store", str(job.folder / "eqlab.db"), "--report", str(job.folder / "report.html")]
    return [*start, *size, *files, "--base-url", job.url, "--max-concurrency", str(job.in_flight)]


def _lm_eval(python: str, job: Job, again: bool) -> list[str]:
    model = f"model=bench,base_url={job.url}/chat/completions,num_concurrent={job.in_flight},max_retries=3"
    start = [python, "-m", "lm_eval", "--model", "local-chat-completions", "--model_args", model]
    task = ["--tasks", "bench", "--include_path", str(job.folder), "--apply_chat_template"]
    return [*start, *task, "--log_samples", "--output_path", str(job.folder / "lm-eval")]


def _lm_eval_cached(python: str, job: Job, again: bool) -> list[str]:
    return [*_lm_eval(python, job, again), "--use_cache", str(job.folder / "lm-eval-cache")]


def _inspect(python: str, job: Job, again: bool) -> list[str]:
    limits = ["--max-connections", str(job.in_flight), "--max-samples", str(job.in_flight), "--display", "none"]
    logs = ["--log-dir", str(job.folder / "inspect")]
    start = [python, "-m", "inspect_ai"]
    if again:
        (log,) = (job.folder / "inspect").glob("*.eval")
        return [*start, "eval-retry", str(log), *limits, *logs]
    model = ["--model", "openai-api/bench/bench", "--model-base-url", job.url]
    return [*start, "eval", "inspect_bench.py", *model, *limits, *logs]


def _sequential(python: str, job: Job, again: bool) -> list[str]:
    return [python, str(Path(__file__).with_name("sequential.py")), job.url, str(job.folder)]


_COMMANDS = {
    "eqlab": _eqlab,
    "lm-eval": _lm_eval,
    "lm-eval --use_cache": _lm_eval_cached,
    "Inspect AI": _inspect,
    "sequential loop": _sequential,
}
_LM_EVAL_TASK = """\
task: bench
custom_dataset: !function utils.load
test_split: test
output_type: generate_until
doc_to_text: input
doc_to_target: ""
generation_kwargs: {until: [], max_gen_toks: 384, temperature: 0.0, do_sample: false}
process_results: !function utils.process_results
metric_list: [{metric: answered, aggregation: mean, higher_is_better: true}]
"""
_LM_EVAL_CODE = """\
from pathlib import Path


def load(**_):
    from datasets import load_dataset

    return {"test": load_dataset("json", data_files=str(Path(__file__).with_name("prompts.jsonl")), split="train")}


def process_results(document, results):
    return {"answered": float(bool(results[0]))}
"""
_INSPECT_TASK = """\
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate


@scorer(metrics=[mean()])
def answered():
    async def score(state, target):
        return Score(value=float(bool(state.output.completion)))

    return score


@task
def bench():
    prompts = str(Path(__file__).with_name("prompts.jsonl"))
    config = GenerateConfig(temperature=0.0, max_tokens=384)
    return Task(dataset=json_dataset(prompts), solver=generate(), scorer=answered(), config=config)
"""

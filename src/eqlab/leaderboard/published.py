"""The published EQ-Bench results as entries: scored anew, by our own parser, from the raw model text."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError
from eqlab.core.results import Result
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.trials import Trial
from eqlab.data import published
from eqlab.data.items import items_sha256, read_sources
from eqlab.leaderboard.entries import Entry
from eqlab.report.page import RunRecord

_FACTS = ("inference_engine", "instruction_template", "bitsandbytes_quant", "lora_path", "total_iterations")


def published_entries(folder: Path, *, texts: bool = False) -> Iterator[Entry]:
    """Every result file in the folder, known to the manifest or not; a broken one is an error that names it."""
    paths = published.find("eqbench/results/**/*.json", folder)
    if not paths:
        raise DataError(
            f"There are no EQ-Bench result files in {folder}.",
            "Get them with 'eqlab data fetch eqbench', or name a folder that has them with --data DIR.",
        )
    asked: dict[str, tuple[BenchmarkConfig, list[Trial]]] = {}
    for path in paths:
        content = path.read_bytes()
        body = _read(path, content)
        version = "v1" if str(body.get("eqbench_version", "v2")).startswith("v1") else "v2"
        if version not in asked:
            asked[version] = _asked(version, folder)
        yield _entry(path.relative_to(folder).as_posix(), content, body, *asked[version], texts)


def _read(path: Path, content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
        iterations = body["raw_results"].values()
        if not iterations or not all(isinstance(one["raw_inference"], dict) for one in iterations):
            raise TypeError("raw_results holds no replies")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is no EQ-Bench result file ({type(error).__name__}: {error}).", "Remove it."
        ) from error
    return dict(body)


def _asked(version: str, folder: Path) -> tuple[BenchmarkConfig, list[Trial]]:
    """The published questions with their published prompts, which ask for a revision."""
    benchmark = EqBench()
    options = benchmark.options("published", {"version": version, "revision": "yes"})
    files = read_sources(benchmark.sources("published", options), folder)
    config = BenchmarkConfig(benchmark.name, benchmark.protocol, "published", items_sha256(files), dict(options))
    return config, [trial for trial, _ in benchmark.plan(files, options, Selection())]


def _entry(
    name: str, content: bytes, body: Mapping[str, Any], asked: BenchmarkConfig, trials: Sequence[Trial], texts: bool
) -> Entry:
    model = str(body.get("model_path") or Path(name).stem)
    subject = f"model:{model}"
    done = body.get("run_completed")
    at = float(done) if isinstance(done, int | float) else 0.0
    scored = [
        Scored(trial, repeat, (_answer(subject, trial, repeat, iteration["raw_inference"], at),))
        for repeat, iteration in enumerate(body["raw_results"].values())
        for trial in trials
    ]
    result = _with_recorded(EqBench().score(subject, scored, asked.options), body.get("benchmark_score"))
    if not any("Revised scores:" in one.attempts[0].text for one in scored):
        result = replace(result, caveats=("No reply has a revision: it was probably not asked for.", *result.caveats))
    config = RunConfig((ModelConfig(model),), (asked,), "full", None, None, 0)
    provenance = {
        "published file": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "command": "eqlab reproduce eqbench",
        **{fact: body[fact] for fact in _FACTS if body.get(fact) not in (None, "")},
    }
    return Entry(RunRecord(config, at, provenance, (result,)), result, "published", name, texts=texts)


def _answer(subject: str, trial: Trial, repeat: int, replies: Mapping[str, Any], at: float) -> Answer:
    """A question without a raw reply is one that could not be read; scoring reads the others anew."""
    text = str(replies.get(trial.items[0], ""))
    return Answer("published", trial.id, subject, repeat, 1, text, "unparseable", at=at)


def _with_recorded(result: Result, recorded: Any) -> Result:
    score = result.headline.value
    if not isinstance(recorded, int | float) or score is None or abs(round(score, 2) - recorded) < 0.0051:
        return result
    said = f"The file records {recorded:.2f}, which does not follow from its own text."
    return replace(result, caveats=(said, *result.caveats))

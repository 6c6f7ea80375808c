"""The published EQ-Bench results as entries of the leaderboard, with what their files say of themselves."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.core.results import Result
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.leaderboard.entries import Entry
from eqlab.report.page import RunRecord
from eqlab.reproduce.eqbench_results import PublishedResult, Reader, result_files

_FACTS = ("inference_engine", "instruction_template", "bitsandbytes_quant", "lora_path", "total_iterations")


def published_entries(folder: Path, *, texts: bool = False) -> Iterator[Entry]:
    """Every result file in the folder; a broken one is an error that names it."""
    reader = Reader(folder, revision=True)  # one table, as on the published list, whatever was asked for
    for path in result_files(folder):
        yield _entry(path.relative_to(folder).as_posix(), reader.read(path), texts)


def _entry(name: str, found: PublishedResult, texts: bool) -> Entry:
    facts = found.facts
    result = _with_recorded(found.result, facts.get("benchmark_score"))
    if not facts["revised"]:
        result = replace(result, caveats=("No reply has a revision: it was probably not asked for.", *result.caveats))
    benchmark = EqBench()
    asked = BenchmarkConfig(benchmark.name, benchmark.protocol, "published", found.items_sha256, dict(found.options))
    config = RunConfig((ModelConfig(found.model),), (asked,), "full", None, None, 0)
    provenance = {
        "published file": name,
        "sha256": hashlib.sha256(found.path.read_bytes()).hexdigest(),
        "command": "eqlab reproduce eqbench",
        **{fact: facts[fact] for fact in _FACTS if facts.get(fact) not in (None, "")},
    }
    return Entry(
        RunRecord(config, facts["run_completed"], provenance, (result,)), result, "published", name, texts=texts
    )


def _with_recorded(result: Result, recorded: Any) -> Result:
    score = result.headline.value
    if not isinstance(recorded, int | float) or score is None or abs(round(score, 2) - recorded) < 0.0051:
        return result
    said = f"The file records {recorded:.2f}, which does not follow from its own text."
    return replace(result, caveats=(said, *result.caveats))

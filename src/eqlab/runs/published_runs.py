"""A published EQ-Bench result as if it were a run of the store, with a configuration and what its file says of itself:
reports and leaderboards need not know the difference."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.published import PUBLISHED
from eqlab.core.results import Result
from eqlab.core.runs import ModelConfig, RunConfig
from eqlab.runs.identity import named
from eqlab.runs.published_results import PublishedReader, PublishedResult
from eqlab.store.reader import StoredRun

FIGURES_ONLY = "the figures that ship with eqlab; 'eqlab data fetch eqbench' gets the dialogues and replies"
_FACTS = ("inference_engine", "instruction_template", "bitsandbytes_quant", "lora_path", "total_iterations")


def is_published(name: str) -> bool:
    """Whether a user names a published result (`published:MODEL`, or `published` for all), not a run."""
    return name == PUBLISHED or name.startswith(f"{PUBLISHED}:")


def published_runs(names: Sequence[str], data: Path | None) -> list[tuple[StoredRun, list[Result]]]:
    wanted = [name.removeprefix(PUBLISHED).removeprefix(":") for name in names]
    found = PublishedReader(data).results([] if "" in wanted else wanted) if wanted else ()
    return [(run, [result]) for run, result in map(as_run, found)]


def as_run(found: PublishedResult) -> tuple[StoredRun, Result]:
    run, facts = found.run, found.run.facts
    result = _with_recorded(found.result, facts.get("benchmark_score"))
    if not run.revised:
        result = replace(result, caveats=("No reply has a revision: it was probably not asked for.", *result.caveats))
    asked = named(EqBench(), run.options, run.items_sha256, item_set="published")
    config = RunConfig((ModelConfig(run.model),), (asked,), "full", None, None, 0)
    provenance = {
        "published file": run.file,
        "sha256": run.sha256,
        **({} if run.texts else {"read from": FIGURES_ONLY}),
        "command": "eqlab reproduce eqbench",
        **{fact: facts[fact] for fact in _FACTS if facts.get(fact) not in (None, "")},
    }
    return StoredRun(config, run.completed, provenance), result


def _with_recorded(result: Result, recorded: Any) -> Result:
    score = result.headline.value
    if not isinstance(recorded, int | float) or score is None or abs(round(score, 2) - recorded) < 0.0051:
        return result
    said = f"The file records {recorded:.2f}, which does not follow from its own text."
    return replace(result, caveats=(said, *result.caveats))

"""What makes a benchmark of a run the one it is: protocol, items, options. The one place where that is put together,
for models, judges, people and published results alike."""

import hashlib
from collections.abc import Mapping
from typing import Any

from eqlab.core.benchmark import Benchmark, Selection
from eqlab.core.runs import BenchmarkConfig
from eqlab.data.items import items_sha256


def configured(
    benchmark: Benchmark, options: Mapping[str, Any], files: Mapping[str, bytes], *, item_set: str = ""
) -> BenchmarkConfig:
    """A benchmark with its items and options, as it stands in a run's configuration."""
    digest = items_sha256(files) if files else trials_sha256(benchmark, options)
    return named(benchmark, options, digest, item_set=item_set)


def named(benchmark: Benchmark, options: Mapping[str, Any], digest: str, *, item_set: str = "") -> BenchmarkConfig:
    """The same where the items' hash is known."""
    which = item_set or str(options.get("item_set", "open"))
    return BenchmarkConfig(benchmark.name, benchmark.protocol, which, digest, dict(options))


def trials_sha256(benchmark: Benchmark, options: Mapping[str, Any]) -> str:
    """Items that are in no file are known by the trials they make, answer keys included: all of them, in one order and
    asked once, whatever part of them a run asks."""
    digest = hashlib.sha256()
    for trial, _ in benchmark.plan({}, options, Selection(repeats=1)):
        digest.update(f"{trial.id}\n".encode())
    return digest.hexdigest()

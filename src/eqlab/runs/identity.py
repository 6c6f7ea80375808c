"""What a run is: protocol, items and options of each benchmark, which make its identity, put together here for models,
judges, people and published results alike; and what a reader needs to judge, or repeat, it: versions, machine, command,
models."""

import hashlib
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.benchmark import Benchmark, Selection
from eqlab.core.environment import version_of
from eqlab.core.runs import BenchmarkConfig
from eqlab.core.settings import without_secrets
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


def provenance(identities: Mapping[str, Any], changed: Sequence[str] = ()) -> dict[str, Any]:
    """What a reader needs to judge, or repeat, a run. `changed`: published files that are not as published."""
    packages = ("eqlab", "aiohttp", "sqlalchemy", "numpy", "scipy", "xllamacpp")
    return {
        "versions": {name: found for name in packages if (found := version_of(name))},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": without_secrets(shlex.join(["eqlab", *sys.argv[1:]])),
        "models": dict(identities),
        **({"changed published files": list(changed)} if changed else {}),
    }

"""How long a leaderboard of many models takes, and how large its front page is.

Takes the published EQ-Bench results, copies them under other names until there are enough (each reply gets a mark of
its own, so that no copy is recognised as one), and builds the site in a fresh process as a user would. The promise is
under 5 s for 100 models and a front page under 150 kB for any number; measure on a quiet machine.

    python bench/leaderboard.py --data DIR [--models 100]
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = "eqbench/data/eq_bench_v2_questions_171.json"


def many(data: Path, target: Path, models: int) -> None:
    """A data folder with this many result files."""
    sources = sorted((data / "eqbench" / "results").rglob("*.json"))
    (target / "eqbench" / "results").mkdir(parents=True)
    (target / "eqbench" / "data").mkdir()
    shutil.copy(data / QUESTIONS, target / QUESTIONS)
    for number in range(models):
        body = json.loads(sources[number % len(sources)].read_bytes())
        copy = number // len(sources)
        if copy:
            body["model_path"] = f"{body['model_path']}-copy-{copy}"
            for iteration in body["raw_results"].values():
                replies = iteration["raw_inference"]
                iteration["raw_inference"] = {key: f"{reply}\n({copy})" for key, reply in replies.items()}
        (target / "eqbench" / "results" / f"{number:04d}.json").write_text(json.dumps(body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=int, default=100)
    arguments = parser.parse_args()
    built = build(arguments.data, arguments.models)
    print(
        f"{arguments.models} models: {built.seconds:.2f} s ({built.cpu:.2f} s of CPU), front page "
        f"{built.front / 1000:.0f} kB, largest page {built.largest / 1000:.0f} kB"
    )


@dataclass(frozen=True, slots=True)
class BuiltBoard:
    seconds: float
    cpu: float
    front: int
    """Bytes of the front page."""
    largest: int
    """Bytes of the largest page."""


def build(source: Path, models: int) -> BuiltBoard:
    with tempfile.TemporaryDirectory() as folder:
        data, site = Path(folder) / "data", Path(folder) / "site"
        many(source, data, models)
        arguments_of = ["eqlab", "leaderboard", "build", str(site), "--no-runs", "--published", "--data", str(data)]
        code = f"import sys; sys.argv = {arguments_of!r}; from eqlab.cli.main import main; main()"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run(
            [sys.executable, "-c", "import eqlab.publish.leaderboard.build, polars"], check=True, env=environment
        )
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        largest = max(page.stat().st_size for page in site.rglob("*.html"))
        return BuiltBoard(seconds, cpu, (site / "index.html").stat().st_size, largest)


if __name__ == "__main__":
    main()

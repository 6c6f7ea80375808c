"""How long a leaderboard of many models takes, how much memory, how large its pages are, and what one more takes.

Takes the published EQ-Bench results and mixes new models from them until there are enough: the reply to a question is
that of one of three published models, so that every model has scores of its own, lost answers as often as they have,
and words of their lengths. Builds the site in a fresh process as a user would, adds one model, and builds again. The
promise is under 5 s for 100 models, 5 minutes for 4,000, and a front page under 150 kB for any number; measure on a
quiet machine.

    python bench/leaderboard.py [--data DIR] [--models 100 1000]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from loopback import eqlab, measured

QUESTIONS = "eqbench/data/eq_bench_v2_questions_171.json"


def many(data: Path, target: Path, models: int) -> None:
    """A data folder with this many result files."""
    (target / "eqbench" / "results").mkdir(parents=True)
    (target / "eqbench" / "data").mkdir()
    shutil.copy(data / QUESTIONS, target / QUESTIONS)
    sources = [json.loads(path.read_bytes()) for path in sorted((data / "eqbench" / "results").rglob("*.json"))]
    for number in range(models):
        add(sources, target, number)


def add(sources: Sequence[dict[str, Any]], target: Path, number: int) -> None:
    """One more: a published result, or when all are there a mix of three, mostly the first."""
    body = sources[number % len(sources)]
    if number >= len(sources):
        random = Random(number)
        others = random.sample([one for one in sources if one is not body], 2)
        body = {**body, "model_path": f"{body['model_path']}-mix-{number}"}
        body["raw_results"] = {
            name: iteration | {"raw_inference": _mixed(iteration["raw_inference"], name, others, random, number)}
            for name, iteration in body["raw_results"].items()
        }
    (target / "eqbench" / "results" / f"{number:05d}.json").write_text(json.dumps(body))


def _mixed(
    replies: dict[str, str], iteration: str, others: Sequence[dict[str, Any]], random: Random, number: int
) -> dict[str, str]:
    """Marked, so that no reply is taken for a copy."""
    givers = [replies, replies] + [one["raw_results"].get(iteration, {}).get("raw_inference", {}) for one in others]
    return {key: f"{random.choice(givers).get(key, reply)}\n({number})" for key, reply in replies.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("EQLAB_DATA"), help="as EQLAB_DATA, if not given")
    parser.add_argument("--models", type=int, nargs="+", default=[100])
    arguments = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for models in arguments.models:
        for built in build(Path(arguments.data), models):
            print(f"| {' | '.join(built.cells)} |", flush=True)


HEADS = (
    "models", "wall clock", "CPU", "memory of the largest process", "front page", "largest page", "files", "written",
    "others busy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BuiltBoard:
    models: int
    seconds: float
    cpu: float
    memory: float
    """MB at the highest, of its largest process."""
    front: int
    """Bytes of the front page."""
    largest: int
    """Bytes of the largest page."""
    files: int
    written: int
    """Files that are new or changed."""
    busy: float
    """Processes that wanted a core in the last minute of it, less its own."""

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.models:,}", f"{self.seconds:.0f} s", f"{self.cpu:.0f} s", f"{self.memory:,.0f} MB",
            f"{self.front / 1000:.0f} kB", f"{self.largest / 1000:.0f} kB", f"{self.files:,}", f"{self.written:,}",
            f"{self.busy:.1f}",
        )  # fmt: skip


def build(source: Path, models: int) -> Iterator[BuiltBoard]:
    """A first build, and one with a model more."""
    sources = [json.loads(path.read_bytes()) for path in sorted((source / "eqbench" / "results").rglob("*.json"))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, site = folder / "data", folder / "site"
        many(source, data, models)
        measured([sys.executable, "-c", "import eqlab.publish.leaderboard.build, polars"], folder)
        command = ("leaderboard", "build", str(site), "--no-runs", "--published", "--data", str(data))
        before: dict[Path, int] = {}
        for count in (models, models + 1):
            if count > models:
                add(sources, data, models)
            built = eqlab(*command, folder=folder)
            if built.code:
                raise SystemExit((folder / "output.txt").read_text())
            now = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
            largest = max(page.stat().st_size for page in now if page.suffix == ".html")
            written = sum(before.get(path) != stamp for path, stamp in now.items())
            front = (site / "index.html").stat().st_size
            busy = max(0.0, os.getloadavg()[0] - built.cpu / built.wall)
            yield BuiltBoard(count, built.wall, built.cpu, built.memory, front, largest, len(now), written, busy)
            before = now


if __name__ == "__main__":
    main()
